"""The text of a model of a graph: read again it is the same, whatever the names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.errors import DataError, OldNameWarning
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.ranking_model import (
    Calibration,
    ConstantRule,
    GraphRule,
    LinkedShares,
    RelationRules,
)
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step

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
path_rules = st.builds(
    GraphRule, st.lists(a_step, min_size=1, max_size=5).map(tuple), counts, counts, floats
)
constants = st.builds(ConstantRule, a_step, st.none() | names, names, counts, counts)
sections = st.builds(
    RelationRules,
    names,
    st.sampled_from(Direction),
    counts,
    st.lists(path_rules, max_size=4).map(tuple),
    st.lists(constants, max_size=4).map(tuple),
    st.none() | st.tuples(floats, floats),
)
models = st.builds(
    GraphModel,
    st.lists(sections, max_size=4).map(tuple),
    st.just(("path_best", "ridge_sum")),
    st.tuples(floats, floats),
    st.none() | floats,
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


def a_model() -> GraphModel:
    rule = GraphRule((Step("born in"), Step("part_of")), 3, 4, 0.5)
    constant = ConstantRule(Step("speaks"), "Greek", "Athens", 2, 2)
    section = RelationRules("lives_in", Direction.OBJECT, 7, (rule,), (constant,))
    return GraphModel(
        (section,), ("best",), (1.0,), None, True, True, 100, 2, Calibration(), LinkedShares(0.5)
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
    assert "\n## lives_in(X, Y), Y is asked for\n" in text
    assert '\n0.3333\t3\t4\t0.5\tlives_in(X, Y) <- "born in"(X, A), part_of(A, Y)\n' in text
    assert '\n0.2857\t2\t2\tlives_in(X, "Athens") <- speaks(X, "Greek")\n' in text


def test_a_notebook_shows_the_surest_rules_and_escapes_names() -> None:
    section = replace(a_model().relations[0], relation="<b>")
    empty = replace(section, direction=Direction.SUBJECT, rules=())
    shown = replace(a_model(), relations=(section, empty))._repr_html_()
    assert "<td" in shown
    assert "part_of(A, Y)" in shown
    assert "&lt;b&gt;" in shown
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
        (lambda text: text.replace('"format": 1', '"format": 9'), "has format 9"),
        (lambda text: text.replace('"pool"', '"pond"'), "damaged header"),
        (lambda text: text.replace("<-", "->"), "line 8"),
        (lambda text: text.replace("queries\t7", "queries\tmany"), "line 7"),
        (lambda text: text.replace("queries\t7", "queries\t7_0"), "line 7"),
        (lambda text: text.replace("\t0.5\t", "\tnan\t"), "line 8"),
        (lambda text: text.replace("## ", "# "), "line 7: .* expected a line ## relation"),
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


def test_models_from_before_there_was_a_last_line() -> None:
    text = a_model().text.replace(', "end": "# end"', "").removesuffix("\n# end\n")
    assert "# end" not in text
    assert GraphModel.parse(text) == a_model()


def test_old_names_of_the_text_work_and_warn() -> None:
    model = a_model()
    with pytest.warns(OldNameWarning, match=r"`GraphModel.to_text\(\)` is now `GraphModel.text`"):
        text = model.to_text()
    with pytest.warns(OldNameWarning, match="`GraphModel.from_text` is now `GraphModel.parse`"):
        assert GraphModel.from_text(text) == model
