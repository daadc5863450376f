"""The normal form of a program's rules, and requirements that the grammar does not express.

In normal form, predicates are spelt as declared, no literal stands twice, and filters have no
alternatives. To PSL a logical rule is a disjunction, a set of literals. So PSL drops repeated
literals, even if a literal is in the body and its negation in the head. A filter with alternatives,
`{B: p(B) | q(B)}`, makes PSL read one rule per alternative.

A logical rule is safe if every variable is in an atom that limits it: a positive atom of the body,
or a negated atom of the head. Where the rule is violated, the limiting atoms are true. So grounding
finds all violations by joining them. An arithmetic rule is grounded by joining all its atoms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeVar

from hornbeam.base.texts import shown_list
from hornbeam.errors import warn
from hornbeam.language.arithmetic_rules import (
    AllOf,
    AnyOf,
    ArithmeticRule,
    Coefficient,
    Condition,
    Filter,
    Number,
    Operation,
    PslRule,
    RefusedError,
    Relation,
    Summand,
    atoms_of,
    cardinalities_of,
    fixed_value,
    literals_of,
    nested,
    refusal,
    rule_variables,
    variables_of,
)
from hornbeam.language.syntax import Atom, Constant, Literal, LogicalRule, SumVariable
from hornbeam.programs.program_declarations import ProgramPredicate

#: A rule, and its file.
SourcedRule = tuple[PslRule, str]
APart = TypeVar("APart", Literal, Summand)


def check_rules(rules: Iterable[SourcedRule], predicates: Sequence[ProgramPredicate]) -> None:
    """Check every rule of a program; each comes with its file.

    A rule is refused if it has an unknown predicate, a wrong number of arguments, a negative weight
    or a variable that no atom limits, or if its arithmetic is not well formed.
    """
    known = {predicate.name: predicate for predicate in predicates}
    for rule, source in rules:
        try:
            _check(rule, known)
        except RefusedError as wrong:
            raise refusal(rule, str(wrong), source, wrong.place) from None


def _opposite(rule: PslRule) -> str:
    """What to write instead of a rule with a negative weight: rules that say the opposite."""
    if isinstance(rule, ArithmeticRule):
        turned = {Relation.AT_MOST: Relation.AT_LEAST, Relation.AT_LEAST: Relation.AT_MOST}
        if rule.relation not in turned:
            return "or no rule: nothing convex keeps two sides apart"
        rules: list[PslRule] = [replace(rule, relation=turned[rule.relation])]
    else:
        heads = [Literal(one.atom, not one.negated) for one in rule.head]
        rules = [replace(rule, head=(head,)) for head in heads]
    positive = (str(replace(one, weight=-(rule.weight or 0.0))) for one in rules)
    return f"such as {' and '.join(positive)}"


def _check(rule: PslRule, known: dict[str, ProgramPredicate]) -> None:
    if rule.weight is not None and rule.weight < 0:
        problem = (
            f"the weight {rule.weight:g} is negative, and inference would not be convex; expected "
            f"a weight of at least 0, {_opposite(rule)}"
        )
        raise RefusedError(problem)
    for atom in atoms_of(rule):
        _check_atom(atom, known)
    functions = {name for name, predicate in known.items() if predicate.function is not None}
    if isinstance(rule, LogicalRule):
        _check_safe(rule, functions)
    else:
        _check_functions(rule, functions)
        arguments = (term for atom in rule.atoms for term in atom.arguments)
        sums = Counter(term.name for term in arguments if isinstance(term, SumVariable))
        plain = set(rule_variables(rule))
        _check_sums(rule, sums, plain)
        _check_filters(rule, sums, plain, known)
        for summand in rule.summands:
            _check_coefficient(summand.coefficient)


def _check_atom(atom: Atom, known: dict[str, ProgramPredicate]) -> None:
    predicate = known.get(atom.predicate)
    if predicate is None:
        expected = shown_list(known) or "none"
        problem = f"unknown predicate {atom.predicate!r}; expected one of: {expected}"
        raise RefusedError(problem, atom.place)
    if len(atom.arguments) != predicate.arity:
        n = len(atom.arguments)
        problem = (
            f"{atom.predicate} has {n} argument{'s' * (n != 1)} here; expected "
            f"{predicate.arity}, as in its declaration"
        )
        raise RefusedError(problem, atom.place)


# Logical rules ------------------------------------------------------------------------------------


def _check_safe(rule: LogicalRule, functions: Collection[str]) -> None:
    limited: set[str] = set()
    for literals, negated in ((rule.body, False), (rule.head, True)):
        for atom in (literal.atom for literal in literals if literal.negated is negated):
            if isinstance(atom, Atom) and atom.predicate not in functions:
                limited |= variables_of(atom)
    used = [
        (name, literal.atom)
        for literal in (*rule.body, *rule.head)
        for name in sorted(variables_of(literal.atom))
    ]
    for name, atom in used:
        if name not in limited:
            problem = (
                f"the variable {name} is not limited; expected it in a positive atom of the body "
                "(or a negated one of the head)"
            )
            raise RefusedError(problem, atom.place)
    if not used:
        problem = (
            "the rule has no variables; expected one, or an arithmetic rule such as "
            f"'{next(atoms_of(rule), 'a(A)')} >= 1'"
        )
        raise RefusedError(problem)


# Arithmetic rules ---------------------------------------------------------------------------------


def _check_functions(rule: ArithmeticRule, functions: Collection[str]) -> None:
    """Refuse functions of terms that no other atom limits, of sums, and in filters."""
    others = [atom for atom in rule.atoms if atom.predicate not in functions]
    limited = set[str]().union(*map(variables_of, others))
    for atom in (atom for atom in atoms_of(rule) if atom.predicate in functions):
        terms = [term for term in atom.arguments if not isinstance(term, Constant)]
        if atom not in rule.atoms or any(term.name not in limited for term in terms):
            problem = f"{atom} is a function; expected it outside of filters, of constants and "
            raise RefusedError(f"{problem}variables that another atom has", atom.place)


def _check_sums(rule: ArithmeticRule, sums: Counter[str], plain: set[str]) -> None:
    if not rule.atoms:
        raise RefusedError("the rule has no atoms; expected at least one")
    for atom in rule.atoms:
        for term in atom.arguments:
            if not isinstance(term, SumVariable):
                continue
            if sums[term.name] > 1:
                problem = f"{term} stands more than once; expected another variable in each place"
                raise RefusedError(problem, atom.place)
            if term.name in plain:
                problem = f"{term.name} stands with a '+' and without; expected two variables"
                raise RefusedError(problem, atom.place)
    for summand in rule.summands:
        for name in cardinalities_of(summand.coefficient):
            if name not in sums:
                problem = f"|{name}| counts no summation variable; expected '+{name}' in an atom"
                raise RefusedError(problem, summand.atom.place if summand.atom else None)
    for comparison in rule.comparisons:
        for name in sorted(variables_of(comparison) - plain):
            problem = f"the variable {name} is in no atom; expected it in one, without a '+'"
            raise RefusedError(problem, comparison.place)


def _check_filters(
    rule: ArithmeticRule, sums: Counter[str], plain: set[str], known: dict[str, ProgramPredicate]
) -> None:
    seen: set[str] = set()
    for one in rule.filters:
        if one.variable not in sums:
            problem = f"the filter is for {one.variable}; expected a summation variable"
            raise RefusedError(f"{problem}, '+{one.variable}' in an atom")
        if one.variable in seen:
            raise RefusedError(f"{one.variable} has two filters; expected one, joined by '&'")
        seen.add(one.variable)
        for literal in literals_of(one.condition):
            for name in sorted(variables_of(literal.atom) - plain - {one.variable}):
                problem = f"the filter has the variable {name}; expected {one.variable}"
                others = f" or one of {', '.join(sorted(plain))}" if plain else ""
                raise RefusedError(f"{problem}{others}", literal.atom.place)
            if isinstance(literal.atom, Atom) and not known[literal.atom.predicate].closed:
                problem = f"the filter has {literal.atom.predicate}, which is open"
                raise RefusedError(f"{problem}; expected closed predicates", literal.atom.place)


def _check_coefficient(coefficient: Coefficient) -> None:
    """Refuse a division by a constant of value zero."""
    for part in nested(coefficient):
        if isinstance(part, Operation) and part.operator == "/" and fixed_value(part.right) == 0:
            raise RefusedError(f"{part} divides by zero")


# Normal form --------------------------------------------------------------------------------------


def normal_rules(rule: PslRule, names: Mapping[str, str]) -> Iterator[PslRule]:
    """The rules that PSL makes of a rule; `names` maps lower-case predicates to declared names.

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
        body, head = (tuple(dict.fromkeys(_spelt(part, names))) for part in (rule.body, rule.head))
        negated = {Literal(literal.atom, not literal.negated) for literal in body}
        # A head whose negation is in the body adds nothing, unless there would be no head.
        needed = tuple(literal for literal in head if literal not in negated)
        yield replace(rule, body=body, head=needed or head[:1])
        return
    left, right = _spelt(rule.left, names), _spelt(rule.right, names)
    for chosen in product(*(_alternatives(one.condition) for one in rule.filters)):
        filters = []
        for one, literals in zip(rule.filters, chosen, strict=True):
            distinct = tuple(dict.fromkeys(_spelt(literals, names)))
            condition = distinct[0] if len(distinct) == 1 else AllOf(distinct)
            filters.append(Filter(one.variable, condition))
        yield replace(rule, left=left, right=right, filters=tuple(filters))


