"""MAP inference: one entry for all solvers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.choices import Solver
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InfeasibleError
from hornbeam.hlmrf.admm import Admm
from hornbeam.hlmrf.exact import Exact, find_conflict
from hornbeam.hlmrf.map_state import MapState, MapStatus, assess, start_at
from hornbeam.hlmrf.potentials import Potentials
from hornbeam.hlmrf.single_variables import solve_single_variables

#: Literals up to which `auto` solves exactly: a few hundredths of a second.
EXACT_LITERALS = 2_000


def solve(
    potentials: Potentials,
    solver: Solver = Solver.AUTO,
    start: Floats | None = None,
    admm: Admm | None = None,
    progress: Progress = SILENT,
) -> MapState:
    """Find a MAP state of a ground program.

    Where several states are optimal, variables that share no row with another take the value
    nearest to `start`; otherwise the solver breaks the tie (PSL's depends on its random start).
    Variables in no row stay at the start, which is all ones by default, as in PSL.

    `auto` drops rows of weight 0, solves for variables that share no row with another in closed
    form, and solves the rest exactly if it has up to `EXACT_LITERALS` literals, by ADMM otherwise.

    Where the constraints are proved to contradict each other, an `InfeasibleError` names the rows
    of a small set that does. ADMM proves it by the growth of its multipliers; where that fails, it
    ends at the iteration limit, not converged, with the violated constraints listed.
    """
    admm = admm or Admm()
    if solver is Solver.EXACT:
        return Exact().solve(potentials, start)
    if solver is Solver.ADMM:
        return _by_admm(potentials, start, admm, progress)
    return _auto(potentials, start_at(potentials, start), admm, progress)


def _by_admm(
    potentials: Potentials, start: Floats | None, admm: Admm, progress: Progress
) -> MapState:
    found = admm.solve(potentials, start, progress)
    if found.status is MapStatus.INFEASIBLE:
        raise InfeasibleError(find_conflict(potentials).tolist())
    return found


def _auto(potentials: Potentials, state: Floats, admm: Admm, progress: Progress) -> MapState:
    """Closed forms first, then a solver for the remaining rows."""
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
    try:
        found = _solve_joint(rest, state, admm, progress)
    except InfeasibleError as error:
        raise InfeasibleError(rows[error.rows].tolist()) from None
    solver = f"closed form, {found.solver}" if len(single) else found.solver
    return replace(found, violated=rows[found.violated], solver=solver)


def _solve_joint(potentials: Potentials, state: Floats, admm: Admm, progress: Progress) -> MapState:
    """Exactly if that is quick, by ADMM otherwise."""
    if len(potentials.variable) <= EXACT_LITERALS:
        return Exact().solve(potentials, state)
    return _by_admm(potentials, state, admm, progress)


def _split(potentials: Potentials) -> tuple[Bools, Bools]:
    """Rows whose variable shares no row with another, and the other rows that matter."""
    sizes = np.diff(potentials.indptr)
    matters = potentials.is_constraint | (potentials.weight > 0.0)
    shared = np.zeros(potentials.n_variables, dtype=np.bool_)
    shared[potentials.variable[np.repeat(matters & (sizes > 1), sizes)]] = True
    alone = matters & (sizes == 1)
    alone[alone] = ~shared[potentials.variable[potentials.indptr[:-1][alone]]]
    return alone, matters & ~alone
