"""The learning problem of collective statistics, where targets occur in bodies too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hornbeam.base.arrays import Ints, part_numbers, pointers
from hornbeam.base.choices import Relaxation
from hornbeam.counting.collective.collective_statistics import (
    CollectiveStatistics,
    clause_numbers,
)
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.integrals import DOWN, UP
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import Targets
from hornbeam.learning.body_clauses import body_clauses, priors_of
from hornbeam.learning.count_problem import CountProblem
from hornbeam.rules.own_rules import OwnRules
from hornbeam.rules.weighing import Counts

#: Four columns: side, clause and target of every count, and the count.
CountEntries = tuple[Ints, ...]


def collective_problem(
    statistics: CollectiveStatistics,
    labels: Targets,
    relaxation: Relaxation = Relaxation.BOOLEAN,
    heads_only: bool = False,
) -> CountProblem:
    """The problem with the counts n+, n- and repeats of every clause, each on its own side.

    With `heads_only`, ground clauses do not affect the targets in their bodies.
    """
    listed = body_clauses(statistics.sequences, [Counts.RAW], {})
    clauses = [candidate.clause for candidate in listed] + priors_of(labels.arities)
    times = tuple(np.unique(statistics.repeats.times).tolist())
    if relaxation is Relaxation.BOOLEAN or heads_only:
        times = ()  # for y in {0, 1}, max(0, m y - (m-1)) is y
    parts = [*_heads(statistics, labels), *(() if heads_only else _bodies(statistics, times))]
    side, clause, target, count = map(np.concatenate, zip(*parts, strict=True))
    n, width = max(len(labels), 1), len(clauses)
    column = pair_keys(side, clause, width)
    cell, place = np.unique(pair_keys(column, target, n), return_inverse=True)
    occupied, sizes = np.unique(cell // n, return_counts=True)
    columns = np.full((2 + len(times)) * width, -1, dtype=np.int64)
    columns[occupied] = np.arange(len(occupied))
    return CountProblem(
        clauses,
        columns.reshape(-1, width),
        pointers(sizes),
        (cell % n).astype(np.int32),
        np.bincount(place, count, len(cell)).astype(np.float64),
        labels.truth,
        relaxation,
        times,
    )


def with_own_rules(problem: CountProblem, own: OwnRules) -> CountProblem:
    """The problem with a user's own rules among its clauses; see `OwnRules`.

    Ground clauses count as they are, so an own rule that is a candidate is that candidate.
    """
    members = [
        k for k, clause in enumerate(problem.clauses) if own.has(clause) or own.admits(clause)
    ]
    problem = problem.only(np.array(members, dtype=np.int64))
    fixed = own.fixed_weights(problem.clauses, problem.scales > 0.0)
    return replace(problem, own=own.flags(problem.clauses), fixed=fixed)


def _heads(statistics: CollectiveStatistics, labels: Targets) -> Iterator[CountEntries]:
    """Counts of heads, including those of priors, which come after the clauses of sequences."""
    first = 2 * len(statistics.sequences)
    for side in (UP, DOWN):
        yield _table_rows(statistics.heads, side == DOWN, side)
        yield _rows(side, first + 2 * labels.predicate + side, np.arange(len(labels)), 1)


def _bodies(statistics: CollectiveStatistics, times: tuple[int, ...]) -> Iterator[CountEntries]:
    """Counts of body atoms; repeats count as "down" where `times` gives them no side."""
    yield _table_rows(statistics.bodies, False, DOWN)
    yield _table_rows(statistics.negated_bodies, True, DOWN)
    repeats = statistics.repeats
    sides = 2 + np.searchsorted(times, repeats.times) if times else DOWN
    yield _rows(sides, repeats.clause, repeats.target, repeats.count)


def _table_rows(table: Statistics, negated: bool, side: int) -> CountEntries:
    """Entries of a table of sequences on one side, for the clauses or for their negations."""
    sequence = part_numbers(table.indptr)
    return _rows(side, clause_numbers(sequence, negated), table.target, table.count)


def _rows(*columns: npt.ArrayLike) -> CountEntries:
    """Columns broadcast to the same length, as 64-bit integers."""
    return tuple(np.asarray(c, dtype=np.int64) for c in np.broadcast_arrays(*columns))
