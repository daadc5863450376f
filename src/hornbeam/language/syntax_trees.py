"""From the syntax tree of one rule to the rule.

Only arithmetic is not straightforward. PSL reads a sum from left to right, and every coefficient
takes in as many numbers as it can. A run of numbers before an atom is one coefficient, a run after
a `/` is one denominator, any other run is one constant. The grammar gives the parts of a sum and
the signs between them; `_summands` forms the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

from lark import Token, Tree

from hornbeam.language.arithmetic_rules import (
    AllOf,
    AnyOf,
    ArithmeticOperator,
    ArithmeticRule,
    Cardinality,
    Coefficient,
    Condition,
    Extreme,
    Filter,
    Number,
    Operation,
    PslRule,
    RefusedError,
    Relation,
    Summand,
    operands,
)
from hornbeam.language.logical_trees import (
    SyntaxNode,
    SyntaxPart,
    atom_of,
    comparison_of,
    literals_of_parts,
    logical_rule,
    number_of,
    place_of,
)
from hornbeam.language.syntax import Atom, Comparison, Place

_ONE = Number(1.0)

#: How deep coefficients and conditions may be nested, so that functions may recurse over them.
MAX_DEPTH = 50
TOO_DEEP = f"the rule is nested too deeply; expected at most {MAX_DEPTH} operators in each other"


def rule_of(tree: SyntaxNode) -> PslRule:
    """The rule of a syntax tree; a `RefusedError` where the grammar allows more than rules do."""
    parts = {part.data: part for part in tree.children if isinstance(part, Tree)}
    weight = number_of(parts["weight"], "weight") if "weight" in parts else None
    squared = any(part == "^2" for part in tree.children)
    place = Place(tree.meta.line, tree.meta.column)
    if "side" not in parts:
        return logical_rule(tree, weight, squared, place)
    [relation] = [part for part in tree.children if getattr(part, "type", "") == "RELATION"]
    sides = [_side(part) for part in _trees(tree, "side")]
    (left, compared_left), (right, compared_right) = sides
    filters = tuple(map(_filter, _trees(tree, "filter")))
    compared = (*compared_left, *compared_right)
    nested = [summand.coefficient for summand in (*left, *right)]
    if max(map(_depth, [*nested, *(chosen.condition for chosen in filters)])) > MAX_DEPTH:
        raise RefusedError(TOO_DEEP, place)
    return ArithmeticRule(
        weight, left, Relation(str(relation)), right, filters, compared, squared, place
    )


def _trees(tree: SyntaxNode, kind: str) -> list[SyntaxNode]:
    return [part for part in tree.children if isinstance(part, Tree) and part.data == kind]


def _depth(whole: Coefficient | Condition) -> int:
    """How deep operators are nested."""
    level: list[Coefficient | Condition] = [whole]
    depth = -1
    while level:
        depth += 1
        level = [part for whole in level for part in operands(whole)]
    return depth


# Arithmetic ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _SumPart:
    """One part of a sum: a number, an atom with its coefficients, or a group."""

    negative: bool
    number: Coefficient | None = None
    atom: Atom | Comparison | None = None
    denominator: Coefficient | None = None
    group: SyntaxNode | None = None

    @property
    def is_number(self) -> bool:
        return self.atom is None and self.group is None

    @property
    def operator(self) -> ArithmeticOperator:
        return "-" if self.negative else "+"


def _side(tree: SyntaxNode) -> tuple[tuple[Summand, ...], tuple[Comparison, ...]]:
    """Summands of a side, the sum of its constants last; and the comparisons of the side."""
    found = list(_summands(tree.children))
    atoms = [Summand(number, atom) for number, atom in found if isinstance(atom, Atom)]
    comparisons = tuple(atom for _, atom in found if isinstance(atom, Comparison))
    constants = [number for number, atom in found if atom is None]
    if constants or not atoms:
        constant = reduce(lambda a, b: Operation("+", a, b), constants or [Number(0.0)])
        atoms.append(Summand(constant))
    return tuple(atoms), comparisons


def _summands(
    children: Sequence[SyntaxPart],
) -> Iterator[tuple[Coefficient, Atom | Comparison | None]]:
    """Yield (coefficient, atom) in the order of the text; for constants the atom is None."""
    parts = list(_parts(children))
    at = 0
    while at < len(parts):
        first = last = parts[at]
        coefficient = first.number or _ONE
        while last.is_number and at + 1 < len(parts) and parts[at + 1].number is not None:
            at += 1
            last = parts[at]
            coefficient = Operation(last.operator, coefficient, cast("Coefficient", last.number))
        at += 1
        coefficient = _negated(coefficient) if first.negative else coefficient
        if last.denominator is not None:
            denominator = last.denominator
            while at < len(parts) and parts[at].is_number:
                behind = cast("Coefficient", parts[at].number)
                denominator = Operation(parts[at].operator, denominator, behind)
                at += 1
            coefficient = Operation("/", coefficient, denominator)
        if last.group is not None:
            for inner, atom in _summands(last.group.children):
                yield (_negated(inner) if last.negative else inner), atom
        else:
            yield coefficient, last.atom


def _parts(children: Sequence[SyntaxPart]) -> Iterator[_SumPart]:
    """Yield the parts between the signs of a sum."""
    negative = False
    for child in children:
        if isinstance(child, Token):
            if child.type == "NOT":
                raise _negation(child)
            negative = child.type == "MINUS"
        elif child.data == "product":
            yield _SumPart(negative, _product(child))
        elif child.data == "group":
            yield _SumPart(negative, group=child)
        elif child.data == "term":
            yield _weighted(child, negative)
        else:
            yield _SumPart(negative, atom=_atom_or_comparison(child))


def _weighted(term: SyntaxNode, negative: bool) -> _SumPart:
    """Read a term: [number [*]] atom [/ number]."""
    number = denominator = atom = None
    for child in term.children:
        if isinstance(child, Token):
            if child.type == "NOT":
                raise _negation(child)
        elif child.data != "product":
            atom = _atom_or_comparison(child)
        elif atom is None:
            number = _product(child)
        else:
            denominator = _product(child)
    return _SumPart(negative, number, atom, denominator)


def _atom_or_comparison(tree: SyntaxNode) -> Atom | Comparison:
    return comparison_of(tree) if tree.data == "comparison" else atom_of(tree)


def _negation(token: Token) -> RefusedError:
    problem = "an atom is negated in an arithmetic rule; expected '1 - a(A)' rather than '!a(A)'"
    return RefusedError(problem, place_of(token))


def _negated(coefficient: Coefficient) -> Coefficient:
    if isinstance(coefficient, Number):
        return Number(-coefficient.value)
    return Operation("*", Number(-1.0), coefficient)


def _product(tree: SyntaxNode) -> Coefficient:
    """The coefficient of a product: factors with `*` and `/` between them, from left to right."""
    if len(tree.children) == 1:
        return _coefficient(cast("SyntaxNode", tree.children[0]))
    before, operator, last = tree.children
    operands = _product(cast("SyntaxNode", before)), _coefficient(cast("SyntaxNode", last))
    return Operation(cast("ArithmeticOperator", str(operator)), *operands)


def _constants(tree: SyntaxNode) -> Coefficient:
    """The coefficient of a sum: products with `+` and `-` between them, from left to right."""
    [(constant, _)] = _summands(tree.children)
    return constant


def _coefficient(tree: SyntaxNode) -> Coefficient:
    match tree.data:
        case "number":
            return Number(number_of(tree, "number"))
        case "cardinality":
            return Cardinality(str(tree.children[1]))
        case "extreme":
            function, *bounds = tree.children
            arguments = tuple(_constants(cast("SyntaxNode", bound)) for bound in bounds)
            return Extreme("Min" if function == "@Min" else "Max", arguments)
    return _constants(tree)


def _filter(tree: SyntaxNode) -> Filter:
    variable, *condition = tree.children
    [read] = _conditions(condition)
    return Filter(str(variable), read)


def _conditions(parts: Iterable[SyntaxPart]) -> Iterator[Condition]:
    """Yield the conditions of a filter's parts: literals, conjunctions and disjunctions."""
    literal: list[SyntaxPart] = []
    for part in parts:
        if isinstance(part, Tree) and part.data in ("all", "any"):
            yield _compound(part)
        else:
            literal.append(part)
            if isinstance(part, Tree):
                yield from literals_of_parts(literal)
                literal.clear()


def _compound(tree: SyntaxNode) -> Condition:
    """A conjunction or disjunction; nested conditions of the same kind are flattened."""
    kind = AllOf if tree.data == "all" else AnyOf
    flat: list[Condition] = []
    for part in _conditions(tree.children):
        flat += part.parts if isinstance(part, kind) else [part]
    return kind(tuple(flat))  # type: ignore[arg-type]
