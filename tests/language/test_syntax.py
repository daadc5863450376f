from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hornbeam.errors import DataError
from hornbeam.language.arithmetic_rules import (
    AllOf,
    AnyOf,
    ArithmeticRule,
    Cardinality,
    Condition,
    Extreme,
    Filter,
    Number,
    Operation,
    PslRule,
    Relation,
    Summand,
)
from hornbeam.language.rule_texts import parse_logical_rules, parse_rules
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Literal,
    LogicalRule,
    Operator,
    Place,
    SumVariable,
    Variable,
    weight_text,
)
from tests.support.rule_strategies import (
    COMPARISONS,
    HEADS,
    LITERALS,
    NAMES,
    SIDES,
    TERMS,
    WEIGHTS,
)


def parse_one(text: str) -> PslRule:
    [rule] = parse_rules(text, "rules.psl")
    return rule


def atom(predicate: str, *variables: str, negated: bool = False) -> Literal:
    return Literal(Atom(predicate, tuple(map(Variable, variables))), negated)


def test_the_parts_of_a_rule() -> None:
    rule = parse_one("0.83: cites(A, B) & !likes(B) & (A != B) -> mentions(A, B) | ~knows(B, A) ^2")
    different = Literal(Comparison(Variable("A"), Operator.DIFFERENT, Variable("B")))
    assert rule == LogicalRule(
        0.83,
        (atom("cites", "A", "B"), atom("likes", "B", negated=True), different),
        (atom("mentions", "A", "B"), atom("knows", "B", "A", negated=True)),
        squared=True,
    )


