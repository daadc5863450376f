"""The grammar of rules as Lark's tables, the tokens of a text, and shapes of trees.

Lark's own lexer makes an object of every token, even of spaces, which took a third of the time of
reading a model. Here one regular expression has the same terminals, in the order in which Lark
tries them. A `Token` is made only where a rule keeps it.

The parser looks at the kinds of tokens, never at their texts. So lines with the same kinds of
tokens, followed by a token of the same kind, have trees of the same shape. Each shape is parsed
once; a model of 100,000 rules has a few dozen shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple, cast

from lark import Lark, Token, Tree
from lark.tree import Meta

#: Kinds of a character that begins no token, and of the end of the text.
STRAY, END = "STRAY", "$END"
#: Kinds of tokens that the grammar ignores.
BLANK = frozenset({"COMMENT", "SPACE"})
#: Kinds of tokens that may hold line breaks; the last line of such a token is its end.
WITH_LINE_BREAKS = BLANK | {"STRING", "EQUAL", "DIFFERENT"}
#: Maximum number of tokens of a `TokenLine`; longer lines are cut into several.
MAX_TOKENS = 256
#: Maximum number of shapes that are remembered.
MAX_SHAPES = 4096


@cache
def parser() -> Lark:
    """The parser with the tables of the grammar.

    Making the tables takes a tenth of a second, so they are cached with the bytecode of this
    module. Lark makes them again if the grammar, Lark or Python change, or if it cannot write them.
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
    """Tokens of one line of a text; `following` is the kind of the next token on a later line.

    `following` is None if the line was cut and goes on.
    """

    number: int
    start: int
    matches: list[re.Match[str]]
    following: str | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the line's tokens."""
        return tuple([match.lastgroup or STRAY for match in self.matches])

    def token(self, k: int) -> Token:
        """Token k with its place."""
        match, number = self.matches[k], self.number
        begin, end = match.span()
        column, text = begin - self.start + 1, match.group()
        return Token(
            match.lastgroup or STRAY, text, begin, number, column, number + text.count("\n"),
            column + end - begin, end,
        )  # fmt: skip


def token_lines(text: str) -> Iterator[TokenLine]:
    """Cut a text into tokens; a character that begins no token becomes one of kind `STRAY`."""
    number, start, matches = 1, 0, list[re.Match[str]]()
    here, here_start = number, start
    for match in _scanner().finditer(text):
        kind = match.lastgroup
        if kind not in BLANK:
            if matches and (number > here or len(matches) >= MAX_TOKENS):
                yield TokenLine(here, here_start, matches, kind if number > here else None)
                matches = []
            here, here_start = number, start
            matches.append(match)
        if kind in WITH_LINE_BREAKS and "\n" in (text_of := match.group()):
            number += text_of.count("\n")
            start = match.start() + text_of.rindex("\n") + 1
    if matches:
        yield TokenLine(here, here_start, matches, END)


@cache
def _scanner() -> re.Pattern[str]:
    """All terminals as alternatives, in the order of Lark's lexer."""
    terminals = sorted(
        parser().terminals,
        key=lambda terminal: (
            -terminal.priority,
            -terminal.pattern.max_width,
            -len(terminal.pattern.value),
            terminal.name,
        ),
    )
    parts = [f"(?P<{terminal.name}>{terminal.pattern.to_regexp()})" for terminal in terminals]
    return re.compile("|".join([*parts, rf"(?P<{STRAY}>[\s\S])"]))


@dataclass(frozen=True)
class Shape:
    """A tree whose leaves are numbers of tokens, and the number of its first token."""

    data: str
    first: int
    children: tuple[Shape | int, ...]

    @classmethod
    def of(cls, tree: Tree[Token], number: dict[int, int]) -> Shape:
        """Shape of a tree; `number` maps a position of the text to the token that begins there."""
        children = (
            number[cast("int", part.start_pos)] if isinstance(part, Token) else cls.of(part, number)
            for part in tree.children
        )
        return cls(str(tree.data), number[tree.meta.start_pos], tuple(children))

    def tree(self, line: TokenLine) -> Tree[Token]:
        """The tree of a line with this shape."""
        return self._filled(_KeptTokens(line))

    def _filled(self, tokens: _KeptTokens) -> Tree[Token]:
        # of a tree's place only line and column are read, and a token has both
        place = cast("Meta", tokens[self.first])
        children: list[Tree[Token] | Token] = [
            tokens[part] if isinstance(part, int) else part._filled(tokens)
            for part in self.children
        ]
        return Tree(self.data, children, place)


class _KeptTokens(dict[int, Token]):
    """Tokens of a line, each made when it is first needed."""

    def __init__(self, line: TokenLine) -> None:
        self.line = line

    def __missing__(self, k: int) -> Token:
        token = self[k] = self.line.token(k)
        return token
