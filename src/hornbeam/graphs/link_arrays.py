"""The arrays of a graph's links, which kernels read: built from sorted links, and grown by a few.

What a step, a run and a property are, see `hornbeam.graphs.linked_graph`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import (
    Ids,
    Integers,
    Ints,
    begin_runs,
    lower_bounds,
    part_numbers,
    pointers,
    run_starts,
    spliced,
)
from hornbeam.facts.growth import Growth, numbers_before
from hornbeam.graph.adjacency import adjacency_of, list_properties, moved_codes, new_edges
from hornbeam.rules.codes import code_limit, inverse_code

#: Number of facts above which the loops over a graph are compiled.
WORTH_COMPILING = 100
#: Maximum entities times steps for a table of runs: as much as stays in the processor's cache.
MAX_TABLE_CELLS = 1_000_000


class LinkArrays(NamedTuple):
    """A graph as the arrays that kernels read.

    Entity v has the runs `first_run[v]` to `first_run[v + 1]`; run r walks the step `run_step[r]`
    from v to the entities `end[run_start[r]]` to `end[run_start[r + 1]]`. `property[i]` is the
    property that link i gives to the entity it starts from. The entities with runs of a step s are
    `holder[first_holder[s]]` to `holder[first_holder[s + 1]]`, and `holder_run` has these runs.
    `run_at[v, s]` is the run of v along s, or -1; the table is empty if it would be too large.

    Facts that grow copy these arrays, so that numbers have as few bytes as the graph allows.
    """

    first_run: Ints
    run_step: Integers
    run_start: Integers
    end: Ids
    property: Ids
    first_holder: Ints
    holder: Ids
    holder_run: Ids
    run_at: Ids

    @classmethod
    def of(
        cls, subject: Ids, predicate: Integers, object_: Ids, n_entities: int, n_predicates: int
    ) -> LinkArrays:
        """Sort links that are sorted by subject, predicate and object."""
        no_values, limit = np.empty(0, dtype=np.int32), code_limit(n_predicates)
        adjacency = adjacency_of(subject, predicate, object_, no_values, n_entities, n_predicates)
        start = part_numbers(adjacency.offsets)
        runs = run_starts(start, adjacency.code)
        run_entity, run_step = start[runs].astype(np.int32), adjacency.code[runs]
        first_run = pointers(np.bincount(run_entity, minlength=n_entities))
        by_step = np.argsort(run_step, kind="stable").astype(np.int32)
        property_ = np.empty(len(start), dtype=np.int32)
        list_properties.for_size(len(subject), WORTH_COMPILING)(
            first_run, run_step, adjacency.neighbour, adjacency.code, property_
        )
        return cls(
            first_run,
            run_step,
            np.append(runs, len(start)).astype(place_type(len(start))),
            adjacency.neighbour,
            property_,
            pointers(np.bincount(run_step, minlength=limit)),
            run_entity[by_step],
            by_step,
            _run_table(first_run, run_step, limit),
        )

    def entity_of(self, run: int) -> int:
        """The entity that a run belongs to."""
        return int(np.searchsorted(self.first_run, run, "right")) - 1

    def entities_of_runs(self) -> Ids:
        """The entity of every run; keeping it would take as much memory as `end`."""
        return part_numbers(self.first_run).astype(np.int32)

    def grown(self, growth: Growth) -> LinkArrays:
        """The arrays after a growth by links: every new link and run is put in its place."""
        to_entity, codes = growth.to_entity, moved_codes(growth)
        n, limit = len(growth.facts.entities), code_limit(len(growth.facts.predicates))
        node, step, end = new_edges(growth)
        (old_step, old_end), _ = numbers_before((step, end), (codes, to_entity))
        first_run = _moved_sizes(self.first_run, to_entity, n)
        run = lower_bounds(
            (self.run_step,), (old_step,), pointers(first_run)[node], pointers(first_run)[1:][node]
        )
        # the run that a link belongs to; the one that a new run is put before if there is none
        has_run = np.isin(step, codes) & (run < pointers(first_run)[1:][node])
        has_run[has_run] = self.run_step[run[has_run]] == old_step[has_run]
        low = self.run_start[run]
        high = np.where(has_run, self.run_start[run + has_run], low)
        at = lower_bounds((self.end,), (old_end,), low, high)
        is_first = begin_runs(node, step) & ~has_run
        entity, its_step, at_run = node[is_first], step[is_first], run[is_first]
        jumps = [(place, 1) for place in at_run.tolist()]  # of the numbers of runs
        new_number = at_run + np.arange(len(at_run))
        number = np.where(has_run, run + np.searchsorted(at_run, run, "right"), -1)
        number[~has_run] = new_number[np.cumsum(is_first)[~has_run] - 1]
        run_start = spliced(
            self.run_start.astype(place_type(len(self.end) + len(at)), copy=False),
            at_run,
            at[is_first],
        )
        later = (number + 1).tolist()
        for k, (first, stop) in enumerate(pairwise([*later, len(run_start)]), 1):
            run_start[first:stop] += k
        property_ = np.empty(len(node), dtype=np.int32)
        property_[np.lexsort((node, inverse_code(step), end))] = number  # those of the reversals
        order = np.lexsort((entity, its_step))
        old = numbers_before((its_step[order], entity[order]), (codes, to_entity))[0]
        is_known = np.isin(its_step[order], codes)
        low = self.first_holder[old[0]]
        high = np.where(is_known, self.first_holder[np.minimum(old[0] + 1, len(codes))], low)
        at_holder = lower_bounds((self.holder,), (old[1],), low, high)
        run_step = spliced(self.run_step, at_run, its_step, codes)
        first_run = pointers(first_run + np.bincount(entity, minlength=n))
        return LinkArrays(
            first_run,
            run_step,
            run_start,
            spliced(self.end, at, end, to_entity),
            spliced(self.property, at, property_, jumps),
            pointers(
                _moved_sizes(self.first_holder, codes, limit)
                + np.bincount(its_step, minlength=limit)
            ),
            spliced(self.holder, at_holder, entity[order], to_entity),
            spliced(self.holder_run, at_holder, new_number[order], jumps),
            _run_table(first_run, run_step, limit),
        )


def place_type(n: int) -> type[np.int32] | type[np.int64]:
    """The type of places in an array of n elements: four bytes where they are enough."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def _moved_sizes(starts: Ints, moved: Integers, n: int) -> Ints:
    """The sizes of the parts that begin at `starts`, by their new numbers below n."""
    sizes = np.zeros(n, dtype=np.int64)
    sizes[moved] = np.diff(starts)
    return sizes


def _run_table(first_run: Ints, run_step: Integers, step_limit: int) -> Ids:
    n_entities = len(first_run) - 1
    if n_entities * step_limit > MAX_TABLE_CELLS:
        return np.empty((0, 0), dtype=np.int32)
    table = np.full((n_entities, step_limit), -1, dtype=np.int32)
    table[part_numbers(first_run), run_step] = np.arange(len(run_step))
    return table
