"""Functional relations: along a step, an entity has one link at most.

A relation is functional in a direction if every known entity has one answer, and chance does not
explain that: if the n links of the relation had independent random sources among N entities, two
of them would have the same source n (n - 1) / (2 N) times on average. A relation of few links among
many entities is not called functional. Held-out facts refute it, too.

An entity that has its answer already gets no other, and is no answer in the inverse direction if it
has its only link. A ranking cannot learn this: its training queries are hidden links, and without
them an entity of a functional relation has no link. So a country with a known continent would get
the next best continent as confidently as one without.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.graph.link_hashes import COUNTING
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.ranking.queries import Triples
from hornbeam.rules.codes import is_inverse, predicate_of

#: Minimum number of pairs of links that had the same source if sources were random: with 10 of
#: them, all sources differ with a probability of 0.00005.
MIN_COINCIDENCES = 10.0


def functional_steps(
    graph: GraphCounter, steps: Sequence[int], held: Triples | None = None
) -> set[int]:
    """The steps along which an entity has one link at most, in the graph and with `held` facts."""
    links, holders = graph.links_by_predicate, graph.holders_by_step
    found = set[int]()
    for step in steps:
        n = int(links[predicate_of(step)])
        coincidences = n * (n - 1) / (2 * max(graph.size.entities, 1))
        if n == holders[step] and coincidences >= MIN_COINCIDENCES:
            found.add(step)
    return found if held is None else {step for step in found if not _refuted(graph, step, held)}


def _refuted(graph: GraphCounter, step: int, held: Triples) -> bool:
    """Whether an entity has several links along a step, in the graph and in `held` together."""
    of_relation = held.select(held.relation == predicate_of(step))
    sources = of_relation.object if is_inverse(step) else of_relation.subject
    if len(np.unique(sources)) < len(sources):
        return True
    known = graph.sampled([step], None, 0, COUNTING)[step].sources
    return bool(np.isin(sources, known).any())
