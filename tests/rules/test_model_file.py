from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import DataError, InputError
from hornbeam.language.syntax import LogicalRule, parse_rules, rule_text
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.model_file import model_text, parse_model
from hornbeam.rules.path_rules import path_clause
from hornbeam.rules.rule_model import Relaxation, Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts

#: Anything that facts may call a predicate; short alphabets make names that clash.
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n\0"), min_size=1) | st.text(
    "aA_1 /", min_size=1, max_size=4
)
STEPS = st.builds(Step, NAMES, st.booleans())
PATHS = st.builds(Body, st.lists(STEPS, min_size=1, max_size=4).map(tuple), NAMES)
WEIGHTS = st.floats(0, allow_infinity=False) | st.sampled_from([5e-324, 1e-300, 1e300])
SEMANTICS = st.builds(
    Semantics,
    st.sampled_from(Counts),
    st.sampled_from(Relaxation),
    st.booleans(),
    st.none() | st.integers(1, 10**9),
    st.booleans(),
    st.floats(0, 1),
)


@st.composite
def models(draw: st.DrawFn) -> RuleModel:
    clauses = st.builds(Clause, PATHS, st.booleans())
    priors = st.builds(prior, NAMES, st.booleans())
    rules = draw(st.lists(st.builds(Rule, WEIGHTS, clauses | priors), max_size=6))
    return RuleModel(tuple(rules), draw(SEMANTICS))


@given(models())
def test_writing_then_reading_is_the_identity(model: RuleModel) -> None:
    text = model_text(model)
    assert parse_model(text, "model.psl") == model
    assert len(text.splitlines()) == 1 + len(model.rules)
    assert text.endswith("\n")


