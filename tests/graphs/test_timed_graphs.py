"""Whole graphs whose facts have a time: evidence by brute force, no future, ranks by definition."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.dates import TimeUnit
from hornbeam.errors import DataError, InputError
from hornbeam.graphs.timed.partner_kernels import BESIDE, DOUBT, PARTNERS
from hornbeam.graphs.timed.time_scale import TimeScale
from hornbeam.graphs.timed.timed_explainer import TimedExplainer
from hornbeam.graphs.timed.timed_features import TIMED_FEATURES, TimedEvidence
from hornbeam.graphs.timed.timed_kernels import (
    FLOOR,
    MIN_TIMED_HITS,
    MOST,
    PRIOR,
    RARE,
    UNSEEN,
)
from hornbeam.graphs.timed.timed_queries import QueryTimes, TimedGraph
from hornbeam.graphs.timed.timed_rules import TimedRule, plain_line
from hornbeam.graphs.timed.timeline import RuleTable
from hornbeam.rules.codes import is_inverse, predicate_of, step_code
from tests.support.commands import hornbeam_, write
from tests.support.kernels import both_ways, compiles, kernels_are

Event = tuple[str, str, str, int]
SCALE = TimeScale(TimeUnit.STEP, (2.0, 6.0), (1, 3))
HALF = (2.0, 6.0, math.inf)


def facts_of(events: list[Event]) -> hb.Facts:
    return hb.read_facts([(*event[:3], str(event[3])) for event in events], time=4)


@st.composite
def tiny_worlds(draw: st.DrawFn) -> list[Event]:
    names = st.sampled_from("abcd")
    event = st.tuples(names, st.sampled_from("pq"), names, st.integers(0, 9))
    return draw(st.lists(event, min_size=2, max_size=25, unique=True))


# --- evidence by the definition -------------------------------------------------------------------


def faded(times: list[int], now: int, half: float) -> float:
    return math.fsum(2.0 ** (-(now - time) / half) for time in times)


class ByHand:
    """The evidence of one step of a graph, from lists of events."""

    def __init__(self, facts: hb.Facts, step: int) -> None:
        assert facts.events is not None
        forth = list(zip(*(column.tolist() for column in facts.events.columns), strict=True))
        self.rows = [(s, step_code(p), o, t) for p, s, o, t in forth]
        self.rows += [(o, step_code(p, True), s, t) for p, s, o, t in forth]
        self.step, self.n = step, len(facts.entities)
        self.own = [(s, o, t) for s, code, o, t in self.rows if code == step]

    def latest(self, source: int, now: int) -> dict[tuple[int, int], int]:
        """The latest time of every link (step, end) of a source before a time."""
        found: dict[tuple[int, int], int] = {}
        for s, code, o, t in self.rows:
            if s == source and t < now:
                found[code, o] = max(t, found.get((code, o), t))
        return found

    def counts(self, now: int) -> dict[tuple[int, int], list[int]]:
        """Hits and predictions of rules by (step, age), over all queries before a time."""
        counts: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
        for source, time in sorted({(s, t) for s, _, t in self.own if t < now}):
            true = {o for s, o, t in self.own if (s, t) == (source, time)}
            for (code, end), last in self.latest(source, time).items():
                age = next((k for k, bound in enumerate(SCALE.ages) if time - last <= bound), 2)
                counts[code, age][0] += end in true
                counts[code, age][1] += 1
        return counts

    def partners(self, source: int, now: int) -> list[tuple[int, float]]:
        """The strongest partners of a source with their faded counts; of equal ones the latest."""
        mine = sorted(
            (t, k, o) for k, (s, _, o, t) in enumerate(self.rows) if s == source and t < now
        )
        weight = {
            end: faded([t for t, _, o in mine if o == end], now, HALF[1])
            for end in dict.fromkeys(o for *_, o in reversed(mine))
        }
        return sorted(weight.items(), key=lambda item: -round(item[1], 5))[:PARTNERS]

    def shares(self, source: int, now: int) -> dict[int, float]:
        """The share of every answer beside the partners of a source."""
        asked, hits = defaultdict[int, int](int), defaultdict[tuple[int, int], int](int)
        for s, o, t in self.own:
            for partner, _ in self.partners(s, t) if t < now else ():
                asked[partner] += 1
                hits[partner, o] += 1
        partners, found = self.partners(source, now), defaultdict[int, float](float)
        whole = math.fsum(weight for _, weight in partners)
        for partner, weight in partners:
            for (other, answer), n in hits.items():
                if other == partner:
                    found[answer] += weight / whole * n / (asked[partner] + DOUBT)
        return found

    def features(self, source: int, now: int) -> dict[int, dict[str, float]]:
        """The features of all entities that are candidates."""
        counts, latest = self.counts(now), self.latest(source, now)
        shares = self.shares(source, now)
        of_rule: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        for (code, _), (hits, predicted) in counts.items():
            of_rule[code][0] += hits
            of_rule[code][1] += predicted
        answers = {o for _, o, t in self.own if t < now}
        found = {}
        for entity in sorted({end for _, end in latest} | answers):
            row = dict.fromkeys(TIMED_FEATURES, 0.0)
            sure = {}
            for (code, end), last in latest.items():
                if end == entity and of_rule[code][0] >= MIN_TIMED_HITS:
                    parent = of_rule[code][0] / (of_rule[code][1] + 5)
                    age = next((k for k, bound in enumerate(SCALE.ages) if now - last <= bound), 2)
                    hits, predicted = counts[code, age]
                    sure[code] = min((hits + 5 * parent) / (predicted + 5), MOST)
            best = [*sorted(sure.values(), reverse=True), 0.0, 0.0]
            row["rule_same"] = math.log(sure.get(self.step, 0.0) + FLOOR)
            row["rule_best"], row["rule_second"] = (math.log(c + FLOOR) for c in best[:2])
            row["rule_sum"] = math.log(sum(-math.log(1 - c) for c in sure.values()) + FLOOR)
            row["rule_fired"] = math.log(len(sure) + 1)
            row["same_entity"] = float(entity == source)
            row["partner_share"] = math.log(shares.get(entity, 0.0) + RARE)
            for name, half in (("long", HALF[1]), ("ever", HALF[2])):
                own = [(s, o, t) for s, o, t in self.own if t < now]
                usual = (faded([t for _, o, t in own if o == entity], now, half) + 0.5 / self.n) / (
                    faded([t for *_, t in own], now, half) + 0.5
                )
                again = faded([t for s, o, t in own if (s, o) == (source, entity)], now, half)
                before = faded([t for s, _, t in own if s == source], now, half)
                row[f"usual_{name}"] = math.log(usual)
                row[f"again_{name}"] = math.log((again + PRIOR * usual) / (before + PRIOR))
            for name, half in zip(("short", "long", "ever"), HALF, strict=True):
                mine = [(o, t) for s, _, o, t in self.rows if s == source and t < now]
                both = faded([t for o, t in mine if o == entity], now, half)
                active = faded([t for _, t in mine], now, half)
                row[f"together_{name}"] = math.log((both + PRIOR * UNSEEN) / (active + PRIOR))
            found[entity] = row
        return found


@both_ways
@given(world=tiny_worlds())
@settings(max_examples=25, deadline=None)
def test_the_sweep_finds_what_a_search_by_hand_finds(compiled: bool, world: list[Event]) -> None:
    facts = facts_of(world)
    assert facts.events is not None
    with kernels_are(compiled):
        graph = TimedGraph.of(facts.events, len(facts.entities), len(facts.predicates), SCALE)
        for relation in range(len(facts.predicates)):
            for step in (step_code(relation), step_code(relation, True)):
                asked = graph.queries(step)
                asked = asked._replace(gathered=np.ones_like(asked.gathered))
                table = RuleTable.empty(len(facts.predicates), SCALE)
                pool, _ = graph.answered(step, asked, table, 100)
                hand = ByHand(facts, step)
                for k, (source, now) in enumerate(
                    zip(asked.source.tolist(), asked.time.tolist(), strict=True)
                ):
                    rows = slice(pool.offsets[k], pool.offsets[k + 1])
                    wanted = hand.features(source, now)
                    assert sorted(pool.entity[rows].tolist()) == sorted(wanted)
                    for entity, values in zip(
                        pool.entity[rows].tolist(), pool.feature[rows], strict=True
                    ):
                        np.testing.assert_allclose(
                            values, list(wanted[entity].values()), rtol=1e-4, atol=1e-5
                        )
                counted = hand.counts(100)
                for (code, age), (hits, predicted) in counted.items():
                    assert table.hits[code, age] == hits
                    assert table.predicted[code, age] == predicted
                assert table.predicted.sum() == sum(two[1] for two in counted.values())
                assert is_inverse(step) == (step != step_code(predicate_of(step)))


def test_partners_add_candidates() -> None:
    """Of more partners than count, the strongest; the answers of the largest shares are listed."""
    random = np.random.default_rng(0)
    events = {
        (f"s{s}", f"p{time % 2}", f"o{int(o)}", time)
        for time in range(40)
        for s in random.choice(6, 3, replace=False).tolist()
        for o in random.choice(400, 4) // (1 + s % 2)
    }
    facts = facts_of(sorted(events))
    assert facts.events is not None
    graph = TimedGraph.of(facts.events, len(facts.entities), len(facts.predicates), SCALE)
    hand = ByHand(facts, step_code(0))
    asked = graph.queries(step_code(0))
    asked = asked._replace(gathered=asked.time >= 36)
    table = RuleTable.empty(len(facts.predicates), SCALE)
    pool, asked = graph.answered(step_code(0), asked, table, 1000)
    without, _ = graph.answered(step_code(0), asked, table, 1000, partners=False)
    assert len(hand.partners(int(asked.source[0]), int(asked.time[0]))) == PARTNERS
    for k, (source, now) in enumerate(zip(asked.source.tolist(), asked.time.tolist(), strict=True)):
        rows = slice(pool.offsets[k], pool.offsets[k + 1])
        wanted, entities = hand.shares(source, now), pool.entity[rows].tolist()
        own = [math.log(wanted.get(entity, 0.0) + RARE) for entity in entities]
        np.testing.assert_allclose(
            pool.feature[rows, TIMED_FEATURES.index("partner_share")], own, rtol=1e-4
        )
        before = without.entity[without.offsets[k] : without.offsets[k + 1]].tolist()
        others = sorted(set(wanted) - set(before), key=lambda entity: -wanted[entity])
        assert len(entities) == len(before) + min(len(others), BESIDE)
        least = min((wanted[entity] for entity in others[:BESIDE]), default=0.0)
        assert {entity for entity in others if wanted[entity] > least * (1 + 1e-6)} <= set(entities)
    assert max(np.diff(pool.offsets) - np.diff(without.offsets)) == BESIDE


# --- models ---------------------------------------------------------------------------------------


def delayed_world(seed: int, *, noise: bool = False, times: int = 60) -> list[Event]:
    """Whoever calls somebody visits them three times later; with `noise`, somebody at random."""
    random = np.random.default_rng(seed)
    events = set[Event]()
    for time in range(times):
        for _ in range(4):
            a, b, c = random.choice(30, 3, replace=False).tolist()
            events.add((f"e{a}", "calls", f"e{b}", time))
            events.add((f"e{a}", "visits", f"e{c if noise else b}", time + 3))
    return sorted(events, key=lambda event: (event[3], event))


@pytest.fixture(scope="module")
def planted() -> tuple[list[Event], hb.GraphModel]:
    events = [event for event in delayed_world(0) if event[3] < 50]
    return events, hb.learn_graph(facts_of(events), relations=["visits"])


@compiles
class TestModels:
    """A model of a planted rule with a delay."""

    def test_the_planted_rule_is_the_best(self, planted: tuple[list[Event], hb.GraphModel]) -> None:
        _, model = planted
        part = next(part for part in model.relations if part.direction == "object")
        best = max(part.rules, key=lambda rule: rule.confidence)
        assert best.clause.body.predicates == {"calls"}
        table = model.to_table()
        assert "calls(X, Y) -> visits(X, Y)" in table["rule"]

    def test_it_ranks_what_the_rule_predicts(
        self, planted: tuple[list[Event], hb.GraphModel]
    ) -> None:
        events, model = planted
        test = [event for event in delayed_world(0) if event[3] >= 50 and event[1] == "visits"]
        calls = [event for event in delayed_world(0) if event[3] >= 50 and event[1] == "calls"]
        found = model.evaluate_ranks(facts_of(events), facts_of(test), filter=facts_of(calls))
        assert found.mrr > 0.6
        blind = model.evaluate_ranks(facts_of(events), facts_of(test), history="fixed")
        assert blind.mrr < 0.5 * found.mrr

    def test_noise_gives_nothing_above_frequency(self) -> None:
        events = delayed_world(1, noise=True)
        train = [event for event in events if event[3] < 50]
        test = [event for event in events if event[3] >= 50 and event[1] == "visits"]
        model = hb.learn_graph(facts_of(train))
        assert model.chosen["held_out"] == "later"
        valid = hb.learn_graph(facts_of(train), facts_of(test), relations=["visits"])
        assert valid.chosen["held_out"] == "valid"
        found = model.evaluate_ranks(facts_of(train), facts_of(test))
        uniform = np.mean([1 / rank for rank in range(1, 31)])
        assert found.mrr < 1.6 * uniform

    def test_the_future_changes_no_answer(self, planted: tuple[list[Event], hb.GraphModel]) -> None:
        """Later facts may be deleted, or be shuffled, and every byte of the answers stays."""
        events, model = planted
        now = 30
        queries = hb.read_queries([(f"e{i}", "visits", "?", str(now)) for i in range(30)], time=4)
        past = [event for event in events if event[3] < now]
        later = [event for event in events if event[3] >= now]
        ends = np.random.default_rng(0).permutation(len(later)).tolist()
        moved = [(a, r, later[k][2], t) for (a, r, _, t), k in zip(later, ends, strict=True)]
        everybody = [(f"e{i}", "calls", f"e{i}", now) for i in range(30)]
        whole, deleted, shuffled = (
            [row[:6] for row in model.rank(facts_of([*past, *more, *everybody]), queries, top=30)]
            for more in (later, [], moved)
        )
        assert whole == deleted == shuffled
        triple = next(row[:3] for row in whole)
        told = [
            model.explain(facts_of([*past, *more, *everybody]), triple, at=now).as_dict()
            for more in (later, [], moved)
        ]
        assert told[0] == told[1] == told[2]

    def test_learning_from_the_past_knows_no_future(self) -> None:
        """Features of training queries before a time are the same without what comes later."""
        events = delayed_world(2, times=20)
        whole, past = facts_of(events), facts_of([e for e in events if e[3] < 12])
        assert whole.events is not None
        assert past.events is not None
        moved = past.events.moved(
            past.entities.translate(whole.entities), past.predicates.translate(whole.predicates)
        )
        pools = []
        for listed in (whole.events, moved):
            graph = TimedGraph.of(listed, len(whole.entities), len(whole.predicates), SCALE)
            asked = graph.queries(step_code(0))
            asked = asked._replace(gathered=asked.time < 12)
            table = RuleTable.empty(len(whole.predicates), SCALE)
            pools.append(graph.answered(step_code(0), asked, table, 20)[0])
        assert pools[0].feature.tobytes() == pools[1].feature.tobytes()
        assert pools[0].entity.tobytes() == pools[1].entity.tobytes()

    def test_held_out_facts_choose_and_are_not_counted(self) -> None:
        events = delayed_world(0, times=40)
        train, valid = ([e for e in events if (e[3] >= 30) == held] for held in (False, True))
        models = [
            hb.learn_graph(facts_of(train), relations=["visits"], valid=held)
            for held in (None, facts_of(valid))
        ]
        plain, chosen = ([part.rules for part in model.relations] for model in models)
        assert plain == chosen
        assert models[0].weights != models[1].weights

    def test_threads_and_order_change_no_byte(
        self, planted: tuple[list[Event], hb.GraphModel]
    ) -> None:
        events, model = planted
        order = np.random.default_rng(3).permutation(len(events)).tolist()
        again = hb.learn_graph(
            facts_of([events[k] for k in order]), relations=["visits"], threads=1
        )
        assert again.text == model.text

    def test_the_text_is_the_model(
        self, planted: tuple[list[Event], hb.GraphModel], tmp_path: Path
    ) -> None:
        _, model = planted
        model.save(tmp_path / "events.hornbeam")
        loaded = hb.load(tmp_path / "events.hornbeam")
        assert loaded == model
        assert loaded.text == model.text
        damaged = model.text.replace("ever: ", "soon: ")
        with pytest.raises(DataError, match="is no count of an age; expected one of"):
            hb.GraphModel.parse(damaged)

    def test_reasons_have_dates(self, planted: tuple[list[Event], hb.GraphModel]) -> None:
        events, model = planted
        a, _, b, time = next(event for event in events if event[1] == "calls" and event[3] == 40)
        found = model.explain(facts_of(events), (a, "visits", b), at=43)
        text = repr(found)
        assert "3 steps before" in text
        assert f"{a} -calls ({time})-> {b}" in text
        told = found.as_dict()["reasons"][0]["groundings"][0]["facts"][0]
        assert told["time"] == str(time)
        with pytest.raises(InputError, match="`at`: 'soon' is no whole number"):
            model.explain(facts_of(events), (a, "visits", b), at="soon")

    def test_queries_have_a_past_and_the_unit_of_the_facts(
        self, planted: tuple[list[Event], hb.GraphModel]
    ) -> None:
        events, model = planted
        early = hb.read_queries([("e1", "visits", "?", "0")], time=4)
        with pytest.warns(UserWarning, match="asked before any fact"):
            assert not len(model.rank(facts_of(events), early))
        dated = hb.read_queries([("e1", "visits", "?", "2014-01-01")], time=4)
        with pytest.raises(InputError, match="one unit"):
            model.rank(facts_of(events), dated)

    @pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
    def test_queries_of_what_the_model_does_not_know_have_no_answer(
        self, planted: tuple[list[Event], hb.GraphModel]
    ) -> None:
        events, model = planted
        known, unknown, other = "e1 visits ?", "nobody visits ?", "e1 calls ?"
        queries = [(*query.split(), "50") for query in (unknown, other, known)]
        rows = model.rank(facts_of(events), hb.read_queries(queries, time=4)).dicts()
        assert {row["query"] for row in rows} == {3}

    def test_parts_of_a_score_add_up(self, planted: tuple[list[Event], hb.GraphModel]) -> None:
        events, model = planted
        facts = facts_of(events)
        explainer = model.explainer(facts)
        assert isinstance(explainer, TimedExplainer)
        for step, ends in ((step_code(facts.predicates.index("visits")), ("e1", "e2")),):
            known, answer = map(facts.entity, ends)
            asked = QueryTimes(np.array([known], np.int32), np.array([explainer.time]))
            pool, score = explainer.ranker.scored(step, asked)
            [row] = np.flatnonzero(pool.entity == answer).tolist()
            told = explainer.explain(ends[0], "visits", ends[1]).directions[0]
            assert told.total == pytest.approx(score[row] - score.mean(), rel=1e-6, abs=1e-9)
            assert told.rank == 1 + np.count_nonzero(score > score[row])
            assert told.candidates == len(score)

    def test_a_report_judges_the_forecast(self, planted: tuple[list[Event], hb.GraphModel]) -> None:
        events, model = planted
        test = [event for event in delayed_world(0) if event[3] >= 50 and event[1] == "visits"]
        page = model.report(facts_of(events), test=facts_of(test))
        found = model.evaluate_ranks(facts_of(events), facts_of(test))
        assert f"{found.mrr:.3f}" in page
        assert 'id="mistakes"' in page
        assert "What happens next" in page
        assert f"true {len(events)} times" in page
        assert "hidden by folds" not in page

    def test_triples_are_scored_as_what_comes_next(
        self, planted: tuple[list[Event], hb.GraphModel]
    ) -> None:
        events, model = planted
        facts = facts_of(events)
        ranked = model.rank(facts, [("e1", "visits", "?")], top=100)
        triples = list(zip(ranked["subject"], ranked["relation"], ranked["object"], strict=True))
        scored = model.predict(facts, triples)
        np.testing.assert_allclose(scored["score"], ranked["score"], rtol=1e-9)
        proposed = model.propose(facts, target="visits", subjects=["e1"], top=1)
        assert proposed["object"][0] == ranked["object"][0]

    def test_commands_do_the_same(
        self, planted: tuple[list[Event], hb.GraphModel], tmp_path: Path
    ) -> None:
        events, model = planted
        test = [("e1", "visits", "e2", 53), ("e3", "visits", "e4", 54)]
        old, new = write(tmp_path / "old.tsv", events), write(tmp_path / "new.tsv", test)
        queries = write(tmp_path / "queries.tsv", [("e1", "visits", "?", 50)])
        model.save(tmp_path / "m.hornbeam")
        given = (tmp_path / "m.hornbeam", "--facts", old, "--time", "4")
        judged = hornbeam_("evaluate", *given, "--test", new, "--json")
        found = model.evaluate_ranks(facts_of(events), facts_of(test))
        assert json.loads(judged.stdout)["mrr"] == found.mrr
        assert list(found.to_ranks_table()["time"]) == ["53", "54", "53", "54"]
        answered = hornbeam_("predict", *given, "--queries", queries)
        assert answered.stdout.splitlines()[0].split("\t")[4:7] == ["1", "1", "50"]
        told = hornbeam_("explain", *given, "--at", "50", "e1", "visits", "e2")
        assert told.code == 0
        bad = hornbeam_("explain", *given, "--at", "x", "e1", "visits", "e2")
        assert (bad.code, "is no whole number" in bad.stderr) == (2, True)
        untimed = hornbeam_("evaluate", given[0], "--facts", new, "--test", new)
        assert untimed.code == 2


@compiles
@given(seed=st.integers(0, 1000), everything=st.booleans(), fixed=st.booleans())
@settings(max_examples=6, deadline=None)
def test_ranks_are_those_of_the_definition(seed: int, everything: bool, fixed: bool) -> None:
    """Every answer is ranked among all entities, less other true answers (of the same time).

    It is answered from all that was before it, or with a fixed history from the facts alone.
    """
    events = delayed_world(seed, times=25)
    train = [event for event in events if event[3] < 18]
    valid = [event for event in events if 18 <= event[3] < 20]
    test = [event for event in events if event[3] >= 20]
    model = hb.learn_graph(facts_of(train))
    found = model.evaluate_ranks(
        facts_of(train), facts_of(test), filter=facts_of(valid),
        filter_time="all" if everything else "same", history="fixed" if fixed else "step",
    )  # fmt: skip
    entities = {name for event in events for name in (event[0], event[2])}
    visible = train if fixed else events
    assume({name for event in visible for name in (event[0], event[2])} == entities)
    queries = [query for s, p, o, t in test for query in ((s, p, "?", str(t)), ("?", p, o, str(t)))]
    asked = hb.read_queries(queries, time=4)
    listed: dict[int, dict[str, float]] = defaultdict(dict)
    for row in model.rank(facts_of(visible), asked, top=1000).dicts():
        name = row["subject" if queries[row["query"] - 1][0] == "?" else "object"]
        listed[row["query"]][name] = row["score"]
    ranks, seen = [], []
    for k, (s, p, o, t) in enumerate(test):
        for asks_subject in (False, True):
            scores = listed[2 * k + 1 + asks_subject]
            answer, known = (s, o) if asks_subject else (o, s)
            true = {
                (a if asks_subject else b)
                for a, q, b, u in events
                if q == p and (b if asks_subject else a) == known and (everything or u == t)
            }
            others = entities - (true - {answer})
            own = scores.get(answer, -math.inf)
            better = sum(scores.get(name, -math.inf) > own for name in others)
            equal = sum(scores.get(name, -math.inf) == own for name in others)
            ranks.append(better + (equal + 1) / 2)
            seen.append(any((a, q, b) == (s, p, o) and u < t for a, q, b, u in visible))
    assert found.queries == len(ranks)
    names = {name for event in train for name in (event[0], event[2])}
    assert found.unknown == sum(not {s, o} <= names for s, _, o, _ in test)
    assert found.mrr == pytest.approx(np.mean(1 / np.array(ranks)), rel=1e-9)
    again = np.array(seen)
    for part, rows in ((found.seen, again), (found.new, ~again)):
        assert (part is None) == (not rows.any())
        if part is not None:
            assert part.queries == rows.sum()
            assert part.mrr == pytest.approx(np.mean(1 / np.array(ranks)[rows]), rel=1e-9)


def test_ages_without_predictions_are_left_out_of_a_text() -> None:
    empty = [(0, 0)] * (SCALE.n_ages - 1)
    [rule] = hb.Model.parse("1: p(X, Y) -> t(X, Y)").rules
    timed = TimedRule.of_ages(rule.clause, [(2, 3), *empty])
    found = plain_line(f"0.3: p(X, Y) -> t(X, Y) {timed.bracket_text(SCALE)}", SCALE)
    assert found == ("0.3: p(X, Y) -> t(X, Y) [2 of 3]", timed.by_age)


def test_times_scale_with_the_unit() -> None:
    """Half-lives and ages follow the gaps, whatever they are counted in."""
    events = delayed_world(5)
    day = facts_of(events).events
    hour = facts_of([(*event[:3], event[3] * 3600) for event in events]).events
    assert day is not None
    assert hour is not None
    small, large = TimeScale.of(day), TimeScale.of(hour)
    assert large.ages == tuple(3600 * age for age in small.ages)
    assert large.half_lives == tuple(3600 * half for half in small.half_lives)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, f: m.rank([("e1", "calls", "e2")], [("e1", "visits", "?")]), "with a time"),
        (lambda m, f: m.evaluate_ranks(f, [("e1", "visits", "e2")]), "need times"),
        (lambda m, f: m.ranker(f, leave_out_linked=True), "leaves out nothing"),
        (lambda m, f: hb.learn_graph(f, max_length=2), "one atom in their body"),
        (lambda m, f: hb.learn_graph(f, relations=["eats"]), "no relation 'eats'"),
        (
            lambda m, f: m.rank(hb.read_facts([("e1", "calls", "e2", "2014-01-01")], time=4),
                                [("e1", "visits", "?")]),
            "one unit",
        ),
    ],
)  # fmt: skip
def test_mistakes_get_one_message(
    planted: tuple[list[Event], hb.GraphModel], call: object, message: str
) -> None:
    events, model = planted
    with pytest.raises(InputError, match=message):
        call(model, facts_of(events))  # type: ignore[operator]


def test_every_feature_is_of_the_evidence_that_its_name_begins_with() -> None:
    kinds = {name: TimedEvidence.of_feature(name).name.lower() for name in TIMED_FEATURES}
    assert {name for name in kinds if not name.startswith(kinds[name])} == {"same_entity"}
    assert set(kinds.values()) == {kind.name.lower() for kind in TimedEvidence}