#: Other spellings, and the text that the rule has when it is printed.
SPELLINGS = {
    "1:a(A)->b(A)": "1.0: a(A) -> b(A)",
    "1: a(A) >> b(A)": "1.0: a(A) -> b(A)",
    "1: b(A) <- a(A)": "1.0: a(A) -> b(A)",
    "1: b(A) << a(A)": "1.0: a(A) -> b(A)",
    "1: a(A) && b(A) & c(A) -> d(A) || e(A)": "1.0: a(A) & b(A) & c(A) -> d(A) | e(A)",
    "1: a(A) -> d(A) || e(A) | f(A)": "1.0: a(A) -> d(A) | e(A) | f(A)",
    "1: (a(A) & (b(A) & c(A))) -> (d(A) | (e(A)))": "1.0: a(A) & b(A) & c(A) -> d(A) | e(A)",
    "1: ((a(A) & b(A))) -> ((d(A)))": "1.0: a(A) & b(A) -> d(A)",
    "1: !a(A) | ~b(A)": "1.0: !a(A) | !b(A)",
    "1: !!a(A) & !(~(!b(A))) -> c(A)": "1.0: a(A) & !b(A) -> c(A)",
    "1: a(A) & A != B -> c(A)": "1.0: a(A) & (A != B) -> c(A)",
    "1: a(A) & A - B -> c(A)": "1.0: a(A) & (A != B) -> c(A)",
    "1: a(A) & A ~= B -> c(A)": "1.0: a(A) & (A != B) -> c(A)",
    "1: a(A) & A-B->c(A)": "1.0: a(A) & (A != B) -> c(A)",
    "1: A == B & a(A) -> c(A)": "1.0: (A == B) & a(A) -> c(A)",
    "1: 'x' == A & a(A) -> c(A)": "1.0: ('x' == A) & a(A) -> c(A)",
    "1: (A % B) & (B ^ C) & a(A) -> c(A)": "1.0: (A % B) & (B % C) & a(A) -> c(A)",
    "1: a(A) -> !(A == B)": "1.0: a(A) -> !(A == B)",
    "a(A) .": "a(A) .",
    "!a(A) | b(A).": "!a(A) | b(A) .",
    "a(A) -> b(A) .": "a(A) -> b(A) .",
    "1: a(A) ^1": "1.0: a(A)",
    "1: a(A)^2": "1.0: a(A) ^2",
    "-0.5: a(A)": "-0.5: a(A)",
    "- 0.5 : a(A)": "-0.5: a(A)",
    "1e-300: a(A)": "1e-300: a(A)",
    "1e+30: a(A)": "1e30: a(A)",
    "1E3: a(A)": "1000.0: a(A)",
    "0: a(A)": "0.0: a(A)",
    "1: a(A, 'x y', \"z\")": "1.0: a(A, 'x y', 'z')",
    '1: a("it\'s", \'a "b"\')': "1.0: a('it\\'s', 'a \"b\"')",
    r"1: a('tab\t new\n back\\ \' \"')": r"""1.0: a('tab\t new\n back\\ \' "')""",
    "1: a('# no // comment /* here */')": "1.0: a('# no // comment /* here */')",
    "1: a(5, -2.5, 1e3)": "1.0: a('5', '-2.5', '1e3')",
    "1: a(A) & (A != 5) -> b(A)": "1.0: a(A) & (A != '5') -> b(A)",
    "1: a('')": "1.0: a('')",
    "1: $a_1(_b, $)": "1.0: $a_1(_b, $)",
    "1: p(A, B, C, D, E, F)": "1.0: p(A, B, C, D, E, F)",
    "# first\n1: a(A) // second\n /* third\n fourth */ -> b(A) # fifth": "1.0: a(A) -> b(A)",
    "\ufeff1: a(A)": "1.0: a(A)",
    "1: a(A)\r\n\t-> b(A)\r\n": "1.0: a(A) -> b(A)",
    "1: a(A)\r-> b(A)": "1.0: a(A) -> b(A)",
    "1: a(A) + b(A) <= 1 ^2": "1.0: a(A) + b(A) <= 1.0 ^2",
    "a(+A) = 1 .": "a(+A) = 1.0 .",
    "1: |A| a(+A) >= 2": "1.0: |A| * a(+A) >= 2.0",
    "1: 2 * (a(A)) / 4 <= 1": "1.0: (2.0 / 4.0) * a(A) <= 1.0",
    "1: a(A) - b(A) >= - 1": "1.0: a(A) + -1.0 * b(A) >= -1.0",
    "1: a(A) - (b(A) - (c(A) + 2)) = 0": "1.0: a(A) + -1.0 * b(A) + c(A) + 2.0 = 0.0",
    "1: 2 + 3 * a(A) = 0": "1.0: (2.0 + 3.0) * a(A) = 0.0",
    "1: 2 + a(A) = 0": "1.0: a(A) + 2.0 = 0.0",
    "1: a(A) - 1 - 2 = 0": "1.0: a(A) + (-1.0 * (1.0 - 2.0)) = 0.0",
    "1: a(A) / 2 + 3 - b(A) = 0": "1.0: (1.0 / (2.0 + 3.0)) * a(A) + -1.0 * b(A) = 0.0",
    "1: 1 + a(A) + 2 + b(A) <= 1": "1.0: a(A) + b(A) + (1.0 + 2.0) <= 1.0",
    "1: @Min(1, |B|) f(+B) <= @Max[1, 2]": "1.0: @Min[1.0, |B|] * f(+B) <= @Max[1.0, 2.0]",
    "f(+B) <= 1. {B: (b(B)) && (!c(B) || d(B))}": "f(+B) <= 1.0 . {B: b(B) & (!c(B) | d(B))}",
    "f(+B) <= 1. {B: b(B) & c(B) | d(B) & e(B)}": ("f(+B) <= 1.0 . {B: b(B) & c(B) | d(B) & e(B)}"),
    "1: 1 + 2 * (A != B) + f(A, B) <= 1": "1.0: f(A, B) + (A != B) <= 1.0",
    "f(+B) <= 1. {B: (((b(B) & c(B))) | ((d(B))))}": "f(+B) <= 1.0 . {B: b(B) & c(B) | d(B)}",
}


@pytest.mark.parametrize(("text", "printed"), SPELLINGS.items())
def test_spellings(text: str, printed: str) -> None:
    rule = parse_one(text)
    assert str(rule) == printed
    assert parse_one(printed) == rule


