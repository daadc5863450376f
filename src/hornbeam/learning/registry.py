"""The learners by name: the learners of Hornbeam, and learners of other packages.

Another package registers a learner by an entry point of the group `hornbeam.learners`. The name of
the entry point is the learner's name. Names are known without importing any learner.
"""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.learning.learner import Learner

GROUP = "hornbeam.learners"

BUNDLED = (
    EntryPoint("joint", "hornbeam.learning.joint:Joint", GROUP),
    EntryPoint("boost", "hornbeam.learning.boost:Boost", GROUP),
    EntryPoint("ppll", "hornbeam.learning.ppll:Ppll", GROUP),
    EntryPoint("greedy", "hornbeam.learning.greedy:Greedy", GROUP),
)


def other_learners() -> tuple[EntryPoint, ...]:
    """List the learners of other packages."""
    return _other_learners(tuple(sys.path))


@cache
def _other_learners(search_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Read the entry points of all installed packages, once per search path: a file per package."""
    own = {point.name for point in BUNDLED}
    return tuple(point for point in entry_points(group=GROUP) if point.name not in own)


def learner_names() -> list[str]:
    """List the names of all learners."""
    return [point.name for point in (*BUNDLED, *other_learners())]


def learner_class(name: str) -> type[Learner]:
    """Import the class of a learner, a frozen dataclass of settings."""
    for point in BUNDLED:
        if point.name == name:
            found: type[Learner] = point.load()
            return found
    for point in other_learners():
        if point.name == name:
            return load_other(point)
    raise InputError(f"unknown `method` {name!r}; expected one of: {', '.join(learner_names())}")


def load_other(point: EntryPoint) -> type[Learner]:
    """Import the class of a learner of another package; any failure becomes an InputError."""
    package = point.dist.name if point.dist is not None else point.module
    whose = f"the learner {point.name!r} of the package {package}"
    try:
        found: type[Learner] = point.load()
    except Exception as error:  # any exception: the code of another package runs here
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{whose} cannot be imported ({reason})") from error
    if not is_dataclass(found):
        raise InputError(f"{whose} is not a dataclass of settings")
    return found


def make_learner(name: str, seed: int, **settings: Any) -> Learner:  # noqa: ANN401
    """Make a learner with the given settings; `seed` is passed on if it is one of its fields."""
    kind = learner_class(name)
    if any(entry.name == "seed" for entry in fields(kind)):
        settings["seed"] = seed
    return kind(**settings)
