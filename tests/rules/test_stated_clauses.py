"""Which clauses rules state: every kind of body in any spelling, and why the rest is refused."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.texts import printable
from hornbeam.errors import DataError
from hornbeam.language.rule_texts import parse_logical_rules
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Literal,
    LogicalRule,
    NumberTest,
    Term,
    ThresholdSpan,
    Variable,
)
from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.model_file import parse_model
from hornbeam.rules.parsed_clauses import ParsedClause, parsed_clause
from hornbeam.rules.weighing import Counts, Threshold, Weighing
from tests.support.stated_models import arities, clauses


def stated(text: str) -> ParsedClause:
    [rule] = parse_logical_rules(f"1: {text}", "model.psl")
    return parsed_clause(rule, {}, "model.psl")


P, Q = Step("p"), Step("q")

#: Bodies and what they state for t(A, B).
BODIES = {
    "p(A, B)": Body((P,), "t"),
    "p(B, A)": Body((P.reversed(),), "t"),
    "q(X, B) & p(A, X)": Body((P, Q), "t"),
    "p(A, X)": Body((P,), "t", Kind.OPEN, 0),
    "p(X, A)": Body((P.reversed(),), "t", Kind.OPEN, 0),
    "p(B, X)": Body((P,), "t", Kind.OPEN, 1),
    "p(X, B)": Body((P.reversed(),), "t", Kind.OPEN, 1),
    "p(A, 'c')": Body((P,), "t", Kind.ANCHORED, 0, "c"),
    "p('it\\'s', B)": Body((P.reversed(),), "t", Kind.ANCHORED, 1, "it's"),
    "p(B, 5)": Body((P,), "t", Kind.ANCHORED, 1, "5"),
    "A == 'c'": Body((), "t", Kind.ANCHORED, 0, "c"),
    "('c' == B)": Body((), "t", Kind.ANCHORED, 1, "c"),
    "p(A)": Body((Step("p", arity=1),), "t", Kind.UNARY, 0),
    "p(B)": Body((Step("p", arity=1),), "t", Kind.UNARY, 1),
    "p(A, X, B)": Body((Step("p", places=(0, 2), arity=3),), "t"),
    "p(B, X, A)": Body((Step("p", inverse=True, places=(0, 2), arity=3),), "t"),
    "p(X, Y, A) & q(Y, B)": Body((Step("p", inverse=True, places=(1, 2), arity=3), Q), "t"),
    "p(A, X, Y)": Body((Step("p", places=(0, 1), arity=3),), "t", Kind.OPEN),
    "p(X, A, Y)": Body((Step("p", inverse=True, places=(0, 1), arity=3),), "t", Kind.OPEN),
    "p(X, Y, A)": Body((Step("p", inverse=True, places=(0, 2), arity=3),), "t", Kind.OPEN),
    "p(X, 'c', A)": Body(
        (Step("p", inverse=True, places=(1, 2), arity=3),), "t", Kind.ANCHORED, 0, "c"
    ),
}


@pytest.mark.parametrize(("text", "body"), BODIES.items())
def test_bodies(text: str, body: Body) -> None:
    assert stated(f"{text} -> t(A, B)") == (Clause(body), False if body.steps else None)
    # the same of a target that is called and written otherwise
    assert stated(f"t(A, B) << ({text})").clause == Clause(body)
    [part] = stated(f"({text}) [n >= 2] -> !t(A, B) [log]").clause.body.parts
    assert part == Part(body, Threshold(2))


def test_conjunctions() -> None:
    clause = stated("p(A, X) & q(B, A) & q(X, B) & (B == 'c') -> !t(A, B) [exists]").clause
    path, back = Body((P, Q), "t"), Body((Q.reversed(),), "t")
    anchored = Body((), "t", Kind.ANCHORED, 1, "c")
    assert clause == Clause(
        Conjunction((Part(path), Part(back), Part(anchored))), True, Weighing(Counts.EXISTS)
    )
    # the same atom twice is two conditions
    twice = stated("p(A, X) & p(A, Y) -> t(A, B)").clause.body
    assert twice == Conjunction((Part(Body((P,), "t", Kind.OPEN)),) * 2)


def test_examples_of_the_design() -> None:
    text = (
        "interacts(A, X) [n >= 25] & enzyme(A, 'cyp3a4') & enzyme(B, 'cyp3a4') -> interacts(A, B)"
    )
    many = Body((Step("interacts"),), "interacts", Kind.OPEN)
    enzymes = [Body((Step("enzyme"),), "interacts", Kind.ANCHORED, i, "cyp3a4") for i in (0, 1)]
    assert stated(text).clause.body == Conjunction((Part(many, Threshold(25)), *map(Part, enzymes)))
    body = stated("(p(A, X) & q(X, B)) [share > 0.012] & r(A, Y) -> t(A, B)").clause.body
    assert body.parts[0] == Part(Body((P, Q), "t"), Threshold(0.012, share=True))
    shared = stated("p(A, X) & q(X, B) -> t(A, B) [share / 0.0123]").clause
    assert shared == Clause(Body((P, Q), "t"), weighing=Weighing(Counts.SHARE, 0.0123))


@pytest.mark.parametrize(
    ("text", "distinct"),
    [
        ("p(A, X) & q(X, B) & (A != X) & X != B & (A - B) -> t(A, B)", True),
        ("p(A, B) & q(A, X) & (A != B) & (A != X) & (B != X) -> t(A, B)", True),
        ("p(A) & (B != A) -> t(A, B)", True),
        ("(p(A, X) & A != B & A != X & B != X) [n >= 2] -> t(A, B)", True),
        ("p(A, X, B) & (A != B) -> t(A, B)", True),
        ("p(Y, A, X) & (A != B) & (A != Y) & (B != Y) -> t(A, B)", True),
        ("p(A, X, 'c') & (A != B) -> t(A, B)", True),
        ("p(A) & (A == 'c') -> t(A, B)", False),
        ("(A == 'c') -> t(A, B)", None),
    ],
)
def test_different_variables(text: str, distinct: bool | None) -> None:
    assert stated(text).distinct is distinct


def in_other_words(rule: LogicalRule, chance: random.Random) -> LogicalRule:
    """The same rule with other variables, literals in another order, comparisons turned around."""
    called: dict[str, Variable] = {}

    def renamed(term: Term) -> Term:
        if not isinstance(term, Variable):
            return term
        return called.setdefault(term.name, Variable(f"{chance.choice('ABz_')}_{len(called)}"))

    def said(literal: Literal) -> Literal:
        atom = literal.atom
        if isinstance(atom, Atom):
            terms = tuple(map(renamed, atom.arguments))
            return Literal(Atom(atom.predicate, terms), literal.negated)
        if isinstance(atom, NumberTest):
            moved = replace(atom, left=renamed(atom.left), right=renamed(atom.right))
            return Literal(moved, literal.negated)
        terms = (renamed(atom.left), renamed(atom.right))
        first, second = chance.sample(terms, 2)
        return Literal(Comparison(first, atom.operator, second), literal.negated)

    literals = list(map(said, rule.body))
    spans = {span.start: span for span in rule.thresholds}
    units, at = list[tuple[list[Literal], ThresholdSpan | None]](), 0
    while at < len(literals):
        stop = spans[at].stop if at in spans else at + 1
        unit = literals[at:stop]
        units.append((chance.sample(unit, len(unit)), spans.get(at)))
        at = stop
    # the value that a rule standardises stays first
    first = [units.pop(0)] if rule.weighing is not None and rule.weighing.name == "z" else []
    chance.shuffle(units)
    units = first + units
    body, thresholds = list[Literal](), list[ThresholdSpan]()
    for unit, span in units:
        if span is not None:
            whole = ThresholdSpan(len(body), len(body) + len(unit), span.threshold)
            thresholds.append(whole)
        body += unit
    head = tuple(map(said, rule.head))
    return replace(rule, body=tuple(body), head=head, thresholds=tuple(thresholds))


@given(arities().flatmap(clauses), st.booleans(), st.randoms(use_true_random=False))
def test_a_clause_is_seen_in_any_order_and_by_any_variables(
    clause: Clause, distinct: bool, chance: random.Random
) -> None:
    spelt = {
        name: f"p{i}"
        for i, name in enumerate(
            sorted({clause.target, *clause.body.predicates, *clause.body.attributes})
        )
    }
    names = {identifier: name for name, identifier in spelt.items()}
    [rule] = parse_logical_rules(f"1: {clause.text(spelt, distinct=distinct)}", "model.psl")
    [other] = parse_logical_rules(str(in_other_words(rule, chance)), "model.psl")
    found = parsed_clause(other, names, "model.psl")
    assert Counter(found.clause.body.parts) == Counter(clause.body.parts)
    assert replace(found.clause, body=clause.body) == clause
    has_atoms = any(part.body.steps for part in clause.body.parts)
    assert found.distinct is (distinct if has_atoms else None)


#: A rule on line 2 that is no rule of a model, the column that shows it, and what is said.
REFUSED = {
    "p(A, B) -> t(A, B) .": (1, "a model has no hard rules; expected a weight such as '0.83:'"),
    "-1: p(A, B) -> t(A, B)": (1, "the weight is negative; expected a number of at least 0"),
    "1e999: p(A, B) -> t(A, B)": (1, "the weight 1e999 is too large"),
    "nan: p(A, B) -> t(A, B)": (1, "'nan' is not a weight"),
    "1: p(A, B) -> ": (14, "expected an atom"),
    # heads
    "1: p(A, B) -> t(A, B) | q(A, B)": (25, "the head has 2 atoms; expected one"),
    "1: !p(A, B) | t(A, B)": (15, "the head has 2 atoms; expected one"),
    "1: p(A, B) -> (A == B)": (16, "the head is (A == B); expected an atom"),
    "1: p(A, B) -> t(A)": (15, "t(A) has arity 1, but t(A, B) has 2 in line 1; expected one arity"),
    "1: t(A, B, C)": (4, "t(A, B, C) has arity 3; expected 1 or 2"),
    "1: t(A, A)": (4, "t(A, A) has one variable twice; expected two variables"),
    "1: t(A, 'x')": (4, "t(A, 'x') has the constant 'x'; expected variables"),
    # literals
    "1: !p(A, B) -> t(A, B)": (5, "!p(A, B) is negated; bodies are made of facts"),
    "1: p(A, B) & (A == B) -> t(A, B)": (15, "(A == B) stands in the body; expected != between"),
    "1: p(A, B) & (A % B) -> t(A, B)": (15, "(A % B) stands in the body; expected != between"),
    "1: p(A, B) & !(A == 'c') -> t(A, B)": (16, "!(A == 'c') stands in the body; expected"),
    "1: p(A, X) & (X == 'c') -> t(A, B)": (15, "(X == 'c') stands in the body; expected"),
    "1: ('c' == 'd') -> t(A, B)": (5, "('c' == 'd') compares constants; expected a variable"),
    "1: p(A, B) & !(A != B) -> t(A, B)": (16, "!(A != B) stands in the body; expected no negat"),
    "1: p(A, B) & (A != 'x') -> t(A, B)": (15, "(A != 'x') does not compare two variables"),
    "1: p(A, B) & (A != A) -> t(A, B)": (15, "(A != A) does not compare two variables"),
    "1: p(A, B) & (A != C) -> t(A, B)": (15, "(A != C) has a variable that no atom has"),
    "1: p(A, B) & (A != B) -> t(A, B)": (1, "has no != terms, but this rule has != terms"),
    "1: (A != B) -> t(A, B)": (5, "the body has no atom"),
    "1: p(A, B) & q(B, C) & (A != C) -> t(A, C)": (25, "or none, but (A != B) is missing"),
    "1: p(A) & (A != B) & q(X, B) -> t(A, B)": (12, "or none, but (A != X) is missing"),
    "1: p(A, X) & q(B, Y) & (X != Y) -> t(A, B)": (25, "(X != Y) compares other variables than"),
    "1: p(A, X, B) & (A != B) & (A != X) -> t(A, B)": (29, "(A != X) compares other variables"),
    "1: (A == 'c') & (A != B) -> t(A, B)": (18, "(A != B) compares other variables than"),
    # one atom
    "1: p(C, D) -> t(A, B)": (4, "p(C, D) is about neither A nor B"),
    "1: p(A, B) & q('c') -> t(A, B)": (14, "q('c') is about neither A nor B"),
    "1: p(X, Y) & q(Y, Z) -> t(A, B)": (4, "p(X, Y) & q(Y, Z) is about neither A nor B"),
    "1: p(A, A) -> t(A, B)": (4, "p(A, A) has one variable twice"),
    "1: p(A, X, X) -> t(A, B)": (4, "p(A, X, X) has one variable twice"),
    "1: p(A, 'c', 'd') -> t(A, B)": (4, "p(A, 'c', 'd') has 2 constants; expected one"),
    "1: p(A, 'c', B) -> t(A, B)": (4, "not a path from A to B: p(A, 'c', B) has the constant 'c'"),
    "1: p(A, '') -> t(A, B)": (4, "names no entity; expected one character or more, no TAB"),
    r"1: p(A, 'a\tb') -> t(A, B)": (4, "names no entity; expected one character or more, no TAB"),
    "1: (A == 'a\0b') -> t(A, B)": (5, "names no entity; expected one character or more, no TAB"),
    # paths
    "1: p(A, B) & q(B, C) & r(B, D) -> t(A, D)": (24, "not a path from A to D: it branches at B"),
    "1: p(A, X) & q(X, 'c') & r(X, B) -> t(A, B)": (14, "to B: q(X, 'c') has the constant 'c'"),
    "1: p(A, X) & q(X, Y) & r(X, Z) -> t(A, B)": (24, "not a chain from A: it branches at X"),
    "1: p(B, X) & q(X) & r(X, Y) -> t(A, B)": (21, "not a chain from B: it branches at X"),
    "1: p(A, X) & q(X, 'c', 'd') -> t(A, B)": (14, "q(X, 'c', 'd') has 2 constants; expected one"),
    "1: p(A, X) & q(X, 'c', Y) & r(Y) -> t(A, B)": (
        14,
        "q(X, 'c', Y) leads to 'c', Y; expected one",
    ),
    "1: p(A, X, Y) & q(X) & r(Y) -> t(A, B)": (4, "p(A, X, Y) leads to X, Y; expected one"),
    "1: p(A, X) & p(X, Y) & p(Y, Z) & p(Z, U) -> t(A, B)": (34, "has 4 steps; expected at most 3"),
    "1: p(A, X) & q(X) & r(X, B) -> t(A, B)": (14, "not a path from A to B: q(X) leads nowhere"),
    "1: p(A, X, B) & q(X, Y) -> t(A, B)": (4, "p(A, X, B) leads between A, X, B"),
    "1: p(A, B) & q(B, C) & r(C, A) -> t(A, D)": (24, "not a chain from A: it branches at A"),
    "1: p(A, B) & q(B, A) -> t(A, C)": (14, "not a chain from A: it branches at A"),
    "1: p(A, B) & q(B, C) & r(C, D) & s(D, B) -> t(A, E)": (34, "it branches at B"),
    "1: p(A, X) & q(X, B) & p(B, Y) & q(Y, X) -> t(A, B)": (34, "it branches at X"),
    "1: p(A,B) & p(B,C) & p(C,D) & p(D,E) & p(E,F) -> t(A,F)": (40, "5 atoms; expected at most 4"),
    # conjunctions
    f"1: {'p(A,B)&' * 12}p(A,B) -> t(A,B)": (88, "the body has 13 atoms; expected at most 12"),
    "1: p(A,B) & q(A,B) & q(A,X) & p(B,Y) -> t(A,B)": (31, "4 conditions; expected at most 3"),
    # ways of counting
    "1: !t(A, B) [log]": (13, "a prior has one grounding for every pair; expected no [log]"),
    "1: p(A, B) -> t(A, B) [sqrt]": (23, "[sqrt] is not a way of counting; expected [raw], [log]"),
    "1: p(A, B) -> t(A, B) [n]": (23, "[n] is not a way of counting; expected [raw], [log]"),
    "1: p(A, B) -> t(A, B) [Log]": (23, "[Log] is not a way of counting; expected [raw], [log]"),
    "1: p(A, B) -> t(A, B) [log / 2]": (23, "[log / 2] divides; expected [log] (only shares do)"),
    "1: p(A, B) -> t(A, B) [share]": (23, "[share] has no median; expected one, as in [share / 0"),
    "1: p(A, B) -> t(A, B) [share / 0]": (23, "the median of shares is 0; expected a number of"),
    "1: p(A, B) -> t(A, B) [share / -2]": (23, "the median of shares is -2; expected a number"),
    "1: p(A, X) -> t(A, B) [share / 2]": (23, "shares are for a body that is one path; expected"),
    "1: p(A, B) & q(A) -> t(A, B) [share / 2]": (30, "shares are for a body that is one path"),
    "1: p(A, B) [n >= 2] -> t(A, B) [share / 2]": (32, "shares are for a body that is one path"),
    "1: p(A, B) -> t(A, B) [log] ^2": (1, "the first rule has no ^2, but this rule has a ^2"),
    # thresholds
    "1: p(A, B) [n >= many] -> t(A, B)": (18, "expected a number, found 'many'"),
    "1: p(A, B) [n > 2] -> t(A, B)": (12, "[n > 2] is not a threshold; expected [n >= 25] or [sh"),
    "1: p(A, B) [share >= 2] -> t(A, B)": (12, "[share >= 2] is not a threshold; expected [n"),
    "1: p(A, B) [paths >= 2] -> t(A, B)": (12, "[paths >= 2] is not a threshold; expected"),
    "1: p(A, B) [n >= 0] -> t(A, B)": (12, "is 0; expected a whole number of at least 1"),
    "1: p(A, B) [n >= -3] -> t(A, B)": (12, "is -3; expected a whole number of at least 1"),
    "1: p(A, B) [n >= 2.5] -> t(A, B)": (12, "is 2.5; expected a whole number of at least 1"),
    "1: p(A, B) [share > -0.1] -> t(A, B)": (12, "of shares is -0.1; expected at least 0"),
    "1: p(A, X) [share > 0.1] -> t(A, B)": (12, "p(A, X) is not a path in any order; expected"),
    "1: p(A, X) & q(X, B) [n >= 2] -> t(A, B)": (
        22,
        "a part of a condition; expected (p(A, X) & q(X, B)) [n >= 2]",
    ),
    "1: (p(A, X) & q(A, Y)) [n >= 2] -> t(A, B)": (24, "stands behind 2 conditions; expected one"),
    "1: p(A, B) & (A != B) [n >= 2] -> t(A, B)": (23, "stands behind no conditions; expected one"),
    # arities
    "1: s(A) -> t(A, B)": (4, "s(A) has arity 1, but s(A, B) has 2 in line 1; expected one arity"),
    "1: s(A, X, B) -> t(A, B)": (4, "s(A, X, B) has arity 3, but s(A, B) has 2 in line 1"),
    "1: p(A) & p(B, X) -> t(A, B)": (11, "p(B, X) has arity 2, but p(A) has 1 in line 2"),
    "1: t(A) -> t(A, B)": (4, "t(A) has arity 1, but t(A, B) has 2 in line 1"),
}


@pytest.mark.parametrize(("rule", "mistake"), REFUSED.items())
def test_refused_rules(rule: str, mistake: tuple[int, str]) -> None:
    column, said = mistake
    with pytest.raises(DataError) as caught:
        parse_model(f"1: s(A, B) -> t(A, B)\n{rule}\n0.5: !t(A, B)\n", "model.psl")
    assert (caught.value.line, caught.value.column) == (2, column)
    assert str(caught.value).startswith(f"model.psl, line 2, column {column}: ")
    assert said in str(caught.value)
    if "the rule is" in str(caught.value):
        assert printable(str(parse_logical_rules(rule, "")[0])) in str(caught.value)


def test_arithmetic_is_refused() -> None:
    with pytest.raises(DataError, match=r"line 1, column 1: '>=' makes this an arithmetic rule"):
        parse_model("1: p(A, B) >= 0.5", "model.psl")


def test_one_predicate_under_two_identifiers_has_one_arity() -> None:
    header = '# hornbeam: {"predicates": {"p": "x y", "q": "x y"}}'
    with pytest.raises(
        DataError, match=r"line 3, column 4: q\(B\) has arity 1, but P\(A, B\) has 2"
    ):
        parse_model(f"{header}\n1: P(A, B) -> t(A, B)\n1: q(B) -> t(A, B)", "model.psl")


@pytest.mark.parametrize("atom", ["p(A, B)", "p(A, X)", "p(X, Y)"])
def test_long_rules_are_cut_in_messages(atom: str) -> None:
    body = " & ".join([atom] * 100)
    for text in (f"1: {body} -> t(A, B)", f"1: p(A, X) [n >= 2] & {body} -> t(A, B)"):
        [rule] = parse_logical_rules(text, "model.psl")
        with pytest.raises(DataError) as caught:
            parsed_clause(rule, {}, "model.psl")
        assert len(str(caught.value)) < 500
