"""How `parse_rules` reads: the text is cut into rules, each is parsed, and mistakes are explained.

PSL has no mark for the end of a weighted rule. The parser is therefore fed token by token, and a
rule ends where a line begins with a token that cannot continue it, or the next weight stands. That
is PSL's own reading of texts without mistakes, and it keeps a mistake on the line where it was made
instead of blaming the next rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from hornbeam.clauses.language import (
    Atom,
    Comparison,
    Constant,
    Literal,
    LogicalRule,
    Operator,
    Place,
    Term,
    Variable,
)
from hornbeam.errors import DataError

_OPERATORS = {
    "EQUAL": Operator.EQUAL,
    "DIFFERENT": Operator.DIFFERENT,
    "MINUS": Operator.DIFFERENT,
    "ORDERED": Operator.ORDERED,
}
_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r"}

#: How messages call the tokens of the grammar, in the order in which they are listed.
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "LPAR": "'('",
    "COMMA": "','",
    "RPAR": "')'",
    "COLON": "':'",
    "EQUAL": "'=='",
    "DIFFERENT": "'!='",
    "_AND": "'&'",
    "_OR": "'|'",
    "_THEN": "'->'",
    "_IF": "'<-'",
    "EXPONENT": "'^2'",
    "PERIOD": "'.' (which ends a rule that has no weight)",
    "$END": "the end of the rule",
}
#: Every arithmetic rule has one of `<=`, `>=` and `=`; a logical rule has none.
_RELATION = re.compile(r"[<>]=|(?<![=!~<>])=(?!=)")
_QUOTED_OR_COMMENT = re.compile(r"""'[^'\n]*'|"[^"\n]*"|(?:#|//).*""")


@cache
def _parser() -> Lark:
    return Lark.open_from_package(
        __package__,
        "psl.lark",
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        propagate_positions=True,
    )


def read_rules(text: str, name: str) -> Iterator[LogicalRule]:
    """Yield the rules of a text; see `parse_rules`."""
    parser = _parser()
    state, begun = parser.parse_interactive(), list[Token]()
    try:
        for token in parser.lex(text):
            fed = _fed(state, token)
            if not fed and begun and _may_begin_a_rule(token, begun[-1]):
                yield _rule(_finished(state, begun, text, name), name)
                state, begun = parser.parse_interactive(), []
                fed = _fed(state, token)
            if not fed:
                raise _error(text, name, token.start_pos or 0, state, begun, f"'{token}'")
            begun.append(token)
    except UnexpectedCharacters as stray:
        position = stray.pos_in_stream or 0
        raise _error(text, name, position, state, begun, _quoted(text[position])) from None
    if begun:
        yield _rule(_finished(state, begun, text, name), name)


def _fed(state: InteractiveParser, token: Token) -> bool:
    """Feed the parser a token; False where the token cannot stand there."""
    try:
        state.feed_token(token)
    except UnexpectedToken:
        return False
    return True


def _quoted(letter: str) -> str:
    """Show a letter; one that cannot be seen, as pasted text may have, by its number."""
    return f"'{letter}'" if letter.isprintable() else f"the character U+{ord(letter):04X}"


def _may_begin_a_rule(token: Token, last: Token) -> bool:
    on_new_line = (token.line or 0) > (last.end_line or 0)
    return on_new_line or last.type == "PERIOD" or token.type == "NUMBER"


def _finished(state: InteractiveParser, begun: list[Token], text: str, name: str) -> Tree[Token]:
    """Tree of the rule that has been fed; an error if it is incomplete."""
    try:
        tree: Tree[Token] = state.feed_eof(begun[-1])  # type: ignore[no-untyped-call]
    except UnexpectedToken:
        position = begun[-1].end_pos or 0
        found = "the end of the line" if text[position:].strip() else "the end of the text"
        raise _error(text, name, position, state, begun, found) from None
    return tree