#: A wrong text, where it is wrong, and what the message says.
WRONG = {
    "0.8: cites(A, B) & mentions(B, C -> t(A, C)": (1, 34, "expected ',' or ')', found '->'"),
    "0.5: a(A) &\n0.3: b(A)": (
        1,
        12,
        "expected an atom such as 'knows(A, B)', found the end of th",
    ),
    "1: a(A)\n\n2: b(A) ->\n# end": (
        3,
        11,
        "expected an atom such as 'knows(A, B)', found the end",
    ),
    "0.5: a(A) -> ": (1, 13, "expected an atom such as 'knows(A, B)', found the end of the text"),
    "0.5:": (1, 5, "expected an atom"),
    "0.5": (1, 4, "expected ':' (which ends a weight) or an operator of arithmetic"),
    "0.5 a(A)": (1, 9, "found the end of the text (a weight is followed by ':')"),
    "0,5: a(A)": (
        1,
        2,
        "expected ':' (which ends a weight) or an operator of arithmetic, found ','",
    ),
    ": a(A)": (1, 1, "expected a weight such as '0.83:' or an atom such as 'knows(A, B)', found"),
    ".5: a(A)": (1, 1, "expected a weight such as '0.83:'"),
    "+1: a(A)": (1, 1, "expected a weight such as '0.83:'"),
    "nan: a(A)": (1, 1, "'nan' is not a weight; expected a finite number such as 0.83"),
    "inf: a(A)": (1, 1, "'inf' is not a weight"),
    "-inf: a(A)": (1, 2, "expected a number, found 'inf'"),
    "1: a(A)\n 1e999: a(A)": (2, 2, "the weight 1e999 is too large for a number"),
    "a(A) -> b(A)\n1: b(A)": (1, 13, "expected '|' or '.' (which ends a rule that has no weight)"),
    "a(A) ^2": (1, 6, "expected '.' (which ends"),
    "1: a(A) .": (1, 9, "expected '^2' or the end of the rule, found '.'"),
    "1: a(A) ^3": (1, 9, "'^2' or the end of the rule, found '^'"),
    "1: a(A) b(A) -> c(A)": (
        1,
        9,
        "(such as '&', '->', '+' and '<='), '^2' or the end of the rule",
    ),
    "1: a(A) (A != B) -> c(A)": (1, 9, "found '('"),
    "1: a(A), b(A) -> c(A)": (1, 8, "found ','"),
    "1: a(A) & b(A)": (1, 15, "expected '&' or '->', found the end of the text"),
    "1: a(A) | b(A) -> c(A)": (1, 16, "expected '|', '<-', '^2' or the end of the rule"),
    "1: a(A) -> b(A) & c(A)": (1, 17, "found '&'"),
    "1: a(A) | b(A) & c(A)": (1, 16, "found '&'"),
    "1: a(A) -> b(A) -> c(A)": (1, 17, "expected '|', '^2' or the end of the rule, found '->'"),
    "1: (a(A) -> b(A))": (1, 10, "expected ')', '&', '|', '+', '-' or '/', found '->'"),
    "1: a(A)) -> b(A)": (1, 8, "found ')'"),
    "1: !(a(A) & b(A)) -> c(A)": (1, 11, "expected ')', found '&'"),
    "1: a()": (1, 6, "expected a variable or a constant, found ')'"),
    "1: a(A,)": (1, 8, "expected a variable or a constant, found ')'"),
    "1: a": (1, 5, "expected '(', '==' or '!=', found the end of the text"),
    "1: 'x'": (1, 7, "expected '==' or '!='"),
    "1: a('x)": (1, 6, "a constant is not closed, or has an escape other than"),
    "1: a('x)\n\n2: b('y')": (3, 7, "(the constant that begins at line 1, column 6 goes on to a"),
    r"1: a('\x')": (1, 6, r"an escape other than \\, \', \", \t, \n and \r"),
    "1: a(A)\n/* to the end": (2, 1, "a comment is not closed; expected '*/'"),
    "1: é(A)": (1, 4, "expected an atom such as 'knows(A, B)', found 'é'"),
    "1: a(A) → b(A)": (1, 9, "found '→'"),
    "1: a(A)\u00a0-> b(A)": (1, 8, "found the character U+00A0"),
    "1: a(A) & (A = B) -> c(A)": (1, 14, "expected '(', '==' or '!=', found '='"),
    "1: a('=') b(A)": (1, 11, "found 'b'"),
    "1: a(A) b(A) # <= 3": (1, 9, "found 'b'"),
    "1: !a(A) <= 1": (1, 4, "an atom is negated in an arithmetic rule; expected '1 - a(A)'"),
    "1: a(A) + 2 * !b(A) <= 1": (1, 15, "an atom is negated in an arithmetic rule"),
    "1: a(+A) -> b(A)": (1, 6, "'+A' adds atoms up, as arithmetic rules do; expected 'A'"),
    "1: f(A, +B) <= 1 {B: b(+B)}": (1, 24, "'+B' adds atoms up"),
    "1: -a(A) <= 1": (1, 5, "expected a number, found 'a'"),
    "1: a(A) * 2 <= 1": (1, 9, "found '*'"),
    "1: a(A) 2 <= 1": (1, 15, "expected"),
    "1: 2 * (a(A) + b(A)) <= 1": (1, 14, "expected ')', found '+'"),
    "1: (a(A) + b(A)) / 2 <= 1": (1, 18, "expected an operator"),
    "1: 2 |B| f(A, +B) <= 1": (1, 6, "found '|'"),
    "1: a(A) + b(A)": (1, 15, "expected '+', '-', '/' or '<=' (or '>=', '='), found the end"),
    "1: a(A) + b(A) -> c(A)": (1, 16, "expected '+', '-', '/' or '<='"),
    "1: a(A) < 1": (1, 9, "found '<'"),
    "1: a(A) == 1": (1, 9, "found '=='"),
    "1: a(A) <= 1 .": (1, 14, "'^2', '{' or the end of the rule, found '.'"),
    "a(A) <= 1": (1, 10, "'.' (which ends a rule that has no weight), found the end of the text"),
    "a(A) <= 1 ^2 .": (1, 11, "found '^2'"),
    "1: a(+A) <= 1 {A: b(A)} ^2": (1, 25, "found '^2'"),
    "1: a(+A) <= 1 {A b(A)}": (1, 18, "expected ':', found 'b'"),
    "1: a(+A) <= 1 {A: b(A) -> c(A)}": (1, 24, "expected '&', '|' or '}', found '->'"),
    "1: a(+A) <= 1 {A: !(b(A) | c(A))}": (1, 26, "expected ')', found '|'"),
    "1: @Min[1, 2, 3] * a(A) <= 1": (1, 13, "expected ']', found ','"),
    "1: @Min[1] * a(A) <= 1": (1, 10, "expected ',', found ']'"),
    "1: @Mean[1, 2] * a(A) <= 1": (1, 4, "found '@'"),
    "1: 1e999 * a(A) <= 1": (1, 4, "the number 1e999 is too large"),
    "1: a(A) <= 1\n + b(A) +* 2": (2, 10, "found '*'"),
}


