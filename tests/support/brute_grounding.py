"""Grounding by trying every substitution, as PSL defines it: slow, plain, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hornbeam.language.arithmetic_rules import (
    AllOf,
    AnyOf,
    ArithmeticRule,
    Cardinality,
    Coefficient,
    Condition,
    Extreme,
    Number,
    Operation,
    PslRule,
    Relation,
)
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Literal,
    LogicalRule,
    Operator,
    SumVariable,
    Term,
)

Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class World:
    """Observed values and open atoms by (predicate, arguments)."""

    constants: Sequence[str]
    observed: Mapping[Key, float]
    targets: frozenset[Key]
    closed: Mapping[str, bool]

    def has(self, key: Key) -> bool:
        return key in self.observed or key in self.targets


@dataclass(frozen=True)
class Ground:
    """A ground rule: sum of coefficients times open atoms, plus a constant, and its relation."""

    literals: tuple[tuple[float, Key], ...]
    constant: float
    relation: Relation
    rule: PslRule

    def cost(self, state: Mapping[Key, float]) -> float:
        form = self.constant + sum(c * state[key] for c, key in self.literals)
        if self.relation is Relation.EQUAL:
            far = abs(form)
        else:
            far = max(0.0, form if self.relation is Relation.AT_MOST else -form)
        if self.rule.weight is None:
            return far
        return self.rule.weight * (far * far if self.rule.squared else far)


def ground_by_brute_force(rule: PslRule, world: World) -> Iterator[Ground]:
    if isinstance(rule, LogicalRule):
        yield from _logical(rule, world)
    else:
        for filters in _alternatives(rule):
            yield from _arithmetic(rule, filters, world)


def _names(terms: Iterable[Term]) -> list[str]:
    return [t.name for t in terms if not isinstance(t, Constant | SumVariable)]


def _value(term: Term, substitution: Mapping[str, str]) -> str:
    return term.value if isinstance(term, Constant) else substitution[term.name]


def _key(atom: Atom, substitution: Mapping[str, str]) -> Key:
    return atom.predicate, tuple(_value(t, substitution) for t in atom.arguments)


def _holds(comparison: Comparison, substitution: Mapping[str, str]) -> bool:
    left, right = (_value(t, substitution) for t in (comparison.left, comparison.right))
    return {
        Operator.EQUAL: left == right,
        Operator.DIFFERENT: left != right,
        Operator.ORDERED: left < right,
    }[comparison.operator]


def _logical(rule: LogicalRule, world: World) -> Iterator[Ground]:
    violating = [(lit.atom, not lit.negated) for lit in rule.body]
    violating += [(lit.atom, lit.negated) for lit in rule.head]
    variables = sorted(
        {
            name
            for atom, _ in violating
            for name in _names(
                atom.arguments if isinstance(atom, Atom) else (atom.left, atom.right)
            )
        }
    )
    for values in product(world.constants, repeat=len(variables)):
        substitution = dict(zip(variables, values, strict=True))
        if not all(
            _holds(atom, substitution) == true
            for atom, true in violating
            if isinstance(atom, Comparison)
        ):
            continue
        atoms = [(_key(a, substitution), true) for a, true in violating if isinstance(a, Atom)]
        if not all(world.has(key) for key, true in atoms if true):
            continue
        constant, literals, trivial = 1.0 - len(atoms), [], False
        for key, true in atoms:
            if key in world.targets:
                literals.append((1.0 if true else -1.0, key))
                constant += 0.0 if true else 1.0
            else:
                value = world.observed.get(key, 0.0)
                trivial |= value == (0.0 if true else 1.0)
                constant += value if true else 1.0 - value
        # an atom on both sides of the arrow: a tautology
        trivial |= len({key for _, key in literals}) < len(set(literals))
        if literals and not trivial:
            yield Ground(tuple(literals), constant, Relation.AT_MOST, rule)


def _alternatives(rule: ArithmeticRule) -> Iterator[dict[str, list[Literal]]]:
    def conjunctions(condition: Condition) -> list[list[Literal]]:
        if isinstance(condition, AnyOf):
            return [c for part in condition.parts for c in conjunctions(part)]
        if isinstance(condition, AllOf):
            return [
                [literal for part in chosen for literal in part]
                for chosen in product(*map(conjunctions, condition.parts))
            ]
        return [[condition]]

    options = [[(f.variable, c) for c in conjunctions(f.condition)] for f in rule.filters]
    for chosen in product(*options):
        yield dict(chosen)


def _evaluate(coefficient: Coefficient, sizes: Mapping[str, int]) -> float:
    match coefficient:
        case Number():
            return coefficient.value
        case Cardinality():
            return float(sizes[coefficient.variable])
        case Extreme():
            choose = min if coefficient.function == "Min" else max
            return choose(_evaluate(part, sizes) for part in coefficient.arguments)
        case Operation():
            a, b = (_evaluate(side, sizes) for side in (coefficient.left, coefficient.right))
            return {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else float("inf")}[
                coefficient.operator
            ]
    raise TypeError(coefficient)


def _arithmetic(
    rule: ArithmeticRule, filters: Mapping[str, list[Literal]], world: World
) -> Iterator[Ground]:
    summands = [(1.0, one) for one in rule.left] + [(-1.0, one) for one in rule.right]
    atoms = [one.atom for _, one in summands if one.atom is not None]
    plain = sorted({name for atom in atoms for name in _names(atom.arguments)})
    sums = sorted({t.name for a in atoms for t in a.arguments if isinstance(t, SumVariable)})
    seen = set()
    for values in product(world.constants, repeat=len(plain) + len(sums)):
        substitution = dict(zip([*plain, *sums], values, strict=True))
        if all(world.has(_key(atom, substitution)) for atom in atoms):
            seen.add(values[: len(plain)])
    for values in sorted(seen):
        substitution = dict(zip(plain, values, strict=True))
        expanded = {id(atom): _expanded(atom, substitution, filters, world) for atom in atoms}
        sizes = {}
        for atom in atoms:
            for term in atom.arguments:
                if isinstance(term, SumVariable):
                    sizes[term.name] = len(expanded[id(atom)])
        constant, literals = 0.0, []
        for sign, one in summands:
            coefficient = sign * _evaluate(one.coefficient, sizes)
            if one.atom is None:
                constant += coefficient
                continue
            for key in expanded[id(one.atom)]:
                if key in world.targets:
                    literals.append((coefficient, key))
                else:
                    constant += coefficient * world.observed.get(key, 0.0)
        if literals:
            yield Ground(tuple(literals), constant, rule.relation, rule)


def _expanded(
    atom: Atom,
    substitution: Mapping[str, str],
    filters: Mapping[str, list[Literal]],
    world: World,
) -> list[Key]:
    """Ground atoms that a (summation) atom stands for."""
    sums = sorted({t.name for t in atom.arguments if isinstance(t, SumVariable)})
    if not sums:
        return [_key(atom, substitution)]
    # constants that stand in the variable's place in any atom that looks like this one
    candidates: dict[str, set[str]] = {name: set() for name in sums}
    for predicate, arguments in [*world.observed, *world.targets]:
        if predicate == atom.predicate and all(
            t.value == a
            for t, a in zip(atom.arguments, arguments, strict=True)
            if isinstance(t, Constant)
        ):
            for t, a in zip(atom.arguments, arguments, strict=True):
                if isinstance(t, SumVariable):
                    candidates[t.name].add(a)
    keys = []
    for values in product(*(sorted(candidates[name]) for name in sums)):
        full = {**substitution, **dict(zip(sums, values, strict=True))}
        key = _key(atom, full)
        if not world.closed[atom.predicate] and not world.has(key):
            continue
        if all(_passes(lit, full, world) for name in sums for lit in filters.get(name, [])):
            keys.append(key)
    return keys


def _passes(literal: Literal, substitution: Mapping[str, str], world: World) -> bool:
    if isinstance(literal.atom, Comparison):
        true = _holds(literal.atom, substitution)
    else:
        true = world.observed.get(_key(literal.atom, substitution), 0.0) > 0.0
    return true != literal.negated