def _rule(tree: Tree[Token], name: str) -> LogicalRule:
    """Rule of a syntax tree."""
    place = Place(tree.meta.line, tree.meta.column)
    sides = {"body": tuple[Literal, ...](), "head": tuple[Literal, ...]()}
    weight, squared = None, False
    for part in tree.children:
        if isinstance(part, Token):
            squared = part == "^2"
        elif part.data == "weight":
            weight = float("".join(map(str, part.children)))
            if not math.isfinite(weight):
                problem = f"the weight {''.join(map(str, part.children))} is too large for a number"
                raise DataError(name, problem, line=place.line, column=place.column)
        else:
            sides[str(part.data)] = tuple(_literals(part))
    return LogicalRule(weight, sides["body"], sides["head"], squared, place)


def _literals(side: Tree[Token]) -> Iterator[Literal]:
    """Yield the literals of a body or head: atoms, each behind its negations."""
    negated = False
    for child in side.children:
        if isinstance(child, Token):
            negated = not negated
        else:
            yield Literal(_atom(child), negated)
            negated = False


def _atom(tree: Tree[Token]) -> Atom | Comparison:
    place = Place(tree.meta.line, tree.meta.column)
    terms = [_term(child) for child in tree.children if isinstance(child, Tree)]
    [token] = [child for child in tree.children if isinstance(child, Token)]
    if tree.data == "atom":
        return Atom(str(token), tuple(terms), place)
    return Comparison(terms[0], _OPERATORS[token.type], terms[1], place)


def _term(tree: Tree[Token]) -> Term:
    text = "".join(map(str, tree.children))
    if tree.data == "variable":
        return Variable(text)
    if tree.data == "number":
        return Constant(text)
    return Constant(
        re.sub(r"\\(.)", lambda escape: _UNESCAPED.get(escape[1], escape[1]), text[1:-1])
    )


def _error(
    text: str, name: str, position: int, state: InteractiveParser, begun: list[Token], found: str
) -> DataError:
    """Say what is wrong at a position of the text, behind the tokens of the rule begun."""
    start = begun[0].start_pos or 0 if begun else position
    end_of_line = text.find("\n", position)
    rest = text[start : end_of_line if end_of_line >= 0 else len(text)]
    # Quotes and comments give way to blanks, so that positions stay.
    bare = _QUOTED_OR_COMMENT.sub(lambda quoted: " " * len(quoted[0]), rest)
    if relation := _RELATION.search(bare):
        position = start + relation.start()
        problem = (
            f"'{relation[0]}' makes this an arithmetic rule, and only logical rules are read here"
            + (" (equal terms are written '==')" if relation[0] == "=" else "")
        )
    elif found == "':'" and [token.type for token in begun] == ["NAME"]:
        position = start
        problem = f"'{begun[0]}' is no weight; expected a finite number such as 0.83"
    elif found in ("'''", "'\"'"):
        problem = (
            "a constant is not closed on its line, or has an escape other than "
            r"""\\, \', \", \t, \n and \r"""
        )
    elif text.startswith("/*", position):
        problem = "a comment is not closed; expected '*/'"
    else:
        accepted: set[str] = state.accepts()  # type: ignore[no-untyped-call]
        problem = f"expected {_expected(accepted)}, found {found}"
    line, line_start = text.count("\n", 0, position) + 1, text.rfind("\n", 0, position)
    return DataError(name, problem, line=line, column=position - line_start)


def _expected(tokens: set[str]) -> str:
    """Put the tokens that could stand here in words."""
    words = []
    if "NOT" in tokens:
        words += ["a weight such as '0.83:'"] if "NUMBER" in tokens else []
        words += ["an atom such as 'knows(A, B)'"]
        tokens = tokens - {"NOT", "NAME", "LPAR", "NUMBER"}
    elif "STRING" in tokens:
        words += ["a variable", "a constant"]
        tokens = tokens - {"NAME", "NUMBER"}
    words += [word for token, word in _WORDS.items() if token in tokens]
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
