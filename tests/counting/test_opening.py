"""Engines by name, engines from outside the package, and what is refused to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.arrays import Ids
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.opening import open_engine, open_in_memory
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import RuleLimits

ROWS = [
    *((f"a{i}", "p", f"b{i % 5}") for i in range(30)),
    *((f"b{i}", "q", f"c{i % 2}") for i in range(5)),
    *((f"a{i}", "t", f"c{i % 5 % 2}") for i in range(0, 30, 3)),
]
FACTS = hb.read_facts(ROWS)
LABELS = hb.read_labels(
    [
        (f"a{i}", "t", f"c{c}", float(c == i % 5 % 2))
        for i in range(30)
        for c in range(2)
        if i % 3 or c != i % 5 % 2
    ]
)


@dataclass(frozen=True, eq=False)
class OtherEngine:
    """An engine of another package, as docs/adding-an-engine.md has it: here, a memory engine's."""

    inner: MemoryEngine
    in_memory: bool
    opened: list[Facts] = field(default_factory=list)

    @property
    def facts(self) -> Facts | None:
        return self.inner.facts if self.in_memory else None

    def over(self, facts: Facts) -> OtherEngine:
        assert self.in_memory, "not asked of an engine whose facts are somewhere else"
        self.opened.append(facts)
        return OtherEngine(self.inner.over(facts), True)

    @property
    def predicates(self) -> Names:
        return self.inner.predicates

    @property
    def not_binary(self) -> Mapping[str, int]:
        return self.inner.not_binary

    @property
    def numbers(self) -> Numbers:
        return self.inner.numbers

    def locate(self, names: Names) -> Ids:
        return self.inner.locate(names)

    def discover(
        self,
        targets: Targets,
        language: RuleLimits,
        *,
        statistics: bool = True,
        progress: Progress = SILENT,
    ) -> Discovery:
        return self.inner.discover(targets, language, statistics=statistics, progress=progress)

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        return self.inner.count(targets, bodies, language, progress=progress)


@cache
def in_memory_model() -> hb.Model:
    """What other engines must learn, too; no test changes it."""
    return hb.learn(FACTS, LABELS, seed=1)


def other_engine(in_memory: bool) -> OtherEngine:
    return OtherEngine(open_in_memory(FACTS, 1), in_memory)


@pytest.mark.parametrize("in_memory", [True, False])
def test_an_engine_from_outside_learns_and_scores(in_memory: bool) -> None:
    engine: Engine = other_engine(in_memory)
    assert open_engine(engine, "duckdb") is engine
    model = in_memory_model()
    assert hb.learn(engine, LABELS, seed=1) == model
    scores = model.predict(engine, LABELS)["score"]
    np.testing.assert_array_equal(scores, model.predict(FACTS, LABELS)["score"])
    assert model.evaluate(engine, LABELS) == model.evaluate(FACTS, LABELS)


@pytest.mark.slow
def test_an_engine_from_outside_has_other_facts_by_itself() -> None:
    engine = other_engine(in_memory=True)
    model = hb.learn(engine, LABELS, cross_evidence=True, seed=1)
    assert model == hb.learn(FACTS, LABELS, cross_evidence=True, seed=1)
    assert hb.learn(engine, target="t", seed=1) == hb.learn(FACTS, target="t", seed=1)
    assert engine.opened


def test_what_an_engine_cannot_is_refused() -> None:
    elsewhere, held = other_engine(in_memory=False), other_engine(in_memory=True)
    with pytest.raises(InputError, match="hides facts by folds and needs them in memory"):
        hb.learn(elsewhere, LABELS, cross_evidence=True)
    with pytest.raises(InputError, match="samples no negatives: give `labels`"):
        hb.learn(elsewhere, target="t")
    for engine in (elsewhere, held):
        for method in (True, "map"):
            with pytest.raises(InputError, match='run on facts in memory: use `engine="memory"`'):
                hb.learn(engine, LABELS, collective=method)
    with pytest.raises(InputError, match='run on facts in memory: use `engine="memory"`'):
        hb.learn(FACTS, LABELS, collective=True, engine="duckdb")
    with hb.open_duckdb(ROWS) as opened, pytest.raises(InputError, match="opened over others"):
        opened.over(FACTS)


def test_an_engine_in_memory_stands_for_its_facts() -> None:
    engine, other = open_in_memory(FACTS, 1), other_engine(in_memory=True)
    assert open_in_memory(engine) is engine
    assert open_in_memory(other).facts.atoms is FACTS.atoms
    model, pair = in_memory_model(), ("a1", "c1")
    assert model.explain(other, pair) == model.explain(FACTS, pair)
    assert model.propose(engine, top=5).dicts() == model.propose(FACTS, top=5).dicts()


NEED_MEMORY: dict[str, Callable[[Engine], object]] = {
    "explain": lambda engine: in_memory_model().explain(engine, ("a1", "c1")),
    "rank": lambda engine: in_memory_model().rank(engine, [("a1", "t", "?")]),
    "propose": lambda engine: in_memory_model().propose(engine),
    "map_state": lambda engine: in_memory_model().map_state(engine, [("a1", "t", "c1")]),
    "report": lambda engine: in_memory_model().report(engine),
    "cross_validate": lambda engine: hb.cross_validate(engine, LABELS, ["joint"]),
    "explain a graph": lambda engine: hb.learn_graph(FACTS).explain(engine, ("a1", "t", "c1")),
}


@pytest.mark.parametrize("work", NEED_MEMORY)
def test_facts_elsewhere_are_refused_with_what_to_give(work: str) -> None:
    expected = "the open engine has them somewhere else: give the facts themselves"
    with hb.open_duckdb(ROWS) as engine, pytest.raises(InputError, match=expected):
        NEED_MEMORY[work](engine)


def test_new_links_may_be_counted_by_another_engine() -> None:
    model = in_memory_model()
    expected = model.propose(FACTS, top=5)
    found = model.propose(FACTS, top=5, engine="duckdb")
    assert found.dicts() == expected.dicts()


def test_only_predicates_that_no_fact_has_are_unknown_to_exclude() -> None:
    hb.counting.discover(FACTS, LABELS, RuleLimits(exclude=("p",)))  # warnings are errors here
    with pytest.warns(HornbeamWarning, match="no fact has the predicate 'r'"):
        hb.counting.discover(FACTS, LABELS, RuleLimits(exclude=("p", "r")))
