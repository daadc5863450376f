"""The parser behind `parse_rules`: cuts a text into rules, parses each, and explains mistakes.

PSL has no mark for the end of a weighted rule. The parser is therefore fed token by token. A rule
ends before a line whose first token cannot continue it, or before the next weight. Texts without
mistakes are read as PSL reads them. A mistake is reported on its own line, not in the next rule.
A line may seem to continue a rule and turn out not to: in

    0.5: a(A) <= 1
    b(A) = 1 .

the second line could begin `1 * b(A)`. So the parser remembers where a rule might have ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token, Tree, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from hornbeam.errors import DataError
from hornbeam.language.arithmetic_rules import PslRule, RefusedError
from hornbeam.language.grammar import END, MAX_SHAPES, STRAY, Shape, TokenLine, parser, token_lines
from hornbeam.language.syntax import Place, error_at
from hornbeam.language.syntax_trees import TOO_DEEP, rule_of

#: Names of the grammar's tokens in messages, in the order in which they are listed.
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "LPAR": "'('",
    "COMMA": "','",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COLON": "':'",
    "EQUAL": "'=='",
    "DIFFERENT": "'!='",
    "AND": "'&'",
    "PIPE": "'|'",
    "_THEN": "'->'",
    "_IF": "'<-'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "RELATION": "'<=' (or '>=', '=')",
    "EXPONENT": "'^2'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "PERIOD": "'.' (which ends a rule that has no weight)",
    "$END": "the end of the rule",
}
_NOT_PSL = (
    "'[' begins a way of counting or a threshold, which the rules of Hornbeam's models may have; "
    "expected plain PSL"
)
_IN_BRACKETS = (
    "brackets hold a way of counting such as [log], a threshold such as [n >= 25], a condition "
    "on time such as [last 30d], or what was "
    "counted, [88 of 129]"
)
_OPERATORS = {"AND", "PIPE", "_THEN", "_IF", "PLUS", "MINUS", "SLASH", "RELATION"}

#: Maximum number of tokens: the time of parsing negations grows with the square of their number.
MAX_TOKENS_OF_A_RULE = 20_000
_TOO_LONG = f"the rule has more than {MAX_TOKENS_OF_A_RULE:,} names, numbers and signs"


class _PartialRule:
    """A rule while it is read: its tokens, and the last place where it might have ended."""

    def __init__(self, brackets: bool, weightless: bool = False) -> None:
        self.brackets = brackets
        self.weightless = weightless
        self.state: InteractiveParser = parser().parse_interactive()
        self.tokens: list[Token] = []
        self.ended: tuple[Tree[Token], int] | None = None

    def feed(self, token: Token) -> bool:
        """Feed a token; returns False if the token is not allowed."""
        if self.tokens and _on_new_line(token, self.tokens[-1]):
            tree = self.finished()
            if tree is not None:
                self.ended = (tree, len(self.tokens))
        try:
            self.state.feed_token(token)
        except UnexpectedToken:
            return False
        self.tokens.append(token)
        return True

    @property
    def in_bracket(self) -> bool:
        """Whether one of Hornbeam's brackets is open, not a bracket of PSL's @Min and @Max."""
        kinds = [token.type for token in self.tokens]
        last = max((i for i, kind in enumerate(kinds) if kind in ("LSQB", "RSQB")), default=0)
        return kinds[last:][:1] == ["LSQB"] and kinds[last - 1] != "FUNCTION"

    def accepts(self) -> set[str]:
        """Kinds of tokens that may come next."""
        accepted: set[str] = self.state.accepts()  # type: ignore[no-untyped-call]
        in_psl = self.brackets or (self.tokens and self.tokens[-1].type == "FUNCTION")
        return accepted if in_psl else accepted - {"LSQB"}

    def finished(self) -> Tree[Token] | None:
        """Tree of the rule; None if the rule is not complete."""
        tree = self._tree()
        return self._tree(Token("PERIOD", ".")) if tree is None and self.weightless else tree

    def _tree(self, *added: Token) -> Tree[Token] | None:
        """Tree of the rule with the tokens `added` at its end; None if it is not complete."""
        try:
            state: InteractiveParser = self.state.copy()  # type: ignore[no-untyped-call]
            for token in added:
                state.feed_token(token)
            tree: Tree[Token] = state.feed_eof(self.tokens[-1])  # type: ignore[no-untyped-call]
        except UnexpectedToken:
            return None
        return tree

    def without(self, stray: Token) -> tuple[Tree[Token], _PartialRule] | None:
        """Split at the last possible end; None if there is none, or the rest begins no rule."""
        if self.ended is None:
            return None
        tree, end = self.ended
        other = _PartialRule(self.brackets, self.weightless)
        fits = all(other.feed(token) for token in [*self.tokens[end:], stray])
        return (tree, other) if fits else None


def read_rules(
    text: str, name: str, *, brackets: bool = False, weightless: bool = False
) -> Iterator[PslRule]:
    """Yield the rules of a text, with Hornbeam's `brackets` if allowed.

    With `weightless`, a rule without a weight needs no period at its end. See `parse_rules` and
    `parse_logical_rules`.
    """
    reading = _Reading(text, name, _PartialRule(brackets, weightless))
    try:
        for line in token_lines(text):
            whole = not reading.partial.tokens and not weightless
            shape = _shape(line, brackets) if whole else None
            if shape is not None:
                yield _rule(shape.tree(line), name)
                continue
            for k in range(len(line.matches)):
                yield from reading.read(line.token(k))
        yield from reading.end()
    except RecursionError:
        first = reading.partial.tokens[0] if reading.partial.tokens else None
        place = Place(first.line or 1, first.column or 1) if first else None
        raise error_at(place, name, TOO_DEEP) from None


class _Reading:
    """The reading of a text token by token."""

    def __init__(self, text: str, name: str, partial: _PartialRule) -> None:
        self.text = text
        self.name = name
        self.partial = partial

    def read(self, token: Token) -> Iterator[PslRule]:
        """Read a token, and yield the rule that ends before it, if one does."""
        text, name, partial = self.text, self.name, self.partial
        if token.type == STRAY:
            # an invisible character, as in pasted text, is shown by its number
            shown = f"'{token}'" if token.isprintable() else f"the character U+{ord(token):04X}"
            raise _error(text, name, token.start_pos or 0, partial, shown)
        if len(partial.tokens) >= MAX_TOKENS_OF_A_RULE:
            first = partial.tokens[0]
            raise error_at(Place(first.line or 1, first.column or 1), name, _TOO_LONG)
        if partial.feed(token):
            if token.type == "LSQB" and partial.in_bracket and not partial.brackets:
                raise error_at(Place(token.line or 1, token.column or 1), name, _NOT_PSL)
            return
        if partial.tokens and _may_begin_a_rule(token, partial):
            yield _rule(self._finished(), name)
            self.partial = partial = _PartialRule(partial.brackets, partial.weightless)
            if partial.feed(token):
                return
        elif parted := partial.without(token):
            tree, self.partial = parted
            yield _rule(tree, name)
            return
        raise _error(text, name, token.start_pos or 0, partial, f"'{token}'")

    def end(self) -> Iterator[PslRule]:
        """Yield the last rule, if there is one."""
        if self.partial.tokens:
            yield _rule(self._finished(), self.name)

    def _finished(self) -> Tree[Token]:
        """Tree of the rule that has been read; an error if it is incomplete."""
        tree = self.partial.finished()
        if tree is None:
            position = self.partial.tokens[-1].end_pos or 0
            rest = self.text[position:].strip()
            found = "the end of the line" if rest else "the end of the text"
            raise _error(self.text, self.name, position, self.partial, found)
        return tree


_shapes: dict[tuple[tuple[str, ...], str | None, bool], Shape | None] = {}


def _shape(line: TokenLine, brackets: bool) -> Shape | None:
    """Shape of a line that is exactly one rule; None if it is not, or if the rule may go on."""
    key = line.kinds, line.following, brackets
    if key not in _shapes:
        if len(_shapes) >= MAX_SHAPES:
            return None
        _shapes[key] = _parsed_shape(line, brackets)
    return _shapes[key]


def _parsed_shape(line: TokenLine, brackets: bool) -> Shape | None:
    partial = _PartialRule(brackets)
    kinds = [*line.kinds, line.following]
    if None in kinds or STRAY in kinds or ("LSQB" in kinds and not brackets):
        return None
    try:
        fits = all(partial.feed(line.token(k)) for k in range(len(line.matches)))
        tree = partial.finished() if fits else None
    except RecursionError:
        return None
    if tree is None or partial.feed(Token(line.following or END, "")):
        return None
    return Shape.of(tree, {match.start(): k for k, match in enumerate(line.matches)})


def _on_new_line(token: Token, last: Token) -> bool:
    return (token.line or 0) > (last.end_line or 0)


def _may_begin_a_rule(token: Token, partial: _PartialRule) -> bool:
    """Whether a token that cannot continue a rule begins the next: on a new line, or at an end."""
    last = partial.tokens[-1]
    if _on_new_line(token, last):
        return True
    marked = last.type in ("PERIOD", "RBRACE") or token.type == "NUMBER"
    return marked and partial.finished() is not None


def _rule(tree: Tree[Token], name: str) -> PslRule:
    try:
        return rule_of(tree)
    except RefusedError as misplaced:
        raise error_at(misplaced.place, name, str(misplaced)) from None


def _error(text: str, name: str, position: int, partial: _PartialRule, found: str) -> DataError:
    """The error at a position of the text, after the tokens of the partial rule."""
    kinds = [token.type for token in partial.tokens]
    if found == "':'" and kinds == ["NAME"]:
        position = partial.tokens[0].start_pos or 0
        problem = f"'{partial.tokens[0]}' is not a weight; expected a finite number such as 0.83"
    elif found in ("'''", "'\"'"):
        problem = (
            "a constant is not closed, or has an escape other than "
            r"""\\, \', \", \t, \n and \r"""
        )
    elif text.startswith("/*", position) or (found == "'*'" and text[:position].endswith("/")):
        position = text.rindex("/", 0, position + 1)
        problem = "a comment is not closed; expected '*/'"
    else:
        expected = _expected(partial.accepts(), at_start=not kinds)
        problem = f"expected {expected}, found {found}"
        if partial.in_bracket:
            problem += f" ({_IN_BRACKETS})"
        elif found == "'['" and kinds[-1:] == ["EXPONENT"] and partial.brackets:
            problem += " (brackets stand before '^2')"
        elif over_lines := [token for token in partial.tokens if "\n" in token]:
            begins = f"line {over_lines[0].line}, column {over_lines[0].column}"
            problem += f" (the constant that begins at {begins} goes on to a later line)"
        elif kinds[:1] == ["NUMBER"] != kinds and not {"COLON", "RELATION"} & {*kinds}:
            problem += " (a weight is followed by ':')"
    line, line_start = text.count("\n", 0, position) + 1, text.rfind("\n", 0, position)
    return DataError(name, problem, line=line, column=position - line_start)


