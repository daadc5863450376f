"""Clauses of a model among logical rules: every spelling is recognised, all else refused.

`mentions(B, C) & cites(A, B) -> mentions(A, C)` is the path cites, mentions with any names of
variables and any order of atoms. `parsed_bodies` has the conditions of a body; here are heads,
thresholds, ways of counting and `!=`.

A model of a graph has tens of thousands of rules in a few dozen shapes, so `RuleLines` parses every
shape once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.errors import DataError
from hornbeam.language.arithmetic_rules import RefusedError, atoms_of, refusal, variables_of
from hornbeam.language.rule_texts import parse_logical_rules
from hornbeam.language.syntax import (
    Atom,
    Bracket,
    Comparison,
    Constant,
    Literal,
    LogicalRule,
    NumberTest,
    Operator,
    Variable,
    unescaped,
)
from hornbeam.rules.body import (
    MAX_CONDITIONS,
    MAX_LENGTH,
    MAX_PATH,
    AnyBody,
    Body,
    Conjunction,
    Part,
    Step,
    simplest,
)
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.parsed_bodies import (
    NO_NAME,
    Component,
    Head,
    ParsedBody,
    components,
    real_name,
)
from hornbeam.rules.rule_model import CountedRule
from hornbeam.rules.weighing import Counts, Threshold, Weighing

#: Maximum number of atoms of a body: a conjunction of as many paths, each as long, as allowed.
MAX_ATOMS = MAX_CONDITIONS * MAX_LENGTH
#: Two variables that must not be the same entity.
Unequal = frozenset[str]


class ParsedClause(NamedTuple):
    """A clause, and whether its rule requires that variables differ; None without an atom."""

    clause: Clause
    distinct: bool | None


def parsed_clause(
    rule: LogicalRule, names: Mapping[str, str], source: str, *, weightless: bool = False
) -> ParsedClause:
    """Clause of a weighted rule, or with `weightless` of any; errors name its text by `source`.

    The rule's head is one atom over two variables or one, and its body is empty (a prior) or up to
    three conditions on them, with `!=` between all variables that each of them walks over or none.
    `names` are real names of predicates by their identifiers in lower case; others are called as
    written.

    Examples
    --------
    >>> from hornbeam.language.rule_texts import parse_logical_rules
    >>> text = "0.5: (p(Y, Z) & q(Y, X)) [n >= 3] & r('c', X) -> !p(X, Z) [log]"
    >>> [rule] = parse_logical_rules(text, "model.psl")
    >>> str(parsed_clause(rule, {}, "model.psl").clause)
    "(q(C, A) & p(C, B)) [n >= 3] & r('c', A) -> !p(A, B) [log]"
    """
    try:
        if rule.counted is not None:
            why = f"{rule.counted} is for models of whole graphs; expected a rule without it"
            raise RefusedError(why, rule.counted.place)
        if not weightless:
            _check_weighted(rule)
        return _clause(rule, names)
    except RefusedError as refused:
        raise refusal(rule, str(refused), source, refused.place) from None


def parsed_counted_rule(rule: LogicalRule, names: Mapping[str, str], source: str) -> CountedRule:
    """The rule of a whole graph, with what was counted; see `parsed_clause`.

    Its head may have one constant, and its path may be longer than those of a rule model.

    Examples
    --------
    >>> from hornbeam.language.rule_texts import parse_logical_rules
    >>> text = "0.42: class(X, 'antiviral') -> treats(X, 'flu') [5 of 7]"
    >>> [rule] = parse_logical_rules(text, "model")
    >>> found = parsed_counted_rule(rule, {}, "model")
    >>> str(found.clause), found.hits, found.predicted
    ("class(A, 'antiviral') & (B == 'flu') -> treats(A, B)", 5, 7)
    """
    counted = rule.counted
    try:
        if counted is None:
            raise RefusedError("nothing was counted of the rule; expected it, as in [88 of 129]")
        _check_weighted(rule)
        clause = _clause(_with_variables(rule), names, MAX_PATH).clause
        if clause.body.head_arity != 2:
            raise RefusedError("the head has arity 1; a model of a whole graph is about pairs")
    except RefusedError as refused:
        raise refusal(rule, str(refused), source, refused.place) from None
    return CountedRule.of(clause, counted.hits, counted.predicted, counted.weight)


def _with_variables(rule: LogicalRule) -> LogicalRule:
    """The rule with a variable for each constant of its head, and `==` between both."""
    heads, equal = list[Literal](), list[Literal]()
    for literal in rule.head:
        atom = literal.atom
        if isinstance(atom, Atom):
            arguments = list(atom.arguments)
            for place, term in enumerate(arguments):
                if isinstance(term, Constant):
                    arguments[place] = Variable(f"{term}")  # quotes: no other variable has them
                    comparison = Comparison(arguments[place], Operator.EQUAL, term, atom.place)
                    equal.append(Literal(comparison))
            atom = replace(atom, arguments=tuple(arguments))
        heads.append(replace(literal, atom=atom))
    return replace(rule, body=(*rule.body, *equal), head=tuple(heads))


def check_rule_arities(rules: Iterable[LogicalRule], names: Mapping[str, str], source: str) -> None:
    """Refuse a predicate that has more arguments in one atom of a model than in another."""
    first: dict[str, Atom] = {}
    for rule in rules:
        for atom in atoms_of(rule):
            before = first.setdefault(real_name(atom, names), atom)
            arity, expected = len(atom.arguments), len(before.arguments)
            if arity != expected:
                where = f" in line {before.place.line}" if before.place else ""
                why = f"{atom} has arity {arity}, but {before} has {expected}{where}"
                raise refusal(rule, f"{why}; expected one arity per predicate", source, atom.place)


def _check_weighted(rule: LogicalRule) -> None:
    if rule.weight is None:
        raise RefusedError("a model has no hard rules; expected a weight such as '0.83:'")


def _clause(
    rule: LogicalRule, names: Mapping[str, str], max_length: int = MAX_LENGTH
) -> ParsedClause:
    if rule.weight is not None and rule.weight < 0:
        raise RefusedError("the weight is negative; expected a number of at least 0")
    head, negated = _head(rule, names, max_length)
    if not rule.body:
        if rule.weighing is not None:
            why = f"a prior has one grounding for every pair; expected no {rule.weighing}"
            raise RefusedError(why, rule.weighing.place)
        return ParsedClause(prior(head.target, negated, head.arity), None)
    literals, different = dict[int, Atom | Comparison](), dict[Unequal, Comparison]()
    for number, literal in enumerate(_with_value(rule)):
        atom = literal.atom
        if isinstance(atom, Comparison) and atom.operator is Operator.DIFFERENT:
            different[_different(literal, atom)] = atom
        else:
            literals[number] = _condition(literal, head)
    if different and head.arity == 1:
        why = "!= is for rules about pairs; expected none in a rule about one entity"
        raise RefusedError(why, next(iter(different.values())).place)
    if not literals:
        raise RefusedError("the body has no atom", rule.body[0].atom.place)
    if len(literals) > MAX_ATOMS:
        why = f"the body has {len(literals)} atoms; expected at most {MAX_ATOMS}"
        raise RefusedError(why, literals[list(literals)[MAX_ATOMS]].place)
    conditions = components(head, literals)
    counted = [condition for condition in conditions if not condition.is_equality]
    if len(counted) > MAX_CONDITIONS:
        why = f"the body has {len(counted)} conditions; expected at most {MAX_CONDITIONS}"
        raise RefusedError(why, counted[MAX_CONDITIONS].place)
    thresholds = _thresholds(rule, conditions)
    bodies = [condition.parsed(names) for condition in conditions]
    parts = map(_part, conditions, bodies, thresholds)
    body = simplest(list(parts))
    clause = Clause(body, negated, _weighing(rule, body))
    _check_values(clause, conditions)
    known = set(head.ends).union(*(condition.variables for condition in conditions))
    return ParsedClause(clause, _are_different(different, known, [body.nodes for body in bodies]))


def _head(rule: LogicalRule, names: Mapping[str, str], max_length: int) -> tuple[Head, bool]:
    """The head, and whether it is negated."""
    if len(rule.head) != 1:
        why = f"the head has {len(rule.head)} atoms; expected one"
        raise RefusedError(why, rule.head[1].atom.place)
    [literal] = rule.head
    atom = literal.atom
    if isinstance(atom, Comparison):
        raise RefusedError(f"the head is {atom}; expected an atom", atom.place)
    if len(atom.arguments) > 2:
        raise RefusedError(f"{atom} has arity {len(atom.arguments)}; expected 1 or 2", atom.place)
    variables = []
    for term in atom.arguments:
        if not isinstance(term, Variable):
            raise RefusedError(f"{atom} has the constant {term}; expected variables", atom.place)
        variables.append(term.name)
    subject, object_ = variables[0], variables[-1]
    if len(variables) == 2 and subject == object_:
        raise RefusedError(f"{atom} has one variable twice; expected two variables", atom.place)
    return Head(real_name(atom, names), subject, object_, max_length), literal.negated


def _condition(literal: Literal, head: Head) -> Atom | Comparison:
    """An atom, or `==` between an argument and a constant."""
    atom = literal.atom
    if isinstance(atom, Atom):
        if literal.negated:
            raise RefusedError(f"{literal} is negated; bodies are made of facts", atom.place)
        return atom
    if isinstance(atom, NumberTest):
        return atom
    terms = (atom.left, atom.right)
    compares = variables_of(atom) <= {*head.ends} and any(isinstance(t, Constant) for t in terms)
    if literal.negated or atom.operator is not Operator.EQUAL or not compares:
        expected = f"!= between variables, or == as in ({head.subject} == 'c')"
        raise RefusedError(f"{literal} stands in the body; expected {expected}", atom.place)
    if not variables_of(atom):
        raise RefusedError(f"{atom} compares constants; expected a variable", atom.place)
    return atom


def _with_value(rule: LogicalRule) -> Sequence[Literal]:
    """The body; where the rule standardises a value, its first condition is that number."""
    if rule.weighing is None or rule.weighing.name != Counts.Z:
        return rule.body
    first, *others = rule.body
    atom = first.atom
    if (
        isinstance(atom, Atom)
        and len(atom.arguments) == 1
        and isinstance(atom.arguments[0], Variable)
    ):
        value = NumberTest(
            atom.arguments[0], Operator.VALUE, Constant(""), atom.place, atom.predicate
        )
        first = Literal(value, first.negated)
    if first.negated or not isinstance(first.atom, NumberTest) or first.atom.bound is not None:
        why = f"{rule.weighing} standardises {first}; expected a number such as year(A) first"
        raise RefusedError(why, first.atom.place)
    return [first, *others]


def _different(literal: Literal, comparison: Comparison) -> Unequal:
    """Both variables of a `!=`."""
    if literal.negated:
        raise RefusedError(f"{literal} stands in the body; expected no negation", comparison.place)
    names = variables_of(comparison)
    if len(names) != 2:
        raise RefusedError(f"{comparison} does not compare two variables", comparison.place)
    return frozenset(names)


def _thresholds(rule: LogicalRule, conditions: Sequence[Component]) -> list[Bracket | None]:
    """The threshold of every condition, None where it has none."""
    found: list[Bracket | None] = [None] * len(conditions)
    for span in rule.thresholds:
        bracket, inside = span.threshold, range(span.start, span.stop)
        touched = [
            k
            for k, condition in enumerate(conditions)
            if any(n in inside for n in condition.literals)
        ]
        if len(touched) != 1:
            why = f"{bracket} stands behind {len(touched) or 'no'} conditions; expected one"
            raise RefusedError(why, bracket.place)
        whole = conditions[touched[0]]
        if not all(number in inside for number in whole.literals):
            why = f"{bracket} stands behind a part of a condition"
            raise RefusedError(f"{why}; expected ({whole.text}) {bracket}", bracket.place)
        found[touched[0]] = bracket
    return found


def _part(condition: Component, parsed: ParsedBody, bracket: Bracket | None) -> Part:
    """The body of a condition, with its threshold."""
    body = parsed.body
    if bracket is None:
        return Part(body)
    try:
        threshold = Threshold.from_bracket(bracket)
    except ValueError as error:
        raise RefusedError(str(error), bracket.place) from None
    if threshold.share and not body.has_share:
        raise RefusedError(
            f"{condition.text} is not a path in any order; expected [n >= 25]", bracket.place
        )
    return Part(body, threshold)


def _weighing(rule: LogicalRule, body: AnyBody) -> Weighing | None:
    """The rule's own way of counting."""
    bracket = rule.weighing
    if bracket is None:
        return None
    try:
        weighing = Weighing.from_bracket(bracket)
    except ValueError as error:
        raise RefusedError(str(error), bracket.place) from None
    alone = len(body.parts) == 1 and body.parts[0].threshold is None
    if weighing.counts is Counts.Z:
        return weighing
    if weighing.counts is Counts.SHARE and not (alone and body.parts[0].body.has_share):
        why = "shares are for a body that is one path"
        raise RefusedError(f"{why}; expected [raw], [log] or [exists]", bracket.place)
    return weighing


