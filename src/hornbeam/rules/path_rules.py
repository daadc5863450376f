"""Path clauses among logical rules: any spelling of a path is recognised, all else refused.

`mentions(B, C) & cites(A, B) -> mentions(A, C)` is the path cites, mentions whatever its variables
are called and in whatever order its atoms stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from hornbeam.errors import DataError
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Literal,
    LogicalRule,
    Operator,
    Place,
    Variable,
    rule_text,
)
from hornbeam.rules.body import MAX_LENGTH, Body, Step
from hornbeam.rules.clause import Clause, prior

#: Two variables that must not be the same entity.
Unequal = frozenset[str]


class _RefusedError(Exception):
    """Why a rule is no path clause, and where that shows; without a place, in the whole rule."""

    def __init__(self, why: str, at: Atom | Comparison | None = None) -> None:
        super().__init__(why)
        self.place = at.place if at else None


class StatedClause(NamedTuple):
    """A clause, and whether its rule says that all variables are different; None for a prior."""

    clause: Clause
    distinct: bool | None


def path_clause(rule: LogicalRule, names: Mapping[str, str], source: str) -> StatedClause:
    """Clause that a weighted rule states.

    Parameters
    ----------
    rule
        A rule whose head is one atom over two variables, and whose body is empty (a prior) or
        atoms that form one path from the first variable to the second, with `!=` between all
        variables of the path or none.
    names
        Real names of predicates by their identifiers in lower case; others are called as written.
    source
        What messages call the text of the rule.

    Raises
    ------
    DataError
        With the place of what is not part of a path clause.

    Examples
    --------
    >>> from hornbeam.language.syntax import parse_logical_rules
    >>> text = "0.5: mentions(Y, Z) & cites(Y, X) -> !mentions(X, Z)"
    >>> [rule] = parse_logical_rules(text, "model.psl")
    >>> str(path_clause(rule, {}, "model.psl").clause)
    'cites(B, A) & mentions(B, C) -> !mentions(A, C)'
    """
    try:
        return _clause(rule, names)
    except _RefusedError as refused:
        raise refusal(rule, str(refused), source, refused.place) from None


def refusal(rule: LogicalRule, why: str, source: str, place: Place | None = None) -> DataError:
    """Error that names a rule, its place (or the given one) and why it is refused."""
    text = rule_text(rule)
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    place = place or rule.place
    line, column = (place.line, place.column) if place else (None, None)
    return DataError(source, f"{why} (the rule is: {shown})", line=line, column=column)


def _clause(rule: LogicalRule, names: Mapping[str, str]) -> StatedClause:
    if rule.weight is None:
        raise _RefusedError("a model has no hard rules; expected a weight such as '0.83:'")
    if rule.weight < 0:
        raise _RefusedError("the weight is negative; expected a number of at least 0")
    if len(rule.head) != 1:
        raise _RefusedError(f"the head has {len(rule.head)} atoms; expected one", rule.head[1].atom)
    head, negated = rule.head[0].atom, rule.head[0].negated
    if isinstance(head, Comparison):
        raise _RefusedError(f"the head is {head}; expected an atom", head)
    start, end = _ends(head)
    target = names.get(head.predicate.lower(), head.predicate)
    if not rule.body:
        return StatedClause(prior(target, negated), None)
    atoms, different = [], dict[Unequal, Comparison]()
    for literal in rule.body:
        if isinstance(literal.atom, Comparison):
            different[_different(literal.atom, literal)] = literal.atom
        elif literal.negated:
            raise _RefusedError(f"{literal} is negated; bodies are made of facts", literal.atom)
        else:
            atoms.append(literal.atom)
    if not atoms:
        raise _RefusedError("the body has no atom", rule.body[0].atom)
    if len(atoms) > MAX_LENGTH:
        why = f"the body has {len(atoms)} atoms; expected at most {MAX_LENGTH}"
        raise _RefusedError(why, atoms[MAX_LENGTH])
    walked, nodes = _walk(atoms, start, end)
    steps = (Step(names.get(p.lower(), p), inverse) for p, inverse in walked)
    clause = Clause(Body(tuple(steps), target), negated)
    return StatedClause(clause, _all_different(different, nodes))


def _ends(atom: Atom) -> tuple[str, str]:
    """Both variables of an atom."""
    if len(atom.arguments) != 2:
        raise _RefusedError(f"{atom} has arity {len(atom.arguments)}; expected 2", atom)
    names = []
    for term in atom.arguments:
        if not isinstance(term, Variable):
            raise _RefusedError(f"{atom} has the constant {term}; expected variables", atom)
        names.append(term.name)
    if names[0] == names[1]:
        raise _RefusedError(f"{atom} has one variable twice; expected two variables", atom)
    return names[0], names[1]


def _different(comparison: Comparison, literal: Literal) -> Unequal:
    """Both variables of a `!=`."""
    if literal.negated or comparison.operator is not Operator.DIFFERENT:
        raise _RefusedError(f"{literal} stands in the body; expected != only", comparison)
    terms = (comparison.left, comparison.right)
    names = {term.name for term in terms if isinstance(term, Variable)}
    if len(names) != 2:
        raise _RefusedError(f"{comparison} does not compare two variables", comparison)
    return frozenset(names)


def _walk(atoms: list[Atom], start: str, end: str) -> tuple[list[tuple[str, bool]], list[str]]:
    """Walk from start to end over every atom once; the steps, and the variables on the way."""
    left = [(atom, *_ends(atom)) for atom in atoms]
    steps, nodes = list[tuple[str, bool]](), [start]
    no_path = f"the body is no path from {start} to {end}"
    while left:
        here = nodes[-1]
        if here == end:
            raise _RefusedError(f"{no_path}: {left[0][0]} is not on it", left[0][0])
        touching = [step for step in left if here in step[1:]]
        if not touching:
            raise _RefusedError(f"{no_path}: no atom leads on from {here}", left[0][0])
        if len(touching) > 1:
            raise _RefusedError(f"{no_path}: it branches at {here}", touching[1][0])
        atom, first, second = touching[0]
        # Never a variable of before: an atom that leads back there would have been a branch.
        there = second if first == here else first
        steps.append((atom.predicate, first == there))
        nodes.append(there)
        left.remove(touching[0])
    if nodes[-1] != end:
        raise _RefusedError(f"{no_path}: it ends at {nodes[-1]}", atoms[-1])
    return steps, nodes


def _all_different(different: Mapping[Unequal, Comparison], nodes: list[str]) -> bool:
    """Whether all variables of the path must be different entities; some is neither."""
    for pair, comparison in different.items():
        if not pair <= set(nodes):
            raise _RefusedError(f"{comparison} has a variable that no atom has", comparison)
    missing = [" != ".join(p) for p in combinations(nodes, 2) if frozenset(p) not in different]
    if different and missing:
        why = "expected != between all variables of the path or none"
        at = next(iter(different.values()))
        raise _RefusedError(f"{why}, but ({missing[0]}) is missing", at)
    return bool(different)
