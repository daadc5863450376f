"""The same types decide for negatives, bodies, proposals and answers of both kinds of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.progress import SILENT
from hornbeam.counting import discover
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.negatives import with_negatives
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_scorer import new_facts
from hornbeam.graphs.graph_settings import GraphSettings
from hornbeam.graphs.memory_graph import MemoryGraph
from hornbeam.graphs.path_rules import path_table
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.rules.codes import is_inverse, step_code
from hornbeam.scoring.entity_proposals import EntityProposer
from tests.support.kernels import compiles

Pairs = set[tuple[str, str]]

#: Kinds of entities by the first letter of their ids: drugs, genes, diseases.
KINDS = {"d": "drug", "g": "gene", "s": "disease"}
SIZES = {"d": 16, "g": 6, "s": 8}
ENTITIES = [f"{letter}{k:02}" for letter, size in SIZES.items() for k in range(size)]
TYPES = {name: KINDS[name[0]] for name in ENTITIES}
ARGUMENTS = {
    "treats": ("drug", "disease"),
    "binds": ("drug", "gene"),
    "causes": ("gene", "disease"),
}
#: Drugs treat diseases. `near` leads from everything to everything, so that a rule about it
#: proposes genes and drugs as well.
ROWS = [
    *((f"d{i:02}", "treats", f"s{i % 4:02}") for i in range(12)),
    *((f"d{i:02}", "binds", f"g{i % 4:02}") for i in range(16)),
    *((f"g{g:02}", "causes", f"s{g:02}") for g in range(4)),
    *((name, "near", ENTITIES[(7 * k + j) % len(ENTITIES)])
      for k, name in enumerate(ENTITIES) for j in range(12)),
]  # fmt: skip
UNTYPED = hb.read_facts(ROWS)
RULES = "1.5: near(A, B) -> treats(A, B)\n1: !treats(A, B)\n"


def prefixed() -> hb.Facts:
    """The same facts with types in their ids, so that facts alone say what fits."""
    return hb.read_facts([(f"{TYPES[s]}::{s}", p, f"{TYPES[o]}::{o}") for s, p, o in ROWS])


#: Where types come from: facts, types of entities as by `names`, types given for arguments, too.
SOURCES: Mapping[str, Callable[[], hb.Facts]] = {
    "facts": prefixed,
    "names": lambda: UNTYPED.with_types(TYPES),
    "given": lambda: UNTYPED.with_types(TYPES, ARGUMENTS),
}


def linked(table: hb.ResultTable) -> Pairs:
    return set(zip(table["subject"], table["object"], strict=True))


def negatives(facts: hb.Facts) -> Pairs:
    rng = np.random.default_rng(0)
    sampling = "uniform" if facts.types.arguments else "typed"
    drawn = with_negatives(facts, ["treats"], 2.0, sampling, rng=rng)  # type: ignore[arg-type]
    return {row[0::2][:2] for row in drawn.select(~drawn.positive)}


def proposals(facts: hb.Facts) -> Pairs:
    return linked(hb.Model.parse(RULES).propose(facts, top=10_000))


def proposals_of_entities(facts: hb.Facts) -> Pairs:
    """What a page of the explorer shows of every entity."""
    model, engine, found = hb.Model.parse(RULES), MemoryEngine(facts, 1), Pairs()
    for near in (0, 1):
        proposer = EntityProposer(model, engine, "treats", ArgumentTypes(facts), near)
        for entity in range(len(facts.entities)):
            pairs, *_ = proposer.best(proposer.counted(entity), model.rules, 1000)
            found |= linked(pairs.to_table())
    return found


def queries(facts: hb.Facts) -> list[tuple[str, str, str]]:
    asked = [((e, "treats", "?"), ("?", "treats", e)) for e in facts.entities]
    return [query for both in asked for query in both]


def answers(facts: hb.Facts) -> Pairs:
    return linked(hb.Model.parse(RULES).rank(facts, queries(facts), top=1000))


def answers_of_a_graph(facts: hb.Facts) -> Pairs:
    return linked(hb.learn_graph(facts, max_length=1).rank(facts, queries(facts), top=1000))


def new_facts_of_a_graph(facts: hb.Facts) -> Pairs:
    ranker = MemoryRanker.of(hb.learn_graph(facts, max_length=1), facts)
    return linked(new_facts(ranker, relations=["treats"], top=1000))


def candidates_of_a_graph(facts: hb.Facts) -> Pairs:
    """The candidates of training queries, whose false ones are a graph's negatives."""
    graph = MemoryGraph.of(facts, GraphSettings())
    p, portion = graph.predicates.index("treats"), Portion(Workload(SILENT, "", None, 1), 1.0)
    steps = [step_code(p), step_code(p, inverse=True)]
    near = step_code(graph.predicates.index("near"))
    paths = {step: path_table([[near + k]], 1) for k, step in enumerate(steps)}
    asked = graph.sampled(steps, None, 0, 0)
    rules, found = graph.count(paths, asked, portion), Pairs()
    for pool in graph.pools(rules, asked, 1000, 0, portion):
        known = facts.entities.take(np.repeat(pool.source, np.diff(pool.offsets)))
        reached, inverse = facts.entities.take(pool.entity), bool(is_inverse(int(pool.step[0])))
        found |= set(zip(*((reached, known) if inverse else (known, reached)), strict=True))
        assert not pool.truth.all()
    return found


