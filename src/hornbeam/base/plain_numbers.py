"""Numbers in users' texts: digits of ASCII, with a point and an exponent.

Python's `float` and `int` also read `1_0`, `nan`, `inf` and digits of other scripts.
"""

from __future__ import annotations

import re

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def whole_number_in(text: str) -> int:
    """The whole number that a text is, spaces around it aside; any other is a ValueError.

    Examples
    --------
    >>> whole_number_in("12")
    12
    """
    if WHOLE.fullmatch(text.strip(" ")) is None:
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def number_in(text: str) -> float:
    """The number that a text is, spaces around it aside; any other is a ValueError.

    Examples
    --------
    >>> number_in("1e-3"), number_in(" .5")
    (0.001, 0.5)
    """
    if NUMBER.fullmatch(text.strip(" ")) is None:
        raise ValueError(f"{text!r} is not a number")
    return float(text)
