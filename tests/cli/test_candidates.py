"""`hornbeam candidates`: which rules could explain the target relation, and how often."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import EVIDENCE, HOSTILE, TRAIN, hornbeam_, write

CITES = [("paper1", "cites", "paper2"), ("paper2", "mentions", "gene")]


def test_the_json_has_the_keys_of_the_design() -> None:
    ended = hornbeam_("candidates", *EVIDENCE, *TRAIN, "--json")
    found = ended.json["candidates"]
    assert len(found) == 9
    assert all({"clause", "coverage", "paths"} <= set(row) for row in found)
    assert all(row["coverage"] == row["coverage_true"] + row["coverage_false"] for row in found)
    assert found == sorted(found, key=lambda row: (-row["coverage"], row["length"], row["clause"]))
    assert ended.stdout.count("\n") == 1
    assert ended.told == []


@pytest.mark.slow
def test_without_labels_they_are_those_that_learn_chooses_from(tmp_path: Path) -> None:
    """The facts of the target are the true pairs, each fold hidden from itself."""
    words = (*EVIDENCE, "--target", "located_in", "--bodies", "paths,open,unary", "--json")
    found = hornbeam_("candidates", *words).json
    learned = hornbeam_("learn", *words, "-o", tmp_path / "model.psl").json
    assert found["targets"] == learned["targets"]
    trace = json.loads((tmp_path / "model.trace.json").read_text())
    figures = {(one["clause"], one["coverage_true"]) for one in trace["candidates"]}
    assert {(row["clause"], row["coverage_true"]) for row in found["candidates"]} == figures
    assert "located_in(C, B) -> located_in(A, B)" in {row["clause"] for row in found["candidates"]}


def test_neither_labels_nor_a_target() -> None:
    ended = hornbeam_("candidates", *EVIDENCE)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.told == [
        "hornbeam: without labels, name the predicate to learn: --target PREDICATE"
    ]
    ended = hornbeam_("candidates", *EVIDENCE, "--target", "locatd_in")
    assert ended.code == 2
    assert "Did you mean 'located_in'?" in ended.stderr


def test_the_papers_example(tmp_path: Path) -> None:
    facts = write(tmp_path / "facts.tsv", CITES)
    labels = write(tmp_path / "labels.tsv", [("paper1", "mentions", "gene", 1)])
    words = ("candidates", "--facts", facts, "--labels", labels, "--min-coverage", "1")
    [row] = hornbeam_(*words, "--json", "--max-length", "2").json["candidates"]
    assert row["clause"] == "cites(A, B) & mentions(B, C) -> mentions(A, C)"
    assert (row["coverage"], row["paths"]) == (1, 1)
    shown = hornbeam_(*words)
    assert "cites(A, B) & mentions(B, C) -> mentions(A, C)" in shown.stdout


@pytest.mark.slow
def test_top_and_limits_prune() -> None:
    words = ("candidates", *EVIDENCE, *TRAIN, "--json")
    everything = hornbeam_(*words, "--min-coverage", "1").json
    assert len(everything["candidates"]) == everything["found"] == 9
    top = hornbeam_(*words, "--top", "3", "--min-coverage", "1").json["candidates"]
    assert top == everything["candidates"][:3]
    wide = hornbeam_(*words, "--min-coverage", "42").json["candidates"]
    assert [row["coverage"] >= 42 for row in wide] == [True] * 5
    short = hornbeam_(*words, "--max-length", "2", "--min-coverage", "1").json["candidates"]
    assert max(row["length"] for row in short) == 2
    distinct = hornbeam_(*words, "--distinct-variables").json["candidates"]
    assert all("!=" in row["clause"] for row in distinct)
    narrow = hornbeam_(*words, "--max-fanout", "1", "--min-coverage", "1").json["candidates"]
    assert sum(row["paths"] for row in narrow) < sum(
        row["paths"] for row in everything["candidates"]
    )


def test_bodies_of_other_kinds_are_asked_for() -> None:
    words = ("candidates", *EVIDENCE, *TRAIN, "--json", "--min-coverage", "1", "--max-length", "2")
    paths = hornbeam_(*words).json["candidates"]
    assert {row["kind"] for row in paths} == {"paths"}
    assert hornbeam_(*words, "--bodies", "paths").json["candidates"] == paths
    everything = hornbeam_(*words, "--bodies", " anchored,open, unary,paths").json["candidates"]
    assert {row["kind"] for row in everything} == {"paths", "open", "anchored"}
    assert [row for row in everything if row["kind"] == "paths"] == paths
    texts = {row["clause"] for row in everything}
    assert "neighbour(A, C) -> located_in(A, B)" in texts
    assert "(B == 'europe') -> located_in(A, B)" in texts
    keys = [(-row["coverage"], row["length"], row["clause"]) for row in everything]
    assert keys == sorted(keys)


@pytest.mark.slow
def test_excluded_predicates_are_in_no_body() -> None:
    words = ("candidates", *EVIDENCE, *TRAIN, "--json", "--bodies", "paths,open")
    found = hornbeam_(*words, "--exclude", "neighbour", "--exclude", "speaks").json["candidates"]
    assert found
    bodies = [row["clause"].split(" -> ")[0] for row in found]
    assert not [body for body in bodies if "neighbour" in body or "speaks" in body]
    ended = hornbeam_(*words, "--exclude", "neighbor")
    assert ended.told == [
        "hornbeam: warning: no fact has the predicate 'neighbor', which --exclude names"
    ]
    sampled = hornbeam_(*words[:5], "--target", "located_in", "--exclude", "neighbor")
    assert sampled.told == ended.told


@pytest.mark.parametrize("bodies", ["path", "", "paths,", "paths;open", "Paths"])
def test_unknown_bodies_are_refused_before_anything_is_read(bodies: str) -> None:
    ended = hornbeam_("candidates", "--facts", "gone", "--labels", "gone", "--bodies", bodies)
    assert (ended.code, ended.stdout) == (2, "")
    [told] = ended.told
    assert "unknown --bodies" in told
    assert told.endswith("expected some of: paths, open, unary, anchored, numbers, chains")


def test_the_table_is_read_by_people() -> None:
    ended = hornbeam_("candidates", *EVIDENCE, *TRAIN)
    head, first, *_ = ended.stdout.splitlines()
    assert head.split() == ["candidate", "rule", "coverage", "true", "false", "count"]
    assert first.split()[-4:] == ["63", "32", "31", "347"]
    assert "9 of 9 bodies kept, over 120 targets" in ended.stdout
    assert "\x1b" not in ended.stdout


@pytest.mark.slow
def test_names_come_back_from_their_identifiers(tmp_path: Path) -> None:
    facts = write(tmp_path / "facts.tsv", [(f"s{i}", name, "o") for name in HOSTILE for i in "ab"])
    labels = write(tmp_path / "labels.tsv", [(f"s{i}", "[t]", "o", 1) for i in "ab"])
    words = ("candidates", "--facts", facts, "--labels", labels, "--min-coverage", "1",
             "--max-length", "1")  # fmt: skip
    found = hornbeam_(*words, "--json").json
    spelt = {row["clause"].split("(")[0] for row in found["candidates"]}
    assert {found["predicates"][identifier] for identifier in spelt} == set(HOSTILE)
    assert "[t]" in found["predicates"].values()
    shown = hornbeam_(*words).stdout
    assert all(row["clause"] in shown for row in found["candidates"])


def test_constants_from_the_data_move_no_cursor(tmp_path: Path) -> None:
    facts = write(tmp_path / "facts.tsv", [(name, "p", "\x1b[31mred[/]") for name in "ab"])
    labels = write(tmp_path / "labels.tsv", [("a", "t", "b", 1), ("b", "t", "a", 0)])
    words = ("candidates", "--facts", facts, "--labels", labels, "--min-coverage", "1",
             "--bodies", "anchored")  # fmt: skip
    shown = hornbeam_(*words).stdout
    assert "\x1b" not in shown
    assert "p(A, '\\x1b[31mred[/]') -> t(A, B)" in shown


def test_what_is_odd_is_told_on_stderr(tmp_path: Path) -> None:
    facts = write(tmp_path / "facts.tsv", CITES)
    labels = write(
        tmp_path / "labels.tsv",
        [("paper1", "mentions", "gene", 1), ("paper2", "mentions", "gene", 1),
         ("nobody", "mentions", "gene", 0)],
    )  # fmt: skip
    words = ("--facts", facts, "--labels", labels, "--min-coverage", "1")
    ended = hornbeam_("candidates", *words, "--json")
    assert len(ended.json["candidates"]) > 0
    assert ended.told == [
        "hornbeam: warning: 1 labelled targets are also among the facts; "
        "a target's own fact is never evidence for itself",
        "1 targets name an entity that no fact has.",
    ]


def test_no_candidate_is_an_empty_list_not_an_error(tmp_path: Path) -> None:
    facts = write(tmp_path / "facts.tsv", CITES)
    labels = write(tmp_path / "labels.tsv", [("gene", "t", "nobody", 1)])
    ended = hornbeam_("candidates", "--facts", facts, "--labels", labels)
    assert ended.code == 0
    assert "0 of 0 bodies kept" in ended.stdout
