"""Exact MAP states by an LP or a QP.

Every hinge gets a variable h of its own, at least l and at least 0, that costs weight * h or
weight * h^2. A program with linear hinges only is an LP, which SciPy's HiGHS solves. A program with
squared hinges is a QP, which Clarabel's interior-point method solves. An answer counts as optimal
only if the solver's multipliers prove it (`dual_value`), whatever status the solver reports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Positions
from hornbeam.errors import InfeasibleError
from hornbeam.hlmrf.map_state import MapState, MapStatus, assess, start_at
from hornbeam.hlmrf.potentials import PotentialKind, Potentials

#: Total violation up to which constraints count as satisfiable: the accuracy of the solvers.
FEASIBLE = 1e-7
#: Largest proved distance from the optimum, relative to 1 + |optimum|, that counts as optimal.
OPTIMAL_GAP = 1e-6
#: Number of conflicting constraints above which no smaller conflict is searched for.
REDUCIBLE = 300
#: Multiplications of a factorisation's dense part above which it is done by blocks.
MANY_PRODUCTS = 2e8


class _Solution(NamedTuple):
    """The answer of a solver: a state, one multiplier per row, and the number of iterations."""

    state: Floats
    multiplier: Floats
    iterations: int


@dataclass(frozen=True)
class Exact:
    """The exact solver: an LP or QP solver for the whole program at once."""

    max_violation: float = 1e-6  #: how far a constraint may be from holding at the end

    def solve(
        self,
        potentials: Potentials,
        start: Floats | None = None,
        prepared: InteriorPoint | None = None,
    ) -> MapState:
        """Find a MAP state; variables in no row keep their value of `start`.

        If constraints contradict each other, an `InfeasibleError` names a small set that does.
        `prepared` is the interior-point method set up for these potentials, if it is at hand.
        """
        scaled, matters, scale = _scaled(potentials)
        if prepared is None and not (scaled.kind == PotentialKind.SQUARED).any():
            answer = _linear_program(scaled)
        else:
            answer = (prepared or InteriorPoint(potentials)).answer()
        multiplier = np.zeros(len(potentials))
        multiplier[matters] = answer.multiplier * scale
        free = np.bincount(potentials.variable, minlength=potentials.n_variables) == 0
        state = np.where(free, start_at(potentials, start), np.clip(answer.state, 0.0, 1.0))
        result = replace(
            assess(potentials, state, multiplier, MapStatus.OPTIMAL, "exact", self.max_violation),
            iterations=answer.iterations,
        )
        if len(result.violated) or result.gap > OPTIMAL_GAP * (1.0 + abs(result.objective)):
            conflict = find_conflict(potentials)
            if len(conflict):
                raise InfeasibleError(conflict.tolist())
            return replace(result, status=MapStatus.ITERATIONS)
        return result


def _scaled(potentials: Potentials) -> tuple[Potentials, Bools, float]:
    """The rows that matter with the largest weight 1, which rows they are, and the divisor.

    Rows of weight 0 add nothing, and their slack variables may make a solver fail.
    """
    scale = float(potentials.weight.max(initial=0.0)) or 1.0
    matters = potentials.is_constraint | (potentials.weight > 0.0)
    selected = potentials.select(matters)
    return replace(selected, weight=selected.weight / scale), matters, scale


def _linear_program(potentials: Potentials) -> _Solution:
    """Minimise a sum of linear hinges under the constraints."""
    from scipy import sparse
    from scipy.optimize import linprog

    n, matrix = potentials.n_variables, potentials.matrix
    hinge, _, at_most, equal = _rows_by_kind(potentials)
    if not n and not len(hinge):  # constraints of known atoms only, which `linprog` refuses
        return _Solution(np.zeros(0), np.zeros(len(potentials)), 0)
    slack = -sparse.eye_array(len(hinge), format="csr")
    solution = linprog(
        np.concatenate([np.zeros(n), potentials.weight[hinge]]),
        sparse.block_array([[matrix[hinge], slack], [matrix[at_most], None]], format="csr"),
        -potentials.constant[np.concatenate([hinge, at_most])],
        sparse.hstack([matrix[equal], sparse.csr_array((len(equal), len(hinge)))], format="csr"),
        -potentials.constant[equal],
        np.concatenate([np.tile([0.0, 1.0], (n, 1)), np.tile([0.0, np.inf], (len(hinge), 1))]),
        method="highs",
    )
    multiplier = np.zeros(len(potentials))
    if solution.x is None:
        return _Solution(np.zeros(n), multiplier, solution.nit)
    multiplier[np.concatenate([hinge, at_most])] = -solution.ineqlin.marginals
    multiplier[equal] = -solution.eqlin.marginals
    return _Solution(solution.x[:n], multiplier, solution.nit)


def _rows_by_kind(potentials: Potentials) -> list[Positions]:
    """The rows by kind: linear hinges, squared hinges, constraints l <= 0, constraints l = 0."""
    return [np.flatnonzero(potentials.kind == kind) for kind in PotentialKind]


class InteriorPoint:
    """A program as a QP, set up for Clarabel: its matrix is ordered, and its fill-in is known.

    The QP minimises a sum of linear and squared hinges under the constraints. A squared hinge needs
    no constraint h >= 0: if l is negative, h = 0 is best anyway.
    """

    def __init__(self, potentials: Potentials) -> None:
        """Build the QP, and analyse its factorisation."""
        import clarabel
        from scipy import sparse

        scaled = _scaled(potentials)[0]
        n = scaled.n_variables
        linear, squared, at_most, equal = _rows_by_kind(scaled)
        order = np.concatenate([equal, at_most, squared, linear])
        hinges = len(squared) + len(linear)
        # the h of squared hinges come first, then the h of linear hinges
        slack = -sparse.eye_array(len(order), hinges, k=hinges - len(order))
        box = sparse.eye_array(n)
        positive = sparse.eye_array(len(linear), hinges, k=len(squared))
        left = sparse.block_array(
            [[scaled.matrix[order], slack], [None, -positive], [-box, None], [box, None]]
        )
        right = np.concatenate(
            [-scaled.constant[order], np.zeros(len(linear)), np.zeros(n), np.ones(n)]
        )
        curvature = np.concatenate([np.zeros(n), 2.0 * scaled.weight[squared], 0.0 * linear])
        cost = np.concatenate([np.zeros(n + len(squared)), scaled.weight[linear]])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.direct_solve_method = "qdldl"
        settings.max_threads = 1  # the same result everywhere
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        cones = [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(right) - len(equal))]
        problem = (
            sparse.csc_matrix(sparse.diags_array(curvature)), cost, sparse.csc_matrix(left), right,
            cones,
        )  # fmt: skip
        self._n, self._order = n, order
        self._solver = clarabel.DefaultSolver(*problem, settings)
        info = self._solver.get_info().linsolver
        #: Numbers of entries of the matrix to factorise, and of its triangular factor.
        self.entries = int(info.nnzA), int(info.nnzL)
        if dense_products(*self.entries) > MANY_PRODUCTS:
            settings.direct_solve_method = "faer"  # in blocks, with more entries
            self._solver = clarabel.DefaultSolver(*problem, settings)

    def answer(self) -> _Solution:
        """Solve the QP."""
        solution = self._solver.solve()
        multiplier = np.zeros(len(self._order))
        multiplier[self._order] = solution.z[: len(self._order)]
        return _Solution(np.array(solution.x[: self._n]), multiplier, solution.iterations)


def dense_products(matrix: float, factor: float) -> float:
    """Multiplications of the dense part of a factorisation, from its numbers of entries.

    Fill-in gathers in one dense triangle at the end of the factorisation. A triangle of f entries
    has sqrt(2 f) columns, and takes sqrt(2 f)^3 / 3 multiplications.
    """
    return float((2.0 * max(factor - matrix, 0.0)) ** 1.5 / 3.0)


def find_conflict(potentials: Potentials, among: Positions | None = None) -> Positions:
    """Rows of constraints that contradict each other, out of all or `among`; none if all can hold.

    An LP minimises the total violation. If the minimum is positive, the constraints with a
    multiplier prove it, so they alone are a conflict. If there are at most `REDUCIBLE`, each is
    dropped if the rest still conflicts without it. Then the remaining constraints can hold as soon
    as any one of them is given up.
    """
    hard = np.flatnonzero(potentials.is_constraint)
    rows = hard if among is None else np.intersect1d(hard, among)
    conflicting, needed = _conflict(potentials, rows)
    if not conflicting:
        return rows[:0]
    proof = rows[needed]
    rows = proof if _conflict(potentials, proof)[0] else rows
    if len(rows) > REDUCIBLE:
        return rows
    for row in rows.tolist():
        fewer = rows[rows != row]
        if _conflict(potentials, fewer)[0]:
            rows = fewer
    return rows


def _conflict(potentials: Potentials, rows: Positions) -> tuple[bool, Bools]:
    """Whether the constraints `rows` conflict, and which of them the proof needs."""
    if not len(rows):
        return False, np.zeros(0, dtype=np.bool_)
    mask = np.zeros(len(potentials), dtype=np.bool_)
    mask[rows] = True
    hard = potentials.select(mask)
    equal = hard.kind == PotentialKind.EQUAL
    other = hard.select(equal)
    both = Potentials.joined(hard.n_variables, [hard, other.negated()])
    linear = np.full(len(both), PotentialKind.LINEAR, dtype=np.uint8)
    soft = replace(both, weight=np.ones(len(both)), kind=linear)
    answer = _linear_program(soft)
    needed = np.abs(answer.multiplier[: len(hard)]) > FEASIBLE
    needed[equal] |= np.abs(answer.multiplier[len(hard) :]) > FEASIBLE
    return soft.objective(np.clip(answer.state, 0.0, 1.0)) > FEASIBLE, needed
