"""Text from data that can be shown as it is."""

from __future__ import annotations

import re
import unicodedata

#: Unicode marks that change the text direction (bidi controls).
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


#: Longest piece of the user's text that a message quotes.
LONGEST_QUOTE = 40
#: Longest run without a blank in a message (a path, a name), and longest message.
LONGEST_WORD, LONGEST_MESSAGE = 500, 4000


def quote(text: str, mark: str = "'") -> str:
    r"""Text for a message: control characters escaped, long text cut.

    Examples
    --------
    >>> quote("tab\there"), quote("a" * 41, "")
    ("'tab\\there'", 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...')
    """
    cut = text[:LONGEST_QUOTE] + ("..." if len(text) > LONGEST_QUOTE else "")
    return mark + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut) + mark


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
    """A text of at most `most` characters, its middle elided: names often differ at their ends.

    Examples
    --------
    >>> elided("Compound::DB00945", 12), elided("aspirin", 12)
    ('Compo…B00945', 'aspirin')
    """
    if len(text) <= most:
        return text
    first = (most - 1) // 2
    return f"{text[:first]}…{text[len(text) - (most - 1 - first) :]}"
