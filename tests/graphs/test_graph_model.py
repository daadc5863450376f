"""The text of a model of a graph: read again it is the same, whatever the names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.errors import DataError
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.graph_text import BEST
from hornbeam.graphs.ranking_model import (
    Calibration,
    LinkedShares,
    RelationRules,
)
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.rules.rule_model import CountedRule
from tests.support.graph_rules import constant_rule, path_rule

names = st.one_of(
    st.sampled_from(["X", "Y", "A", "_", "<-", "#", '"', "a b", "p(X, Y)", "queries", "ü/.", "\\"]),
    st.text(
        st.characters(exclude_characters="\t\r\n\0", exclude_categories=["Cs"]),
        min_size=1, max_size=8,
    ),
)  # fmt: skip
floats = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 10**9)
a_step = st.builds(Step, names, st.booleans())
own_weights = st.floats(-MAX_NUMBER, MAX_NUMBER)


@st.composite
def sections(draw: st.DrawFn) -> RelationRules:
    relation, direction = draw(names), draw(st.sampled_from(Direction))
    paths = [
        path_rule(relation, direction, path, draw(counts), draw(counts), weight)
        for path, weight in draw(
            st.lists(st.tuples(st.lists(a_step, min_size=1, max_size=5), own_weights), max_size=4)
        )
    ]
    constants = [
        constant_rule(relation, direction, *about, draw(counts), draw(counts))
        for about in draw(st.lists(st.tuples(a_step, st.none() | names, names), max_size=4))
    ]
    paths *= draw(st.sampled_from([1, 1, 9]))  # more than stand in the first section
    weights = draw(st.none() | st.tuples(floats, floats))
    queries = draw(counts)
    parts = tuple(draw(st.dictionaries(names, floats, max_size=2)).items())
    return RelationRules(
        relation,
        direction,
        queries,
        tuple(paths),
        tuple(constants),
        weights,
        parts,
        draw(st.booleans()),
    )


models = st.builds(
    GraphModel,
    st.lists(sections(), max_size=4, unique_by=lambda one: (one.relation, one.direction)).map(
        tuple
    ),
    st.just(("path_best", "ridge_sum")),
    st.tuples(floats, floats),
    st.none() | floats,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    counts,
    st.integers(1, 5),
    st.builds(Calibration, floats, floats),
    st.builds(LinkedShares, floats, st.none() | floats),
    counts,
    st.dictionaries(names, st.one_of(floats, counts, names, st.none()), max_size=3),
)


@given(models)
def test_reading_what_was_written_gives_the_same(model: GraphModel) -> None:
    text = model.text
    again = GraphModel.parse(text)
    assert again == model
    assert again.text == text
    # a comment of several lines, behind which every rule is parsed by itself
    assert GraphModel.parse(text.replace("\n", "\n/* all\nrules */\n", 1)) == model


def a_model() -> GraphModel:
    asked = ("lives_in", Direction.OBJECT)
    rule = path_rule(*asked, (Step("born in"), Step("part_of")), 3, 4, 0.5)
    constant = constant_rule(*asked, Step("speaks"), "Greek", "Athens", 2, 2)
    section = RelationRules("lives_in", Direction.OBJECT, 7, (rule,), (constant,))
    return GraphModel(
        (section,), ("best",), (1.0,), None, True, True, True, 100, 2, Calibration(),
        LinkedShares(0.5),
    )  # fmt: skip


def test_weights_go_by_their_names() -> None:
    """Whoever edits the text may put them in any order, and must leave none out."""
    model = a_model()
    section = replace(model.relations[0], weights=(0.25, -1.0))
    model = replace(
        model, features=("path_best", "ridge_sum"), weights=(1.0, 2.0), relations=(section,)
    )
    text = model.text
    inverse_code = text.replace(
        '{"path_best": 0.25, "ridge_sum": -1.0}', '{"ridge_sum": -1.0, "path_best": 0.25}'
    )
    assert inverse_code != text
    assert GraphModel.parse(inverse_code) == model
    with pytest.raises(DataError, match="expected weights of path_best, ridge_sum"):
        GraphModel.parse(text.replace(', "ridge_sum": -1.0}', "}"))


def test_people_can_read_it() -> None:
    text = a_model().text
    assert '"predicates": {"born_in": "born in"}' in text
    assert '\n## lives_in(X, Y), Y is asked for: {"queries": 7}\n' in text
    rule = "0.3333: born_in(X, A) & part_of(A, Y) -> lives_in(X, Y) [3 of 4, weight 0.5]"
    assert f"\n{rule}\n" in text
    assert "\n0.2857: speaks(X, 'Greek') -> lives_in(X, 'Athens') [2 of 2]\n" in text
    measured = replace(a_model(), chosen={"held_out": "valid", "held_out_mrr": 0.25})
    assert "\n# MRR 0.250 on facts of valid, " in measured.text


def test_the_best_rules_and_what_they_are_worth_come_first() -> None:
    """Weights of the ranking and the other rules follow; reading puts both together again."""
    model, [section] = a_model(), a_model().relations
    clause = section.rules[0].clause
    rules = tuple(CountedRule.of(clause, hits, 40) for hits in range(BEST + 3, 0, -1))
    parts = (("paths", 1.5), ("how common the answer is", 0.5), ("all rules", -0.25))
    model = replace(model, relations=(replace(section, rules=rules, weights=(0.5,), parts=parts),))
    first, further = model.text.split("# The rest is less to read")
    assert "# It rests on paths (75 %), how common the answer is (25 %).\n" in first
    assert first.count("born_in(X, A)") == BEST
    assert "# 3 further path rules stand below.\n" in first
    assert '## lives_in(X, Y), Y is asked for, further: {"weights": {"best": 0.5}}\n' in further
    assert further.count("born_in(X, A)") == 3
    assert GraphModel.parse(model.text) == model
    head = "## lives_in(X, Y), Y is asked for"
    with pytest.raises(DataError, match="'lives_in' has a section already, in this direction"):
        GraphModel.parse(model.text.replace(f"{head}, further: {{", f'{head}: {{"queries": 3, '))
    with pytest.raises(DataError, match="line 6: 'lives_in' has no section before"):
        GraphModel.parse(model.text.replace(f"{head}:", f"{head}, further:"))


def test_a_notebook_shows_the_surest_rules_by_identifiers() -> None:
    section = replace(a_model().relations[0], relation="<b>")
    empty = replace(section, direction=Direction.SUBJECT, rules=())
    shown = replace(a_model(), relations=(section, empty))._repr_html_()
    assert "<td" in shown
    assert "part_of(A, Y)" in shown
    assert "<b>" not in shown
    assert GraphModel((), *list(vars(a_model()).values())[1:])._repr_html_()


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "graph.hornbeam"
    a_model().save(path)
    assert GraphModel.load(path) == a_model()
    with pytest.raises(DataError, match="cannot be read"):
        GraphModel.load(tmp_path / "none")


def test_a_model_of_the_other_kind_says_what_opens_it(tmp_path: Path) -> None:
    graph, rules = tmp_path / "graph.hornbeam", tmp_path / "rules.psl"
    a_model().save(graph)
    model = hb.Model.parse("1.0: p(A, B) -> t(A, B)\n")
    model.save(rules)
    with pytest.raises(DataError, match=r"open it with `hornbeam.load`"):
        hb.Model.load(graph)
    with pytest.raises(DataError, match=r"open it with `hornbeam.GraphModel.parse`"):
        hb.Model.parse(a_model().text)
    with pytest.raises(DataError, match=r"rules of targets: `hornbeam.Model.load`"):
        GraphModel.load(rules)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: "1.0: p(A, B)", "is not a model of a graph"),
        (lambda text: text.replace('"format": 3', '"format": 9'), "has format 9"),
        (lambda text: text.replace('"pool"', '"pond"'), "damaged header"),
        (lambda text: text.replace("->", "<-"), "line 7"),
        (lambda text: text.replace('"queries": 7', '"queries": "many"'), "line 6"),
        (lambda text: text.replace('"queries": 7', '"queries": 7_0'), "line 6"),
        (lambda text: text.replace('"queries": 7', '"queries": 7.5'), "line 6"),
        (lambda text: text.replace("(X, Y), Y is", "(X, X), Y is"), "line 6: .* a section"),
        (lambda text: text.replace("weight 0.5", "weight nan"), "line 7"),
        (lambda text: text.replace("## ", "# "), "line 7, .* expected a line `## relation"),
        (lambda text: text.replace(" [3 of 4, weight 0.5]", ""), "line 7, .* nothing was counted"),
        (lambda text: text.replace("[3 of 4", "[log] [3 of 4"), "line 7, .* no brackets but"),
        (
            lambda text: text.replace("born_in(X, A)", "born_in(X, A, B)"),
            "line 7, .* two arguments",
        ),
        (
            lambda text: text.replace("part_of(A, Y)", "part_of(Y, B)"),
            "line 7, .* expected one atom",
        ),
        (lambda text: text.replace("part_of(A, Y) ->", "part_of(A, Y) -> !"), "line 7, "),
        (lambda text: text.replace("-> lives_in", "-> works_in"), "line 7, .* not that of its sec"),
        (lambda text: text.replace("(X, 'Athens')", "('Athens', X)"), "line 8, .* entity for Y"),
        (lambda text: text.replace("(X, 'Athens')", "(X, Y)"), "line 8, "),
    ],
)
def test_a_damaged_text_is_told_with_its_line(damage, told) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    with pytest.raises(DataError, match=told):
        GraphModel.parse(damage(a_model().text), "m")


def test_a_text_that_was_cut_off_anywhere_is_refused() -> None:
    text = a_model().text
    for size in range(len(text) - 1):
        with pytest.raises(DataError):
            GraphModel.parse(text[:size], "m")


FORMAT_1 = """
## lives_in(X, Y), Y is asked for
queries\t7
0.3333\t3\t4\t0.5\tlives_in(X, Y) <- "born in"(X, A), part_of(A, Y)
0.2857\t2\t2\tlives_in(X, "Athens") <- speaks(X, "Greek")
"""


@pytest.mark.parametrize("ended", [False, True])
def test_models_of_format_1_are_the_same(ended: bool) -> None:
    """Those of the first versions have no last line."""
    header = a_model().text.split("\n")[0].replace('"format": 3', '"format": 1')
    header = header.replace(', "predicates": {"born_in": "born in"}', "")
    text = header + FORMAT_1 + "\n# end\n" if ended else header.replace(', "end": "# end"', "")
    text += "" if ended else FORMAT_1
    assert GraphModel.parse(text) == a_model()
    with pytest.raises(DataError, match="line 4: cannot be read as part of a model"):
        GraphModel.parse(text.replace("<-", "->"))
    with pytest.raises(DataError, match="line 3: cannot be read as part of a model"):
        GraphModel.parse(text.replace("queries\t7", "queries\t7_0"))
