"""Texts of users: quotes in messages, numbers in texts, suggestions for mistyped names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

#: Unicode marks that change the text direction (bidi controls).
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: Longest piece of the user's text that a message quotes.
LONGEST_QUOTE = 40
#: Longest run without a blank in a message (a path, a name), and longest message.
LONGEST_WORD, LONGEST_MESSAGE = 500, 4000

#: Numbers in users' texts. Python's `int` and `float` also read 1_0, nan and other scripts' digits.
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)

#: If there are more names, only names with the same first two letters are compared.
MAX_COMPARED_NAMES = 100_000
#: Minimum length of a text for which names that contain it are suggested.
SHORTEST_PART = 3
#: Maximum number of names that are suggested.
MAX_SUGGESTIONS = 3


def quote(text: str, mark: str = "'") -> str:
    r"""Text for a message: control characters escaped, long text cut.

    Examples
    --------
    >>> quote("tab\there"), quote("a" * 41, "")
    ("'tab\\there'", 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...')
    """
    cut = text[:LONGEST_QUOTE] + ("..." if len(text) > LONGEST_QUOTE else "")
    return mark + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut) + mark


def shown_list(texts: Iterable[str], most: int = 10) -> str:
    """The first texts of a list for a message, and whether there are more.

    Examples
    --------
    >>> shown_list(["likes", "knows"]), shown_list("abc", 2)
    ('likes, knows', 'a, b, ...')
    """
    listed = list(texts)
    return ", ".join(listed[:most]) + ", ..." * (len(listed) > most)


def counted_list(texts: Iterable[str], most: int = 10) -> str:
    """The first texts of a list for a message, and how many more there are.

    Examples
    --------
    >>> counted_list(["likes", "knows"]), counted_list("abcd", 2)
    ('likes, knows', 'a, b and 2 more')
    """
    listed = list(texts)
    more = f" and {len(listed) - most:,} more" * (len(listed) > most)
    return ", ".join(listed[:most]) + more


def message_text(text: str) -> str:
    r"""Make a text safe for a message: bounded in length, control characters escaped.

    Examples
    --------
    >>> message_text("facts.tsv: \x1b[31m is " + "long" * 200)[:40]
    'facts.tsv: \\x1b[31m is longlonglonglongl'
    """
    lines = "\n".join(map(printable, text[:100_000].split("\n")))
    words = re.sub(rf"(\S{{{LONGEST_WORD - 3}}})\S{{4,}}", r"\1...", lines)
    return words if len(words) <= LONGEST_MESSAGE else f"{words[: LONGEST_MESSAGE - 3]}..."


def printable(text: str) -> str:
    r"""Text with control characters and bidirectional marks escaped.

    Examples
    --------
    >>> printable("red \x1b[31m and \u202ebackwards")
    'red \\x1b[31m and \\u202ebackwards'
    """
    if text.isprintable():
        return text
    return "".join(
        repr(c)[1:-1] if c in TURNING or unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in text
    )


def elided(text: str, most: int) -> str:
    """A text cut to `most` characters, its middle elided: names often differ at their ends.

    Examples
    --------
    >>> elided("Compound::DB00945", 12), elided("aspirin", 12)
    ('Compo…B00945', 'aspirin')
    """
    if len(text) <= most:
        return text
    first = (most - 1) // 2
    return f"{text[:first]}…{text[len(text) - (most - 1 - first) :]}"


def whole_number_in(text: str) -> int:
    """Read a whole number, with or without spaces around it; any other text is a ValueError.

    Examples
    --------
    >>> whole_number_in("12")
    12
    """
    if WHOLE.fullmatch(text.strip(" ")) is None:
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def number_in(text: str) -> float:
    """Read a number, with or without spaces around it; any other text is a ValueError.

    Examples
    --------
    >>> number_in("1e-3"), number_in(" .5")
    (0.001, 0.5)
    """
    if NUMBER.fullmatch(text.strip(" ")) is None:
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question with similar names to append to an error about an unknown name, or "".

    It begins with a space. Names that differ in case only come first.

    Examples
    --------
    >>> did_you_mean("Ukrain", ["ukraine", "uganda"]), did_you_mean("x", ["ukraine"])
    (" Did you mean 'ukraine'?", '')
    >>> did_you_mean("kidney", ["chronic kidney disease, unspecified", "cold"])
    " Did you mean 'chronic kidney disease, unspecified'?"
    """
    names = [printable(repr(near)) for near in nearest(name, list(known))]
    return f" Did you mean {' or '.join(names)}?" if names else ""


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """The known names most similar to `name`, best first; else the shortest names containing it."""
    from difflib import get_close_matches

    folded = name.casefold()
    by_fold: dict[str, list[str]] = {}
    for candidate in known:
        other = candidate.casefold()
        if len(known) <= MAX_COMPARED_NAMES or other[:2] == folded[:2]:
            by_fold.setdefault(other, []).append(candidate)
    near = get_close_matches(folded, by_fold, n=MAX_SUGGESTIONS)
    if not near and len(folded) >= SHORTEST_PART:
        containing = (other for other in by_fold if folded in other)
        near = sorted(containing, key=lambda other: (len(other), other))
    return [candidate for other in near for candidate in by_fold[other]][:MAX_SUGGESTIONS]