@pytest.mark.parametrize(("text", "mistake"), WRONG.items())
def test_mistakes_are_placed_and_explained(text: str, mistake: tuple[int, int, str]) -> None:
    line, column, said = mistake
    with pytest.raises(DataError) as caught:
        parse_rules(text, "rules.psl")
    assert (caught.value.line, caught.value.column) == (line, column)
    message = str(caught.value)
    assert message.startswith(f"rules.psl, line {line}, column {column}: ")
    assert said in message


@pytest.mark.parametrize("text", WRONG)
def test_messages_speak_no_token_names(text: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_rules(text, "rules.psl")
    assert not re.search(r"[A-Z_]{3,}|\$END", str(caught.value))


def test_rules_end_with_their_lines() -> None:
    text = """
    1: a(A)
      & b(A)   # goes on
      -> c(A)
    -2: a(A) ^2
    a(A) . b(A) .
    (A != B) & a(A)
      -> b(A) .
    3: a(A) 4: b(A)
    """
    rules = parse_rules(text, "rules.psl")
    assert [rule.weight for rule in rules] == [1, -2, None, None, None, 3, 4]
    assert [rule.place for rule in rules] == [
        Place(2, 5),
        Place(5, 5),
        Place(6, 5),
        Place(6, 12),
        Place(7, 5),
        Place(9, 5),
        Place(9, 13),
    ]


def test_atoms_know_their_places() -> None:
    [rule] = parse_logical_rules("1: a(A) & (A != B) &\n  !b(A) -> c(A)", "rules.psl")
    places = [literal.atom.place for literal in (*rule.body, *rule.head)]
    assert places == [Place(1, 4), Place(1, 12), Place(2, 4), Place(2, 12)]


def test_the_parts_of_an_arithmetic_rule() -> None:
    rule = parse_one("0.5: 2 * f(A, +B) / |B| - a('x') <= 1 - b(A) ^2 {B: b(B) & !c(B)}")
    f = Atom("f", (Variable("A"), SumVariable("B")))
    assert rule == ArithmeticRule(
        0.5,
        (
            Summand(Operation("/", Number(2.0), Cardinality("B")), f),
            Summand(Number(-1.0), Atom("a", (Constant("x"),))),
        ),
        Relation.AT_MOST,
        (Summand(Number(-1.0), Atom("b", (Variable("A"),))), Summand(Number(1.0))),
        (Filter("B", AllOf((atom("b", "B"), atom("c", "B", negated=True)))),),
        squared=True,
    )


def test_lines_that_seem_to_go_on() -> None:
    text = """
    1: a(A) <= 1
    b(A) = 1 .
    2: a(A) >= b(A)
      + 1
    -3: a(A) -> b(A)
    4: a(A) <= 1
    - 2 * b(A) >= 1 .
    5: f(+B) <= 1 {B: b(B)}
    (A != B) & f(A, B) -> a(A) .
    6: a(A) = 1 7: b(A) = 1 8: f(+B) <= 1 {B: b(B)} 9: a(A) -> b(A)
    """
    rules = parse_rules(text, "rules.psl")
    assert [rule.weight for rule in rules] == [1, None, 2, -3, 4, None, 5, None, 6, 7, 8, 9]
    lines = [2, 3, 4, 6, 7, 8, 9, 10, 11, 11, 11, 11]
    assert [rule.place.line for rule in rules if rule.place] == lines


def test_arithmetic_is_refused_where_only_logic_is_read() -> None:
    with pytest.raises(DataError, match=r"line 2, column 1: '<=' makes this an arithmetic rule"):
        parse_logical_rules("1: a(A) -> b(A)\n1: a(A) + b(A) <= 1", "model.psl")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Number(float("inf")),
        lambda: Extreme("Min", (Number(1.0),)),
        lambda: AllOf((atom("a", "A"),)),
        lambda: AnyOf((atom("a", "A"), AnyOf((atom("b", "A"), atom("c", "A"))))),  # type: ignore[arg-type]
        lambda: ArithmeticRule(1.0, (), Relation.EQUAL, (Summand(Number(1.0)),)),
        lambda: ArithmeticRule(
            1.0, (Summand(Number(1.0)),) * 2, Relation.EQUAL, (Summand(Number(1.0)),)
        ),
    ],
)
def test_arithmetic_that_has_no_text_does_not_exist(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"finite|two|parts|side"):
        make()


