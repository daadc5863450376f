"""How the weights of a program's rules are learned; apart, so that a name loads nothing else."""

from __future__ import annotations

from enum import StrEnum


class WeightMethod(StrEnum):
    """How weights of given rules are learned."""

    JOINT = "joint"  #: all weights together
    PPLL = "ppll"  #: each rule alone (piecewise)
