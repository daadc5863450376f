"""What does not change is made once: graphs, what a fan-out limit leaves of them, translations."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod
from hornbeam.base.progress import SILENT, Progress, Silent
from hornbeam.counting.collective.believed_pairs import BelievedPairs
from hornbeam.counting.memory import memory_engine, shares
from hornbeam.counting.memory.conditions import unary_facts
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.memory.parallel import SpareWorkers
from hornbeam.counting.memory.search import ROOM_STEPS
from hornbeam.counting.opening import open_engine
from hornbeam.counting.sql.duckdb_engine import DuckDB
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts
from hornbeam.graph.adjacency import Adjacency, Graph
from hornbeam.graphs import graph_evidence
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.codes import path_codes
from hornbeam.scoring import model_checks
from hornbeam.scoring.independent_scores import RuleLayout
from hornbeam.scoring.scored_links import scored_batches
from hornbeam.serve.edits import NO_EDITS
from hornbeam.serve.pair_explorers import open_rule_explorer
from tests.support.dense_counts import dense
from tests.support.servers import GRAPH_FACTS, graph_model
from tests.support.worlds import wide_facts

FACTS = hb.read_facts(
    [
        *((f"a{i}", "p", f"b{i % 4}") for i in range(12)),
        *((f"b{i}", "q", f"c{i % 2}") for i in range(4)),
        ("a0", "t", "c0"),
    ]
)
PAIRS = hb.read_pairs([(f"a{i}", "t", f"c{k}") for i in range(12) for k in range(2)])
PLAIN = hb.Model.parse("2: p(A, B) & q(B, C) -> t(A, C)\n1: !t(A, B)\n")
LIMITED = replace(PLAIN, semantics=replace(PLAIN.semantics, max_fanout=5))
SHARES = hb.Model.parse("2: p(A, B) & q(B, C) -> t(A, C)  [share / 0.1]\n1: !t(A, B)\n")
BELIEVED = Body((Step("p"), Step("p", inverse=True), Step("believed_t")), "t")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What graphs were made, in order: whole ones, and those under a limit."""
    found, of, limited = list[str](), Graph.of, Graph.limited
    FACTS.kept.clear()

    def told_of(facts: hb.Facts) -> Graph:
        found.append("whole")
        return of(facts)

    def told_limited(graph: Graph, limit: int | None) -> Graph:
        found.append(f"limit {limit}")
        return limited(graph, limit)

    monkeypatch.setattr(Graph, "of", told_of)
    monkeypatch.setattr(Graph, "limited", told_limited)
    return found


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[Names]:
    """The tables of names that were translated to others, in order."""
    found, translate = list[Names](), Names.translate

    def told(names: Names, other: Names) -> object:
        found.append(names)
        return translate(names, other)

    monkeypatch.setattr(Names, "translate", told)
    return found


def times(names: Names, translated: list[Names]) -> int:
    return sum(one is names for one in translated)


@pytest.mark.parametrize("model", [PLAIN, LIMITED, SHARES], ids=["plain", "limited", "shares"])
def test_proposals_walk_the_graph_that_is_counted(model: hb.Model, made: list[str]) -> None:
    assert len(model.propose(FACTS, subjects=["a1", "a2"], threads=1))
    assert made == ["whole", f"limit {model.semantics.max_fanout}"]
    assert len(model.propose(FACTS, subjects=["a1"], threads=1))
    assert made == ["whole", f"limit {model.semantics.max_fanout}"]  # kept with the facts


def test_explanations_walk_the_graph_that_is_counted(made: list[str]) -> None:
    explainer = LIMITED.explainer(FACTS)
    for subject in ("a1", "a2"):
        explainer.explain(subject, "t", "c1", flip=False)
    assert made == ["whole", "limit 5"]