def _check_values(clause: Clause, conditions: Sequence[Component]) -> None:
    """Refuse values that nothing is done with, and thresholds on them."""
    standardises = clause.weighing is not None and clause.weighing.counts is Counts.Z
    for k, (part, condition) in enumerate(zip(clause.body.parts, conditions, strict=False)):
        if part.body.is_value and (k or not standardises or part.threshold is not None):
            expected = "a comparison, or [z / 1987.2 12.4] behind the rule and the number first"
            why = f"{condition.text} is a number that is not compared"
            raise RefusedError(f"{why}; expected {expected}", condition.place)


def _are_different(
    different: Mapping[Unequal, Comparison], known: set[str], walked: Iterable[Sequence[str]]
) -> bool | None:
    """Whether all variables that a condition walks over must be different entities.

    Refused where only some must be; None without an atom.
    """
    pairs = list(dict.fromkeys(pair for nodes in walked for pair in combinations(nodes, 2)))
    for pair, comparison in different.items():
        if not pair <= known:
            raise RefusedError(f"{comparison} has a variable that no atom has", comparison.place)
        if pair not in map(frozenset, pairs):
            why = f"{comparison} compares other variables than those that one condition walks over"
            raise RefusedError(f"{why}; expected all of these or none", comparison.place)
    missing = [" != ".join(pair) for pair in pairs if frozenset(pair) not in different]
    if different and missing:
        why = "expected != between all variables that a condition walks over or none"
        at = next(iter(different.values())).place
        raise RefusedError(f"{why}, but ({missing[0]}) is missing", at)
    return bool(different) if pairs else None


