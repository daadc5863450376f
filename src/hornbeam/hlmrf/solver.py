"""The solvers of MAP inference by name; apart, so that a name loads nothing else."""

from __future__ import annotations

from enum import StrEnum


class Solver(StrEnum):
    """How to find the MAP state."""

    AUTO = "auto"  #: closed forms where a variable shares no row; the rest exact, or ADMM
    ADMM = "admm"  #: consensus ADMM on the whole program, as PSL does
    EXACT = "exact"  #: an LP or QP solver on the whole program
