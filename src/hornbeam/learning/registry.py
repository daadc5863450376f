"""The learners by name: those that come with Hornbeam, and those of other packages.

Another package registers a learner by an entry point of the group `hornbeam.learners`, whose name
is the learner's. Names are known without importing any learner.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.learning.learner import Learner

GROUP = "hornbeam.learners"

BUNDLED = (
    EntryPoint("joint", "hornbeam.learning.joint:Joint", GROUP),
    EntryPoint("ppll", "hornbeam.learning.ppll:Ppll", GROUP),
    EntryPoint("greedy", "hornbeam.learning.greedy:Greedy", GROUP),
)


def other_learners() -> list[EntryPoint]:
    """List the learners of other packages."""
    own = {point.name for point in BUNDLED}
    return [point for point in entry_points(group=GROUP) if point.name not in own]


def learner_names() -> list[str]:
    """List the names of all learners."""
    return [point.name for point in (*BUNDLED, *other_learners())]


def learner_class(name: str) -> type[Learner]:
    """Import a learner, a frozen dataclass of its settings."""
    points = {point.name: point for point in (*other_learners(), *BUNDLED)}
    if name not in points:
        raise InputError(f"unknown method {name!r}; expected one of: {', '.join(learner_names())}")
    found: type[Learner] = points[name].load()
    return found