def test_all_of_the_explorer_has_one_graph(made: list[str]) -> None:
    explorer = open_rule_explorer(FACTS, LIMITED, pairs=PAIRS, threads=1)
    explorer.explain("a1", "t", "c1", NO_EDITS)
    explorer.ask("a1", "t", Direction.OBJECT, NO_EDITS, 3)
    assert made == ["whole", "limit 5"]


def test_the_methods_of_all_folds_over_one_set_of_facts_have_one_graph(made: list[str]) -> None:
    facts = [(f"a{i}", "p", f"b{i}") for i in range(0, 60, 2)]
    labels = [(f"a{i}", "t", f"b{i}", (i + 1) % 2) for i in range(60)]
    hb.cross_validate(facts, labels, ["ppll", "joint"], folds=2)
    assert made.count("whole") == 1


def test_beliefs_are_laid_out_once(made: list[str]) -> None:
    beliefs = BelievedPairs(MemoryEngine(FACTS, 1), PAIRS, np.full(len(PAIRS), 0.5))
    for _ in range(3):
        beliefs.count(PAIRS, [*PLAIN.bodies, BELIEVED], RuleLimits())
    assert made.count("whole") == 3  # facts, facts and pairs, facts and beliefs


def test_an_explanation_walks_the_beliefs_that_are_counted(made: list[str]) -> None:
    semantics = replace(PLAIN.semantics, collective=CollectiveMethod.TWO_STEP)
    of_beliefs = hb.Model.parse("1: p(A, X) & p(Y, X) & believed_t(Y, B) -> t(A, B)\n")
    model = hb.Model((*of_beliefs.rules, *PLAIN.rules), semantics, PLAIN.rules)
    explainer = model.explainer(FACTS, PAIRS)
    for subject in ("a1", "a2"):
        assert explainer.explain(subject, "t", "c1").reasons
    assert made.count("whole") == 3


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_names_of_all_blocks_are_looked_up_once(engine: str, translated: list[Names]) -> None:
    opened = open_engine(FACTS, engine, 1)
    anchored = hb.Model.parse("1: p(A, 'b1') -> t(A, B)\n2: p(A, B) & q(B, C) -> t(A, C)\n")
    blocks = list(scored_batches(opened, anchored, PAIRS, block=7))
    assert len(blocks) > 3
    assert times(PAIRS.entities, translated) == 1
    opened.locate(PAIRS.entities)
    assert times(PAIRS.entities, translated) == 1
    others = hb.read_pairs([("a1", "t", "nobody")])
    assert opened.locate(others.entities).tolist() == [FACTS.entities.index("a1"), -1]
    assert opened.locate(PAIRS.entities).tolist() == FACTS.locate(PAIRS.entities).tolist()


def test_unary_facts_are_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # projections of the wide atom come before the unary predicate
    wide = {("asks", ("a1", "a2", "b1")): ONE, ("busy", ("a1",)): ONE, ("busy", ("b1",)): ONE}
    facts = wide_facts({("a2", "p", "b1"): ONE}, wide)
    engine, laid_out = MemoryEngine(facts, 1), list[hb.Facts]()

    def told(facts: hb.Facts) -> Adjacency:
        laid_out.append(facts)
        return unary_facts(facts)

    monkeypatch.setattr(memory_engine, "unary_facts", told)
    body = Body((Step("busy", arity=1),), "t", Kind.UNARY)
    for subject, expected in (("a1", 1), ("a2", 0)):
        pairs = hb.read_pairs([(subject, "t", "b1")])
        assert engine.count(pairs, [body], RuleLimits()).count.sum() == expected
    assert len(laid_out) == 1


def test_a_model_derives_from_its_rules_once() -> None:
    model = hb.Model(PLAIN.rules, PLAIN.semantics)
    for name in ("bodies", "language", "identifiers", "clause_texts"):
        assert getattr(model, name) is getattr(model, name)
    assert model == PLAIN
    assert pickle.loads(pickle.dumps(model)) == model
    assert not model.with_rules(model.rules[1:]).bodies
    assert replace(model, semantics=LIMITED.semantics).language.max_fanout == 5


