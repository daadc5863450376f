"""What the text of a rule says is what a pair gets from it, found by trying every assignment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from hornbeam.counting.columns import Columns
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts, Targets
from hornbeam.language.arithmetic_rules import variables_of
from hornbeam.language.rule_texts import parse_logical_rules
from hornbeam.language.syntax import Atom, Constant, Literal, LogicalRule, Operator, Term
from hornbeam.rules.model_file import model_text, parse_model
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts, Weighing
from tests.support.stated_models import clauses

ENTITIES = ["a", "b", "c", "d"]
#: Shares are of binary relations here.
ARITIES = {"t": 2, "p": 2, "q": 2, "u": 1}
WIDER = ARITIES | {"r": 3}
#: A ground atom: its predicate, then its arguments.
Ground = tuple[str, ...]
Assignment = dict[str, str]


def table(facts: set[Ground]) -> Facts:
    """The facts as engines read them."""
    entities, predicates = Names.of(ENTITIES), Names.of(WIDER)
    atoms = {}
    for arity in sorted(set(WIDER.values())):
        mine = [fact for fact in facts if WIDER[fact[0]] == arity]
        order = sorted((first, predicate, *rest) for predicate, first, *rest in mine)
        columns = [entities.find(row[i] for row in order) for i in (0, *range(2, arity + 1))]
        predicate = predicates.find(row[1] for row in order).astype(np.uint16)
        if mine:
            atoms[arity] = Atoms(predicate, tuple(columns))
    return Facts(entities, predicates, atoms)


def value(term: Term, assignment: Assignment) -> str:
    return term.value if isinstance(term, Constant) else assignment[term.name]


def holds(literal: Literal, assignment: Assignment, seen: set[Ground]) -> bool:
    atom = literal.atom
    if isinstance(atom, Atom):
        return (atom.predicate, *(value(term, assignment) for term in atom.arguments)) in seen
    same = value(atom.left, assignment) == value(atom.right, assignment)
    return same if atom.operator is Operator.EQUAL else not same


def groundings(
    literals: Sequence[Literal], ends: Assignment, seen: set[Ground]
) -> Iterator[Assignment]:
    """Yield the assignments of all variables under which the literals hold."""
    free = sorted(set[str]().union(*(variables_of(one.atom) for one in literals)) - set(ends))
    for values in product(ENTITIES, repeat=len(free)):
        assignment = ends | dict(zip(free, values, strict=True))
        if all(holds(literal, assignment, seen) for literal in literals):
            yield assignment


def share(literals: Sequence[Literal], assignment: Assignment, seen: set[Ground]) -> float:
    """Product over the atoms of 1 / sqrt(out-degree x in-degree)."""
    found = 1.0
    for literal in literals:
        if isinstance(literal.atom, Atom):
            predicate = literal.atom.predicate
            first, second = (value(term, assignment) for term in literal.atom.arguments)
            out = sum(fact[:2] == (predicate, first) for fact in seen)
            into = sum((fact[0], fact[-1]) == (predicate, second) for fact in seen)
            found /= math.sqrt(out * into)
    return found


def within(
    literals: Sequence[Literal], unequal: Sequence[Literal], ends: Assignment
) -> list[Literal]:
    """Those `!=` that are between the variables of some literals and the arguments."""
    inside = set(ends).union(*(variables_of(one.atom) for one in literals))
    return [one for one in unequal if literals and variables_of(one.atom) <= inside]


def added(rule: LogicalRule, pair: Sequence[str], facts: set[Ground], counts: Counts) -> float:
    """What the rule adds to a pair per unit of its weight, by the meaning of its text."""
    [head] = [literal.atom for literal in rule.head]
    assert isinstance(head, Atom)
    ends = dict(zip((str(term) for term in head.arguments), pair, strict=True))
    seen = facts - {(head.predicate, *pair)}
    unequal = [one for one in rule.body if "!=" in str(one)]
    rest = [i for i, one in enumerate(rule.body) if one not in unequal]
    factor = 1
    for span in rule.thresholds:
        some = rule.body[span.start : span.stop]
        rest = [i for i in rest if not span.start <= i < span.stop]
        found = list(groundings([*some, *within(some, unequal, ends)], ends, seen))
        n, bound = float(len(found)), span.threshold.number
        assert bound is not None
        if span.threshold.name == "share":
            n = sum(share(some, one, seen) for one in found)
            assume(abs(n - bound) > 1e-9)
        factor *= n >= bound
    others = [rule.body[i] for i in rest]
    found = list(groundings([*others, *within(others, unequal, ends)], ends, seen))
    n = factor * len(found)
    way = counts if rule.weighing is None else rule.weighing.name
    if way == "share":
        assert rule.weighing is not None
        assert rule.weighing.number is not None
        total = sum(share(others, one, seen) for one in found)
        return math.log2(1 + total / rule.weighing.number)
    return {"raw": float(n), "log": math.log2(1 + n), "exists": float(n > 0)}[way]


@st.composite
def rules_and_facts(draw: st.DrawFn) -> tuple[RuleModel, set[Ground]]:
    """A rule of any kind but a prior, without numbers, and facts that it may be about."""
    known = draw(st.sampled_from([ARITIES, WIDER]))
    clause = draw(clauses(known, st.sampled_from(ENTITIES)).filter(lambda one: not one.is_prior))
    assume(all(part.body.number is None for part in clause.body.parts))
    assume(known is ARITIES or not RuleModel((Rule(1.0, clause),)).shares)
    if clause.weighing is not None and clause.weighing.counts is Counts.SHARE:
        clause = replace(clause, weighing=Weighing(Counts.SHARE, 0.1))
    semantics = Semantics(
        draw(st.sampled_from([Counts.RAW, Counts.LOG, Counts.EXISTS])),
        distinct_variables=draw(st.booleans()),
    )
    entity = st.sampled_from(ENTITIES)
    binary: st.SearchStrategy[Ground] = st.tuples(st.sampled_from("tpq"), entity, entity)
    unary: st.SearchStrategy[Ground] = st.tuples(st.just("u"), entity)
    ternary: st.SearchStrategy[Ground] = st.tuples(st.just("r"), entity, entity, entity)
    facts = draw(st.sets(binary | unary | ternary, max_size=16))
    return RuleModel((Rule(1.0, clause),), semantics), facts


@given(rules_and_facts())
def test_columns_have_what_the_text_says(drawn: tuple[RuleModel, set[Ground]]) -> None:
    model, facts = drawn
    text = model_text(model)
    [written] = parse_logical_rules(text, "model.psl")
    assert parse_model(text, "model.psl") == model
    [clause] = [rule.clause for rule in model.rules]
    pairs = list(product(ENTITIES, repeat=2))
    names = Names.of(ENTITIES)
    subject, object_ = (names.find(pair[i] for pair in pairs) for i in (0, 1))
    targets = Targets(names, Names.of([clause.target]), np.zeros_like(subject), subject, object_)
    statistics = MemoryEngine(table(facts), 1).count(targets, model.bodies, model.language)
    row, x = Columns(statistics).of(clause.body, model.counts_of(clause))
    found = np.zeros(len(pairs))
    found[row] = x
    expected = [added(written, pair, facts, model.semantics.counts) for pair in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=text)
