"""Given rules of a program beside candidate clauses: columns or hinges of ground rules.

A rule of a program may be of any kind: arithmetic, or with several targets in its body. Given the
truth of all other targets it has hinges in every target (`hornbeam.hlmrf.potentials`). In a problem
it is a clause of the base, like a user's own rule, under a clause that stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hornbeam.base.arrays import Bools, Floats, pointers
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.hinge_problem import HingeProblem
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause

#: Begins the predicate of a clause that stands for a given rule; no name of the data has a TAB.
GIVEN = "\tgiven "


def standing_for(rule: int, target: str) -> Clause:
    """The clause that stands for a given rule by its number."""
    return Clause(Body((Step(f"{GIVEN}{rule}"),), target))


def given_number(clause: Clause) -> int | None:
    """Number of the given rule that a clause stands for; None for any other clause."""
    for name in clause.body.predicates:
        if name.startswith(GIVEN):
            return int(name.removeprefix(GIVEN))
    return None


def adds_up(given: HingeProblem[object], squared: bool) -> bool:
    """Whether ground rules are multiples of (1 - y)^p and y^p with p of the candidates."""
    used = np.unique(given.rule)
    return bool(np.all(given.height == 1.0) and np.all(given.squared[used] == squared))


def with_counted_rules(
    problem: CountProblem, given: HingeProblem[object], clauses: Sequence[Clause], fixed: Floats
) -> CountProblem:
    """The problem with given rules as its first clauses; see `adds_up`."""
    n, width = max(len(problem.y), 1), len(given.clauses)
    cell = pair_keys(given.rule + width * given.down, given.target, n)
    cells, place = np.unique(cell, return_inverse=True)
    occupied, sizes = np.unique(cells // n, return_counts=True)
    columns = np.full(2 * width, -1, dtype=np.int64)
    columns[occupied] = len(problem.indptr) - 1 + np.arange(len(occupied))
    x = np.bincount(place, given.count, len(cells)).astype(np.float64)
    return replace(
        problem,
        clauses=[*clauses, *problem.clauses],
        columns=np.concatenate([columns.reshape(2, width), problem.columns], axis=1),
        indptr=np.append(problem.indptr, problem.indptr[-1] + pointers(sizes)[1:]),
        row=np.append(problem.row, (cells % n).astype(np.int32)),
        x=np.append(problem.x, x),
        own=_first(width, len(problem.clauses)),
        fixed=np.append(fixed, np.full(len(problem.clauses), np.nan)),
    )


def with_ground_rules(
    problem: HingeProblem[Clause],
    given: HingeProblem[object],
    clauses: Sequence[Clause],
    fixed: Floats,
) -> HingeProblem[Clause]:
    """The problem with given rules as its first clauses."""
    width = len(given.clauses)
    return replace(
        problem,
        clauses=[*clauses, *problem.clauses],
        lengths=np.append(np.ones(width, dtype=np.int64), problem.lengths),
        squared=np.append(given.squared, problem.squared),
        target=np.append(given.target, problem.target),
        rule=np.append(given.rule, width + problem.rule),
        height=np.append(given.height, problem.height),
        down=np.append(given.down, problem.down),
        count=np.append(given.count, problem.count),
        own=_first(width, len(problem.clauses)),
        fixed=np.append(fixed, np.full(len(problem.clauses), np.nan)),
    )


def _first(given: int, others: int) -> Bools:
    return np.arange(given + others) < given
