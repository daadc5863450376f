"""`hornbeam explain`: the same reasons as text and as JSON, and every mistake one message."""

from __future__ import annotations

from pathlib import Path

import pytest

import hornbeam as hb
from tests.support.commands import EVIDENCE, HOSTILE, TEST, hornbeam_, write

MODEL = """2: knows(A, B) & knows(B, C) -> trusts(A, C)
1.5: owes(A, B) -> !trusts(A, B)
1: !trusts(A, B)
"""
ROWS = [("ann", "knows", "bob"), ("ann", "knows", "eve"), ("bob", "knows", "cid"),
        ("eve", "knows", "cid"), ("ann", "owes", "cid")]  # fmt: skip
#: 2 x 2 - 1.5 - 1 = 1.5 is above 0, one path less is below.
TEXT = """ann  trusts  cid
score 0.8176, so true (true from 0.5); MAP state 1

How the score adds up
  log-odds   score
     -1.00  0.2689  ██████                    Without evidence a pair is false: not A trusts B.
     +4.00  0.9526  ████████████████████████  If A knows B and B knows C, then A trusts C.
     -1.50  0.8176                 █████████  If A owes B, then not A trusts B.
     +1.50  0.8176  together

Rule by rule: how far the score would move without it

For
  +0.7417  If A knows B and B knows C, then A trusts C.
           knows(A, B) & knows(B, C) -> trusts(A, C)
           weight 2, 2 paths
           ann -knows-> bob -knows-> cid
           ann -knows-> eve -knows-> cid

Against
  -0.1350  If A owes B, then not A trusts B.
           owes(A, B) -> !trusts(A, B)
           weight 1.5, 1 path
           ann -owes-> cid

Starting point
  -0.1066  Without evidence a pair is false: not A trusts B.
           !trusts(A, B)
           weight 1, needs no path

What would flip it
  without this fact the score is 0.3775, so false (no smaller set of facts flips the decision)
    ann  knows  bob
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model written by hand, and its facts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.psl").write_text(MODEL)
    return write(tmp_path / "facts.tsv", ROWS)


def test_the_text_reads_well(small: Path) -> None:
    ended = hornbeam_("explain", "model.psl", "--facts", small, "ann", "cid")
    assert (ended.code, ended.told) == (0, [])
    assert ended.stdout == TEXT


def test_fewer_paths_on_demand(small: Path) -> None:
    words = ("explain", "model.psl", "--facts", small, "ann", "cid")
    one = hornbeam_(*words, "--paths", "1").stdout
    assert "bob -knows-> cid\n           ... and 1 more\n" in one
    assert "eve" not in one
    none = hornbeam_(*words, "--paths", "0").stdout
    assert "weight 2, 2 paths\n\nAgainst" in none
    assert hornbeam_(*words, "--paths", "-1").code == 2


def test_the_json_is_the_whole_explanation(small: Path) -> None:
    found = hornbeam_("explain", "model.psl", "--facts", small, "ann", "cid", "--json").json
    assert (found["map"], found["decision"], found["unseen"]) == (1.0, True, [])
    assert found["score"] == pytest.approx(0.8175744761936437)
    assert [reason["rule"] for reason in found["reasons"]] == [
        "knows(A, B) & knows(B, C) -> trusts(A, C)",
        "owes(A, B) -> !trusts(A, B)",
        "!trusts(A, B)",
    ]
    for reason in found["reasons"]:
        assert {"rule", "weight", "count", "pull", "groundings"} <= set(reason)
    assert found["reasons"][0]["count"] == 2
    assert found["reasons"][0]["groundings"][0] == {
        "entities": ["ann", "bob", "cid"],
        "facts": [
            {"subject": "ann", "predicate": "knows", "object": "bob", "truth": 1.0, "others": []},
            {"subject": "bob", "predicate": "knows", "object": "cid", "truth": 1.0, "others": []},
        ],
        "truth": 1.0,
    }
    assert found["flip"]["status"] == "exact"
    assert [fact["object"] for fact in found["flip"]["facts"]] == ["bob"]


@pytest.mark.slow
def test_the_countries_are_explained_as_they_are_scored(countries_model: Path) -> None:
    rows = hornbeam_("predict", countries_model, *EVIDENCE, "--pairs", TEST[1], "--json").json
    facts = hb.read_facts(*(word for word in EVIDENCE if word != "--facts"))
    model = hb.Model.load(countries_model)
    explainer = model.explainer(facts)
    for row in rows["predictions"][:40]:
        found = explainer.explain(row["subject"], row["predicate"], row["object"])
        assert found.score == row["score"]
        assert found.flip is not None
        if found.flip.facts:
            assert (found.flip.score >= 0.5) != found.decision


@pytest.mark.parametrize("pair", [("anne", "cid"), ("cid", "anne")])
def test_an_unknown_name_is_refused_with_a_hint(small: Path, pair: tuple[str, str]) -> None:
    for further in ((), ("--json",), ("--quiet",)):
        ended = hornbeam_("explain", "model.psl", "--facts", small, *pair, *further)
        assert (ended.code, ended.stdout) == (2, "")
        assert "no fact has the entity 'anne'" in ended.stderr
        assert "Did you mean 'ann'?" in ended.stderr


def test_a_pair_of_one_name(small: Path) -> None:
    found = hornbeam_("explain", "model.psl", "--facts", small, "ann", "ann", "--json").json
    assert [reason["rule"] for reason in found["reasons"]] == ["!trusts(A, B)"]


def test_several_targets_need_a_choice(small: Path, tmp_path: Path) -> None:
    (tmp_path / "two.psl").write_text("1: knows(A, B) -> trusts(A, B)\n1: !likes(A, B)\n")
    words = ("explain", "two.psl", "--facts", small, "ann", "bob")
    unclear = hornbeam_(*words)
    assert unclear.code == 2
    assert "several targets; name one by --target: likes, trusts" in unclear.stderr
    unknown = hornbeam_(*words, "--target", "hates")
    assert unknown.code == 2
    assert "unknown target predicate 'hates'; expected one of: 'likes', 'trusts'" in unknown.stderr
    assert hornbeam_(*words, "--target", "likes", "--json").json["predicate"] == "likes"


@pytest.mark.slow
def test_a_collective_model_needs_its_pairs(small: Path, tmp_path: Path) -> None:
    (tmp_path / "all.psl").write_text(f'# hornbeam: {{"collective": true}}\n{MODEL}')
    pairs = write(tmp_path / "pairs.tsv", [("ann", "trusts", "cid"), ("bob", "trusts", "cid")])
    words = ("explain", "all.psl", "--facts", small, "ann", "cid")
    ended = hornbeam_(*words)
    assert ended.code == 2
    assert ended.stderr.startswith("hornbeam: the model is collective")
    assert "--pairs" in ended.stderr
    found = hornbeam_(*words, "--pairs", pairs, "--json").json
    scored = hornbeam_("predict", "all.psl", "--facts", small, "--pairs", pairs, "--json").json
    assert found["score"] == pytest.approx(scored["predictions"][0]["score"], abs=1e-9)
    assert found["flip"] is None
    other = hornbeam_(*words[:-1], "bob", "--pairs", pairs)
    assert other.code == 2
    assert "trusts('ann', 'bob') is not among the pairs" in other.stderr


def test_pairs_that_change_nothing_are_told(small: Path) -> None:
    ended = hornbeam_(
        "explain", "model.psl", "--facts", small, "ann", "cid", "--pairs", "missing.tsv"
    )
    assert ended.stdout == TEXT
    assert ended.told == ["The model is not collective: --pairs changes nothing."]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_they_are_but_move_no_cursor(
    small: Path, tmp_path: Path, name: str
) -> None:
    facts = write(tmp_path / "names.tsv", [("ann", "knows", name), (name, "knows", "cid")])
    shown = hornbeam_("explain", "model.psl", "--facts", facts, "ann", "cid").stdout
    line = name.replace("\u2028", "\\u2028").replace("\u0085", "\\x85")
    assert f"ann -knows-> {line} -knows-> cid" in shown
    found = hornbeam_("explain", "model.psl", "--facts", facts, "ann", "cid", "--json").json
    assert found["reasons"][0]["groundings"][0]["entities"] == ["ann", name, "cid"]


def test_escape_sequences_do_not_reach_the_terminal(small: Path, tmp_path: Path) -> None:
    facts = write(
        tmp_path / "names.tsv", [("ann", "knows", "\x1b[2J"), ("\x1b[2J", "knows", "cid")]
    )
    ended = hornbeam_("explain", "model.psl", "--facts", facts, "ann", "cid")
    assert "\x1b" not in ended.stdout
    assert "ann -knows-> \\x1b[2J -knows-> cid" in ended.stdout
