"""From the syntax tree of a logical rule to the rule: literals and their brackets.

A bracket that compares is a threshold, and belongs to the literals of the body before it. Any other
bracket comes after the rule: the rule's way of counting, or the figures that were counted for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, TypeVar, cast

from lark import Token, Tree

from hornbeam.base.dates import day_number
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.texts import quote
from hornbeam.language.arithmetic_rules import RefusedError
from hornbeam.language.syntax import (
    Atom,
    Bound,
    Bracket,
    BracketOperator,
    Comparison,
    Constant,
    CountedBracket,
    Literal,
    LogicalRule,
    NumberTest,
    Operator,
    Place,
    SumVariable,
    Term,
    ThresholdSpan,
    Unit,
    Variable,
    unescaped,
)
from hornbeam.language.time_brackets import EVER, NO_TIME, TimeCondition, time_text

#: Every whole number up to this number is a double exactly.
MAX_EXACT = 2**53

SyntaxNode = Tree[Token]
SyntaxPart = SyntaxNode | Token

_OPERATORS = {
    "EQUAL": Operator.EQUAL,
    "DIFFERENT": Operator.DIFFERENT,
    "MINUS": Operator.DIFFERENT,
    "ORDERED": Operator.ORDERED,
}


def logical_rule(
    tree: SyntaxNode, weight: float | None, squared: bool, place: Place
) -> LogicalRule:
    """The logical rule of a syntax tree that has a body and a head, or only a head."""
    sides = {
        part.data: _Side.of(part)
        for part in tree.children
        if isinstance(part, Tree) and part.data in ("body", "head")
    }
    head, body = sides["head"], sides.get("body", _Side())
    if head.thresholds:
        stray = head.thresholds[0].threshold
        problem = f"{stray} stands in the head; expected a threshold behind atoms of the body"
        raise RefusedError(problem, stray.place or place)
    # sides are in the order of the text: a rule with `<-` has its body last
    *_, last = sides.values()
    for literal in head.literals:
        if isinstance(literal.atom, Atom) and literal.atom.has_time:
            bracket = time_text(literal.atom.when, literal.atom.after).strip() or EVER
            problem = f"{bracket} stands in the head; expected it behind atoms of the body"
            raise RefusedError(problem, literal.atom.place)
    weighing = _behind(sides.values(), last, Bracket)
    counted = _behind(sides.values(), last, CountedBracket)
    literals = tuple(body.literals), tuple(head.literals)
    thresholds = tuple(body.thresholds)
    return LogicalRule(weight, *literals, squared, place, weighing, thresholds, counted)


RuleBracket = TypeVar("RuleBracket", Bracket, CountedBracket)


def _behind(sides: Iterable[_Side], last: _Side, kind: type[RuleBracket]) -> RuleBracket | None:
    """The bracket of a kind after a rule, or None; the text of the rule ends with side `last`."""
    found = [one for side in sides for one in side.brackets if isinstance(one.bracket, kind)]
    bracket = None
    if found and found[-1] in last.brackets and found[-1].stop == len(last.literals):
        bracket = found.pop().bracket
    if found:
        stray = found[0].bracket
        called = "a way of counting" if kind is Bracket else "what was counted"
        problem = (
            f"{stray} is {called}, not a threshold such as [n >= 25]; "
            "expected it once, behind the rule"
        )
        raise RefusedError(problem, cast("Place", stray.place))
    return cast("RuleBracket | None", bracket)


class _BracketPlace(NamedTuple):
    """A way of counting or a counted bracket, and the number of literals before it."""

    bracket: Bracket | CountedBracket
    stop: int


@dataclass
class _Side:
    """A body or head while it is read: its literals, and the brackets after them."""

    literals: list[Literal] = field(default_factory=list)
    thresholds: list[ThresholdSpan] = field(default_factory=list)
    brackets: list[_BracketPlace] = field(default_factory=list)

    @classmethod
    def of(cls, tree: SyntaxNode) -> _Side:
        side = cls()
        side._read(tree.children)
        return side

    def _read(self, parts: Iterable[SyntaxPart]) -> None:
        literal: list[SyntaxPart] = []
        start, within = len(self.literals), len(self.thresholds)
        for part in parts:
            if isinstance(part, Token):
                literal.append(part)
            elif part.data == "when" or (part.data == "bracket" and _is_ever(part)):
                self._add_time(part, start)
            elif part.data == "order":
                self._add_order(part, start)
            elif part.data == "bracket":
                self._add(bracket_of(part), start, within)
            elif part.data == "counted":
                self.brackets.append(_BracketPlace(_counted(part), len(self.literals)))
            elif part.data in ("bracketed_single", "bracketed_group"):
                self._read(part.children)
                literal.clear()
            else:
                self.literals += literals_of_parts([*literal, part])
                literal.clear()

    def _add_time(self, tree: SyntaxNode, start: int) -> None:
        """Add a condition on the time of the one atom from `start` on."""
        words = [str(part) for part in tree.children if part is not None]
        compared = words[-3:] if any(sign in words for sign in ("<=", ">=", "=")) else []
        kind, *span = words[: len(words) - len(compared)]
        amount = f" {''.join(span)}" if span else ""
        text = f"[{kind}{amount}{', ' if compared else ''}{' '.join(compared)}]"
        try:
            when = TimeCondition.of_text(text)
        except ValueError as error:
            raise RefusedError(str(error), place_of(tree)) from None
        atom = self._only_atom(text, start, tree)
        if atom.when != NO_TIME:
            raise _misplaced(text, 1, tree)
        self.literals[start] = replace(self.literals[start], atom=replace(atom, when=when))

    def _add_order(self, tree: SyntaxNode, start: int) -> None:
        """Add that the one atom from `start` on was true later than a neighbour."""
        word, after = map(str, tree.children)
        text = f"[{word} {after}]"
        if word != "after":
            expected = "[after visits] with the predicate of the atom before or behind it"
            raise RefusedError(f"{text} is no order; expected {expected}", place_of(tree))
        atom = self._only_atom(text, start, tree)
        if atom.after:
            raise _misplaced(text, 1, tree)
        self.literals[start] = replace(self.literals[start], atom=replace(atom, after=after))

    def _only_atom(self, text: str, start: int, tree: SyntaxNode) -> Atom:
        """The atom from `start` on, behind which a bracket stands."""
        literals = self.literals[start:]
        atom = literals[0].atom if len(literals) == 1 else None
        if not isinstance(atom, Atom):
            raise _misplaced(text, len(literals), tree)
        return atom

    def _add(self, bracket: Bracket, start: int, within: int) -> None:
        """Add a bracket of the literals from `start` on, whose thresholds begin at `within`."""
        if not bracket.is_threshold:
            self.brackets.append(_BracketPlace(bracket, len(self.literals)))
            return
        if self.thresholds[within:]:
            problem = (
                f"{bracket} and {self.thresholds[within].threshold} stand behind the same atoms; "
                "expected one threshold"
            )
            raise RefusedError(problem, cast("Place", bracket.place))
        self.thresholds.append(ThresholdSpan(start, len(self.literals), bracket))


def _misplaced(text: str, atoms: int, tree: SyntaxNode) -> RefusedError:
    """The refusal of a bracket on time that does not stand alone of its kind behind one atom."""
    problem = f"{text} stands behind {atoms} atoms, or behind another such bracket"
    return RefusedError(f"{problem}; expected one behind an atom", place_of(tree))


def _is_ever(tree: SyntaxNode) -> bool:
    """Whether a bracket is `[ever]`."""
    return [str(part) for part in tree.children if part is not None] == [EVER.kind]


def bracket_of(tree: SyntaxNode) -> Bracket:
    """The bracket of a syntax tree."""
    name, *rest = tree.children
    if not rest:
        return Bracket(str(name), place=place_of(tree))
    operator = str(rest[0])
    number, *second = (_exact_number(cast("SyntaxNode", part)) for part in rest[1:])
    if operator not in ("/", ">=", ">"):
        problem = f"'{operator}' stands in brackets; expected '>=', '>' or '/'"
        raise RefusedError(problem, place_of(cast("Token", rest[0])))
    kind = cast("BracketOperator", operator)
    return Bracket(str(name), kind, number, place_of(tree), second[0] if second else None)


def _counted(tree: SyntaxNode) -> CountedBracket:
    """The counted bracket of a syntax tree: figures that were counted for a rule."""
    hits, of, predicted, *rest = tree.children
    words = [str(of), *map(str, rest[:1])]
    figures = (str(hits), str(predicted))
    if words not in (["of"], ["of", "weight"]) or not all(map(str.isdigit, figures)):
        problem = "expected what was counted, as in [88 of 129] or [88 of 129, weight -0.5]"
        raise RefusedError(problem, place_of(tree))
    weight = number_of(cast("SyntaxNode", rest[1]), "weight") if rest else 0.0
    return CountedBracket(int(figures[0]), int(figures[1]), weight, place_of(tree))


def literals_of_parts(parts: Iterable[SyntaxPart]) -> Iterator[Literal]:
    """Yield the literals of a body, head or filter: atoms, each after its negations."""
    negated = False
    for part in parts:
        if isinstance(part, Tree):
            yield Literal(_LITERALS.get(part.data, _atom)(part), negated)
            negated = False
        else:
            negated ^= part.type == "NOT"


def _atom(tree: SyntaxNode) -> Atom:
    """The atom of a logical rule; summation variables are refused."""
    atom = atom_of(tree)
    for argument, term in zip(atom.arguments, tree.children[1:], strict=True):
        if isinstance(argument, SumVariable):
            problem = (
                f"'{argument}' adds atoms up, as arithmetic rules do; expected '{argument.name}'"
            )
            raise RefusedError(problem, place_of(term))
    return atom


def atom_of(tree: SyntaxNode) -> Atom:
    """The atom of a syntax tree; it may have summation variables."""
    name, *terms = tree.children
    arguments = tuple([_term(cast("SyntaxNode", term)) for term in terms])
    return Atom(str(name), arguments, place_of(tree))


def comparison_of(tree: SyntaxNode) -> Comparison:
    """The comparison of a syntax tree."""
    left, operator, right = tree.children
    first, second = (_term(cast("SyntaxNode", term)) for term in (left, right))
    return Comparison(first, _OPERATORS[cast("Token", operator).type], second, place_of(tree))


def _number_test(tree: SyntaxNode) -> NumberTest:
    """The comparison of numbers of a syntax tree, or the number that it is about."""
    parts = list(tree.children)
    if tree.data == "absolute":
        return _compared_number(tree, [tree], Operator.VALUE, None)
    if tree.data == "group":
        return _compared_number(tree, parts, Operator.VALUE, None)
    *value, relation, limit = parts
    if str(relation) not in (">=", "<"):
        problem = f"'{relation}' compares a number; expected '>=' or '<'"
        raise RefusedError(problem, place_of(relation))
    return _compared_number(tree, value, Operator(str(relation)), _bound(cast("SyntaxNode", limit)))


def _compared_number(
    tree: SyntaxNode, value: Sequence[SyntaxPart], operator: Operator, bound: Bound | None
) -> NumberTest:
    """The number of a syntax tree, compared with a bound."""
    absolute = isinstance(value[0], Tree) and value[0].data == "absolute"
    if absolute:
        name, *value = cast("SyntaxNode", value[0]).children
        if str(name) != "abs":
            raise RefusedError(f"{quote(str(name))} is no function; expected abs", place_of(name))
    atoms = [atom_of(part) for part in value if isinstance(part, Tree) and part.data == "atom"]
    signs = [str(part) for part in value if isinstance(part, Token)]
    expected = "expected an attribute such as year(A), or a difference, year(A) - year(B)"
    if signs != ["-"] * (len(atoms) - 1) or len(atoms) + len(signs) != len(value) or len(atoms) > 2:
        raise RefusedError(f"the number is no attribute; {expected}", place_of(tree))
    variables = list[Variable]()
    for atom in atoms:
        if len(atom.arguments) != 1 or not isinstance(atom.arguments[0], Variable):
            raise RefusedError(f"{atom} is no attribute of a variable; {expected}", atom.place)
        variables.append(atom.arguments[0])
    right = variables[1] if len(atoms) == 2 else Constant("" if bound is None else str(bound))
    minus = atoms[1].predicate if len(atoms) == 2 else None
    return NumberTest(
        variables[0], operator, right, place_of(tree), atoms[0].predicate, minus, absolute, bound
    )


def _bound(tree: SyntaxNode) -> Bound:
    """The bound of a comparison: a number, days, or a date."""
    first, *rest = tree.children
    if isinstance(first, Token):
        text = "".join(map(str, tree.children))
        try:
            return Bound(day_number(text), Unit.DATE)
        except ValueError:
            raise RefusedError(f"{text} is no date; expected YYYY-MM-DD", place_of(tree)) from None
    if rest and str(rest[0]) != "days":
        raise RefusedError(f"'{rest[0]}' is no unit; expected 'days'", place_of(rest[0]))
    return Bound(_exact_number(first) + 0.0, Unit.DAYS if rest else Unit.NUMBER)


_LITERALS: Mapping[str, Callable[[SyntaxNode], Atom | Comparison]] = {
    "comparison": comparison_of,
    **dict.fromkeys(("test", "group", "absolute"), _number_test),
}

#: Variables by name, cached: rules have the same few variables again and again.
_variable = lru_cache(1024)(Variable)


def _term(tree: SyntaxNode) -> Term:
    if tree.data == "variable":
        return _variable(str(tree.children[0]))
    text = "".join(map(str, tree.children))
    match tree.data:
        case "sum_variable":
            return SumVariable(text[1:])
        case "number":
            return Constant(text)
    return Constant(unescaped(text))


def _exact_number(tree: SyntaxNode) -> float:
    """Value of a number in a bracket; a whole number that would be rounded is refused."""
    value, text = number_of(tree, "number"), "".join(map(str, tree.children))
    if text.isdigit() and int(text) != value:
        problem = f"{text} cannot be held exactly; expected {value:.0f}, or at most {MAX_EXACT}"
        raise RefusedError(problem, place_of(tree))
    return value


def number_of(tree: SyntaxNode, called: str) -> float:
    """Value of a number with its sign; refused if too large for sums and squares to stay finite."""
    text = "".join(map(str, tree.children))
    value = float(text)
    if abs(value) > MAX_NUMBER:
        said = f"is too large for a number; expected at most {MAX_NUMBER:g}"
        raise RefusedError(f"the {called} {quote(text, '')} {said}", place_of(tree))
    return value


def place_of(part: SyntaxPart) -> Place:
    """Where a part of the tree begins."""
    at = part.meta if isinstance(part, Tree) else part
    return Place(at.line or 1, at.column or 1)
