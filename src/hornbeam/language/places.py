"""Places in the text of rules, for messages about them."""

from __future__ import annotations

from typing import NamedTuple

from hornbeam.errors import DataError


class Place(NamedTuple):
    """A position in a text; lines and columns count from 1."""

    line: int
    column: int


def error_at(place: Place | None, name: str, problem: str) -> DataError:
    """Make an error at a place (if known) of the text that messages call `name`."""
    line, column = (place.line, place.column) if place else (None, None)
    return DataError(name, problem, line=line, column=column)
