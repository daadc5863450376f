"""`hornbeam predict`: pairs keep their columns and order; new links are the best ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import hornbeam as hb
from tests.support.commands import COUNTRIES, EVIDENCE, TEST, hornbeam_, listing, write

PAIRS = ("--pairs", TEST[1])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model written by hand, and its facts."""
    folder = tmp_path_factory.mktemp("small")
    model = folder / "hand.psl"
    model.write_text("# by hand\n2: knows(A, B) & knows(B, C) -> trusts(A, C)\n1: !trusts(A, B)\n")
    rows = [("ann", "knows", "bob"), ("bob", "knows", "cid"), ("bob", "knows", "dot")]
    rows += [("ann", "trusts", "dot"), ("bob", "trusts", "ann")]
    return model, write(folder / "facts.tsv", rows)


@pytest.mark.slow
def test_the_pairs_columns_then_the_score(countries_model: Path) -> None:
    rows = hornbeam_("predict", countries_model, *EVIDENCE, *PAIRS).rows
    given = [line.split("\t") for line in TEST[1].read_text().splitlines()]
    assert [row[:3] for row in rows] == [row[:3] for row in given]
    scores = [float(row[3]) for row in rows]
    assert all(0 <= score <= 1 for score in scores)
    model = hb.Model.load(countries_model)
    facts = hb.read_facts(*(word for word in EVIDENCE if word != "--facts"))
    direct = model.predict(facts, hb.read_pairs(TEST[1]))["score"]
    assert scores == pytest.approx(direct.tolist(), rel=1e-5)
    found = hornbeam_("predict", countries_model, *EVIDENCE, *PAIRS, "--json").json["predictions"]
    assert [list(row) for row in found[:1]] == [["subject", "predicate", "object", "score"]]
    assert [row["score"] for row in found] == direct.tolist()


def test_order_and_repetitions_are_kept(tmp_path: Path, small: tuple[Path, Path]) -> None:
    model, facts = small
    given = [("bob", "trusts", "cid"), ("ann", "trusts", "cid"), ("ann", "trusts", "dot"),
             ("ann", "trusts", "cid"), ("zoe", "trusts", "ann")]  # fmt: skip
    rows = hornbeam_("predict", model, "--facts", facts,
                     "--pairs", write(tmp_path / "pairs.tsv", given)).rows  # fmt: skip
    assert [tuple(row[:3]) for row in rows] == given
    high, low = "0.731059", "0.268941"
    assert [row[3] for row in rows] == [low, high, high, high, low]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--top", "2"), "--top is for new links and for answers"),
        (("--subject", "ann"), "--subject is for new links"),
        (("--per-subject",), "--per-subject is for new links"),
        (("--target", "trusts"), "--target is for new links"),
    ],
)
def test_what_chooses_links_is_not_left_unheard_beside_pairs(
    tmp_path: Path, small: tuple[Path, Path], words: tuple[str, ...], message: str
) -> None:
    model, facts = small
    pairs = write(tmp_path / "pairs.tsv", [("ann", "trusts", "cid"), ("bob", "trusts", "cid")])
    told = hornbeam_("predict", model, "--facts", facts, "--pairs", pairs, *words)
    assert told.code == 2
    assert message in told.stderr


def test_a_query_of_what_no_rule_says_is_told(tmp_path: Path, small: tuple[Path, Path]) -> None:
    model, facts = small
    queries = write(tmp_path / "queries.tsv", [("ann", "knows", "?"), ("bob", "knows", "?")])
    told = hornbeam_("predict", model, "--facts", facts, "--queries", queries)
    assert (told.code, told.stdout) == (0, "")
    assert "the model has no rules for 'knows', of which 2 queries ask." in told.stderr


def test_a_rule_against_makes_no_link_be_proposed(tmp_path: Path) -> None:
    """The same links by `--top`, `--per-subject` and `--queries`, with and without that rule."""
    rows = [("a", "t", "b"), ("c", "t", "d"), ("a", "r", "e"), ("f", "r", "g"), ("a", "u")]
    queries = write(tmp_path / "queries.tsv", [("a", "t", "?"), ("?", "t", "d"), ("?", "t", "e")])
    given = ("--facts", write(tmp_path / "facts.tsv", rows[:4]),
             "--facts", write(tmp_path / "unary.tsv", rows[4:]))  # fmt: skip
    for against in ("", "0.1: r(A, B) -> !t(A, B)\n"):
        model = tmp_path / "model.psl"
        model.write_text(f"2: u(A) -> t(A, B)\n{against}1: !t(A, B)\n")
        for words in (("--top", "10"), ("--per-subject",), ("--queries", queries)):
            found = hornbeam_("predict", model, *given, *words).rows
            assert {(*row[:3], row[3]) for row in found} == {("a", "t", "d", "0.731059")}


@pytest.mark.slow
def test_a_fourth_column_of_pairs_is_ignored(tmp_path: Path, small: tuple[Path, Path]) -> None:
    model, facts = small
    with_label = write(tmp_path / "labelled.tsv", [("ann", "trusts", "cid", 0)])
    without = write(tmp_path / "bare.tsv", [("ann", "trusts", "cid")])
    one, other = (
        hornbeam_("predict", model, "--facts", facts, "--pairs", path)
        for path in (with_label, without)
    )
    assert one.rows == other.rows == [["ann", "trusts", "cid", "0.731059"]]


