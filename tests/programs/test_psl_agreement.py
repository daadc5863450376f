"""Every rule of the corpus, read here and by PSL's own parser (one virtual machine for all)."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import warnings
from dataclasses import fields
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hornbeam.errors import DataError
from hornbeam.language.arithmetic_rules import (
    ArithmeticRule,
    Cardinality,
    Coefficient,
    Extreme,
    Number,
    Operation,
    PslRule,
)
from hornbeam.language.rule_texts import parse_rules
from hornbeam.language.syntax import Literal, LogicalRule
from hornbeam.programs.evaluators import EVALUATORS
from hornbeam.programs.program_declarations import ProgramPredicate
from hornbeam.programs.program_options import (
    IGNORED,
    INFERENCE,
    NOT_SET,
    WITHOUT_EFFECT,
    InferenceOptions,
)
from hornbeam.programs.program_rules import check_rules, normal_rules, without_repetitions
from tests.conftest import JAVA_OPTIONS
from tests.support.psl_corpus import ACCEPTED, OURS_ALONE, PREDICATES, PSL_ALONE, REFUSED, REPEATED

DECLARED = [ProgramPredicate(name, arity, closed=True) for name, arity in PREDICATES.items()]

#: Reads predicates and texts from the standard input; writes the rules of each, or None.
ASK = """
import json, sys
import jpype

asked = json.load(sys.stdin)
jpype.startJVM("-Xmx512m", *asked["java"], classpath=[asked["jar"]], convertStrings=True)
string = jpype.JClass("org.linqs.psl.model.term.ConstantType").UniqueStringID
predicate = jpype.JClass("org.linqs.psl.model.predicate.StandardPredicate")
for name, arity in asked["predicates"].items():
    kind = jpype.JArray(jpype.JClass("org.linqs.psl.model.term.ConstantType"))
    predicate.get(name, kind([string] * arity))
loader = jpype.JClass("org.linqs.psl.parser.ModelLoader")
options = {}
for name in ("Options", "RuntimeOptions"):
    holder = jpype.JClass("org.linqs.psl.config." + name)
    for field in holder.class_.getDeclaredFields():
        option = getattr(holder, str(field.getName()), None)
        if hasattr(option, "defaultValue"):
            value = option.defaultValue()
            options[str(option.name())] = None if value is None else str(value)
answers = []
for text in asked["texts"]:
    try:
        answers.append([str(rule.toString()) for rule in loader.load(text).getRules()])
    except jpype.JException:
        answers.append(None)
print("ANSWERS " + json.dumps([answers, options]))
"""


def read(text: str) -> list[PslRule]:
    """Rules of a text in PSL's normal form, checked."""
    names = {name: name for name in PREDICATES}
    rules = [rule for one in parse_rules(text, "rules.psl") for rule in normal_rules(one, names)]
    check_rules([(rule, "rules.psl") for rule in rules], DECLARED)
    return rules


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    rules = read(text)
    assert rules
    assert read("\n".join(map(str, rules))) == rules


