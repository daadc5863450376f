"""Brackets: ways of counting behind rules, thresholds behind atoms and groups; none in PSL."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.errors import DataError
from hornbeam.language.rule_texts import parse_logical_rules, parse_rules
from hornbeam.language.syntax import Bracket, Literal, LogicalRule, Place, ThresholdSpan
from tests.support.rule_strategies import HEADS, NAMES, SIDES, WEIGHTS


def parse_one(text: str) -> LogicalRule:
    [rule] = parse_logical_rules(text, "model.psl")
    return rule


def test_the_parts_of_a_rule() -> None:
    text = "0.8: (p(A, X) & q(X, B)) [n >= 25] & r(A) & s(B, Y) [share > 0.012] -> t(A, B) [log] ^2"
    rule = parse_one(text)
    assert rule.weighing == Bracket("log")
    assert rule.thresholds == (
        ThresholdSpan(0, 2, Bracket("n", ">=", 25.0)),
        ThresholdSpan(3, 4, Bracket("share", ">", 0.012)),
    )
    assert rule.squared
    assert [str(literal) for literal in rule.body] == ["p(A, X)", "q(X, B)", "r(A)", "s(B, Y)"]
    assert str(rule) == text
    places = [span.threshold.place for span in rule.thresholds]
    assert places == [Place(1, 26), Place(1, 53)]
    assert rule.weighing.place == Place(1, 80)


#: Other spellings, and the text that the rule has when it is printed.
SPELLINGS = {
    "1: t(A, B) [log]": "1.0: t(A, B) [log]",
    "1: !t(A, B)[ share/0.5 ]": "1.0: !t(A, B) [share / 0.5]",
    "1: t(A) <- p(A) [log] ^2": "1.0: p(A) -> t(A) [log] ^2",
    "1: t(A) <- p(A) & q(A) [n >= 2] [raw]": "1.0: p(A) & q(A) [n >= 2] -> t(A) [raw]",
    "1: t(A) << (p(A) & q(A)) [n >= 2][raw]": "1.0: (p(A) & q(A)) [n >= 2] -> t(A) [raw]",
    "1: (p(A)) [n >= 2] -> t(A)": "1.0: p(A) [n >= 2] -> t(A)",
    "1: ((p(A) & (q(A)))) [n >= 2.0] -> t(A)": "1.0: (p(A) & q(A)) [n >= 2] -> t(A)",
    "1: (p(A) [n >= 2] & q(A)) & r(A) -> t(A)": "1.0: p(A) [n >= 2] & q(A) & r(A) -> t(A)",
    "1: (A == 'c') [n >= 1] -> t(A)": "1.0: (A == 'c') [n >= 1] -> t(A)",
    "1: A == 'c' [n >= 1] -> t(A)": "1.0: (A == 'c') [n >= 1] -> t(A)",
    "1: !p(A) [n > -1e-3] -> t(A)": "1.0: !p(A) [n > -0.001] -> t(A)",
    "1: p(A) -> t(A) | u(A) [log]": "1.0: p(A) -> t(A) | u(A) [log]",
    "p(A) -> t(A) [log] .": "p(A) -> t(A) [log] .",
    "1: p(A) # [n >= 3]\n  [n >= 2] /* [ */ -> t(A)\n [log]": "1.0: p(A) [n >= 2] -> t(A) [log]",
    "1: p(A) [n >= 1e30] -> t(A)": "1.0: p(A) [n >= 1e+30] -> t(A)",
}


@pytest.mark.parametrize(("text", "printed"), SPELLINGS.items())
def test_spellings(text: str, printed: str) -> None:
    rule = parse_one(text)
    assert str(rule) == printed
    assert parse_one(printed) == rule


#: A wrong text, where it is wrong, and what the message says.
WRONG = {
    "1: p(A) [n >= many] -> t(A)": (1, 15, "expected a number, found 'many' (brackets hold a way"),
    "1: p(A) [n >= ] -> t(A)": (1, 15, "expected a number, found ']'"),
    "1: p(A) [n >= '3'] -> t(A)": (1, 15, "expected a number, found ''3''"),
    "1: p(A) [n >= 1e999] -> t(A)": (1, 15, "the number 1e999 is too large"),
    "1: p(A) [n <= 3] -> t(A)": (1, 12, "'<=' stands in brackets; expected '>=', '>' or '/'"),
    "1: p(A) [n == 3] -> t(A)": (1, 12, "'==' stands in brackets; expected '>=', '>' or '/'"),
    "1: p(A) [n < 3] -> t(A)": (1, 12, "expected '>=', '>', '/' or ']', found '<'"),
    "1: p(A) [3] -> t(A)": (1, 11, "expected a name, found ']' (brackets hold a way of counting"),
    "1: p(A) [] -> t(A)": (1, 10, "expected a name or a number, found ']' (brackets hold a way"),
    "1: p(A) [3 of 4] -> t(A)": (1, 9, "[3 of 4] is what was counted, not a threshold"),
    "1: p(A) -> t(A) [3 of 4] [3 of 5]": (1, 17, "expected it once, behind the rule"),
    "1: p(A) -> t(A) [3 on 4]": (1, 17, "expected what was counted, as in [88 of 129]"),
    "1: p(A) -> t(A) [3 of 4.5]": (1, 17, "expected what was counted, as in [88 of 129]"),
    "1: p(A) -> t(A) [3 of 4, height 2]": (1, 17, "or [88 of 129, weight -0.5]"),
    "1: p(A) [n >= 3 -> t(A)": (1, 17, "expected ']', found '->'"),
    "1: p(A) -> t(A) [log": (1, 21, "expected '>=', '>', '/' or ']', found the end of"),
    # a bracket may go on with a number, as in [last 30d]
    "1: p(A) -> t(A) [log\n2: t(A)": (2, 2, "expected a name, ',' or ']', found ':'"),
    "1: p(A) [last 0d] -> t(A)": (1, 9, "[last 0d] spans no time; expected at least 1"),
    "1: p(A) [lost 3] -> t(A)": (1, 9, "[lost 3] is no condition on time; expected [last 30d]"),
    "1: p(A) [last 3y] -> t(A)": (1, 9, "[last 3y] is no condition on time"),
    "1: p(A) [decay 3, n >= 2] -> t(A)": (1, 9, "asks for a wrong number of events"),
    "1: (p(A, X) & q(X, B)) [last 3] -> t(A, B)": (1, 24, "stands behind 2 atoms"),
    "1: p(A) [last 3] [last 4] -> t(A)": (1, 18, "behind another such bracket"),
    "1: p(A) -> t(A) [last 3]": (1, 12, "[last 3] stands in the head; expected it behind atoms"),
    "1: p(A) [log] -> t(A)": (1, 9, "[log] is a way of counting, not a threshold such as [n >="),
    "1: p(A) & q(A) [log] & r(A) -> t(A)": (1, 16, "expected it once, behind the rule"),
    "1: t(A) [log] <- p(A)": (1, 9, "[log] is a way of counting, not a threshold"),
    "1: t(A) [log] [raw]": (1, 9, "expected it once, behind the rule"),
    "1: t(A) [log] | u(A)": (1, 9, "expected it once, behind the rule"),
    "1: p(A) -> t(A) [n >= 3]": (1, 17, "[n >= 3] stands in the head; expected a threshold behind"),
    "1: p(A) [n >= 2] [n >= 3] -> t(A)": (1, 18, "and [n >= 2] stand behind the same atoms"),
    "1: (p(A) & q(A) [n >= 2]) [n >= 3] -> t(A)": (1, 27, "expected one threshold"),
    "1: p(A) -> t(A) ^2 [log]": (1, 20, "found '[' (brackets stand before '^2')"),
    "1: p(A) & [n >= 3] -> t(A)": (1, 11, "expected an atom"),
    "1: (p(A) | q(A)) [log]": (1, 18, "found '['"),
    "1: (p(A) & q(A)) [log]": (1, 23, "expected"),
    "1: a(A) [log] + b(A) <= 1": (1, 15, "found '+'"),
}


@pytest.mark.parametrize(("text", "mistake"), WRONG.items())
def test_mistakes_are_placed_and_explained(text: str, mistake: tuple[int, int, str]) -> None:
    line, column, said = mistake
    with pytest.raises(DataError) as caught:
        parse_logical_rules(text, "model.psl")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert said in str(caught.value)
    assert not re.search(r"[A-Z_]{3,}|\$END", str(caught.value))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("2: p(A) -> t(A) [log] ^2", 17),
        ("2: p(A) [n >= 3] -> t(A)", 9),
        ("2: (p(A) & q(A)) [n >= 3] -> t(A)", 18),
        ("2: p(A) [ whatever", 9),
    ],
)
def test_programs_have_no_brackets(text: str, column: int) -> None:
    with pytest.raises(DataError) as caught:
        parse_rules(f"1: a(A) -> b(A)\n{text}", "program.psl")
    assert (caught.value.line, caught.value.column) == (2, column)
    assert "which the rules of Hornbeam's models may have; expected plain PSL" in str(caught.value)


def test_messages_about_programs_speak_of_no_brackets() -> None:
    with pytest.raises(DataError, match=r"expected '\^2' or the end of the rule, found '\.'"):
        parse_rules("1: a(A) .", "program.psl")
    with pytest.raises(DataError, match=r"expected '\(' or '\[', found '1'"):
        parse_rules("1: @Min 1", "program.psl")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_brackets_that_have_no_text_do_not_exist(number: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        Bracket("n", ">=", number)
    with pytest.raises(ValueError, match="or neither"):
        Bracket("n", ">=")
    with pytest.raises(ValueError, match="or neither"):
        Bracket("n", number=3.0)


def test_brackets_stand_where_they_belong() -> None:
    [literal] = parse_one("1: t(A)").head
    threshold, weighing = Bracket("n", ">=", 3.0), Bracket("log")

    def rule(weighing: Bracket | None, *spans: ThresholdSpan) -> LogicalRule:
        body = (literal, literal)
        return LogicalRule(1.0, body, (literal,), weighing=weighing, thresholds=spans)

    rule(weighing, ThresholdSpan(0, 1, threshold), ThresholdSpan(1, 2, threshold))
    with pytest.raises(ValueError, match="a rule has a way of counting"):
        rule(threshold)
    for first, last in ((0, 0), (1, 3), (-1, 1)):
        with pytest.raises(ValueError, match="in their order"):
            rule(None, ThresholdSpan(first, last, threshold))
    with pytest.raises(ValueError, match="in their order"):
        rule(None, ThresholdSpan(0, 2, threshold), ThresholdSpan(1, 2, threshold))
    with pytest.raises(ValueError, match="in their order"):
        rule(None, ThresholdSpan(0, 1, weighing))


NUMBERS = st.floats(-MAX_NUMBER, MAX_NUMBER)
WEIGHINGS = st.builds(Bracket, NAMES) | st.builds(Bracket, NAMES, st.just("/"), NUMBERS)
THRESHOLDS = st.builds(Bracket, NAMES, st.sampled_from([">=", ">"]), NUMBERS)


@st.composite
def bracketed_rules(draw: st.DrawFn) -> LogicalRule:
    """Rules with a way of counting or none, and thresholds behind some of their literals."""
    body: tuple[Literal, ...] = draw(SIDES)
    cuts = draw(st.lists(st.integers(0, len(body)), max_size=4, unique=True).map(sorted))
    spans = [
        ThresholdSpan(start, stop, draw(THRESHOLDS))
        for start, stop in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    weight = draw(WEIGHTS)
    return LogicalRule(
        weight, body, draw(HEADS), draw(st.booleans()), None,
        draw(st.none() | WEIGHINGS), tuple(spans),
    )  # fmt: skip


@given(
    st.lists(bracketed_rules(), max_size=4),
    st.sampled_from(["\n", "\r\n", "\n\n# said [log]\n", " // said\n"]),
)
def test_printing_then_parsing_is_the_identity(rules: list[LogicalRule], end: str) -> None:
    text = "".join(str(rule) + end for rule in rules)
    assert parse_logical_rules(text, "model.psl") == rules


@given(bracketed_rules(), st.sampled_from([" ", "\t", "\n  "]))
def test_blanks_do_not_matter_between_the_tokens_of_a_rule(rule: LogicalRule, gap: str) -> None:
    words = re.findall(r"'(?:[^'\\]|\\.)*'|[^' ]+", str(rule))
    assert parse_logical_rules(gap.join(words), "model.psl") == [rule]


@given(st.text("1:. ab(A),&|!-=^2'#[]n>/3\n"))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        rules, place = parse_logical_rules(text, "model.psl"), (1, 1)
    except DataError as error:
        rules, place = [], (error.line or 0, error.column or 0)
    assert min(place) >= 1
    assert parse_logical_rules("\n".join(map(str, rules)), "model.psl") == rules
