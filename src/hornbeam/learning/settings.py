"""Ranges of the learners' settings, checked when a learner is made."""

from __future__ import annotations

import math

from hornbeam.errors import InputError


def check_not_negative(name: str, value: float) -> None:
    """Refuse a number below 0, infinite or not a number."""
    if not (math.isfinite(value) and value >= 0.0):
        raise InputError(f"the {name} is {value:g}; expected a number of at least 0")


def check_positive(name: str, value: float) -> None:
    """Refuse a number that is not above 0; infinity is one."""
    if not value > 0.0:
        raise InputError(f"the {name} is {value:g}; expected a number above 0")


def check_whole(name: str, value: int, least: int) -> None:
    """Refuse a number below the least."""
    if value < least:
        raise InputError(f"the {name} is {value}; expected at least {least}")
