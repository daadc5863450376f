"""MAP inference: one entry for all solvers."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Floats
from hornbeam.choices import Solver
from hornbeam.errors import InfeasibleError
from hornbeam.hlmrf.admm import Admm
from hornbeam.hlmrf.exact import Exact, find_conflict
from hornbeam.hlmrf.map_state import MapState, Status, assess, start_at
from hornbeam.hlmrf.potentials import Potentials
from hornbeam.hlmrf.single_variables import settle
from hornbeam.progress import SILENT, Progress

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

    Where several states are optimal, variables that stand alone take the value nearest to
    `start`; otherwise the tie is broken by the solver (PSL's depends on its random start).

    Parameters
    ----------
    potentials
        The ground program.
    solver
        Which solver to use. `auto` drops rows that say nothing (weight 0), settles variables that
        share no row with another in closed form, and solves the rest exactly if it has up to
        `EXACT_LITERALS` literals, by ADMM otherwise.
    start
        Where to start; variables in no row stay there. All ones by default, as PSL answers.
    admm
        Settings of ADMM, PSL's by default.
    progress
        Told of iterations and of a first compilation.

    Raises
    ------
    InfeasibleError
        If the constraints are proved to contradict each other; it names the rows of a small set
        that does. ADMM proves it by the growth of its multipliers; where it does not come to
        that, it ends at the iteration limit with the violated constraints named, never converged.
    """
    began = time.perf_counter()
    admm = admm or Admm()
    if solver is Solver.EXACT:
        found = Exact().solve(potentials, start)
    elif solver is Solver.ADMM:
        found = _by_admm(potentials, start, admm, progress)
    else:
        found = _automatically(potentials, start_at(potentials, start), admm, progress)
    return replace(found, seconds=time.perf_counter() - began)


def _by_admm(
    potentials: Potentials, start: Floats | None, admm: Admm, progress: Progress
) -> MapState:
    found = admm.solve(potentials, start, progress)
    if found.status is Status.INFEASIBLE:
        raise InfeasibleError(find_conflict(potentials).tolist())
    return found


def _automatically(
    potentials: Potentials, state: Floats, admm: Admm, progress: Progress
) -> MapState:
    """Closed forms first, then a solver for the rows that are left."""
    alone, joint = _split(potentials)
    if joint.all():
        return _jointly(potentials, state, admm, progress)
    single = potentials.select(alone)
    stuck = settle(single, state)
    if len(stuck):
        among = np.flatnonzero(alone)[single.variable == stuck[0]]
        raise InfeasibleError(find_conflict(potentials, among).tolist())
    # what the settled rows cost no longer depends on anything
    settled = potentials.offset + float(potentials.values(state)[~joint].sum())
    rest = replace(potentials.select(joint), offset=settled)
    rows = np.flatnonzero(joint)
    if not len(rows):
        return assess(rest, state, np.zeros(0), Status.OPTIMAL, "closed form", admm.max_violation)
    try:
        found = _jointly(rest, state, admm, progress)
    except InfeasibleError as error:
        raise InfeasibleError(rows[error.rows].tolist()) from None
    solver = f"closed form, {found.solver}" if len(single) else found.solver
    return replace(found, violated=rows[found.violated], solver=solver)


def _jointly(potentials: Potentials, state: Floats, admm: Admm, progress: Progress) -> MapState:
    """Exactly if that is quick, by ADMM otherwise."""
    if len(potentials.variable) <= EXACT_LITERALS:
        return Exact().solve(potentials, state)
    return _by_admm(potentials, state, admm, progress)


def _split(
    potentials: Potentials,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Rows whose variable shares no row with another, and the other rows that say something."""
    sizes = np.diff(potentials.indptr)
    speaks = potentials.is_constraint | (potentials.weight > 0.0)
    shared = np.zeros(potentials.n_variables, dtype=np.bool_)
    shared[potentials.variable[np.repeat(speaks & (sizes > 1), sizes)]] = True
    alone = speaks & (sizes == 1)
    alone[alone] = ~shared[potentials.variable[potentials.indptr[:-1][alone]]]
    return alone, speaks & ~alone