@given(models(), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\ufeff"]))
def test_a_file_from_anywhere(model: RuleModel, end: str, mark: str) -> None:
    lines = model_text(model).split("\n")
    assert parse_model(mark + end.join(lines), "model.psl") == model
    commented = "\n\n// mine\n".join(f"{line} # {i}" if i else line for i, line in enumerate(lines))
    assert parse_model(f"/* mine */\n\n{commented}", "model.psl") == model


@given(PATHS, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_a_path_is_seen_in_any_order_and_by_any_variables(
    path: Body, negated: bool, distinct: bool, chance: random.Random
) -> None:
    path = Body(tuple(Step("p" + str(len(s.predicate)), s.inverse) for s in path.steps), "t")
    rule = Rule(0.5, Clause(path, negated))
    model = RuleModel((rule,), Semantics(distinct_variables=distinct))
    [written] = parse_rules(model_text(model), "model.psl")
    assert isinstance(written, LogicalRule)
    body = list(written.body)
    chance.shuffle(body)
    shuffled = rule_text(LogicalRule(written.weight, tuple(body), written.head))
    for old, new in pairwise("ABCDEz"):
        shuffled = shuffled.replace(f"{old},", f"{new}_1,").replace(f"{old})", f"{new}_1)")
        shuffled = shuffled.replace(f"({old} ", f"({new}_1 ")
    assert parse_model(shuffled, "model.psl") == model


def test_the_text_of_a_model() -> None:
    path = Body((Step("cites"), Step("/film/genre", inverse=True)), "Cites")
    rules = [Rule(1e300, Clause(path)), Rule(0.25, prior("Cites")), Rule(0, prior("x", False))]
    semantics = Semantics(Counts.LOG, Relaxation.SQUARED, True, 100, threshold=0.25)
    first, *rest = model_text(RuleModel(tuple(rules), semantics)).splitlines()
    assert first.startswith("# hornbeam: ")
    assert json.loads(first.removeprefix("# hornbeam: ")) == {
        "version": 1,
        "counts": "log",
        "relaxation": "squared",
        "collective": True,
        "max_fanout": 100,
        "distinct_variables": False,
        "threshold": 0.25,
        "predicates": {"cites_2": "cites", "film_genre": "/film/genre"},
    }
    assert rest == [
        "1e300: cites_2(A, B) & film_genre(C, B) -> Cites(A, C) ^2",
        "0.25: !Cites(A, B) ^2",
        "0.0: x(A, B) ^2",
    ]


def test_names_are_readable_but_never_break_the_line() -> None:
    line = model_text(RuleModel((Rule(1, prior("né à\u2028\x85\U000e0001")),))).split("\n")[0]
    assert r"né à\u2028\u0085\udb40\udc01" in line


def test_without_the_first_line() -> None:
    text = "0.5: q(Y, X) & p(Y, Z) -> !t(X, Z)\n0.1: !t(A, B)\n\n2: t(U, V)"
    model = parse_model(text, "model.psl")
    path = Body((Step("q", inverse=True), Step("p")), "t")
    assert model.rules == (
        Rule(0.5, Clause(path, negated=True)),
        Rule(0.1, prior("t")),
        Rule(2.0, prior("t", negated=False)),
    )
    assert model.semantics == Semantics()
    assert parse_model("1: t(A, B) ^2", "m").semantics == Semantics(relaxation=Relaxation.SQUARED)


def test_what_the_first_line_leaves_out() -> None:
    text = '# hornbeam: {"counts": "exists", "threshold": 1}\n1: t(A, B) ^2\n'
    assert parse_model(text, "model.psl").semantics == Semantics(
        Counts.EXISTS, Relaxation.SQUARED, threshold=1.0
    )


def test_the_case_of_identifiers_is_ignored() -> None:
    text = '# hornbeam: {"predicates": {"film_Genre": "/film/genre"}}\n1: FILM_genre(A, B)'
    assert parse_model(text, "model.psl").rules == (Rule(1.0, prior("/film/genre", negated=False)),)


def test_edited_rules() -> None:
    text = """
    # hornbeam: {"distinct_variables": true}
    1: t(X, Y) << p(X, Z) & q(Z, Y) & X != Y & (Z - X) & (Y != Z) & (Z != Y)
    """
    path = Body((Step("p"), Step("q")), "t")
    assert parse_model(text, "model.psl") == RuleModel(
        (Rule(1.0, Clause(path)),), Semantics(distinct_variables=True)
    )


#: A rule on line 2 that is no rule of a model, the column that shows it, and what is said.
REFUSED = {
    "p(A, B) -> t(A, B) .": (1, "a model has no hard rules; expected a weight such as '0.83:'"),
    "-1: p(A, B) -> t(A, B)": (1, "the weight is negative; expected a number of at least 0"),
    "1e999: p(A, B) -> t(A, B)": (1, "the weight 1e999 is too large"),
    "nan: p(A, B) -> t(A, B)": (1, "'nan' is no weight"),
    "1: p(A, B) -> t(A, B) | q(A, B)": (25, "the head has 2 atoms; expected one"),
    "1: !p(A, B) | t(A, B)": (15, "the head has 2 atoms; expected one"),
    "1: p(A, B) -> (A == B)": (16, "the head is (A == B); expected an atom"),
    "1: p(A, B) -> t(A)": (15, "t(A) has arity 1; expected 2"),
    "1: t(A, B, C)": (4, "t(A, B, C) has arity 3; expected 2"),
    "1: t(A, A)": (4, "t(A, A) has one variable twice; expected two variables"),
    "1: t(A, 'x')": (4, "t(A, 'x') has the constant 'x'; expected variables"),
    "1: p(A, B) & q(A) -> t(A, B)": (14, "q(A) has arity 1; expected 2"),
    "1: p(A, 'x') -> t(A, B)": (4, "p(A, 'x') has the constant 'x'; expected variables"),
    "1: p(A, 5) -> t(A, B)": (4, "p(A, '5') has the constant '5'; expected variables"),
    "1: !p(A, B) -> t(A, B)": (5, "!p(A, B) is negated; bodies are made of facts"),
    "1: p(A, B) & (A == B) -> t(A, B)": (15, "(A == B) stands in the body; expected != only"),
    "1: p(A, B) & (A % B) -> t(A, B)": (15, "(A % B) stands in the body; expected != only"),
    "1: p(A, B) & !(A != B) -> t(A, B)": (16, "!(A != B) stands in the body; expected != only"),
    "1: p(A, B) & (A != 'x') -> t(A, B)": (15, "(A != 'x') does not compare two variables"),
    "1: p(A, B) & (A != A) -> t(A, B)": (15, "(A != A) does not compare two variables"),
    "1: p(A, B) & (A != C) -> t(A, B)": (15, "(A != C) has a variable that no atom has"),
    "1: (A != B) -> t(A, B)": (5, "the body has no atom"),
    "1: p(A, B) & q(B, C) & (A != C) -> t(A, C)": (25, "or none, but (A != B) is missing"),
    "1: p(A, B) & q(A, B) -> t(A, B)": (14, "no path from A to B: it branches at A"),
    "1: p(A, B) & q(B, C) & r(B, D) -> t(A, D)": (24, "no path from A to D: it branches at B"),
    "1: p(A, B) & q(B, C) -> t(A, B)": (14, "no path from A to B: q(B, C) is not on it"),
    "1: p(A, B) & q(C, D) -> t(A, D)": (14, "no path from A to D: no atom leads on from B"),
    "1: p(C, D) -> t(A, B)": (4, "no path from A to B: no atom leads on from A"),
    "1: p(A, B) -> t(A, C)": (4, "no path from A to C: it ends at B"),
    "1: p(A, A) -> t(A, B)": (4, "p(A, A) has one variable twice"),
    "1: p(A, B) & q(B, C) & r(C, A) -> t(A, D)": (24, "no path from A to D: it branches at A"),
    "1: p(A, B) & q(B, C) & r(C, D) & s(D, B) -> t(A, E)": (34, "it branches at B"),
    "1: p(A,B) & p(B,C) & p(C,D) & p(D,E) & p(E,F) -> t(A,F)": (40, "5 atoms; expected at most 4"),
    "1: p(A, B) -> t(A, B) ^2": (1, "the first rule has no ^2, but this rule has a ^2"),
    "1: p(A, B) & (A != B) -> t(A, B)": (1, "has no != terms, but this rule has != terms"),
    "1: p(A, B) -> ": (14, "expected an atom"),
    "1: p(A, B) >= 0.5": (1, "arithmetic"),
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
        assert rule_text(parse_rules(rule, "")[0]) in str(caught.value)


def test_a_path_that_meets_itself() -> None:
    # A path that came back to a variable would have branched there.
    with pytest.raises(DataError, match="it branches at A"):
        parse_model("1: p(A, B) & q(B, A) -> t(A, C)", "model.psl")


def test_long_rules_are_cut_in_messages() -> None:
    [rule] = parse_rules(f"1: {' & '.join(['p(A, B)'] * 100)} -> t(A, B)", "model.psl")
    assert isinstance(rule, LogicalRule)
    with pytest.raises(DataError) as caught:
        path_clause(rule, {}, "model.psl")
    assert len(str(caught.value)) < 350


@pytest.mark.parametrize(
    ("header", "rule", "said"),
    [
        ('"relaxation": "squared"', "1: t(A, B)", '"squared", but this rule has no ^2'),
        ('"relaxation": "linear"', "1: t(A, B) ^2", '"linear", but this rule has a ^2'),
        ('"relaxation": "boolean"', "1: t(A, B) ^2", '"boolean", but this rule has a ^2'),
        ('"distinct_variables": true', "1: p(A, B) -> t(A, B)", "true, but this rule has no !="),
        ('"distinct_variables": false', "1: p(A, B) & A != B -> t(A, B)", "rule has != terms"),
    ],
)
def test_rules_that_contradict_the_first_line(header: str, rule: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_model(f"# hornbeam: {{{header}}}\n{rule}", "model.psl")
    assert caught.value.line == 2
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("header", "column", "said"),
    [
        ("", 13, "expected JSON behind '# hornbeam:'"),
        ("learned on Tuesday", 13, "expected JSON"),
        ('{"counts": "raw"', 29, "expected JSON"),
        ("[" * 100_000, None, "expected plain JSON"),
        ("[]", None, "expected a JSON object in braces"),
        ('"raw"', None, "expected a JSON object in braces"),
        ('{"count": "raw"}', None, '"count" is unknown; expected version, counts, relaxation'),
        ('{"version": 2}', None, '"version" is 2; expected 1; a newer Hornbeam may read it'),
        ('{"version": true}', None, '"version" is true; expected 1'),
        ('{"counts": "many"}', None, '"counts" is "many"; expected raw, log, exists'),
        ('{"counts": ["raw"]}', None, '"counts" is ["raw"]; expected raw, log, exists'),
        ('{"relaxation": null}', None, '"relaxation" is null; expected boolean, linear, squared'),
        ('{"collective": 1}', None, '"collective" is 1; expected true or false'),
        ('{"distinct_variables": "no"}', None, 'is "no"; expected true or false'),
        ('{"max_fanout": 0}', None, '"max_fanout" is 0; expected null or a whole number'),
        ('{"max_fanout": 2.5}', None, '"max_fanout" is 2.5; expected null or a whole number'),
        ('{"max_fanout": true}', None, '"max_fanout" is true; expected null or a whole number'),
        ('{"threshold": 1.5}', None, '"threshold" is 1.5; expected a number from 0 to 1'),
        ('{"threshold": "0.5"}', None, '"threshold" is "0.5"; expected a number from 0 to 1'),
        ('{"threshold": NaN}', None, "NaN is no number"),
        ('{"threshold": 1e999}', None, "expected a number from 0 to 1"),
        (f'{{"max_fanout": {"9" * 5000}}}', None, "# hornbeam"),
        ('{"predicates": ["p"]}', None, "expected names by identifiers"),
        ('{"predicates": {"a b": "c"}}', None, "expected names by identifiers"),
        ('{"predicates": {"a": 1}}', None, "expected names by identifiers"),
        ('{"predicates": {"a": ""}}', None, "expected names by identifiers"),
        ('{"predicates": {"a": "b\\tc"}}', None, "expected names by identifiers"),
        ('{"predicates": {"a": "b", "A": "c"}}', None, "differ in more than case"),
        ('{"predicates": {"a": "b", "a": "c"}}', None, '"a" stands twice'),
    ],
)
def test_broken_first_lines(header: str, column: int | None, said: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_model(f"# hornbeam: {header}\n1: t(A, B)", "model.psl")
    assert (caught.value.line, caught.value.column) == (1, column)
    assert said in str(caught.value)


def test_a_second_first_line() -> None:
    text = model_text(RuleModel((Rule(1, prior("t")),)))
    with pytest.raises(DataError, match=r"line 3: a second line '# hornbeam:'"):
        parse_model(text + text, "model.psl")


@pytest.mark.parametrize("text", ["", "\n\n", "# no rules\n"])
def test_nothing_is_no_model(text: str) -> None:
    with pytest.raises(DataError, match="holds no rule; expected lines such as"):
        parse_model(text, "model.psl")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_bad_weights_are_not_written(weight: float) -> None:
    with pytest.raises(InputError, match="the weight of !t"):
        model_text(RuleModel((Rule(weight, prior("t")),)))


@pytest.mark.parametrize(
    "semantics",
    [Semantics(threshold=float("nan")), Semantics(threshold=2), Semantics(max_fanout=0)],
)
def test_bad_semantics_are_not_written(semantics: Semantics) -> None:
    with pytest.raises(InputError, match="the model cannot be written"):
        model_text(RuleModel((), semantics))


@given(st.text() | st.text('# hornbeam:{"}1pt(A,B)&->!=^2\n'))
def test_any_text_is_a_model_or_refused(text: str) -> None:
    try:
        model = parse_model(text, "model.psl")
    except DataError:
        return
    assert parse_model(model_text(model), "model.psl") == model
