"""Random models of every kind of clause, over names that are hard to write down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from hypothesis import strategies as st

from hornbeam.base.choices import CollectiveMethod, Relaxation, Sampling
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.language.syntax import Bound, Operator, Unit
from hornbeam.rules.body import MAX_CONDITIONS, MAX_LENGTH, Body, Kind, Part, Step, simplest
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.number_conditions import NumberCondition
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts, Threshold, Weighing

#: Anything that facts may call a predicate or an entity; short alphabets make names that clash.
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n\0"), min_size=1) | st.text(
    "aA_1 /'\"\\#", min_size=1, max_size=4
)
WEIGHTS = st.floats(0, MAX_NUMBER) | st.sampled_from([5e-324, 1e-300, MAX_NUMBER])
MEDIANS = st.floats(1 / MAX_NUMBER, MAX_NUMBER)
SEMANTICS = st.builds(
    Semantics,
    st.sampled_from([Counts.RAW, Counts.LOG, Counts.EXISTS]),
    st.sampled_from(Relaxation),
    st.sampled_from([None, CollectiveMethod.MAP, CollectiveMethod.MAP_HEADS]),
    st.none() | st.integers(1, 10**9),
    st.booleans(),
    st.floats(0, 1),
    st.booleans(),
    sampled_negatives=st.sampled_from([None, *get_args(Sampling)]),
)
#: Predicates of one model with their numbers of arguments; the targets among them have two.
Arities = Mapping[str, int]


@st.composite
def arities(draw: st.DrawFn) -> Arities:
    """Some predicates; at least one has two arguments."""
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    return {name: draw(st.integers(1, 4)) if i else 2 for i, name in enumerate(names)}


@st.composite
def bodies(
    draw: st.DrawFn, known: Arities, target: str, constants: st.SearchStrategy[str] = NAMES
) -> Body:
    """One body of a target, of any kind that the predicates allow."""
    kind = draw(st.sampled_from(Kind))
    unary = [name for name, arity in known.items() if arity == 1]
    wider = [name for name, arity in known.items() if arity > 1]

    def step() -> Step:
        name = draw(st.sampled_from(wider))
        here, there = draw(st.permutations(range(known[name])))[:2]
        return Step.between(name, here, there, known[name])

    argument = draw(st.integers(0, 1))
    if kind is Kind.NUMBERS:
        number = draw(number_conditions())
        return Body((), target, kind, 0 if number.absolute else argument, number=number)
    if kind is Kind.UNARY and unary:
        steps: tuple[Step, ...] = (Step(draw(st.sampled_from(unary)), arity=1),)
        return Body(steps, target, kind, argument)
    if kind is Kind.OPEN:
        name = draw(st.sampled_from(wider))
        here = draw(st.integers(0, known[name] - 1))
        return Body((Step.leaving(name, here, known[name]),), target, kind, argument)
    if kind is Kind.ANCHORED:
        steps = (step(),) if draw(st.booleans()) else ()
        return Body(steps, target, kind, argument, draw(constants))
    return Body(tuple(step() for _ in range(draw(st.integers(1, MAX_LENGTH)))), target)


@st.composite
def number_conditions(draw: st.DrawFn) -> NumberCondition:
    """A comparison of a number, of a difference or of an absolute one, with a bound."""
    minus = draw(st.none() | NAMES)
    finite = st.floats(-MAX_NUMBER, MAX_NUMBER).map(lambda value: value + 0.0)
    number = st.builds(Bound, finite | st.integers(-(2**53), 2**53).map(float))
    days = st.builds(Bound, st.integers(-700_000, 2_900_000).map(float), st.just(Unit.DAYS))
    dates = st.builds(Bound, st.integers(-700_000, 2_900_000).map(float), st.just(Unit.DATE))
    return NumberCondition(
        draw(NAMES),
        minus,
        minus is not None and draw(st.booleans()),
        draw(st.sampled_from([Operator.AT_LEAST, Operator.BELOW])),
        draw(number | (dates if minus is None else days)),
    )


@st.composite
def clauses(draw: st.DrawFn, known: Arities, constants: st.SearchStrategy[str] = NAMES) -> Clause:
    """A prior, a body or a conjunction, with thresholds and a way of counting or without."""
    target = draw(st.sampled_from([name for name, arity in known.items() if arity == 2]))
    negated = draw(st.booleans())
    n = draw(st.integers(0, MAX_CONDITIONS))
    found = [draw(bodies(known, target, constants)) for _ in range(n)]
    if not found:
        return prior(target, negated)
    body = simplest([Part(one, draw(st.none() | _thresholds(one))) for one in found])
    ways = st.sampled_from([Counts.RAW, Counts.LOG, Counts.EXISTS]).map(Weighing)
    first = body.parts[0]
    if first.body.number is not None and first.threshold is None and draw(st.booleans()):
        value = replace(first.body, number=first.body.number.value)
        mean, deviation = draw(st.floats(-MAX_NUMBER, MAX_NUMBER)), draw(MEDIANS)
        weighing = Weighing(Counts.Z, mean=mean + 0.0, deviation=deviation)
        return Clause(simplest([Part(value), *body.parts[1:]]), negated, weighing)
    if isinstance(body, Body) and body.kind is Kind.PATH:
        ways |= st.builds(Weighing, st.just(Counts.SHARE), MEDIANS)
    return Clause(body, negated, draw(st.none() | ways))


def _thresholds(body: Body) -> st.SearchStrategy[Threshold]:
    by_number = (st.integers(1, 5) | st.integers(1, 10**12)).map(Threshold)
    bound = st.floats(0, 1) | st.floats(0, MAX_NUMBER)
    by_share = st.builds(Threshold, bound, st.just(True))
    return by_number | by_share if body.kind is Kind.PATH else by_number


@st.composite
def models(draw: st.DrawFn) -> RuleModel:
    """One to six rules over a few predicates, under any semantics."""
    known = draw(arities())
    rules = draw(st.lists(st.builds(Rule, WEIGHTS, clauses(known)), min_size=1, max_size=6))
    return RuleModel(tuple(rules), draw(SEMANTICS))
