"""The grammar of rules as Lark's tables, and texts cut into its tokens, line by line.

Lark's own lexer makes an object of every token, spaces among them, which took a third of the time
of reading a model. Here the same terminals, in the order in which Lark tries them, are one regular
expression; a `Token` is made only of what a rule keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from lark import Lark, Token

#: Kinds of a character that begins no token, and of the end of the text.
STRAY, END = "STRAY", "$END"
#: Kinds of tokens that the grammar ignores.
BLANK = frozenset({"COMMENT", "SPACE"})
#: Maximum number of tokens of a line that are cut off at once.
MAX_TOKENS = 256


@cache
def parser() -> Lark:
    """Tables of the grammar.

    Making them takes a tenth of a second, so they are cached with the bytecode of this module. Lark
    makes them again when grammar, Lark or Python change, and where it cannot write them.
    """
    kept = Path(cache_from_source(__file__)).with_suffix(".lark")
    with suppress(OSError):
        kept.parent.mkdir(exist_ok=True)
    return Lark.open_from_package(
        __package__,
        "psl.lark",
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        propagate_positions=True,
        cache=str(kept),
    )


class TokenLine(NamedTuple):
    """Tokens of one line of a text, and the kind of the token that follows on a later line.

    `following` is None where the line goes on.
    """

    number: int
    start: int
    matches: list[re.Match[str]]
    following: str | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of its tokens."""
        return tuple([match.lastgroup or STRAY for match in self.matches])

    def token(self, k: int) -> Token:
        """Token k with its place."""
        match, number = self.matches[k], self.number
        begin, end = match.span()
        column = begin - self.start + 1
        return Token(
            match.lastgroup or STRAY, match.group(), begin, number, column, number,
            column + end - begin, end,
        )  # fmt: skip


def token_lines(text: str) -> Iterator[TokenLine]:
    """Cut a text into tokens; a character that begins none is a token of the kind `STRAY`."""
    number, start, found = 1, 0, list[re.Match[str]]()
    here, here_start = number, start
    for match in _scanner().finditer(text):
        kind = match.lastgroup
        if kind in BLANK:
            blank = match.group()
            if "\n" in blank:
                number += blank.count("\n")
                start = match.start() + blank.rindex("\n") + 1
            continue
        if found and (number > here or len(found) >= MAX_TOKENS):
            yield TokenLine(here, here_start, found, kind if number > here else None)
            found = []
        here, here_start = number, start
        found.append(match)
    if found:
        yield TokenLine(here, here_start, found, END)


@cache
def _scanner() -> re.Pattern[str]:
    """All terminals as alternatives, in the order of Lark's lexer."""
    terminals = sorted(
        parser().terminals,
        key=lambda one: (
            -one.priority, -one.pattern.max_width, -len(one.pattern.value), one.name
        ),
    )  # fmt: skip
    parts = [f"(?P<{one.name}>{one.pattern.to_regexp()})" for one in terminals]
    return re.compile("|".join([*parts, rf"(?P<{STRAY}>[\s\S])"]))
