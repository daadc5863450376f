"""Text from data that can be shown as it is."""

from __future__ import annotations

import unicodedata

#: Marks that turn the direction of what follows them.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    r"""Text that moves no cursor: control characters and turning marks are spelt out.

    Examples
    --------
    >>> printable("red \x1b[31m and \u202ebackwards")
    'red \\x1b[31m and \\u202ebackwards'
    """
    return "".join(
        repr(c)[1:-1] if c in TURNING or unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in text
    )


def elided(text: str, most: int) -> str:
    """A text of at most so many letters, its middle left out: names often differ at their ends.

    Examples
    --------
    >>> elided("Compound::DB00945", 12), elided("aspirin", 12)
    ('Compo…B00945', 'aspirin')
    """
    if len(text) <= most:
        return text
    first = (most - 1) // 2
    return f"{text[:first]}…{text[len(text) - (most - 1 - first) :]}"