@pytest.mark.parametrize("text", ["", " \n\t", "# only\n// comments\n/* here */"])
def test_nothing(text: str) -> None:
    assert parse_rules(text, "rules.psl") == []


def test_deep_nesting_is_read() -> None:
    assert parse_one(f"1: {'(' * 3000}a(A){')' * 3000}") == parse_one("1: a(A)")


@pytest.mark.parametrize("depth", [60, 400, 2000])
@pytest.mark.parametrize(
    "text",
    [
        "{begin}2{end} * a(A) <= 1",
        "{products}a(A) <= 1",
        "{sums}a(A) <= 1",
        "{extremes}1{brackets} * a(A) <= 1",
        "a(A) <=\n {products}1",
        "f(+B) <= 1 {{B: {conditions}c(B){ends}}}",
    ],
)
def test_deep_arithmetic_is_read_or_refused(text: str, depth: int) -> None:
    written = text.format(
        begin="(" * depth,
        end=")" * depth,
        products="2 * " * depth,
        sums="2 + " * depth,
        extremes="@Min[2, " * depth,
        brackets="]" * depth,
        conditions="(a(B) & (b(B) | " * depth,
        ends="))" * depth,
    )
    if depth == 60 and "begin" in text:  # parentheses alone leave no trace
        rule = parse_one(f"1: {written}")
        assert parse_one(str(rule)) == rule
    else:
        with pytest.raises(DataError, match=r"column 1: the rule (is nested too|has more)"):
            parse_one(f"1: {written}")


@pytest.mark.parametrize(
    ("weight", "squared", "head"),
    [(None, True, "a"), (float("nan"), False, "a"), (float("inf"), False, "a"), (1.0, False, "")],
)
def test_rules_that_have_no_text_do_not_exist(
    weight: float | None, squared: bool, head: str
) -> None:
    with pytest.raises(ValueError, match=r"rule|weight"):
        LogicalRule(weight, (), tuple(atom(name, "A") for name in head), squared)


