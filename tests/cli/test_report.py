"""`hornbeam report`: a page, its trace, and every mistake one message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import EVIDENCE, TEST, hornbeam_, listing, process, write

MODEL = "1: p(A, B) -> t(A, B)\n0.5: !t(A, B)\n"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, facts and labels."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.psl").write_text(MODEL)
    write(tmp_path / "facts.tsv", [("a", "p", "b")])
    write(tmp_path / "labels.tsv", [("a", "t", "b", 1), ("b", "t", "a", 0)])
    return tmp_path


WORDS = ("report", "model.psl", "--facts", "facts.tsv", "--labels", "labels.tsv", "-o", "out.html")


def test_the_countries_have_a_page(countries_model: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ended = hornbeam_("report", countries_model, *EVIDENCE, *TEST, "-o", page)
    assert (ended.code, ended.told) == (0, [])
    assert ended.stdout == f"Wrote {page}. Open it in a browser; it needs no network.\n"
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "located_in" in text
    assert "Nothing is known of it" not in text  # learn left a trace beside the model
    assert listing(tmp_path) == ["report.html"]


def test_the_json_says_where_it_is(small: Path) -> None:
    found = hornbeam_(*WORDS, "--json").json
    page = (small / "out.html").read_bytes()
    assert found == {"output": "out.html", "bytes": len(page), "trace": False}


@pytest.mark.slow
def test_the_same_page_from_another_process(small: Path) -> None:
    assert hornbeam_(*WORDS).code == 0
    first = (small / "out.html").read_bytes()
    assert process(*WORDS, "--threads", "1", cwd=small).code == 0
    assert (small / "out.html").read_bytes() == first


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"method": 1}', "\x00", '"seconds"'])
def test_a_broken_trace_is_named(small: Path, text: str) -> None:
    (small / "model.trace.json").write_text(text)
    ended = hornbeam_(*WORDS)
    assert ended.code == 2
    assert ended.stderr == (
        "hornbeam: model.trace.json: is not a trace that `learn` wrote; delete it, or learn the "
        "model again\n"
    )
    assert "out.html" not in listing(small)


@pytest.mark.slow
def test_a_trace_without_outcomes_is_shown_as_far_as_it_goes(small: Path) -> None:
    trace = {"method": "ppll", "counts": "raw", "targets": 2, "positives": 1, "found": 3,
             "candidates": [{"clause": "p(A, B) -> t(A, B)", "coverage": 1, "coverage_true": 1,
                             "paths": 1}],
             "seconds": {"learn": 0.5}}  # fmt: skip
    (small / "model.trace.json").write_text(json.dumps(trace))
    assert hornbeam_(*WORDS).code == 0
    assert "2 were dropped at once: they cover fewer than 10 pairs." in (
        (small / "out.html").read_text()
    )


def test_an_older_model_is_told_by_its_trace_that_negatives_were_sampled(small: Path) -> None:
    trace = {"method": "joint", "counts": "raw", "targets": 2, "positives": 1, "found": 1,
             "candidates": [], "seconds": {}, "sampled_negatives": "typed"}  # fmt: skip
    assert hornbeam_(*WORDS).code == 0
    assert "called true" in (small / "out.html").read_text()
    (small / "model.trace.json").write_text(json.dumps(trace))
    assert hornbeam_(*WORDS).code == 0
    assert "called true" not in (small / "out.html").read_text()
    (small / "model.trace.json").write_text(json.dumps(trace | {"sampled_negatives": "by hand"}))
    assert "is not a trace that `learn` wrote" in hornbeam_(*WORDS).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "no/where.html"), "no/where.html: the folder no does not exist; make it first"),
        (("-o", "."), ".: is a folder; name a file in it"),
        (("--facts", "gone.tsv"), "gone.tsv: no such file"),
        (("--labels", "facts.tsv"), "facts.tsv, line 1: no labels found; expected"),
    ],
)
def test_mistakes_are_one_message(small: Path, words: tuple[str, ...], message: str) -> None:
    before = listing(small)
    ended = hornbeam_(*WORDS, *words)
    assert ended.code == 2
    assert ended.stderr.startswith(f"hornbeam: {message}")
    assert ended.stderr.count("\n") == 1
    assert listing(small) == before


def test_a_model_without_rules_of_the_labels_is_told(small: Path) -> None:
    write(small / "labels.tsv", [("a", "u", "b", 1), ("b", "t", "a", 0)])
    ended = hornbeam_(*WORDS)
    assert ended.code == 0
    assert ended.told == [
        "hornbeam: warning: the model has no rule for 'u', only for 't'; such pairs score 0.5"
    ]


@pytest.mark.parametrize(("number", "end"), [(10, "'u9'"), (11, "'u9' and 1 more")])
def test_ten_relations_without_rules_are_named(small: Path, number: int, end: str) -> None:
    write(small / "labels.tsv", [("a", f"u{i:x}", "b", i % 2) for i in range(number)])
    [told] = hornbeam_(*WORDS).told
    assert "no rule for 'u0', " in told
    assert f"{end}, only for 't'" in told


def test_true_triples_judge_a_rule_model_by_ranks(small: Path) -> None:
    write(
        small / "facts.tsv", [("a", "p", "b"), ("c", "p", "d"), ("e", "t", "<f>"), ("e", "q", "b")]
    )
    write(small / "test.tsv", [("a", "t", "b"), ("a", "t", "<f>")])
    words = ("model.psl", "--facts", "facts.tsv", "--test", "test.tsv")
    judged = hornbeam_("evaluate", *words, "--json").json
    ended = hornbeam_("report", *words, "-o", "out.html")
    assert (ended.code, ended.told) == (0, [])
    text = (small / "out.html").read_text()
    assert f'<span class="figure">{judged["mrr"]:.3f}</span>' in text
    assert "filtered by facts.tsv, test.tsv" in text
    assert "The true answers of the lowest ranks" in text
    assert "heaviest rules" in text
    assert "<f>" not in text
    both = hornbeam_("report", *words, "--labels", "labels.tsv", "-o", "out.html")
    assert (both.code, both.told) == (
        2, ["hornbeam: give either --labels (pairs with 0 or 1) or --test (true triples)"],
    )  # fmt: skip