ROLES = [
    negatives, proposals, proposals_of_entities, answers,
    pytest.param(answers_of_a_graph, marks=[pytest.mark.slow, compiles]),
    pytest.param(new_facts_of_a_graph, marks=[pytest.mark.slow, compiles]),
    candidates_of_a_graph,
]  # fmt: skip


def wrong(pairs: Pairs) -> Pairs:
    """The pairs that are not of a drug and a disease."""
    ends = {pair: tuple(name.split("::")[-1][0] for name in pair) for pair in pairs}
    return {pair for pair, letters in ends.items() if letters != ("d", "s")}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("role", ROLES)
def test_only_pairs_that_fit(role: Callable[[hb.Facts], Pairs], source: str) -> None:
    found = role(SOURCES[source]())
    assert found
    assert not wrong(found)
    if source == "given":  # what is given goes beyond what facts have as subjects and objects
        assert {"s04", "s07"} & {object_ for _, object_ in found}


@pytest.mark.parametrize("role", [proposals, proposals_of_entities, answers, candidates_of_a_graph])
def test_without_types_others_come_too(role: Callable[[hb.Facts], Pairs]) -> None:
    """So it is the types that keep them out above."""
    assert wrong(role(UNTYPED))


#: A fact, or a label, that is against the given types, and what is said of it.
MISFIT = ("d01", "treats", "g05")
SAID = (
    r"`arguments`: 'd01' 'treats' 'g05' is among the facts or labels, and 'g05' has the type "
    r"'gene'; expected 'disease'$"
)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_other_types_are_refused(label: int) -> None:
    facts = SOURCES["given"]()
    labels = [("d02", "treats", "s05", 1), ("d03", "treats", "s06", 0), (*MISFIT, label)]
    for work in (hb.learn, discover):
        with pytest.raises(InputError, match=SAID):
            work(facts, labels)


def test_facts_of_other_types_are_refused_by_both_kinds_of_models() -> None:
    """A body with an atom that does not fit would have groundings by such facts alone."""
    facts = hb.read_facts([*ROWS, MISFIT]).with_types(TYPES, ARGUMENTS)
    labels = [("d02", "cures", "s05", 1), ("d03", "cures", "s06", 0)]
    works: list[Callable[[], object]] = [
        lambda: hb.learn(facts, labels),
        lambda: hb.learn(facts, target="treats"),
        lambda: with_negatives(facts, ["treats"], rng=np.random.default_rng(0)),
        lambda: hb.learn_graph(facts),
    ]
    for work in works:
        with pytest.raises(InputError, match=SAID):
            work()


def test_every_body_joins_entities_of_one_type() -> None:
    """Bodies whose atoms want entities of two types at one place are no candidates."""
    arguments = {**ARGUMENTS, "in": ("disease", "disease")}
    rows = [row for row in ROWS if row[1] != "near"]
    rows += [(f"s{k:02}", "in", f"s{k % 3:02}") for k in range(8)]
    facts = hb.read_facts(rows).with_types(TYPES, arguments)
    labels = [(f"d{i:02}", "cures", f"s{j:02}", int(i % 4 == j)) for i in range(16) for j in (0, 1)]
    found = discover(facts, labels, hb.RuleLimits(max_length=3, min_coverage=1)).candidates
    assert len(found) > 5
    for body in found.bodies:
        ends = [arguments[step.predicate][:: -1 if step.inverse else 1] for step in body.steps]
        assert (ends[0][0], ends[-1][1]) == ("drug", "disease")
        assert all(one[1] == other[0] for one, other in pairwise(ends)), body


def test_negatives_of_a_target_on_one_entity_are_of_the_given_type() -> None:
    facts = hb.read_facts([*ROWS, *((f"d{i:02}", "safe") for i in range(4))])
    for sampling in ("typed", "uniform"):
        typed = facts.with_types(TYPES, {"safe": ("drug",)})
        drawn = with_negatives(typed, ["safe"], 3, sampling, rng=np.random.default_rng(0))
        names = set(drawn.select(~drawn.positive).to_table()["subject"])
        assert names == {f"d{i:02}" for i in range(4, 16)}


def test_types_are_given_for_relations_that_there_are() -> None:
    facts = UNTYPED.with_types(TYPES, {"treat": ("drug", "disease")})
    with pytest.raises(InputError, match=r"the relation 'treat'\. Did you mean 'treats'\?$"):
        hb.learn(facts, target="treats")
    labels = [("d02", "cures", "s05", 1), ("d03", "cures", "s06", 0)]
    only_labels = UNTYPED.with_types(TYPES, {"cures": ("drug", "disease")})
    discover(only_labels, labels)