def without_repetitions(
    written: Iterable[tuple[Sequence[PslRule], str]],
) -> list[SourcedRule]:
    """The normal rules of rules as written, without those that say what an earlier rule says.

    As in PSL, the first of equal rules is kept, also if another has another weight, and all the
    alternatives of a filter are. Logical rules are equal if their sets of literals are, arithmetic
    rules if their sums are, with everything on the left.
    """
    kept: list[SourcedRule] = []
    known: dict[Hashable, SourcedRule] = {}
    for normal, source in written:
        for rule in normal:
            first, where = known.setdefault(_meaning(rule), (rule, source))
            if first is rule or len(normal) > 1:
                kept.append((rule, source))
                continue
            again = f"{source}, line {rule.place.line}" if rule.place else source
            weights = "" if rule.weight == first.weight else f" with its weight {first.weight:g}"
            place = f"line {first.place.line}" if first.place and where == source else where
            warn(f"{again}: {rule} stands twice; the first ({place}) is kept{weights}, as in PSL")
    return kept


def _meaning(rule: PslRule) -> Hashable:
    """What a rule says, apart from its weight."""
    kind = (rule.weight is None, rule.squared)
    if isinstance(rule, LogicalRule):
        body = (Literal(literal.atom, not literal.negated) for literal in rule.body)
        return (*kind, frozenset([*body, *rule.head]))
    # `a(A) <= b(A)` is `a(A) - b(A) <= 0`; PSL tells sums in another order apart
    signed = [
        (summand.atom, Operation("*", Number(sign), summand.coefficient))
        for side, sign in ((rule.left, 1.0), (rule.right, -1.0))
        for summand in side
    ]
    sums = [(atom, _value_or_form(coefficient)) for atom, coefficient in signed if atom is not None]
    constants = [_value_or_form(coefficient) for atom, coefficient in signed if atom is None]
    known = sum(value for value in constants if isinstance(value, float))
    others = frozenset(value for value in constants if not isinstance(value, float))
    conditions = rule.filters, frozenset(rule.comparisons)
    return (*kind, rule.relation, tuple(sums), known, others, conditions)


def _value_or_form(coefficient: Coefficient) -> float | Coefficient:
    value = fixed_value(coefficient)
    return coefficient if value is None else value


def _spelt(parts: Iterable[APart], names: Mapping[str, str]) -> tuple[APart, ...]:
    """Literals or summands with their predicates spelt as declared."""
    spelt = []
    for part in parts:
        atom = part.atom
        if isinstance(atom, Atom):  # else a comparison, or a number
            predicate = names.get(atom.predicate.lower(), atom.predicate)
            part = replace(part, atom=replace(atom, predicate=predicate))
        spelt.append(part)
    return tuple(spelt)


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
