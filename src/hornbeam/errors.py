"""Every error and warning a user can meet; messages say what was expected or what to try next.

`InputError` and its subclasses are mistakes in the user's input: the command line prints only the
message and exits with 2. Any other exception is a bug in Hornbeam, with exit code 1.
"""

from __future__ import annotations

import sys
import warnings

from hornbeam.base.texts import did_you_mean, message_text


class HornbeamError(Exception):
    """Base of Hornbeam's own errors; `str(error)` is a complete message for a person.

    The message is of bounded length, with control characters in quoted data escaped.
    """

    def __init__(self, text: str) -> None:
        super().__init__(message_text(text))


class InputError(HornbeamError):
    """A mistake in the user's input: in a file, a value, an option."""


class DataError(InputError):
    """A mistake in the user's data, with its place.

    Parameters
    ----------
    source
        The file (or the name of the frame) that holds the mistake.
    problem
        What is wrong and what was expected.
    line
        Line of the text file, counted from 1.
    row
        Row of a Parquet file or frame, counted from 1.
    column
        Column of the line, counted in characters from 1.
    """

    def __init__(
        self,
        source: str,
        problem: str,
        line: int | None = None,
        row: int | None = None,
        column: int | None = None,
    ) -> None:
        places = {"line": line, "column": column, "row": row}
        numbers = (f", {name} {number}" for name, number in places.items() if number is not None)
        super().__init__(f"{source}{''.join(numbers)}: {problem}")
        self.source = source
        self.line = line
        self.row = row
        self.column = column


class UnknownNameError(InputError):
    """No entity, relation or page has the requested name."""


class UnknownTargetError(UnknownNameError):
    """The target predicate is not among the labels (or facts)."""

    def __init__(self, target: str, known: list[str]) -> None:
        listed = ", ".join(repr(name) for name in known[:10])
        listed += f" and {len(known) - 10:,} others" if len(known) > 10 else ""
        hint = did_you_mean(target, known)
        expected = f"expected one of: {listed}" if known else "no fact has subject and object"
        super().__init__(f"unknown target predicate {target!r}; {expected}.{hint}")


class InfeasibleError(InputError):
    """Hard constraints contradict each other; `rows` are the numbers of a few that already do."""

    def __init__(self, rows: list[int]) -> None:
        why = f"{len(rows)} of them contradict each other; drop one of them"
        if len(rows) == 1:
            why = "one of them cannot hold, whatever the values of its targets; drop it"
        super().__init__(f"the hard constraints have no solution: {why} or give its rule a weight")
        self.rows = rows


class MissingExtraError(InputError):
    """An optional library is needed, but not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional library: pip install 'hornbeam[{extra}]'")


class HornbeamWarning(UserWarning):
    """Something the user should know that does not stop the work."""


class HornbeamNote(HornbeamWarning):
    """A note about a choice that Hornbeam made: commands print it, Python ignores it by default."""


warnings.simplefilter("ignore", HornbeamNote, append=True)


def warn(text: str, category: type[HornbeamWarning] = HornbeamWarning) -> None:
    """Warn, and report as its place the line of the user's code that called Hornbeam."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module == "hornbeam" or module.startswith("hornbeam.")
