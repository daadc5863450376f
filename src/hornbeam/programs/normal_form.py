"""Rules as PSL takes them: predicates as declared, no literal twice, no alternatives in filters.

A logical rule is a disjunction of literals, a set; PSL drops repeated literals, even where one is
in the body and its negation in the head. A filter with alternatives, `{B: p(B) | q(B)}`, makes PSL
read one rule for each alternative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import TypeVar

from hornbeam.language.arithmetic_rules import (
    AllOf,
    AnyOf,
    Condition,
    Filter,
    PslRule,
    SumAtom,
    Summand,
)
from hornbeam.language.syntax import Atom, Comparison, Literal, LogicalRule

AnAtom = TypeVar("AnAtom", Atom, SumAtom)


def normal_rules(rule: PslRule, names: Mapping[str, str]) -> Iterator[PslRule]:
    """Rules that PSL makes of one; `names` maps lower-case predicates to their declared names.

    Examples
    --------
    >>> from hornbeam.language.rule_texts import parse_rules
    >>> text = "1: knows(A, B) & knows(A, B) -> likes(A, B)"
    >>> [str(rule) for rule in normal_rules(parse_rules(text, "")[0], {"knows": "Knows"})]
    ['1.0: Knows(A, B) -> likes(A, B)']
    >>> text = "a(+B) = 1 . {B: p(B) & (q(B) | r(B))}"
    >>> [str(rule) for rule in normal_rules(parse_rules(text, "")[0], {})]
    ['a(+B) = 1.0 . {B: p(B) & q(B)}', 'a(+B) = 1.0 . {B: p(B) & r(B)}']
    """
    if isinstance(rule, LogicalRule):
        body = _distinct(_spelt_literal(literal, names) for literal in rule.body)
        negated = {Literal(literal.atom, not literal.negated) for literal in body}
        head = _distinct(_spelt_literal(literal, names) for literal in rule.head)
        # A head whose negation is in the body adds nothing, unless there would be no head.
        needed = tuple(literal for literal in head if literal not in negated)
        yield replace(rule, body=body, head=needed or head[:1])
        return
    left, right = (
        tuple(_spelt_summand(summand, names) for summand in side)
        for side in (rule.left, rule.right)
    )
    for chosen in product(*(_alternatives(one.condition) for one in rule.filters)):
        filters = tuple(
            Filter(one.variable, _joined([_spelt_literal(literal, names) for literal in literals]))
            for one, literals in zip(rule.filters, chosen, strict=True)
        )
        yield replace(rule, left=left, right=right, filters=filters)


def _distinct(literals: Iterator[Literal]) -> tuple[Literal, ...]:
    return tuple(dict.fromkeys(literals))


def _spelt_literal(literal: Literal, names: Mapping[str, str]) -> Literal:
    if isinstance(literal.atom, Comparison):
        return literal
    return replace(literal, atom=_spelt(literal.atom, names))


def _spelt_summand(summand: Summand, names: Mapping[str, str]) -> Summand:
    return replace(summand, atom=summand.atom and _spelt(summand.atom, names))


def _spelt(atom: AnAtom, names: Mapping[str, str]) -> AnAtom:
    return replace(atom, predicate=names.get(atom.predicate.lower(), atom.predicate))


def _alternatives(condition: Condition) -> list[list[Literal]]:
    """Disjunctive normal form: alternatives, each a list of literals that must all hold."""
    match condition:
        case Literal():
            return [[condition]]
        case AnyOf(parts):
            return [literals for part in parts for literals in _alternatives(part)]
        case AllOf(parts):
            return [
                [literal for literals in chosen for literal in literals]
                for chosen in product(*map(_alternatives, parts))
            ]


def _joined(literals: list[Literal]) -> Condition:
    distinct = tuple(dict.fromkeys(literals))
    return distinct[0] if len(distinct) == 1 else AllOf(distinct)