@pytest.mark.parametrize(("text", "mistake"), REFUSED.items())
def test_refused(text: str, mistake: tuple[int, int, str]) -> None:
    line, column, said = mistake
    with pytest.raises(DataError) as caught:
        read(text)
    assert str(caught.value).startswith(f"rules.psl, line {line}, column {column}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(("text", "printed"), OURS_ALONE.items())
def test_ours_alone(text: str, printed: str) -> None:
    [rule] = read(text)
    assert str(rule) == printed


@pytest.mark.parametrize(("text", "said"), PSL_ALONE.items())
def test_psl_alone(text: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        read(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(("text", "kept"), REPEATED.items())
def test_the_first_of_equal_rules_is_kept(text: str, kept: int) -> None:
    names = {name: name for name in PREDICATES}
    written = [list(normal_rules(rule, names)) for rule in parse_rules(text, "rules.psl")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = without_repetitions([(rules, "rules.psl") for rules in written])
    assert len(found) == kept
    assert found[0][0] is written[0][0]
    assert len(caught) == sum(map(len, written)) - kept
    assert all("stands twice; the first (line " in str(one.message) for one in caught)


@pytest.mark.java
def test_psl_keeps_the_first_of_equal_rules(psl_runtime: Path) -> None:
    answers = answers_of(psl_runtime)
    assert {text: len(answers[text] or []) for text in REPEATED} == REPEATED


@pytest.mark.java
def test_psl_reads_the_same(psl_runtime: Path) -> None:
    answers = answers_of(psl_runtime)
    assert [text for text in (*ACCEPTED, *PSL_ALONE) if answers[text] is None] == []
    assert [text for text in (*REFUSED, *OURS_ALONE) if answers[text] is not None] == []
    for text in ACCEPTED:
        theirs = [rule for printed in answers[text] or [] for rule in lowered(printed)]
        assert_same(read(text), theirs)


@pytest.mark.java
def test_psl_works_sums_out_the_same(psl_runtime: Path) -> None:
    answers = answers_of(psl_runtime)
    for text in random_rules():
        answer = answers[text]
        try:
            ours = read(text)
        except DataError:
            ours = []
        assert_same(ours, [rule for printed in answer or [] for rule in lowered(printed)])


def random_rule(random: Random) -> str:
    """Write an arithmetic rule at random, mostly a proper one."""

    def number(depth: int) -> str:
        if depth and random.random() < 0.3:
            return f"({number(0)} {random.choice('+-*/')} {number(0)})"
        return random.choice(["1", "2", "3", "0.5", "-4", "7", "@Max[1, 2]", "|V|"])

    def product() -> str:
        return random.choice(["", f"{number(0)} * ", f"{number(0)} / "]) + number(1)

    def operand(depth: int) -> str:
        atom = random.choice(["a(A)", "b(A)", "(c(A))", "f(A, 'x')"])
        kind = random.randrange(8 if depth else 7)
        if kind < 2:
            return product()
        if kind < 4:
            return atom
        if kind == 4:
            return f"{product()}{random.choice([' ', ' * '])}{atom}"
        if kind == 5:
            return f"{atom} / {product()}"
        if kind == 6:
            return f"{product()} * {atom} / {product()}"
        return f"({side(depth - 1)})"

    def side(depth: int) -> str:
        parts = [operand(depth)]
        for _ in range(random.randrange(4)):
            parts += [random.choice("+-"), operand(depth)]
        return " ".join(parts)

    return f"1: g(A, +V) + {side(1)} {random.choice(['<=', '>=', '='])} {side(1)}"


def random_rules() -> list[str]:
    random = Random(7)
    return [random_rule(random) for _ in range(200)]


def answers_of(jar: Path) -> dict[str, list[str] | None]:
    """Rules that PSL reads in every text of this module, None where it refuses."""
    answers: list[list[str] | None] = _asked(jar)[0]
    return dict(zip(_texts(), answers, strict=True))


def psl_options(jar: Path) -> dict[str, str | None]:
    """Options of PSL's runtime, and their defaults."""
    options: dict[str, str | None] = _asked(jar)[1]
    return options


def _texts() -> list[str]:
    return [*ACCEPTED, *REFUSED, *OURS_ALONE, *PSL_ALONE, *REPEATED, *random_rules()]


@cache
def _asked(jar: Path) -> list[Any]:
    """Ask for everything at once: starting Java takes longer than its answers."""
    given = {"jar": str(jar), "java": JAVA_OPTIONS, "predicates": PREDICATES, "texts": _texts()}
    asked = json.dumps(given)
    done = subprocess.run(
        [sys.executable, "-c", ASK], input=asked, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert len(lines) == 1, done.stderr
    found: list[Any] = json.loads(lines[0].removeprefix("ANSWERS "))
    return found


def lowered(printed: str) -> list[PslRule]:
    """Parse what PSL prints, predicates in upper case."""
    names = {name: name for name in PREDICATES}
    return [rule for one in parse_rules(printed, "PSL") for rule in normal_rules(one, names)]


def assert_same(ours: list[PslRule], theirs: list[PslRule]) -> None:
    """Compare what rules mean; PSL computes with 32 bits."""
    assert len(ours) == len(theirs)
    for (form, numbers), (their_form, their_numbers) in zip(
        sorted(map(meaning, ours), key=str), sorted(map(meaning, theirs), key=str), strict=True
    ):
        assert form == their_form
        assert numbers == pytest.approx(their_numbers, rel=1e-4, abs=1e-4, nan_ok=True)


def meaning(rule: PslRule) -> tuple[str, dict[str, float]]:
    """Write a rule so that two of the same meaning have the same text, and give its numbers.

    Logical rules are sets of literals. Arithmetic rules are worked out with 3 for every |V|.
    """
    kind = f"{rule.weight} {rule.squared}"
    if isinstance(rule, LogicalRule):
        negated = [Literal(literal.atom, not literal.negated) for literal in rule.body]
        return f"{kind}: {sorted({str(literal) for literal in (*negated, *rule.head)})}", {}
    terms = {"constant": 0.0}
    for side, sign in ((rule.left, 1), (rule.right, -1)):
        for summand in side:
            value = sign * worked_out(summand.coefficient)
            key = str(summand.atom) if summand.atom is not None else "constant"
            # PSL keeps equal atoms apart; their sum is what matters.
            terms[key] = terms.get(key, 0.0) + value
    filters = sorted(
        (one.variable, sorted(map(str, getattr(one.condition, "parts", [one.condition]))))
        for one in rule.filters
    )
    compared = sorted(map(str, rule.comparisons))
    return f"{kind}: {sorted(terms)} {rule.relation} {filters} {compared}", terms


def worked_out(coefficient: Coefficient) -> float:
    match coefficient:
        case Number(value):
            return value
        case Cardinality():
            return 3.0
        case Extreme(function, arguments):
            return (min if function == "Min" else max)(map(worked_out, arguments))
        case Operation("+", left, right):
            return worked_out(left) + worked_out(right)
        case Operation("-", left, right):
            return worked_out(left) - worked_out(right)
        case Operation("*", left, right):
            return worked_out(left) * worked_out(right)
        case Operation(_, left, right):
            by = worked_out(right)
            return worked_out(left) / by if by else math.nan


def test_the_corpus_has_every_kind_of_rule() -> None:
    rules = [rule for text in ACCEPTED for rule in read(text)]
    arithmetic = [rule for rule in rules if isinstance(rule, ArithmeticRule)]
    assert len(arithmetic) > 60
    assert len(rules) - len(arithmetic) > 40
    assert {rule.relation for rule in arithmetic} == {"<=", ">=", "="}
    assert any(rule.filters and rule.weight is None for rule in arithmetic)
    assert any(rule.filters and rule.squared for rule in arithmetic)


@pytest.mark.java
def test_options_have_the_names_and_defaults_of_psl(psl_runtime: Path) -> None:
    theirs = psl_options(psl_runtime)
    set_by_options = {option.field for option in INFERENCE}
    assert {field.name for field in fields(InferenceOptions)} == {
        *set_by_options, "ignored", "unknown",
    }  # fmt: skip
    for ours, options in [
        (InferenceOptions(), INFERENCE),
        *((kind(), kind.OPTIONS) for kind in EVALUATORS.values()),
    ]:
        for option in options:
            default = getattr(ours, option.field)
            assert (default is None) == (option.name in NOT_SET)
            text = theirs[option.name]
            if text is not None and default is not None:
                assert option.read(text) == default, option.name


@pytest.mark.java
def test_every_option_of_psl_is_honoured_or_known_to_be_ignored(psl_runtime: Path) -> None:
    theirs = {name.lower() for name in psl_options(psl_runtime)}
    ours = {option.name for kind in EVALUATORS.values() for option in kind.OPTIONS}
    ours |= {option.name for option in INFERENCE} | WITHOUT_EFFECT.keys()
    assert ours <= theirs
    unexplained = {name for name in theirs - ours if not name.startswith(tuple(IGNORED))}
    assert unexplained == {"categoricalevaluator.defaultpredicate"}
    for prefix in IGNORED:
        assert any(name.startswith(prefix) for name in theirs - ours), prefix
