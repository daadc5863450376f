"""Links of a graph as queries: one entity of a link is given, the other is the answer.

Training queries are links of a *hidden fold*, a random part of all relations' links. All that a
ranking model sees (confidences, constants, ridge, features) is computed without the fold, and its
links are the queries to learn from. So training queries are like queries for missing links. Leaving
out one link at a time would not do: the number of remaining answers of its relation would reveal
the link. A link of a symmetric relation and its inverse are hidden together: where a link is
missing, its inverse is missing, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ids, Ints, pointers, ranges
from hornbeam.graph.link_hashes import LinkHash
from hornbeam.graphs.graph_settings import GraphPlan
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.rules.codes import is_inverse


class GroupedQueries(NamedTuple):
    """Queries by source: queries of source i ask for `answers[offsets[i]:offsets[i + 1]]`."""

    sources: Ids
    offsets: Ints
    answers: Ids

    @property
    def known(self) -> Ids:
        """The source of every query."""
        return np.repeat(self.sources, np.diff(self.offsets))

    def parts(self, most: int) -> Iterator[GroupedQueries]:
        """Split the queries into parts of at most `most` sources."""
        for low in range(0, len(self.sources), most):
            sources = self.sources[low : low + most]
            offsets = self.offsets[low : low + len(sources) + 1]
            answers = self.answers[offsets[0] : offsets[-1]]
            yield GroupedQueries(sources, offsets - offsets[0], answers)


QueriesByStep = Mapping[int, GroupedQueries]


def queries_along(graph: LinkedGraph, step: int) -> GroupedQueries:
    """All links along a step as queries."""
    links = graph.links
    sources, runs = graph.holders(step), graph.runs_along(step)
    low, high = links.run_start[runs], links.run_start[runs + 1]
    return GroupedQueries(sources, pointers(high - low), links.end[ranges(low, high)])


def sampled_links(
    graph: LinkedGraph, predicate: int, most: int | None, hashes: LinkHash
) -> tuple[Ids, Ids]:
    """Subjects and objects of a relation's links, or of a sample of at most `most` links."""
    rows = graph.rows_of(predicate)
    subject, object_ = graph.subject[rows], graph.object[rows]
    if most is not None:
        chosen = hashes.sample(subject, object_, most)
        subject, object_ = subject[chosen], object_[chosen]
    return subject, object_


def no_queries(sources: Ids) -> GroupedQueries:
    """Sources to find candidates for, without any answers to ask for."""
    return GroupedQueries(sources, np.zeros(len(sources) + 1, dtype=np.int64), sources[:0])


def queries_of_links(step: int, subject: Ids, object_: Ids) -> GroupedQueries:
    """Links of a step's relation as queries along the step, grouped by source, ascending."""
    known, answer = (object_, subject) if is_inverse(step) else (subject, object_)
    order = np.lexsort((answer, known))
    known, answer = known[order], answer[order]
    sources, counts = np.unique(known, return_counts=True)
    return GroupedQueries(sources, pointers(counts), answer)


def folds_of(graph: LinkedGraph, plan: GraphPlan) -> Ints:
    """The fold of every link, which depends on its ids, the plan and no other links."""
    fold = np.empty(len(graph), dtype=np.int64)
    for predicate in range(graph.n_predicates):
        rows = graph.rows_of(predicate)
        number = LinkHash.of_fold(plan.seed, predicate, plan.canonical)
        fold[rows] = number.of_links(graph.subject[rows], graph.object[rows]) % plan.extent.folds
    return fold


def hidden_folds(graph: LinkedGraph, plan: GraphPlan) -> Iterator[tuple[LinkedGraph, LinkedGraph]]:
    """Per fold that the plan hides: the graph without the fold, and the fold alone."""
    fold = folds_of(graph, plan)
    for number in range(plan.extent.hidden):
        yield graph.select(fold != number), graph.select(fold == number)
