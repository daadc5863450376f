"""Rules with constants, t(X, c) <- s(X, d) and t(X, c) <- s(X, _), and frequent answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.arrays import Floats, Ids, Ints, run_starts
from hornbeam.graphs.constant_kernels import count_constants
from hornbeam.graphs.linked_graph import WORTH_COMPILING, LinkedGraph
from hornbeam.graphs.path_rules import SMOOTHING

#: A rule needs so many hits and this confidence.
LEAST_HITS, LEAST_CONFIDENCE = 2, 0.005
#: So many of a step's most frequent answers are candidates of every query.
FREQUENT = 50


class ConstantTable(NamedTuple):
    """Rules by property: those of `property[i]` stand from `start[i]` to `start[i + 1]`."""

    property: Ints
    start: Ints
    answer: Ids
    confidence: Floats
    loss: Floats


@dataclass(frozen=True, eq=False)
class ConstantRules:
    """Rules of one step by number of property (`hornbeam.graphs.linked_graph`) and answer."""

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
        """The rules as kernels look them up."""
        starts = run_starts(self.property) if len(self) else np.empty(0, dtype=np.int64)
        return ConstantTable(
            self.property[starts],
            np.append(starts, len(self)).astype(np.int64),
            self.answer,
            self.confidence,
            -np.log1p(-self.confidence),
        )

    @classmethod
    def none(cls, step: int) -> ConstantRules:
        """No rules."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(step, nothing, nothing.astype(np.int32), nothing, nothing)


def constant_rules(graph: LinkedGraph, step: int, sources: Ids | None = None) -> ConstantRules:
    """Count rules with constants of a step, exactly; keep those above the thresholds.

    All of them, or those that speak about some `sources`: a query needs few of many.
    """
    about = graph.holders(step) if sources is None else sources
    count = count_constants.for_size(len(graph), WORTH_COMPILING)
    found = count(
        graph.links, step, about, graph.n_entities, graph.step_limit, SMOOTHING, LEAST_HITS,
        LEAST_CONFIDENCE,
    )  # fmt: skip
    return ConstantRules(step, *found)


class Priors(NamedTuple):
    """Frequent answers, and the logarithm of every entity's frequency among a step's answers.

    `log_share` has one further element: that of an entity that never is an answer.
    """

    frequent: Ids
    log_share: Floats


def priors(graph: LinkedGraph, step: int) -> Priors:
    """Count the answers of a step; half a link is added to every entity."""
    links = graph.links
    inverse = step ^ 1
    entities = graph.holders(inverse)
    runs = graph.run_of(entities, inverse)
    counts = links.run_start[runs + 1] - links.run_start[runs]
    total = counts.sum() + 1.0
    share = np.full(graph.n_entities + 1, np.log(0.5 / total))
    share[entities] = np.log((counts + 0.5) / total)
    best = np.argsort(-counts, kind="stable")[:FREQUENT]
    return Priors(entities[best], share)
