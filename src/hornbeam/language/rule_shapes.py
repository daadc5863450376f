"""Rules on a line of their own that differ in names and numbers alone are parsed once.

The parser looks at the kinds of tokens, never at their texts: lines with the same kinds, followed
by a token of the same kind, have the same tree, and end a rule or do not end it alike. A model
of 100,000 rules has a few dozen such shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from lark import Token, Tree
from lark.tree import Meta

from hornbeam.language.grammar import TokenLine

#: Maximum number of shapes that are remembered.
MAX_SHAPES = 4096


@dataclass(frozen=True)
class Shape:
    """A tree whose leaves are numbers of tokens, and the number of its first token."""

    data: str
    first: int
    children: tuple[Shape | int, ...]

    @classmethod
    def of(cls, tree: Tree[Token], number: dict[int, int]) -> Shape:
        """Shape of a tree; `number` has the token that begins at a position of the text."""
        children = (
            number[cast("int", part.start_pos)] if isinstance(part, Token) else cls.of(part, number)
            for part in tree.children
        )
        return cls(str(tree.data), number[tree.meta.start_pos], tuple(children))

    def tree(self, line: TokenLine) -> Tree[Token]:
        """The tree of another line."""
        return self._filled(_KeptTokens(line))

    def _filled(self, tokens: _KeptTokens) -> Tree[Token]:
        # a token has a line and a column, which is all that is read of a tree's place
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