def _expected(tokens: set[str], at_start: bool) -> str:
    """Describe allowed tokens in the words of messages."""
    words = ["a weight such as '0.83:'"] if at_start else []
    if "LESS" in tokens and len(tokens) > 3:  # a comparison of numbers is the rarest continuation
        tokens = tokens - {"LESS", "GREATER", "RELATION"}
    if "LESS" in tokens:
        words, tokens = ["'>='", "'<'"], set()
    elif "GREATER" in tokens:
        words, tokens = ["'>='", "'>'", "'/'", "']'"], set()
    elif {"COLON", "RELATION"} <= tokens:
        words, tokens = ["':' (which ends a weight)", "an operator of arithmetic"], set()
    elif "NOT" in tokens:
        words += ["an atom such as 'knows(A, B)'"]
        tokens = tokens - {"NOT", "NAME", "LPAR", "NUMBER", "AND"}
        tokens = tokens if "STAR" in tokens else tokens - {"PIPE", "MINUS"}
    elif "STRING" in tokens:
        words += ["a variable", "a constant"]
        tokens = tokens - {"NAME", "NUMBER", "MINUS", "PLUS"}
    elif "NUMBER" in tokens:
        words, tokens = ["a name", "a number"] if "NAME" in tokens else ["a number"], set()
    elif "EQUAL" in tokens:
        tokens = tokens - {"MINUS"}
    if {"RELATION", "AND"} <= tokens:
        words, tokens = ["an operator (such as '&', '->', '+' and '<=')"], tokens - _OPERATORS
    words += [word for token, word in _WORDS.items() if token in tokens]
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