def test_the_map_state_on_demand(tmp_path: Path, small: tuple[Path, Path]) -> None:
    model, facts = small
    pairs = write(tmp_path / "pairs.tsv", [("ann", "trusts", "cid"), ("bob", "trusts", "cid")])
    rows = hornbeam_("predict", model, "--facts", facts, "--pairs", pairs, "--score", "map").rows
    assert [row[3] for row in rows] == ["1", "0"]


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_the_output_goes_to_a_file(
    tmp_path: Path, countries_model: Path, scratch: Path, as_json: tuple[str, ...]
) -> None:
    ended = hornbeam_(
        "predict", countries_model, *EVIDENCE, *PAIRS, "-o", tmp_path / "scores.tsv", *as_json
    )
    lines = (tmp_path / "scores.tsv").read_text().splitlines()
    assert len(lines) == 120
    assert all(line.count("\t") == 3 for line in lines)
    assert listing(tmp_path) == ["scores.tsv"]
    assert listing(scratch) == []
    if as_json:
        assert len(ended.json["predictions"]) == 120
    else:
        assert ended.stdout == ""


def test_new_links_are_proposed_without_pairs(small: tuple[Path, Path]) -> None:
    model, facts = small
    words = ("predict", model, "--facts", facts)
    # ann -> bob -> cid and dot; ann trusts dot already
    assert hornbeam_(*words).rows == [["ann", "trusts", "cid", "0.731059"]]
    nothing = hornbeam_(*words, "--subject", "bob")
    assert (nothing.code, nothing.stdout) == (0, "")
    assert nothing.told == ["No rule reaches a link that is not a fact already."]
    assert hornbeam_(*words, "--subject", "bob", "--json").json == {"predictions": []}
    assert hornbeam_(*words, "--score", "map").rows == [["ann", "trusts", "cid", "1"]]


@pytest.mark.slow
def test_top_counts_overall_or_for_every_subject(countries_model: Path) -> None:
    words = ("predict", countries_model, *EVIDENCE, "--json")
    overall = hornbeam_(*words, "--top", "7").json["predictions"]
    assert len(overall) == 7
    scores = [row["score"] for row in overall]
    assert scores == sorted(scores, reverse=True)
    everything = hornbeam_(*words, "--top", "100000").json["predictions"]
    assert everything[:7] == overall
    known = {tuple(line.split("\t")[::2]) for line in
             (COUNTRIES / "fold0" / "obs.tsv").read_text().splitlines()}  # fmt: skip
    assert not {(row["subject"], row["object"]) for row in everything} & known
    each = hornbeam_(*words, "--top", "1", "--per-subject").json["predictions"]
    assert [row["subject"] for row in each] == sorted({row["subject"] for row in everything})
    best: dict[str, dict[str, object]] = {}
    for row in everything:
        best.setdefault(row["subject"], row)
    assert {row["subject"]: row for row in each} == best


def test_unknown_predicates_warn_and_unseen_pairs_are_counted(
    tmp_path: Path, small: tuple[Path, Path]
) -> None:
    _, facts = small
    model = tmp_path / "model.psl"
    model.write_text("1: hates(A, B) -> !trusts(A, B)\n1: !trusts(A, B)\n")
    pairs = write(tmp_path / "pairs.tsv", [("ann", "trusts", "bob"), ("new", "trusts", "bob")])
    ended = hornbeam_("predict", model, "--facts", facts, "--pairs", pairs)
    assert ended.rows == [
        ["ann", "trusts", "bob", "0.268941"],
        ["new", "trusts", "bob", "0.268941"],
    ]
    warning, message = ended.told
    assert warning == (
        "hornbeam: warning: the facts have no predicate 'hates'; its rules have no groundings"
    )
    assert message == "1 pair names an entity that no fact has; it scores by the prior."
    quiet = hornbeam_("predict", model, "--facts", facts, "--pairs", pairs, "--quiet")
    assert "1 pairs" not in quiet.stderr


def test_mistyped_names_are_met_with_a_question(small: tuple[Path, Path]) -> None:
    model, facts = small
    ended = hornbeam_("predict", model, "--facts", facts, "--subject", "Anne")
    assert ended.code == 2
    assert "no fact has the subject 'Anne'" in ended.stderr
    assert "Did you mean 'ann'?" in ended.stderr
    ended = hornbeam_("predict", model, "--facts", facts, "--target", "trust")
    assert ended.code == 2
    assert "Did you mean 'trusts'?" in ended.stderr


@pytest.mark.parametrize("kind", ["tsv", "csv"])
def test_a_table_given_as_a_model_is_called_that(
    small: tuple[Path, Path], tmp_path: Path, kind: str
) -> None:
    table = tmp_path / f"facts.{kind}"
    table.write_text(small[1].read_text().replace("\t", "\t" if kind == "tsv" else ","))
    ended = hornbeam_("predict", table, "--facts", small[1])
    assert ended.code == 2
    assert f"line 1: looks like a table of facts ({kind.upper()})" in ended.stderr
