"""MAP inference: one function for all solvers, and closed forms for single variables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Positions
from hornbeam.base.choices import Solver
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InfeasibleError
from hornbeam.hlmrf.admm import Admm, Residuals
from hornbeam.hlmrf.exact import Exact, find_conflict
from hornbeam.hlmrf.map_state import MapState, MapStatus, assess, start_at
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from hornbeam.hlmrf.solver_choice import ExactAlternative

#: Number of literals up to which `auto` solves exactly, in a few hundredths of a second.
EXACT_LITERALS = 2_000
#: Largest proved distance from the optimum, relative to 1 + |objective|, that `auto` takes from
#: ADMM: this number, or this multiple of a loose relative tolerance of ADMM. Where weights differ
#: by orders of magnitude, ADMM's stopping rule may be met far from the optimum.
ADMM_GAP, GAP_PER_TOLERANCE = 0.01, 100.0


def solve(
    potentials: Potentials,
    solver: Solver = Solver.AUTO,
    start: Floats | None = None,
    admm: Admm | None = None,
    progress: Progress = SILENT,
) -> MapState:
    """Find a MAP state of a ground program.

    Equal rows become one, and variables that one constraint determines get their value. `auto`
    drops rows of weight 0, and solves variables that share no row with another variable in closed
    form. It solves the rest exactly if it has up to `EXACT_LITERALS` literals, by ADMM otherwise.
    As soon as ADMM's residuals tell that the exact solver is quicker, `auto` leaves ADMM for it
    (see `solver_choice`). It does so, too, if ADMM ends not converged, or with a proved gap of more
    than `ADMM_GAP`, and the exact solver fits into memory.

    Where several states are optimal, the closed form takes the value nearest to `start`; otherwise
    the solver breaks the tie (PSL's depends on its random start). Variables in no row stay at
    `start`, which is all ones by default, as in PSL.

    Where constraints are proved to contradict each other, an `InfeasibleError` names the rows of a
    small set that does. ADMM proves it by the growth of its multipliers. Where that fails, ADMM
    ends at the iteration limit, not converged, with the violated constraints listed.
    """
    distinct, rows = potentials.merged()
    admm = admm or Admm()
    try:
        found = _with_known(distinct, solver, start_at(potentials, start), admm, progress)
    except InfeasibleError as error:
        raise InfeasibleError(rows[error.rows].tolist()) from None
    return replace(found, violated=rows[found.violated])


def _with_known(
    potentials: Potentials, solver: Solver, start: Floats, admm: Admm, progress: Progress
) -> MapState:
    """Solve for the variables that no constraint `y = value` determines.

    Next to a determined variable, an interior point is missing that the exact solver needs.
    """
    ones = potentials.select((potentials.kind == PotentialKind.EQUAL) & (potentials.sizes == 1))
    if len(ones):
        state, known = start.copy(), np.zeros(len(start), dtype=np.bool_)
        state[ones.variable], known[ones.variable] = -ones.constant / ones.coefficient, True
        state = np.clip(state, 0.0, 1.0)
        rest = potentials.given(state, known)
        settled = rest.is_constraint & (rest.sizes == 0)
        if not (rest.violations(state)[settled] > CROSSING).any():
            try:
                rest = replace(rest.select(~settled), offset=potentials.offset)
                found = _by_solver(rest, solver, state, admm, progress)
                return replace(found, violated=np.flatnonzero(~settled)[found.violated])
            except InfeasibleError:
                pass  # the reason needs the determined variables
    return _by_solver(potentials, solver, start, admm, progress)


def _by_solver(
    potentials: Potentials, solver: Solver, start: Floats, admm: Admm, progress: Progress
) -> MapState:
    if solver is Solver.EXACT:
        return Exact().solve(potentials, start)
    if solver is Solver.ADMM:
        return _by_admm(potentials, start, admm, progress)
    return _auto(potentials, start, admm, progress)


def _by_admm(
    potentials: Potentials,
    start: Floats,
    admm: Admm,
    progress: Progress,
    leave: Callable[[int, Residuals], bool] | None = None,
) -> MapState:
    """Solve by ADMM until `leave` says so; constraints that contradict each other are named."""
    found = admm.solve(potentials, start, progress, leave)
    if found.status is MapStatus.INFEASIBLE:
        raise InfeasibleError(find_conflict(potentials).tolist())
    return found


def _auto(potentials: Potentials, state: Floats, admm: Admm, progress: Progress) -> MapState:
    """Solve single variables in closed form, then the remaining rows by a solver."""
    alone, joint = _split(potentials)
    if joint.all():
        return _solve_joint(potentials, state, admm, progress)
    single = potentials.select(alone)
    infeasible = solve_single_variables(single, state)
    if len(infeasible):
        among = np.flatnonzero(alone)[single.variable == infeasible[0]]
        raise InfeasibleError(find_conflict(potentials, among).tolist())
    # the cost of the solved rows is now constant
    fixed_cost = potentials.offset + float(potentials.values(state)[~joint].sum())
    rest = replace(potentials.select(joint), offset=fixed_cost)
    rows = np.flatnonzero(joint)
    if not len(rows):
        return assess(
            rest, state, np.zeros(0), MapStatus.OPTIMAL, "closed form", admm.max_violation
        )
    rest, used = rest.compact()
    try:
        found = _solve_joint(rest, state[used], admm, progress)
    except InfeasibleError as error:
        raise InfeasibleError(rows[error.rows].tolist()) from None
    state[used] = found.state
    solver = f"closed form, {found.solver}" if len(single) else found.solver
    return replace(found, state=state, violated=rows[found.violated], solver=solver)


def _solve_joint(potentials: Potentials, state: Floats, admm: Admm, progress: Progress) -> MapState:
    """Solve exactly if that is quick, by ADMM otherwise, and exactly where ADMM fails."""
    if len(potentials.variable) <= EXACT_LITERALS:
        return Exact().solve(potentials, state)
    exact = ExactAlternative(potentials, admm)
    found = _by_admm(potentials, state, admm, progress, exact.is_quicker)
    accepted = max(ADMM_GAP, GAP_PER_TOLERANCE * admm.epsilon_rel)
    if found.status is MapStatus.CONVERGED and _relative_gap(found) <= accepted:
        return found
    if exact.costs_at_most(math.inf):
        finished = Exact().solve(potentials, state, exact.prepared)
        finished = replace(finished, solver=f"{found.solver}, {finished.solver}")
        if finished.status is MapStatus.OPTIMAL:
            return finished
        if not len(finished.violated) and _relative_gap(finished) <= accepted:
            return replace(finished, status=MapStatus.CONVERGED)
    if found.status is MapStatus.ITERATIONS and found.iterations < admm.max_iterations:
        # ADMM was left for an exact solver that could not prove its answer
        return _by_admm(potentials, found.state, admm, progress)
    return found


def _relative_gap(found: MapState) -> float:
    return found.gap / (1.0 + abs(found.objective))


def _split(potentials: Potentials) -> tuple[Bools, Bools]:
    """Rows whose variable shares no row with another variable, and all other rows that matter."""
    sizes = potentials.sizes
    matters = potentials.is_constraint | (potentials.weight > 0.0)
    shared = np.zeros(potentials.n_variables, dtype=np.bool_)
    shared[potentials.variable[np.repeat(matters & (sizes > 1), sizes)]] = True
    alone = matters & (sizes == 1)
    alone[alone] = ~shared[potentials.variable[potentials.indptr[:-1][alone]]]
    return alone, matters & ~alone


# --- variables that share no row with another ---------------------------------------------------

#: A derivative counts as 0, as rounding, up to this fraction of the sum of its terms' sizes.
ROUNDING = 1e-13
#: How far constraints may cross by rounding.
CROSSING = 1e-9


def solve_single_variables(potentials: Potentials, state: Floats) -> Positions:
    """Move every variable of one-literal rows to its best value, in place: a closed form.

    The objective of a variable is a sum of hinges in one number, convex and piecewise linear or
    quadratic. Its derivative grows from knee to knee. So the minimum lies where the derivative
    passes 0: at a knee, or in a segment at the root of a straight line. All variables are bisected
    together. Among several best values, a variable takes the nearest to its previous value.
    Variables without a row do not move. Returns the variables whose constraints contradict each
    other; they end between the contradictory bounds.
    """
    low, high = _feasible(potentials)
    infeasible = np.flatnonzero(low - high > CROSSING)
    low, high = np.where(low > high, (low + high) / 2.0, [low, high])
    hinges = _SingleHinges.of(potentials)
    lowest = hinges.least_minimisers(low, high)
    highest = np.maximum(hinges.greatest_minimisers(low, high), lowest)
    state[:] = np.minimum(np.maximum(state, lowest), highest)
    return infeasible


def _feasible(potentials: Potentials) -> tuple[Floats, Floats]:
    """The interval that a variable's constraints and [0, 1] allow, for every variable."""
    variable, kind, slope = potentials.variable, potentials.kind, potentials.coefficient
    knee = -potentials.constant / slope
    low, high = np.zeros(potentials.n_variables), np.ones(potentials.n_variables)
    from_below = (kind == PotentialKind.EQUAL) | ((kind == PotentialKind.AT_MOST) & (slope < 0.0))
    from_above = (kind == PotentialKind.EQUAL) | ((kind == PotentialKind.AT_MOST) & (slope > 0.0))
    np.maximum.at(low, variable[from_below], knee[from_below])
    np.minimum.at(high, variable[from_above], knee[from_above])
    return low, high


@dataclass(frozen=True, eq=False)
class _SingleHinges:
    """Hinges in one variable each, in no particular order."""

    variable: Ids
    knee: Floats
    slope: Floats
    weight: Floats
    squared: Bools

    @classmethod
    def of(cls, potentials: Potentials) -> _SingleHinges:
        """The potentials of a program whose rows have one literal each."""
        own = ~potentials.is_constraint
        slope = potentials.coefficient[own]
        return cls(
            potentials.variable[own],
            -potentials.constant[own] / slope,
            slope,
            potentials.weight[own],
            potentials.kind[own] == PotentialKind.SQUARED,
        )

    def greatest_minimisers(self, low: Floats, high: Floats) -> Floats:
        """Greatest minimisers in [low, high]: the least minimisers of the mirrored program."""
        mirrored = replace(self, knee=-self.knee, slope=-self.slope)
        return -mirrored.least_minimisers(-high, -low)

    def least_minimisers(self, low: Floats, high: Floats) -> Floats:
        """Least minimisers in [low, high]: where the derivative from above is first not negative.

        The nodes of a variable are `low` and the knees inside the interval, in their order.
        Bisection finds the last node where the function still falls, -1 if there is none.
        """
        inside = (self.knee > low[self.variable]) & (self.knee < high[self.variable])
        owner = np.concatenate([np.arange(len(low)), self.variable[inside]])
        nodes = np.concatenate([low, self.knee[inside]])
        nodes = nodes[np.lexsort((nodes, owner))]
        size = np.bincount(owner, minlength=len(low))
        first = np.cumsum(size) - size
        falling, rising = np.full(len(low), -1), size
        while (open_ones := rising - falling > 1).any():
            middle = np.where(open_ones, (falling + rising) // 2, 0)
            falls = self._derivatives(nodes[first + middle])[0] < 0.0
            falling = np.where(open_ones & falls, middle, falling)
            rising = np.where(open_ones & ~falls, middle, rising)
        start = nodes[first + np.maximum(falling, 0)]
        ends = np.append(nodes, 0.0)[first + rising]
        end = np.where(rising == size, high, ends)
        derivative, curvature = self._derivatives(start)
        root = start - np.divide(derivative, curvature, out=-end + start, where=curvature > 0.0)
        return np.where(falling < 0, low, np.minimum(root, end))

    def _derivatives(self, y: Floats) -> tuple[Floats, Floats]:
        """First derivative (just above y, 0 if it is rounding) and second, for every variable."""
        n, at = len(y), y[self.variable]
        active = np.where(self.slope > 0.0, at >= self.knee, at < self.knee)
        bend = np.where(active & self.squared, 2.0 * self.weight * self.slope * self.slope, 0.0)
        straight = np.where(active & ~self.squared, self.weight * self.slope, 0.0)
        term = straight + bend * (at - self.knee)
        total = np.bincount(self.variable, term, n)
        size = np.bincount(self.variable, np.abs(term), n)
        slope = np.where(np.abs(total) > ROUNDING * size, total, 0.0)
        return slope, np.bincount(self.variable, bend, n).astype(np.float64)
