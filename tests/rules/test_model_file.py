from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.choices import CollectiveMethod, Relaxation
from hornbeam.errors import DataError, HornbeamWarning, InputError
from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.model_file import model_text, parse_model
from hornbeam.rules.rule_model import PairDensity, Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts, Threshold, Weighing
from tests.support.stated_models import models


@given(models())
def test_writing_then_reading_is_the_identity(model: RuleModel) -> None:
    text = model_text(model)
    assert parse_model(text, "model.psl") == model
    assert text.count("\n") == 1 + len(model.rules)
    assert text.endswith("\n")


@given(models(), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\ufeff"]))
def test_a_file_from_anywhere(model: RuleModel, end: str, mark: str) -> None:
    lines = model_text(model).split("\n")
    assert parse_model(mark + end.join(lines), "model.psl") == model
    commented = "\n\n// mine\n".join(f"{line} # {i}" if i else line for i, line in enumerate(lines))
    assert parse_model(f"/* mine */\n\n{commented}", "model.psl") == model


def test_the_text_of_a_model() -> None:
    path = Body((Step("cites"), Step("/film/genre", inverse=True)), "Cites")
    rules = [Rule(1e99, Clause(path)), Rule(0.25, prior("Cites")), Rule(0, prior("x", False))]
    semantics = Semantics(Counts.LOG, Relaxation.SQUARED, CollectiveMethod.MAP, 100, threshold=0.25)
    first, *rest = model_text(RuleModel(tuple(rules), semantics)).splitlines()
    assert first.startswith("# hornbeam: ")
    assert json.loads(first.removeprefix("# hornbeam: ")) == {
        "version": 1,
        "rules": 3,
        "counts": "log",
        "relaxation": "squared",
        "collective": "map",
        "max_fanout": 100,
        "distinct_variables": False,
        "threshold": 0.25,
        "cross_evidence": False,
        "predicates": {"cites_2": "cites", "film_genre": "/film/genre"},
    }
    assert rest == [
        "1e99: cites_2(A, B) & film_genre(C, B) -> Cites(A, C) ^2",
        "0.25: !Cites(A, B) ^2",
        "0.0: x(A, B) ^2",
    ]


def test_sampled_negatives_are_named_only_where_there_are_some() -> None:
    given = RuleModel((Rule(1, prior("t")),))
    sampled = RuleModel(given.rules, Semantics(sampled_negatives="typed"))
    assert given.semantics.decides
    assert "sampled_negatives" not in model_text(given)
    assert '"sampled_negatives": "typed"' in model_text(sampled)
    assert not parse_model(model_text(sampled), "model.psl").semantics.decides


TWO_STEPS = """# hornbeam: {"collective": "two-step"}
0.5: cites(A, B) & believed_likes(B, C) -> likes(A, C) [log]
0.9: believed_likes(A, C) -> !likes(A, B)
# mine
2: knows(A, B) -> believed_likes(A, B)
1: !believed_likes(A, B)
"""


def test_both_steps_stand_in_one_file() -> None:
    model = parse_model(TWO_STEPS, "model.psl")
    assert [str(rule.clause) for rule in model.beliefs] == [
        "knows(A, B) -> likes(A, B)",
        "!likes(A, B)",
    ]
    assert (model.targets, len(model.rules)) == (["likes"], 2)
    asked = PairDensity(2.5, 1.25, 0.1)
    told = replace(model, semantics=replace(model.semantics, asked=asked))
    for one in (model, told):
        assert parse_model(model_text(one), "model.psl") == one
    assert not model.first_step.semantics.collective


def test_a_second_step_needs_a_first() -> None:
    with pytest.raises(DataError, match=r"what is believed of 'likes'.*believed_likes\(A, B\)"):
        parse_model("\n".join(TWO_STEPS.splitlines()[:3]), "model.psl")


def test_true_is_the_map_of_before() -> None:
    model = parse_model('# hornbeam: {"collective": true}\n1: t(A, B)', "model.psl")
    assert model.semantics.collective is CollectiveMethod.MAP


def test_the_text_of_every_kind_of_clause() -> None:
    friend, ta = Step("friend"), Step("ta", places=(0, 2), arity=3)
    path, known = Body((friend, ta), "t"), Body((friend,), "t", Kind.OPEN, 1)
    anchored = Body((friend.reversed(),), "t", Kind.ANCHORED, 0, "it's")
    clauses = [
        Clause(path, weighing=Weighing(Counts.SHARE, 0.0123)),
        Clause(known, True, Weighing(Counts.LOG)),
        Clause(Body((ta.reversed(),), "t", Kind.OPEN)),
        Clause(Body((Step("student", arity=1),), "t", Kind.UNARY, 1)),
        Clause(anchored),
        Clause(Body((), "t", Kind.ANCHORED, 1, "ada")),
        Clause(Conjunction((Part(path, Threshold(3)), Part(known, Threshold(25))))),
        Clause(Conjunction((Part(path), Part(path, Threshold(0.5, share=True)), Part(anchored)))),
        Clause(Conjunction((Part(path, Threshold(2)),)), weighing=Weighing(Counts.EXISTS)),
    ]
    model = RuleModel(tuple(Rule(1, clause) for clause in clauses), Semantics(cross_evidence=True))
    first, *rest = model_text(model).splitlines()
    assert '"cross_evidence": true' in first
    assert [line.removeprefix("1.0: ") for line in rest] == [
        "friend(A, B) & ta(B, D, C) -> t(A, C) [share / 0.0123]",
        "friend(B, C) -> !t(A, B) [log]",
        "ta(C, D, A) -> t(A, B)",
        "student(B) -> t(A, B)",
        r"friend('it\'s', A) -> t(A, B)",
        "(B == 'ada') -> t(A, B)",
        "(friend(A, C) & ta(C, D, B)) [n >= 3] & friend(B, E) [n >= 25] -> t(A, B)",
        "friend(A, C) & ta(C, D, B) & (friend(A, E) & ta(E, F, B)) [share > 0.5] "
        r"& friend('it\'s', A) -> t(A, B)",
        "(friend(A, B) & ta(B, D, C)) [n >= 2] -> t(A, C) [exists]",
    ]
    assert parse_model(model_text(model), "model.psl") == model
    for clause, text in zip(clauses, rest, strict=True):
        distinct = RuleModel((Rule(1, clause),), Semantics(distinct_variables=True))
        assert parse_model(model_text(distinct), "model.psl") == distinct, text


def test_a_model_of_before_cross_evidence() -> None:
    text = (
        '# hornbeam: {"version": 1, "counts": "log", "relaxation": "boolean", "collective": false, '
        '"max_fanout": null, "distinct_variables": false, "threshold": 0.5, "predicates": {}}\n'
        "0.5: cites(A, B) & cites(B, C) -> cites(A, C)\n0.1: !cites(A, B)\n"
    )
    model = parse_model(text, "model.psl")
    assert model.semantics == Semantics(Counts.LOG)
    assert not model.semantics.cross_evidence
    assert model.counts_of(model.rules[0].clause) == Weighing(Counts.LOG)
    newer = text.replace('"threshold"', '"cross_evidence": true, "threshold"')
    assert parse_model(newer, "model.psl").semantics == Semantics(Counts.LOG, cross_evidence=True)


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
        ('{"count": "raw"}', None, '"count" is unknown; expected version, rules, counts'),
        ('{"version": 2}', None, '"version" is 2; expected 1; a newer Hornbeam may read it'),
        ('{"version": true}', None, '"version" is true; expected 1'),
        ('{"rules": 0}', None, '"rules" is 0; expected the number of rules'),
        ('{"rules": null}', None, '"rules" is null; expected the number of rules'),
        ('{"counts": "many"}', None, '"counts" is "many"; expected raw, log, exists'),
        ('{"counts": ["raw"]}', None, '"counts" is ["raw"]; expected raw, log, exists'),
        ('{"relaxation": null}', None, '"relaxation" is null; expected boolean, linear, squared'),
        ('{"collective": "twice"}', None, '"collective" is "twice"; expected false, two-step'),
        ('{"asked": {"alone": 1}}', None, '"asked" is {"alone": 1}; expected pairs per subject'),
        ('{"collective": 1}', None, '"collective" is 1; expected false, two-step, map, map-heads'),
        ('{"distinct_variables": "no"}', None, 'is "no"; expected true or false'),
        ('{"max_fanout": 0}', None, '"max_fanout" is 0; expected null or a whole number'),
        ('{"max_fanout": 2.5}', None, '"max_fanout" is 2.5; expected null or a whole number'),
        ('{"max_fanout": true}', None, '"max_fanout" is true; expected null or a whole number'),
        ('{"counts": "share"}', None, '"counts" is "share"; expected raw, log, exists'),
        ('{"cross_evidence": 1}', None, '"cross_evidence" is 1; expected true or false'),
        ('{"sampled_negatives": true}', None, "true; expected uniform, frequency, typed"),
        ('{"threshold": 1.5}', None, '"threshold" is 1.5; expected a number from 0 to 1'),
        ('{"threshold": "0.5"}', None, '"threshold" is "0.5"; expected a number from 0 to 1'),
        ('{"threshold": NaN}', None, "NaN is not a number"),
        ('{"threshold": 1e999}', None, "expected a number from 0 to 1"),
        (f'{{"max_fanout": {"9" * 5000}}}', None, "# hornbeam"),
        ('{"predicates": ["p"]}', None, "expected names by identifiers"),
        ('{"predicates": {"a b": "c"}}', None, "expected names by identifiers"),
        ('{"predicates": {"a": 1}}', None, "expected names by identifiers"),
        ('{"predicates": {"a": ""}}', None, "expected names by identifiers"),
        ('{"predicates": {"a": "b\\tc"}}', None, "expected names by identifiers"),
        ('{"predicates": {"a": "b", "A": "c"}}', None, "differ in more than case"),
        ('{"predicates": {"a": "b", "a": "c"}}', None, '"a" occurs twice'),
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


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# no rules\n", "# hornbeam: {}\n", '# hornbeam: {"version": 1}']
)
def test_nothing_is_no_model(text: str) -> None:
    with pytest.raises(DataError, match="holds no rule; expected lines such as"):
        parse_model(text, "model.psl")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_bad_weights_are_not_written(weight: float) -> None:
    with pytest.raises(InputError, match="the weight of !t"):
        model_text(RuleModel((Rule(weight, prior("t")),)))


