"""Counts over facts with a time: those of the definition, and blind to the future."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise, product
from random import Random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import hornbeam as hb
from hornbeam import RuleLimits
from hornbeam.base.arrays import Floats
from hornbeam.base.dates import TimeUnit
from hornbeam.counting import snapshots
from hornbeam.counting.opening import open_engine
from hornbeam.counting.statistics import Statistics
from hornbeam.counting.timed_engine import TimedEngine
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.facts.reading.readers import as_labels
from hornbeam.language.time_brackets import EVER, TimeCondition
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule, Semantics

TIMES = st.integers(0, 12)
NAMES = st.sampled_from("abcd")
EVENTS = st.lists(
    st.one_of(
        st.tuples(NAMES, st.sampled_from("pq"), NAMES, TIMES),
        st.tuples(NAMES, st.just("s"), st.none(), TIMES),
    ),
    min_size=1,
    max_size=25,
)
#: Entities without facts, and times before all facts and after, are asked for, too.
QUERIES = st.lists(
    st.tuples(st.sampled_from("abcdz"), st.sampled_from("abcdz"), st.integers(-2, 15)),
    min_size=1, max_size=8,
)  # fmt: skip
CONDITIONS = [
    EVER, TimeCondition("last", 3), TimeCondition("last", 100),
    TimeCondition("last", 6, at_least=2), TimeCondition("ever", at_least=2),
]  # fmt: skip
DECAY = TimeCondition("decay", 4)


def read(rows: Sequence[Any]) -> hb.Facts:
    unary = [(s, p, t) for s, p, o, t in rows if o is None]
    binary = [row for row in rows if row[2] is not None]
    inputs: list[Any] = []
    if unary:
        inputs.append(hb.read_facts(unary, time=3))
    if binary:
        inputs.append(hb.read_facts(binary, time=4))
    return hb.read_facts(*inputs)


def asked(queries: Sequence[Any]) -> hb.Targets:
    return hb.read_pairs([(s, "t", o, time) for s, o, time in queries], time=4)


def bodies() -> list[Body]:
    listed = []
    for when in [*CONDITIONS, DECAY]:
        listed += [
            Body((Step("p", inverse, when=when),), "t", kind, argument)
            for inverse in (False, True)
            for kind, argument in ((Kind.PATH, 0), (Kind.OPEN, 0), (Kind.OPEN, 1))
        ]
        listed.append(Body((Step("s", arity=1, when=when),), "t", Kind.UNARY, 1))
    for first, second in zip(CONDITIONS, reversed(CONDITIONS), strict=True):
        listed.append(Body((Step("p", when=first), Step("q", True, when=second)), "t"))
        listed.append(Body((Step("p", when=first),), "t", Kind.ANCHORED, 0, "b"))
        chain = (Step("p", when=first), Step("q", when=second))
        listed.append(Body(chain, "t", Kind.CHAIN, 1, "b"))
    three = (Step("p", when=EVER), Step("q", True, when=CONDITIONS[1]), Step("p", when=EVER))
    return [*listed, Body(three, "t"), *ordered_bodies()]


def ordered_bodies() -> list[Body]:
    """Paths whose atoms come after their neighbours, forwards, backwards and in zigzag."""
    steps = [Step("p", when=EVER), Step("q", True, when=CONDITIONS[1]), Step("p", when=EVER)]
    listed = []
    # the first atom has no neighbour before it, the last none behind it; (1, -1, 0) never holds
    two, three = [(0, -1), (1, 0)], [(0, -1, -1), (1, 1, 0), (1, 0, -1), (0, 1, 0), (1, -1, 0)]
    for afters in [*two, *three]:
        walked = [replace(step, after=n) for step, n in zip(steps, afters, strict=False)]
        listed.append(Body(tuple(walked), "t"))
    often = Step("q", when=CONDITIONS[3], after=-1)
    return [*listed, Body((Step("p", True, when=CONDITIONS[4]), often), "t")]


ORDERED = ordered_bodies()


SOME = st.lists(st.sampled_from(bodies()), min_size=8, max_size=8, unique=True)


def weight(rows: Sequence[Any], step: Step, s: str, o: str | None, time: int) -> float:
    """What an atom weighs at a time, by the definition."""
    if step.inverse:
        s, o = str(o), s
    ages = [time - t for x, p, y, t in set(rows) if (x, p, y) == (s, step.predicate, o)]
    ages = [age for age in ages if age > 0]
    when = step.when
    if when.is_decay:
        return math.fsum(0.5 ** (age / when.amount) for age in ages)
    if when.kind == "last":
        ages = [age for age in ages if age <= when.amount]
    return float(len(ages) >= when.at_least)


def seen_times(rows: Sequence[Any], step: Step, s: str, o: str, time: int) -> list[int]:
    """When an atom was true before a time, in the span of its step."""
    ends = (o, s) if step.inverse else (s, o)
    times = [t for x, p, y, t in set(rows) if (x, p, y) == (ends[0], step.predicate, ends[1])]
    most = step.when.amount if step.when.kind == "last" else math.inf
    return [t for t in times if 0 < time - t <= most]


def paths_in_order(
    rows: Sequence[Any], body: Body, s: str, o: str, time: int, distinct: bool = False
) -> int:
    """The paths for which events can be chosen in the order that their steps ask for."""
    found = 0
    for inner in product("abcdz", repeat=len(body.steps) - 1):
        nodes = (s, *inner, o)
        if distinct and len(set(nodes)) < len(nodes):
            continue
        times = [
            seen_times(rows, step, *ends, time)
            for step, ends in zip(body.steps, pairwise(nodes), strict=True)
        ]
        often = zip(times, body.steps, strict=True)
        if any(len(some) < step.when.at_least for some, step in often):
            continue
        found += any(
            all(
                not step.after or chosen[k] > chosen[k + step.after]
                for k, step in enumerate(body.steps)
            )
            for chosen in product(*times)
        )
    return found


def counted(rows: Sequence[Any], body: Body, s: str, o: str, time: int) -> float:
    """The groundings of a body for a query, each with the product of what its atoms weigh."""
    if not body.steps:
        return 1.0
    if body.is_ordered:
        return paths_in_order(rows, body, s, o, time)
    here = (s, o)[body.argument]
    if body.steps[-1].arity == 1:
        return weight(rows, body.steps[0], here, None, time)
    walks = [(here, 1.0)]
    for step in body.steps:
        walks = [
            (there, x * weight(rows, step, node, there, time))
            for node, x in walks
            for there in "abcdz"
        ]
    end = body.constant or (o if body.is_path else None)
    return sum(x for node, x in walks if end in (None, node))


def figures(table: Statistics) -> Floats:
    dense = np.zeros((len(table.bodies), table.n_targets))
    for k in range(len(table.bodies)):
        rows = table.column(k)
        np.add.at(dense[k], table.target[rows], table.number[rows])
    return dense


@given(EVENTS, QUERIES, SOME)
def test_counts_are_those_of_the_definition(
    rows: list[Any], queries: list[Any], some: list[Body]
) -> None:
    engine = open_engine(read(rows), threads=1)
    found = figures(engine.count(asked(queries), some, RuleLimits()))
    for k, body in enumerate(some):
        expected = [counted(rows, body, *query) for query in queries]
        assert found[k].tolist() == pytest.approx(expected, abs=1e-12), (body, queries)


@given(EVENTS, QUERIES, st.sampled_from(ORDERED), st.booleans())
def test_paths_in_order_are_those_of_the_definition(
    rows: list[Any], queries: list[Any], body: Body, distinct: bool
) -> None:
    """And they are explained by events in that order; deleting what comes later changes nothing."""
    limits, pairs = RuleLimits(distinct_variables=distinct), asked(queries)
    found = figures(open_engine(read(rows), threads=1).count(pairs, [body], limits))[0]
    expected = [paths_in_order(rows, body, s, o, t, distinct) for s, o, t in queries]
    assert found.tolist() == expected
    s, o, time = queries[0]
    before = [row for row in rows if row[3] < time]
    if not (expected[0] and before):
        return
    again = figures(open_engine(read(before), threads=1).count(asked(queries[:1]), [body], limits))
    assert again[0].tolist() == expected[:1]
    semantics = Semantics(time=TimeUnit.STEP, distinct_variables=distinct)
    model = hb.Model((Rule(1.0, Clause(body)),), semantics)
    [reason] = model.explain(read(rows), (s, o), at=str(time)).reasons
    assert reason.count == expected[0]
    assert len(reason.groundings) == expected[0]
    for grounding in reason.groundings:
        times = [int(fact.figures.split("at ")[1].split(",")[0]) for fact in grounding.facts]
        assert max(times) < time
        assert all(
            not step.after or times[k] > times[k + step.after] for k, step in enumerate(body.steps)
        )


@pytest.mark.parametrize("distinct", [False, True])
def test_paths_in_order_where_there_are_many(distinct: bool) -> None:
    random = Random(0)
    rows = [
        (s, p, o, time)
        for s, p, o in product("abcd", "pq", "abcd")
        for time in random.sample(range(13), 3)
    ]
    queries = list(product("ab", "abcd", (4, 8, 13)))
    limits = RuleLimits(distinct_variables=distinct)
    found = figures(open_engine(read(rows), threads=1).count(asked(queries), ORDERED, limits))
    for k, body in enumerate(ORDERED):
        expected = [paths_in_order(rows, body, s, o, t, distinct) for s, o, t in queries]
        assert found[k].tolist() == expected, body
    assert np.count_nonzero(found.any(axis=1)) >= len(ORDERED) - 2  # one order is impossible
    model = hb.Model((Rule(1.0, Clause(ORDERED[0])),), Semantics(time=TimeUnit.STEP))
    s, o, time = queries[int(found[0].argmax())]
    [every], [first] = (
        model.explain(read(rows), (s, o), at=str(time), paths=most).reasons for most in (9, 1)
    )
    assert len(every.groundings) > 1
    assert first.groundings == every.groundings[:1]


def test_an_order_is_learned() -> None:
    """Who delivers after an order is paid; the same two facts in the other order tell nothing."""
    rng, rows, labels = np.random.default_rng(0), list[Any](), list[Any]()
    for k in range(200):
        first, second = sorted(rng.choice(40, 2, replace=False).tolist())
        in_order = bool(k % 2)
        ordered, delivered = (first, second) if in_order else (second, first)
        rows += [(f"a{k}", "orders", f"x{k}", ordered), (f"x{k}", "delivers", f"b{k}", delivered)]
        labels.append((f"a{k}", "pays", f"b{k}", 50, int(in_order ^ (rng.random() < 0.1))))
    limits = RuleLimits(max_length=2, bodies=(Kind.PATH,))
    model = hb.learn(
        hb.read_facts(rows, time=4), hb.read_labels(labels, time=4), language=limits, threads=1
    )
    best = max(model.rules, key=lambda rule: rule.weight)
    texts = {model.clause_text(best.clause).split(" [log]")[0]}
    assert texts <= {
        "orders(A, B) & delivers(B, C) [after orders] -> pays(A, C)",
        "orders(A, B) [after delivers] & delivers(B, C) -> !pays(A, C)",
    }
    assert len(texts) == 1
    assert model.text == hb.Model.parse(model.text).text


@settings(max_examples=6)
@given(EVENTS, QUERIES, SOME)
def test_engines_and_sizes_of_worlds_agree(
    rows: list[Any], queries: list[Any], some: list[Body]
) -> None:
    facts, pairs = read(rows), asked(queries)
    engines = [open_engine(facts, kind, 1) for kind in ("memory", "duckdb")]
    limits = RuleLimits(shares=True)
    tables = [engine.count(pairs, some, limits) for engine in engines]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "MAX_ATOMS", 1)
        tables.append(open_engine(facts, threads=1).count(pairs, some, limits))
    for table in tables[1:]:
        assert np.allclose(figures(table), figures(tables[0]), rtol=0, atol=1e-12)
        assert table.share is not None
        assert tables[0].share is not None
        assert np.allclose(table.share, tables[0].share, rtol=0, atol=1e-9)


VISITS = [
    (f"u{u}", place, f"v{(u * k) % 5}", 3 * k + u % 3)
    for u in range(12)
    for k in range(1, 12)
    for place in (("visits", "calls") if (u + k) % 3 else ("visits",))
]  # fmt: skip
LABELS = [
    (f"u{u}", "visits", f"v{v}", t, int((f"u{u}", "visits", f"v{v}", t) in set(VISITS)))
    for u in range(12)
    for v in range(5)
    for t in (12, 17, 18, 21, 24)
]
LIMITS = RuleLimits(min_coverage=3, max_length=2)


def learned(rows: Sequence[Any], labels: Sequence[Any] = LABELS, method: str = "joint") -> hb.Model:
    known, truth = hb.read_facts(rows, time=4), hb.read_labels(labels, time=4)
    return hb.learn(known, truth, method=method, language=LIMITS, threads=1)


@pytest.fixture(scope="module")
def visited() -> hb.Model:
    return learned(VISITS)


#: What comes after the last label, deleted; and turned around, at other times.
LAST = max(label[3] for label in LABELS)
EARLIER = [row for row in VISITS if row[3] < LAST]
SHUFFLED = [
    (row[2], row[1], row[0], int(time))
    for row, time in zip(
        VISITS, np.random.default_rng(0).integers(LAST, 99, len(VISITS)), strict=True
    )
    if row[3] >= LAST
]


def test_nobody_sees_the_future(visited: hb.Model) -> None:
    """Later facts are deleted, and shuffled: model and scores are the same to the bit.

    A label has the time of its own fact, which it does not see either.
    """
    assert len(visited.rules) > 1
    for rows in (EARLIER, EARLIER + SHUFFLED):
        # the first line has a fingerprint of the facts, all of them
        assert unmarked(learned(rows)) == unmarked(visited)
    for time in (0, 17, LAST):
        pairs = hb.read_pairs([(*label[:3], time) for label in LABELS[::5]], time=4)
        before = [row for row in VISITS if row[3] < time] or SHUFFLED[:4]
        with nullcontext() if time else pytest.warns(HornbeamWarning, match="before any fact"):
            whole, seen = (
                np.asarray(visited.predict(hb.read_facts(rows, time=4), pairs)["score"])
                for rows in (VISITS, before)
            )
        if time:
            assert whole.tolist() == seen.tolist()
        assert not time or len(set(whole)) > 1
        # before the first fact there is the prior alone
        assert time or len(set(whole)) == 1


@pytest.mark.slow
def test_trees_do_not_see_the_future() -> None:
    models = [learned(rows, method="boost") for rows in (VISITS, EARLIER + SHUFFLED)]
    assert len(models[0].rules) > 1
    assert unmarked(models[0]) == unmarked(models[1])


def unmarked(model: hb.Model) -> str:
    return replace(model, provenance=None).text


def test_shuffled_times_tell_less() -> None:
    """A control: rules find nothing in times that are those of other events."""
    rng = np.random.default_rng(1)
    rows, labels, last = list[Any](), list[Any](), dict[int, int]()
    for time in range(200):
        for u in range(8):
            if rng.random() < (0.6 if last.get(u, -9) == time - 1 else 0.05):
                rows.append((f"u{u}", "visits", "here", time))
                last[u] = time
    happened = set(rows)
    labels = [
        (f"u{u}", "visits", "here", t, int((f"u{u}", "visits", "here", t) in happened))
        for u in range(8)
        for t in range(50, 200)
    ]
    times = rng.permutation([row[3] for row in rows]).tolist()
    other = [(*row[:3], time) for row, time in zip(rows, times, strict=True)]
    early, late = ([row for row in labels if (row[3] < 150) == first] for first in (True, False))
    scores = []
    for some in (rows, other):
        model, judged = learned(some, early), hb.read_labels(late, time=4)
        scores.append(model.evaluate(hb.read_facts(some, time=4), judged).auc_roc or 0.0)
    assert scores[0] > 0.7
    assert abs(scores[1] - 0.5) < 0.1


def test_spans_suit_the_times() -> None:
    """Weeks, months and quarters where days span as much; else quantiles of the gaps."""
    for times, spans in (
        (["2014-01-01", "2014-06-01"], ["7d", "30d", "90d"]),
        (["2014-01-01", "2014-01-02", "2014-01-04"], ["2"]),
        ([1, 4, 5, 105], ["3", "100"]),
    ):
        facts = hb.read_facts([("a", "p", "b", time) for time in times], time=4)
        engine = open_engine(facts)
        assert isinstance(engine, TimedEngine)
        found = engine.conditions()
        last = [f"[last {span}]" for span in spans]
        often = f"[last {spans[-1]}, n >= 3]"
        half_life = f"[decay {spans[min(1, len(spans) - 1)]}]"
        assert list(map(str, found)) == ["[ever]", *last, often, half_life]


def test_a_model_is_read_back_and_says_its_time(visited: hb.Model) -> None:
    model = visited
    assert '"time": "step"' in model.text
    again = hb.Model.parse(model.text)
    assert again.rules == model.rules
    assert again.text == model.text
    labels = as_labels(hb.read_labels(LABELS, time=4))
    facts = hb.read_facts(VISITS, time=4)
    assert np.array_equal(model.predict(facts, labels), again.predict(facts, labels))
    evaluation = model.evaluate(facts, labels)
    assert (evaluation.auc_roc or 0.0) > 0.5


MODEL = """# hornbeam: {"time": "day"}
2: visits(A, B) [last 30d] -> returns(A, B) [log]
1: visits(A, B) [decay 10d] -> returns(A, B) [log]
0.5: visits(A, X) [ever, n >= 2] -> !returns(A, B) [exists]
1: !returns(A, B)
"""


def test_an_explanation_adds_up_and_has_dates() -> None:
    days = ["2014-01-01", "2014-02-20", "2014-02-27", "2014-03-02"]
    facts = hb.read_facts([("ann", "visits", "rome", day) for day in days], time=4)
    model = hb.Model.parse(MODEL)
    explained = model.explain(facts, ("ann", "rome"), at="2014-03-02")
    decayed = sum(0.5 ** (age / 10) for age in (60, 10, 3))
    margin = 2 * math.log2(2) + math.log2(1 + decayed) - 0.5 - 1
    assert explained.score == pytest.approx(1 / (1 + math.exp(-margin)))
    text = "\n".join(line for _, line in explained.lines())
    assert "visits (2 times, the last one on 2014-02-27, 3 days before)" in text
    assert "visits (3 times, the last one on 2014-02-27, 3 days before)" in text
    pair = hb.read_pairs([("ann", "returns", "rome", "2014-03-02")], time=4)
    assert model.predict(facts, pair)["score"] == [explained.score]
    before = model.explain(facts, ("ann", "rome"), at="2014-01-01").score
    assert before == pytest.approx(1 / (1 + math.e))


def test_what_does_not_fit_is_one_message() -> None:
    facts = hb.read_facts([("a", "visits", "b", "2014-01-01")], time=4)
    model, pairs = hb.Model.parse(MODEL), hb.read_pairs([("a", "returns", "b")])
    steps = hb.read_pairs([("a", "returns", "b", 3)], time=4)
    seconds = hb.read_pairs([("a", "returns", "b", "2014-01-01 08:30")], time=4)
    wrong: list[tuple[Any, Any, str]] = [
        (facts, pairs, "the facts have a time and the pairs have none"),
        (facts, steps, "times are days in the facts and steps in the pairs; expected one unit$"),
        (facts, seconds, "and seconds in the pairs; expected one unit: write dates as 2014"),
        (hb.read_facts([("a", "visits", "b")]), pairs, "the model is over facts with a time"),
    ]
    for evidence, asked_pairs, message in wrong:
        with pytest.raises(InputError, match=message):
            model.predict(evidence, asked_pairs)
    plain = hb.Model.parse("1: visits(A, B) -> returns(A, B)")
    with pytest.raises(InputError, match="learned from facts without a time"):
        plain.predict(facts, pairs)
    with pytest.raises(InputError, match="is in hours, and times of these facts are days"):
        hb.Model.parse(MODEL.replace("30d", "30h")).predict(facts, pairs)
    with pytest.raises(hb.errors.DataError, match="is a condition on time; expected"):
        hb.Model.parse(MODEL.split("\n", 1)[1])
    with pytest.raises(InputError, match="`at` is 'soon'; expected a date"):
        model.explain(facts, ("a", "b"), at="soon")
    for doing in (
        lambda: model.propose(facts),
        lambda: model.rank(facts, [("a", "returns", "?")]),
        lambda: model.export(facts, pairs, "nowhere"),
    ):
        with pytest.raises(InputError, match="scores pairs at a time"):
            doing()
    for labels, message in (
        (None, "need `labels`, each with its time"),
        (hb.read_labels([("u1", "visits", "v1", 1), ("u1", "visits", "v2", 0)]), "pairs have none"),
    ):
        with pytest.raises(InputError, match=message):
            hb.learn(hb.read_facts(VISITS, time=4), labels, target="visits")
    with pytest.raises(InputError, match="the labels have a time, and the facts have none"):
        hb.learn([row[:3] for row in VISITS], hb.read_labels(LABELS, time=4))
    with pytest.raises(InputError, match="are not searched for over facts with a time"):
        hb.learn(
            hb.read_facts(VISITS, time=4), hb.read_labels(LABELS, time=4),
            language=RuleLimits(bodies=(Kind.ANCHORED,)),
        )  # fmt: skip


HAS_AGE = [
    ("1: has_age(A) -> t(A, B)", [1.0, 0.0, 1.0]),
    ("1: p(A, X) & has_age(X) -> t(A, B)", [0.0, 0.0, 1.0]),
    ("1: p(A, X) [last 3] & has_age(X) & has_age(B) -> t(A, B)", [0.0, 0.0, 0.0]),
]


@pytest.mark.parametrize(("rule", "expected"), HAS_AGE)
def test_numbers_are_had_at_all_times(rule: str, expected: list[float]) -> None:
    """Also those of an entity that only later facts have, and of two values once."""
    ages = [("a", "age", 3.0), ("a", "age", 4.0), ("b", "age", 5.0)]
    facts = hb.read_facts(
        [("d", "p", "d", 1), ("a", "p", "b", 4), ("c", "q", "c", 9)], numbers=ages, time=4
    )
    pairs = hb.read_pairs([("a", "t", "c", 2), ("c", "t", "c", 8), ("a", "t", "c", 9)], time=4)
    model = hb.Model.parse(f'# hornbeam: {{"time": "step"}}\n{rule}\n')
    for engine in ("memory", "duckdb"):
        scores = np.asarray(model.predict(facts, pairs, engine=engine)["score"], dtype=float)
        assert np.log(scores / (1 - scores)).tolist() == pytest.approx(expected)
    found = model.explain(facts, ("a", "c"), at=9)
    assert sum(len(reason.groundings) for reason in found.reasons) == expected[-1]


def test_a_predicate_of_facts_is_no_number() -> None:
    """`has_age` of the facts has times, also where the numbers have an attribute `age`."""
    unary = hb.read_facts([("a", "has_age", 4)], time=3)
    facts = hb.read_facts(unary, hb.read_facts([("b", "p", "a", 1)], time=4))
    facts = facts + hb.read_numbers([("b", "age", 3.0)])
    pairs = hb.read_pairs([(x, "t", "a", time) for x in "ab" for time in (4, 5)], time=4)
    for rule, expected in (("has_age(A)", [0, 1, 0, 0]), ("p(A, X) & has_age(X)", [0, 0, 0, 1])):
        model = hb.Model.parse(f'# hornbeam: {{"time": "step"}}\n1: {rule} -> t(A, B)\n')
        scores = np.asarray(model.predict(facts, pairs)["score"], dtype=float)
        assert np.log(scores / (1 - scores)).tolist() == pytest.approx(expected)


def test_soft_events_decay_from_their_truth() -> None:
    rows = [("a", "p", "b", 3, 0.5), ("a", "p", "b", 5, 0.5), ("a", "p", "c", 5, 1.0)]
    names = ["subject", "predicate", "object", "when", "value"]
    facts = hb.read_facts(pl.DataFrame(rows, schema=names, orient="row"), time="when")
    pairs = hb.read_pairs([("a", "t", "b", 7)], time=4)
    first, rules = '# hornbeam: {"time": "step"}\n', ["p(A, B)", "p(A, X)"]
    for rule, expected in zip(rules, [0.5 * 0.75, 0.5 * 0.75 + 0.5], strict=True):
        model = hb.Model.parse(f"{first}1: {rule} [decay 2] -> t(A, B)\n")
        score = float(np.asarray(model.predict(facts, pairs)["score"])[0])
        assert math.log(score / (1 - score)) == pytest.approx(expected)
        assert model.explain(facts, ("a", "b"), at=7).score == pytest.approx(score)
