"""Paths in short."""

from __future__ import annotations

from hornbeam.rules.body import Body, Step


def path(*steps: str) -> Body:
    """A path of the target `t` over predicates, of which `-` marks those walked backwards."""
    walked = tuple(Step(name.removeprefix("-"), name.startswith("-")) for name in steps)
    return Body(walked, "t")
