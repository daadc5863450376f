"""Rules with constants, t(X, c) <- s(X, d) and t(X, c) <- s(X, _), and frequent answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Ints, ranges, run_starts
from hornbeam.graphs.constant_kernels import (
    MIN_CONFIDENCE,
    PER_RULE,
    common_properties,
    count_constants,
    count_open,
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

    def and_then(self, others: ConstantRules) -> ConstantRules:
        """The rules followed by `others`, whose properties have higher numbers."""
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


def any_entity_rules(graph: LinkedGraph, step: int) -> ConstantRules:
    """Count rules t(X, c) <- s(X, _) of a step, exactly; keep rules above the thresholds."""
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
    count = count_open.for_size(len(graph), WORTH_COMPILING)
    rules = count(
        graph.links, step, queries.offsets, number[queries.answers], reach[order],
        graph.step_limit, *_counters(len(answers)),
    )  # fmt: skip
    return ConstantRules.of(step, rules, answers[order])


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