@pytest.mark.parametrize(
    "semantics",
    [
        Semantics(threshold=float("nan")),
        Semantics(threshold=2),
        Semantics(max_fanout=0),
        Semantics(Counts.SHARE),
    ],
)
def test_bad_semantics_are_not_written(semantics: Semantics) -> None:
    with pytest.raises(InputError, match="the model cannot be written"):
        model_text(RuleModel((Rule(1, prior("t")),), semantics))


def test_a_model_without_rules_is_not_written() -> None:
    with pytest.raises(InputError, match="it has no rule"):
        model_text(RuleModel(()))


THREE = model_text(
    RuleModel((Rule(1, prior("t")), Rule(2, prior("t", False)), Rule(3, prior("u"))))
)


@pytest.mark.parametrize("kept", [0, 1, 2, 4])
def test_a_text_of_another_number_of_rules_is_told(kept: int) -> None:
    first, *rules, _ = THREE.split("\n")
    text = "\n".join([first, *rules, "4: !v(A, B)"][: kept + 1])
    if kept:
        with pytest.warns(HornbeamWarning, match=rf"m.psl: holds {kept} rules?, .* says 3: ") as w:
            assert len(parse_model(text, "m.psl").rules) == kept
        assert len(w) == 1
    else:
        with pytest.raises(DataError, match=r"m.psl: holds no rule, of the 3 that were written"):
            parse_model(text, "m.psl")


def test_the_number_of_rules_is_that_of_both_steps() -> None:
    text = model_text(parse_model(TWO_STEPS, "model.psl"))
    assert f'"rules": {sum(line[0].isdigit() for line in text.splitlines())}, ' in text
    assert parse_model(text, "model.psl") == parse_model(TWO_STEPS, "model.psl")


@pytest.mark.parametrize("mark", ["# Hornbeam:", "#HORNBEAM:", " # hornbeam:"])
def test_the_case_of_the_first_line_does_not_matter(mark: str) -> None:
    model = parse_model(f'{mark} {{"counts": "log"}}\n1: t(A, B)', "model.psl")
    assert model.semantics.counts is Counts.LOG


@given(st.text() | st.text('# hornbeam:{"}1pt(A,B)&->!=^2[n]/\n'))
def test_any_text_is_a_model_or_refused(text: str) -> None:
    try:
        model = parse_model(text, "model.psl")
    except DataError:
        return
    assert parse_model(model_text(model), "model.psl") == model
