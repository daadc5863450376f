"""Counting groundings: what engines find, and all that learners know of the facts.

`discover` finds candidate rules and counts them; `Discovery` is its result, `Statistics` the counts
per labelled pair. Each loads what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

_HOMES = {
    "Discovery": "hornbeam.counting.engine",
    "Statistics": "hornbeam.counting.statistics",
    "discover": "hornbeam.labelled_search",
}

if TYPE_CHECKING:
    from hornbeam.counting.engine import Discovery
    from hornbeam.counting.statistics import Statistics
    from hornbeam.labelled_search import discover

__all__ = ["Discovery", "Statistics", "discover"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'hornbeam.counting' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