def test_a_database_limits_its_facts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, created, create = open_engine(FACTS, "duckdb", 1), list[str](), DuckDB.create

    def told(database: DuckDB, table: str, select: str) -> None:
        created.append(table)
        create(database, table, select)

    monkeypatch.setattr(DuckDB, "create", told)
    for limit in (2, 5, 2, 5):
        counted = engine.count(PAIRS, PLAIN.bodies, RuleLimits(max_fanout=limit))
        expected = MemoryEngine(FACTS, 1).count(PAIRS, PLAIN.bodies, RuleLimits(max_fanout=limit))
        assert np.array_equal(dense(counted), dense(expected))
    assert [table for table in created if "wide" in table] == ["wide_2", "wide_5"]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_no_count_searches_the_table_of_predicates(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, searched, index = open_engine(FACTS, engine, 1), list[str](), Names.index

    def told(names: Names, text: str) -> int:
        searched.append(text)
        return index(names, text)

    monkeypatch.setattr(Names, "index", told)
    bodies = [*PLAIN.bodies, Body((Step("q"),), "t", Kind.OPEN, 0)]
    opened.count(PAIRS, bodies, RuleLimits(shares=True))
    assert {"p", "q"}.isdisjoint(searched)


def test_a_count_with_shares_has_the_codes_of_a_path_once(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = list[Body]()

    def told(body: Body, predicates: Names) -> list[int] | None:
        coded.append(body)
        return path_codes(body, predicates)

    monkeypatch.setattr(memory_engine, "path_codes", told)
    MemoryEngine(FACTS, 1).count(PAIRS, SHARES.bodies, RuleLimits(shares=True))
    assert coded == SHARES.bodies


def test_shares_are_counted_of_the_pairs_that_were_located(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine, asked, have = MemoryEngine(FACTS, 1), list[int](), Facts.have

    def told(*arguments: Any) -> object:  # noqa: ANN401
        asked.append(1)
        return have(*arguments)

    monkeypatch.setattr(Facts, "have", told)
    engine.count(PAIRS, SHARES.bodies, RuleLimits(shares=True))
    assert len(asked) == 1
    labels = hb.read_labels([("a1", "t", "c1", 1.0), ("a2", "t", "c1", 0.0)])
    engine.discover(labels, RuleLimits(2, 1, shares=True))
    assert len(asked) == 2


def spare_arrays(engine: MemoryEngine) -> int:
    return engine._spare._spare.qsize()


def count_once(engine: MemoryEngine, progress: Progress) -> None:
    engine.count(PAIRS, PLAIN.bodies, RuleLimits(), progress=progress)


def test_searches_hand_on_their_arrays() -> None:
    engine = MemoryEngine(FACTS, 1)
    for _ in range(3):
        count_once(engine, SILENT)
        assert spare_arrays(engine) == 1
    arrays = engine._spare.take()
    for unset in (arrays.near.slot, arrays.far.slot, arrays.numbers.pair):
        assert (unset == -1).all()
    assert not arrays.scratch.counts.any()
    assert not arrays.scratch.folded.any()
    assert spare_arrays(engine) == 0


def test_an_interrupted_search_keeps_its_arrays() -> None:
    """Its blocks may still be running."""

    class Interrupt(Silent):
        def advance(self, stage: str, done: int, total: int) -> None:
            raise KeyboardInterrupt

    engine = MemoryEngine(FACTS, 1)
    with pytest.raises(KeyboardInterrupt):
        count_once(engine, Interrupt())
    assert spare_arrays(engine) == 0


def test_nobody_has_arrays_that_another_has() -> None:
    spare = SpareWorkers(3)
    one, other = spare.take(), spare.take()
    assert one is not other
    spare.give_back(one)
    assert spare.take() is one


def test_arrays_that_have_grown_large_are_not_kept() -> None:
    spare = SpareWorkers(3)
    large = spare.take()
    large.grow(ROOM_STEPS, 1_000_000)
    assert large.grown_bytes > 16_000_000
    spare.give_back(large)
    assert spare.take() is not large


def calls_of(monkeypatch: pytest.MonkeyPatch, *functions: tuple[object, str]) -> dict[str, int]:
    """How often functions of modules are called from now on, by their names."""
    called = dict[str, int]()

    def counting(name: str, known: Callable[..., object]) -> Callable[..., object]:
        def told(*given: object) -> object:
            called[name] = called.get(name, 0) + 1
            return known(*given)

        return told

    for module, name in functions:
        monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    return called


def test_a_prepared_scorer_looks_at_its_rules_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their texts, codes and columns depend on the model and the facts, not on the pairs."""
    looked = calls_of(
        monkeypatch, (memory_engine, "path_codes"), (model_checks, "warn_of_missing_names")
    )
    scorer = SHARES.scorer(FACTS)
    first = np.asarray(scorer.predict(PAIRS))
    assert looked == {"path_codes": 1, "warn_of_missing_names": 1}
    assert np.asarray(scorer.predict(PAIRS)).tolist() == first.tolist()
    assert looked == {"path_codes": 1, "warn_of_missing_names": 1}
    assert RuleLayout.of(SHARES, SHARES.bodies) is RuleLayout.of(SHARES, SHARES.bodies)
    assert RuleLayout.of(SHARES, [*SHARES.bodies, BELIEVED]) is not RuleLayout.of(
        SHARES, SHARES.bodies
    )
    scorer.with_facts([("a0", "p", "b3")]).predict(PAIRS)
    assert looked["warn_of_missing_names"] == 2


def test_constants_of_the_same_facts_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By whichever ranker; other settings, and facts that grew, are counted by themselves."""
    counted = calls_of(monkeypatch, (graph_evidence, "any_entity_rules"))
    facts, model = hb.read_facts(GRAPH_FACTS), graph_model(None)
    relation = model.targets[0]
    triples = [(name, relation, facts.entities[0]) for name in facts.entities.take(range(1, 4))]
    first = model.predict(facts, triples)
    once = dict(counted)
    assert once
    again = model.predict(facts, triples)
    assert list(again.dicts()) == list(first.dicts())
    assert counted == once
    replace(model, constants=False).predict(facts, triples)
    assert counted == once, "no constants are asked for"
    new = (facts.entities[0], relation, "somebody new")
    grown, fresh = facts + hb.read_facts([new]), hb.read_facts([*facts, new])
    after, wanted = model.predict(grown, triples), model.predict(fresh, triples)
    assert list(after.dicts()) == list(wanted.dicts())
    assert counted != once


def test_hubs_at_either_end_of_paths_make_shares_worth_compiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every pair of a hub visits its links: `learn` did so for seconds in plain Python."""
    asked, known = list[bool](), shares.propagate

    class Told:
        def choose(self, work: int, limit: int) -> Callable[..., Any]:
            asked.append(work > limit)
            return known.interpreted

    monkeypatch.setattr(shares, "propagate", Told())
    links = [row for i in range(500) for row in ((f"a{i}", "p", f"b{i}"), (f"b{i}", "q", "hub"))]
    facts = hb.read_facts([*links, *((f"a{i}", "p", f"b{i + 1}") for i in range(499))])
    SHARES.predict(facts, [(f"a{i}", "t", "hub") for i in range(500)])
    mirrored = hb.Model.parse("2: p(C, B) & q(B, A) -> t(A, C)  [share / 0.1]\n1: !t(A, B)\n")
    mirrored.predict(facts, [("hub", "t", f"a{i}") for i in range(500)])
    SHARES.predict(FACTS, PAIRS)
    assert asked == [True, True, False]
