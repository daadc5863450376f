"""Rules with constants, t(X, c) <- s(X, d) and t(X, c) <- s(X, _), and frequent answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ids,
    Ints,
    Positions,
    pointers,
    ranges,
    run_starts,
)
from hornbeam.facts.growth import Growth
from hornbeam.graph.adjacency import moved_codes, new_edges
from hornbeam.graphs.constant_kernels import (
    MIN_CONFIDENCE,
    PER_RULE,
    common_properties,
    count_constants,
    count_open,
    list_by_step,
)
from hornbeam.graphs.grouped_queries import queries_along
from hornbeam.graphs.link_arrays import WORTH_COMPILING
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.rules.codes import inverse_code
from hornbeam.rules.rule_model import SMOOTHING

#: Number of a step's most frequent answers that are candidates of every query.
FREQUENT = 50


class ConstantTable(NamedTuple):
    """Rules by property: `property[i]` has the rules `start[i]` to `start[i + 1]`."""

    property: Ints
    start: Ints
    answer: Ids
    confidence: Floats
    loss: Floats


@dataclass(frozen=True, eq=False)
class ConstantRules:
    """Rules of one step: per rule its property (`hornbeam.graphs.linked_graph`), answer, counts."""

    step: int
    property: Ints
    answer: Ids
    hits: Ints
    predicted: Ints

    def __len__(self) -> int:
        return len(self.property)

    @cached_property
    def confidence(self) -> Floats:
        """Hits / (predicted + 5)."""
        return self.hits / (self.predicted + SMOOTHING)

    @cached_property
    def table(self) -> ConstantTable:
        """The rules in the form in which kernels look them up."""
        starts = run_starts(self.property) if len(self) else np.empty(0, dtype=np.int64)
        return ConstantTable(
            self.property[starts],
            np.append(starts, len(self)).astype(np.int64),
            self.answer,
            self.confidence,
            -np.log1p(-self.confidence),
        )

    @classmethod
    def of(cls, step: int, rules: Ints, answers: Ids | None = None) -> ConstantRules:
        """Rules from a kernel's numbers, whose answers are ids, or places in `answers` if given."""
        property_, answer, hits, predicted = rules.reshape(-1, PER_RULE).T.copy()
        ids = answer.astype(np.int32) if answers is None else answers[answer]
        return cls(step, property_, ids, hits, predicted)

    def select(self, rows: Bools | Positions) -> ConstantRules:
        """The rules at these rows, in their order."""
        return ConstantRules(
            self.step, self.property[rows], self.answer[rows], self.hits[rows], self.predicted[rows]
        )

    def and_then(self, others: ConstantRules) -> ConstantRules:
        """The rules followed by `others`."""
        names = ("property", "answer", "hits", "predicted")
        parts = (np.concatenate([getattr(self, name), getattr(others, name)]) for name in names)
        return ConstantRules(self.step, *parts)

    @classmethod
    def none(cls, step: int) -> ConstantRules:
        """No rules."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(step, nothing, nothing.astype(np.int32), nothing, nothing)


def constant_rules(graph: LinkedGraph, step: int, sources: Ids | None = None) -> ConstantRules:
    """Count rules t(X, c) <- s(X, d) of a step, exactly; keep rules above the thresholds.

    With `sources`, only rules that can fire for them are counted: a single query needs only a few.
    """
    links = graph.links
    if sources is None:
        times = np.zeros(len(links.run_step), dtype=np.int8)
        list_them = common_properties.for_size(len(graph), WORTH_COMPILING)
        listed = np.sort(list_them(links, step, times))
    else:
        first, last = links.first_run[sources], links.first_run[sources + 1]
        held = np.unique(links.property[ranges(links.run_start[first], links.run_start[last])])
        listed = held[links.run_start[held + 1] - links.run_start[held] > 1]
    run_of = np.full(graph.n_entities, -1, dtype=np.int32)
    run_of[graph.holders(step)] = graph.runs_along(step)
    count = count_constants.for_size(len(graph), WORTH_COMPILING)
    rules = count(links, step, run_of, listed.astype(np.int64), *_counters(graph.n_entities))
    return ConstantRules.of(step, rules)


def any_entity_rules(
    graph: LinkedGraph, step: int, before: ChangedRules | None = None
) -> ConstantRules:
    """Count rules t(X, c) <- s(X, _) of a step, exactly; keep rules above the thresholds.

    Of rules that were counted before the graph grew, only those of changed steps s are counted.
    """
    if before is not None and not len(before.steps):
        return before.rules
    queries = queries_along(graph, step)
    answers = graph.holders(inverse_code(step))
    # hits / (predicted + 5) is largest where all links to an answer are hits: an answer of f links
    # whose entities have o others reaches the least confidence c for f / c + o queries, less 5
    others = np.diff(queries.offsets) - 1
    most = np.bincount(queries.answers, 1 / MIN_CONFIDENCE + np.repeat(others, others + 1))
    reach = most[answers] * (1 + 1e-9) - SMOOTHING  # the sum may be a little too low
    order = np.argsort(-reach, kind="stable")
    number = np.empty(graph.n_entities, dtype=np.int32)
    number[answers[order]] = np.arange(len(answers))
    if before is None:
        list_them = list_by_step.for_size(len(graph), WORTH_COMPILING)
        listed = list_them(graph.links, step, graph.step_limit)
    else:
        listed = _listed_by_step(graph, queries.sources, before.steps)
    count = count_open.for_size(len(graph), WORTH_COMPILING)
    counted = count(
        *listed, step, queries.offsets, number[queries.answers], reach[order],
        len(graph.links.run_step), *_counters(len(answers)),
    )  # fmt: skip
    rules = ConstantRules.of(step, counted, answers[order])
    return rules if before is None else before.replaced_by(rules, len(graph.links.run_step))


def _listed_by_step(graph: LinkedGraph, sources: Ids, steps: Ints) -> tuple[Ints, Ids]:
    """What `list_by_step` returns, of some ascending steps only; `sources` have answers."""
    place = np.full(graph.n_entities, -1, dtype=np.int32)
    place[sources] = np.arange(len(sources))
    sizes, listed = np.zeros(graph.step_limit, dtype=np.int64), list[Ids]()
    for step in steps.tolist():
        places = place[graph.holders(step)]
        listed.append(places[places >= 0])
        sizes[step] = len(listed[-1])
    return pointers(sizes), np.concatenate(listed)


@dataclass(frozen=True, eq=False)
class ChangedRules:
    """Rules t(X, c) <- s(X, _) of a step t from before a growth, and the steps s that it changes.

    Numbers of steps, entities and properties are those after the growth.
    """

    rules: ConstantRules
    steps: Ints

    def grown(self, growth: Growth, before: LinkedGraph, graph: LinkedGraph) -> ChangedRules:
        """The same after a further growth, from one graph to the next.

        Rules of s change where an entity that has answers gets its first link along s, and where an
        entity that has links along s gets a new answer.
        """
        rules, codes = self.rules, moved_codes(growth).astype(np.int64)
        n_runs, n_before = len(graph.links.run_step), len(before.links.run_step)
        step = int(codes[rules.step])
        moved = ConstantRules(
            step,
            n_runs + codes[rules.property - n_before],
            growth.to_entity[rules.answer],
            rules.hits,
            rules.predicted,
        )
        node, added, _ = new_edges(growth)
        changed = set(codes[self.steps].tolist())
        for entity in np.unique(node).tolist():
            own = set(added[node == entity].tolist())
            runs = slice(*graph.links.first_run[entity : entity + 2].tolist())
            held = set(graph.links.run_step[runs].tolist())
            changed |= held if step in own else own if step in held else set()
        return ChangedRules(moved, np.array(sorted(changed), dtype=np.int64))

    def replaced_by(self, counted: ConstantRules, n_runs: int) -> ConstantRules:
        """The rules, with those that were counted again in the place of the old ones."""
        kept = self.rules.select(~np.isin(self.rules.property - n_runs, self.steps))
        both = kept.and_then(counted)
        return both.select(np.argsort(both.property, kind="stable"))


def _counters(n: int) -> tuple[Ints, Ints, Ids]:
    """Zeros for the hits and the others of every entity, and room for a list of all entities.

    Allocated here and not in the kernels: np.zeros costs nothing for pages that are never touched.
    """
    return np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.empty(n, dtype=np.int32)


class AnswerFrequencies(NamedTuple):
    """Frequent answers, and the logarithms of frequencies among a step's answers.

    `log_share[k]` is the log frequency of an entity that is the answer of k links.
    """

    frequent: Ids
    log_share: Floats


def answer_frequencies(graph: LinkedGraph, step: int) -> AnswerFrequencies:
    """Frequent answers and log frequencies of a step, smoothed by half a link per entity."""
    links = graph.links
    inverse = inverse_code(step)
    entities, runs = graph.holders(inverse), graph.runs_along(inverse)
    counts = links.run_start[runs + 1] - links.run_start[runs]
    times = np.arange(int(counts.max(initial=0)) + 1)
    best = np.argsort(-counts, kind="stable")[:FREQUENT]
    return AnswerFrequencies(entities[best], np.log((times + 0.5) / (counts.sum() + 1.0)))
