"""Links of a graph as queries: the known entity of each is asked for the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hornbeam.arrays import Ids, Ints, pointers
from hornbeam.graphs.link_hashes import LinkHash
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.rules.codes import is_inverse, predicate_of


class Asked(NamedTuple):
    """Queries by source: those of source i ask for `answers[offsets[i]:offsets[i + 1]]`."""

    sources: Ids
    offsets: Ints
    answers: Ids

    @property
    def known(self) -> Ids:
        """The source of every query."""
        return np.repeat(self.sources, np.diff(self.offsets))


def asked_along(
    graph: LinkedGraph, step: int, most: int | None = None, draw: LinkHash | None = None
) -> Asked:
    """The links along a step as queries, at most so many drawn from them."""
    rows = np.flatnonzero(graph.predicate == predicate_of(step))
    if most is not None and draw is not None:
        rows = rows[draw.drawn(graph.subject[rows], graph.object[rows], most)]
    return asked_of(step, graph.subject[rows], graph.object[rows])


def unasked(sources: Ids) -> Asked:
    """Sources of queries whose answers are not known."""
    return Asked(sources, np.zeros(len(sources) + 1, dtype=np.int64), sources[:0])


def asked_of(step: int, subject: Ids, object_: Ids) -> Asked:
    """Links of a step's relation as queries along the step, by their sources, ascending."""
    known, answer = (object_, subject) if is_inverse(step) else (subject, object_)
    order = np.lexsort((answer, known))
    known, answer = known[order], answer[order]
    sources, counts = np.unique(known, return_counts=True)
    return Asked(sources, pointers(counts), answer)