# --- counted rules, each on a line of its own -----------------------------------------------------

#: A rule as it is written: weight, text, hits, predictions and a weight of its own.
_LINE = re.compile(
    r"\d+\.\d+: (.+) \[(\d{1,15}) of (\d{1,15})(?:, weight (-?\d+(?:\.\d+)?(?:e-?\d+)?))?\]",
    re.ASCII,
)
#: A predicate before its arguments, or a constant; texts are split at them.
_NAME = re.compile(r"([A-Za-z_]\w*(?=\()|'(?:[^'\\]|\\.)*')", re.ASCII)
#: What a rule has where its names are placeholders.
_SHAPE = re.compile(r"[\w'(), &>-]+", re.ASCII)
#: Placeholders of names in their order; a rule with more names is read by the grammar.
_PLACEHOLDERS = tuple(f"n{number}" for number in range(2 * MAX_ATOMS))
#: Steps, each made once: making them anew would take a quarter of the time of reading.
_step = lru_cache(maxsize=10_000)(Step)


class RuleLines:
    """Reads lines of counted rules; `names` are real names by identifiers in lower case.

    A line whose names were replaced by placeholders, its shape, is parsed by the grammar; other
    lines of the shape are filled with names.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self._shapes: dict[tuple[str | bool, ...], Clause | None] = {}
        self._real_names: dict[str, str] = {}

    def rule(self, line: str) -> CountedRule | None:
        """The rule of a line; None where only the grammar as a whole can read or refuse it."""
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        text, hits, predicted, weight = match.groups()
        pieces = _NAME.split(text)  # every second piece is a name
        spellings = pieces[1::2]
        key = (*pieces[::2], *[spelling[0] == "'" for spelling in spellings])
        if key not in self._shapes:
            self._shapes[key] = _clause_of_shape(pieces)
        clause, own_weight = self._shapes[key], float(weight or 0.0)
        names = [self._real_names.get(spelling) or self._named(spelling) for spelling in spellings]
        if clause is None or not all(names) or abs(own_weight) > MAX_NUMBER:
            return None
        body = _filled(clause.body, dict(zip(_PLACEHOLDERS, names, strict=False)))
        return CountedRule.of(Clause(body), int(hits), int(predicted), own_weight)

    def _named(self, spelling: str) -> str:
        """The real name of a predicate or constant, kept for further lines; "" if it is none."""
        is_constant = spelling[0] == "'"
        name = unescaped(spelling) if is_constant else self.names.get(spelling.lower(), spelling)
        self._real_names[spelling] = "" if NO_NAME.search(name) else name
        return self._real_names[spelling]


def _clause_of_shape(pieces: Sequence[str]) -> Clause | None:
    """The clause of a text, every second piece of which is a name, with placeholders as names.

    None where it is more than conditions over atoms of two arguments.
    """
    if len(pieces) // 2 > len(_PLACEHOLDERS):
        return None
    shape = pieces[0]
    for placeholder, name, after in zip(_PLACEHOLDERS, pieces[1::2], pieces[2::2], strict=False):
        shape += (f"'{placeholder}'" if name[0] == "'" else placeholder) + after
    if not _SHAPE.fullmatch(shape):
        return None
    try:
        [rule] = parse_logical_rules(f"0: {shape} [0 of 0]", "shape")
        clause = parsed_counted_rule(rule, {}, "shape").clause
    except (DataError, ValueError):
        return None
    steps = [step for part in clause.body.parts for step in part.body.steps]
    plain = not clause.negated and clause.weighing is None and len(clause.body)
    bare = all(part.threshold is None for part in clause.body.parts)
    return clause if plain and bare and all(step.arity == 2 for step in steps) else None


def _filled(body: AnyBody, names: Mapping[str, str]) -> AnyBody:
    """A body with names in place of placeholders."""
    if isinstance(body, Conjunction):
        return simplest([Part(_filled_condition(part.body, names)) for part in body.parts])
    return _filled_condition(body, names)


def _filled_condition(body: Body, names: Mapping[str, str]) -> Body:
    """One condition with names in place of placeholders."""
    steps = tuple([_step(names[step.predicate], step.inverse) for step in body.steps])
    constant = None if body.constant is None else names[body.constant]
    return Body(steps, names[body.target], body.kind, body.argument, constant)
