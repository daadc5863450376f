"""Suggestions for mistyped names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hornbeam.base.printable import printable

#: Among more names only those with the same first two letters are compared.
MAX_COMPARED_NAMES = 100_000
#: Minimum length of a text to suggest names that contain it.
SHORTEST_PART = 3
#: Maximum number of names that are suggested.
MAX_SUGGESTIONS = 3


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to append to an error about an unknown name, with a space before it, or "".

    Names that differ in case only come first.

    Examples
    --------
    >>> did_you_mean("Ukrain", ["ukraine", "uganda"]), did_you_mean("x", ["ukraine"])
    (" Did you mean 'ukraine'?", '')
    >>> did_you_mean("kidney", ["chronic kidney disease, unspecified", "cold"])
    " Did you mean 'chronic kidney disease, unspecified'?"
    """
    near = nearest(name, list(known))
    return f" Did you mean {' or '.join(printable(repr(one)) for one in near)}?" if near else ""


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """The known names that are most like one, best first; else the shortest that contain it."""
    from difflib import get_close_matches

    folded = name.casefold()
    by_fold: dict[str, list[str]] = {}
    for one in known:
        other = one.casefold()
        if len(known) <= MAX_COMPARED_NAMES or other[:2] == folded[:2]:
            by_fold.setdefault(other, []).append(one)
    near = get_close_matches(folded, by_fold, n=MAX_SUGGESTIONS)
    if not near and len(folded) >= SHORTEST_PART:
        near = sorted(
            (other for other in by_fold if folded in other), key=lambda one: (len(one), one)
        )
    return [one for other in near for one in by_fold[other]][:MAX_SUGGESTIONS]