LOGICAL = st.builds(LogicalRule, WEIGHTS, SIDES, HEADS, st.booleans()) | st.builds(
    LogicalRule, st.none(), SIDES, HEADS
)

ARGUMENTS = st.lists(TERMS | st.builds(SumVariable, NAMES), min_size=1, max_size=3).map(tuple)
SUM_ATOMS = st.builds(Atom, NAMES, ARGUMENTS)
COEFFICIENTS = st.recursive(
    st.builds(Number, WEIGHTS) | st.builds(Cardinality, NAMES),
    lambda inner: (
        st.builds(Operation, st.sampled_from("+-*/"), inner, inner)
        | st.builds(Extreme, st.sampled_from(["Min", "Max"]), st.tuples(inner, inner))
    ),
    max_leaves=4,
)
ATOM_SUMMANDS = st.lists(st.builds(Summand, COEFFICIENTS, SUM_ATOMS), max_size=3)
CONSTANTS = st.lists(st.builds(Summand, COEFFICIENTS), max_size=1)
SUMS = st.tuples(ATOM_SUMMANDS, CONSTANTS).map(lambda parts: (*parts[0], *parts[1])).filter(bool)


def conditions(depth: int, outside: type | None = None) -> st.SearchStrategy[Condition]:
    """Conditions; a conjunction never stands in a conjunction, nor a disjunction in its kind."""
    strategy: st.SearchStrategy[Condition] = LITERALS
    for kind in (AllOf, AnyOf):
        if depth and kind is not outside:
            parts = st.lists(conditions(depth - 1, kind), min_size=2, max_size=3).map(tuple)
            strategy |= st.builds(kind, parts)
    return strategy


FILTERS = st.lists(st.builds(Filter, NAMES, conditions(2)), max_size=2).map(tuple)
COMPARED = st.lists(COMPARISONS, max_size=2).map(tuple)
RELATED = (SUMS, st.sampled_from(Relation), SUMS, FILTERS, COMPARED)
ARITHMETIC = st.builds(ArithmeticRule, WEIGHTS, *RELATED, st.booleans()) | st.builds(
    ArithmeticRule, st.none(), *RELATED
)


@given(
    st.lists(LOGICAL | ARITHMETIC, max_size=5),
    st.sampled_from(["\n", "\r\n", "\n\n# said\n", " // said\n"]),
)
def test_printing_then_parsing_is_the_identity(rules: list[PslRule], end: str) -> None:
    text = "".join(str(rule) + end for rule in rules)
    assert parse_rules(text, "rules.psl") == rules


@given(st.lists(LOGICAL | ARITHMETIC, max_size=5), st.sampled_from([" ", "\t", "\n  "]))
def test_blanks_do_not_matter_between_the_tokens_of_a_rule(rules: list[PslRule], gap: str) -> None:
    for rule in rules:
        text = str(rule)
        words = re.findall(r"'(?:[^'\\]|\\.)*'|[^' ]+", text)
        assert parse_rules(gap.join(words), "rules.psl") == [rule]


@given(WEIGHTS)
def test_weights_keep_every_bit_and_psl_takes_them(weight: float) -> None:
    text = weight_text(weight)
    assert float(text) == weight
    assert "+" not in text


@example("*/")  # the character before the first is not the last one
@given(st.text() | st.text("1:. ab(A),&|!~<>-=^2'\"#/*\\\n%+{}[]@"))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        rules, place = parse_rules(text, "rules.psl"), (1, 1)
    except DataError as error:
        rules, place = [], (error.line or 0, error.column or 0)
    assert min(place) >= 1
    assert parse_rules("\n".join(map(str, rules)), "rules.psl") == rules


def test_lark_loads_only_to_parse() -> None:
    code = "import sys, hornbeam.rules.model_file; print('lark' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert printed.split() == [b"False"]


@pytest.mark.shared
def test_rules_of_real_programs(psl_links: Path) -> None:
    for program in psl_links.glob("*.json"):
        texts = json.loads(program.read_text())["rules"]
        rules = parse_rules("\n".join(texts), program.name)
        assert [str(rule) for rule in rules] == texts
