"""Every public entry takes files, frames, tuples and what was read before, with the same result."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import DataError, InputError, UnknownTargetError
from hornbeam.facts.reading.readers import as_facts, as_labels

FACTS = hb.read_facts(
    [(f"s{i}", "p", f"m{i % 5}") for i in range(30)]
    + [(f"m{i}", "q", f"o{i % 3}") for i in range(5)]
    + [(f"s{i}", "t", f"o{(i % 5) % 3}") for i in range(12)]
)
LABELS = hb.read_labels(
    [(f"s{i}", "t", f"o{k}", float(k == (i % 5) % 3)) for i in range(12, 30) for k in range(3)]
)

pytestmark = pytest.mark.xdist_group("inputs")  # one model for all


@cache
def model() -> hb.Model:
    """What is learned of them."""
    return hb.learn(FACTS, LABELS, seed=1)


def pairs_alone(table: hb.ResultTable) -> hb.ResultTable:
    """The table without its column of predicates."""
    return hb.ResultTable({name: table[name] for name in table.names if name != "predicate"})


def saved(table: hb.ResultTable, folder: Path, suffix: str) -> str:
    path = folder / f"table{len(list(folder.iterdir()))}.{suffix}"
    table.save(path)
    return str(path)


Form = Callable[[hb.ResultTable, Path], Any]
FORMS: dict[str, Form] = {
    "tsv": lambda table, folder: saved(table, folder, "tsv"),
    "list of files": lambda table, folder: [
        saved(table[:9], folder, "csv"), Path(saved(table[9:], folder, "parquet")),
    ],
    "pandas": lambda table, folder: table.to_pandas(),
    "polars": lambda table, folder: table.to_polars(),
    "arrow": lambda table, folder: table.to_arrow(),
    "list of frames": lambda table, folder: [table[:9].to_pandas(), table[9:].to_polars()],
    "tuples": lambda table, folder: list(table),
}  # fmt: skip


@pytest.mark.quick_cases(len(FORMS))
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_alike(form: str, tmp_path: Path) -> None:
    assert list(as_facts(FORMS[form](FACTS.to_table(), tmp_path))) == list(FACTS)
    assert list(as_labels(FORMS[form](LABELS.to_table(), tmp_path))) == list(LABELS)


@pytest.fixture(params=["tsv", "list of frames"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any]:
    """Facts and labels as one thing, and as several."""
    form = FORMS[request.param]
    return form(FACTS.to_table(), tmp_path), form(LABELS.to_table(), tmp_path)


@pytest.mark.slow
def test_every_entry(given: tuple[Any, Any], tmp_path: Path) -> None:
    facts, labels = given
    assert hb.learn(facts, labels, seed=1) == model()
    predicted = model().predict(facts, labels)
    assert list(predicted) == list(model().predict(FACTS, LABELS))
    assert model().evaluate(facts, labels) == model().evaluate(FACTS, LABELS)
    assert list(model().propose(facts)) == list(model().propose(FACTS))
    asked = [("s1", "t", "?"), ("?", "t", "o1")]
    assert list(model().rank(facts, asked)) == list(model().rank(FACTS, asked))
    assert model().explain(facts, ("s20", "o0")) == model().explain(FACTS, ("s20", "o0"))
    assert list(model().to_table(facts, labels)) == list(model().to_table(FACTS, LABELS))
    assert "<html" in model().report(facts, labels)
    assert model().export(facts, labels, tmp_path / "program").exists()
    assert len(hb.with_known(facts, labels)) == len(FACTS) + int(LABELS.positive.sum())
    found = hb.counting.discover(facts, labels).candidates
    assert list(found.to_table()) == list(hb.counting.discover(FACTS, LABELS).candidates.to_table())


@cache
def without_labels() -> tuple[hb.Model, hb.GraphModel]:
    """What is learned of the facts alone: of one relation, and of all."""
    return hb.learn(FACTS, target="t"), hb.learn_graph(FACTS, max_length=2)


@pytest.mark.slow
def test_learning_without_labels_and_of_graphs(given: tuple[Any, Any]) -> None:
    facts, labels = given
    graph = hb.learn_graph(facts, max_length=2)
    assert (hb.learn(facts, target="t"), graph) == without_labels()
    assert graph.to_table().names[:4] == ["relation", "direction", "kind", "rule"]
    why = graph.explain(facts, ("s20", "t", "o0")).to_table()
    assert set(why["asks"]) <= {"subject", "object"}
    ranks = model().evaluate_ranks(facts, hb.read_facts([r[:3] for r in LABELS if r[3]]))
    assert ranks.queries > 0
    [joint] = hb.cross_validate(facts, labels, folds=3)
    assert joint.figures("auc_roc") == [1.0, 1.0, 1.0]


@pytest.mark.slow
def test_pairs_need_no_predicate_where_there_is_one_target() -> None:
    pairs = pairs_alone(LABELS.to_table())
    assert list(model().predict(FACTS, pairs)) == list(model().predict(FACTS, LABELS))
    assert model().evaluate(FACTS, pairs) == model().evaluate(FACTS, LABELS)
    assert hb.learn(FACTS, pairs, target="t", seed=1) == model()
    two = hb.Model.parse("1: p(A, B) -> t(A, B)\n1: p(A, B) -> u(A, B)\n")
    with pytest.raises(DataError, match="or name the predicate of all: `target`"):
        two.predict(FACTS, pairs)


@pytest.mark.slow
def test_an_open_engine_is_evidence() -> None:
    with hb.open_duckdb(FACTS.to_table().to_pandas()) as engine:
        assert hb.learn(engine, LABELS, seed=1) == model()
        found = model().predict(engine, LABELS)
    np.testing.assert_allclose(found, model().predict(FACTS, LABELS), rtol=1e-9)


def test_a_model_is_what_its_text_says() -> None:
    assert hb.Model.parse(model().text) == model()
    assert hash(hb.Model.parse(model().text)) == hash(model())
    assert hb.Model.parse(model().text.replace("[log]", "[exists]")) != model()


def test_the_rules_as_a_table() -> None:
    table = model().to_table()
    assert table.names == ["rule", "words", "weight", "counts"]
    assert table["rule"].tolist() == model().clause_texts
    judged = model().to_table(FACTS, LABELS).to_pandas()
    prior = judged[judged["counts"] == ""].iloc[0]
    assert prior["coverage"] == len(LABELS)
    assert prior["precision"] == pytest.approx(2 / 3)


def test_an_explanation_as_a_table() -> None:
    why = model().explain(FACTS, ("s20", "o0"))
    assert repr(why) == str(why)
    assert "How the score adds up" in repr(why)
    table = why.to_table()
    figures = ["rule", "words", "weight", "count", "log_odds", "pull", "grounding"]
    assert table.names[: len(figures)] == figures
    odds = table["log_odds"].sum()
    assert 1 / (1 + np.exp(-odds)) == pytest.approx(why.score)


def test_mistakes_are_told_in_a_sentence() -> None:
    with pytest.raises(UnknownTargetError, match="'tt'; expected one of: 'p', 'q', 't'"):
        hb.learn(list(FACTS), target="tt")
    with pytest.raises(DataError, match="expected a path, a frame"):
        model().predict(5, LABELS)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"expected a list of tuples: \[\('s1', 't', 'o1'\)\]"):
        model().predict(FACTS, ("s1", "t", "o1"))
    with pytest.raises(DataError, match="no labels found; expected subject, predicate, object, l"):
        model().evaluate(FACTS, [("s1", "t", "o1")])
    with pytest.raises(InputError, match=r"expected a list: \['joint'\]"):
        hb.cross_validate(FACTS, LABELS, "joint")
