"""Confidences and features against brute force on small random graphs."""

from __future__ import annotations

import gc
import math
from itertools import product
from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.progress import SILENT
from hornbeam.graphs import constant_kernels, constants
from hornbeam.graphs.constant_kernels import MIN_CONFIDENCE
from hornbeam.graphs.constants import (
    ConstantRules,
    answer_frequencies,
    any_entity_rules,
    constant_rules,
)
from hornbeam.graphs.features import FEATURES
from hornbeam.graphs.graph_evidence import GraphEvidence
from hornbeam.graphs.graph_reasons import Walks, properties_of
from hornbeam.graphs.graph_settings import Extent, GraphPlan
from hornbeam.graphs.grouped_queries import no_queries, queries_along
from hornbeam.graphs.linked_graph import (
    LinkedGraph,
    canonical_links,
    canonical_paths,
    canonical_steps,
)
from hornbeam.graphs.linked_pairs import PENALTY, graph_pair_weights, shared_pairs
from hornbeam.graphs.model_parts import property_of
from hornbeam.graphs.path_rules import (
    PathRules,
    best_rules,
    counted_rules,
    discover_paths,
    reversed_paths,
)
from hornbeam.graphs.pools import firings_of, pool_of
from hornbeam.graphs.ridge import PENALTIES, Ridge, choose_penalty
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.rules.codes import step_code
from tests.support.brute_graphs import (
    ENTITIES,
    RELATIONS,
    BruteGraph,
    Triple,
    counted,
    graph_of,
    triples,
    triples_with_equal_steps,
)
from tests.support.kernels import both_ways, kernels_are

STEPS = [int(step_code(p, inverse)) for p in range(RELATIONS) for inverse in (False, True)]
RNG = np.random.default_rng(0)
NOBODY = np.empty(0, dtype=np.int32)

steps = st.sampled_from(STEPS)
paths = st.lists(
    st.lists(steps, min_size=1, max_size=3).map(tuple), min_size=1, max_size=12, unique=True
)


def padded(some: list[tuple[int, ...]]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    rows = np.zeros((len(some), 3), dtype=np.int32)
    for row, path in enumerate(some):
        rows[row, : len(path)] = path
    return rows


@given(triples)
def test_links_are_those_of_the_triples(some: set[Triple]) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    for entity, step in product(range(ENTITIES), STEPS):
        assert graph.ends(entity, step).tolist() == sorted(brute.answers(entity, step))
    for step in STEPS:
        assert graph.holders(step).tolist() == sorted({a for a, _ in brute.queries(step)})
    links = graph.links
    for entity in range(ENTITIES):
        first, last = links.run_start[links.first_run[entity : entity + 2]]
        held = {property_of(graph, int(p)) for p in links.property[first:last]}
        assert held == {some for some in brute.properties(entity) if some[1] is not None}


@both_ways
@given(triples, steps, paths)
def test_path_confidences(
    compiled: bool, some: set[Triple], step: int, listed: list[tuple[int, ...]]
) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    with kernels_are(compiled):
        rules = counted(graph, step, padded(listed), queries_along(graph, step))
    for row, path in enumerate(listed):
        assert (rules.hits[row], rules.predicted[row]) == brute.path_counts(path, step)


@both_ways
@given(triples, st.dictionaries(steps, paths, min_size=1), st.integers(1, 3), st.booleans())
def test_paths_of_all_steps_are_counted_in_one_walk_or_apart(
    compiled: bool,
    some: set[Triple],
    listed: dict[int, list[tuple[int, ...]]],
    every: int,
    together: bool,
) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    if not together:  # as in a large graph
        vars(graph)["links"] = graph.links._replace(run_at=np.empty((0, 0), dtype=np.int32))
    tables = {step: padded(of_step) for step, of_step in listed.items()}
    # some sources are not asked about some steps
    asked = {
        step: next(
            queries_along(graph, step).parts(ENTITIES // (1 + step % every)), no_queries(NOBODY)
        )
        for step in listed
    }
    portion = Portion(Workload(SILENT, "counting", None, 2), 1.0)
    with kernels_are(compiled):
        found = counted_rules(graph, tables, asked, portion)
        apart = {step: counted(graph, step, tables[step], asked[step]) for step in listed}
    assert found.keys() == listed.keys()
    for step, rules in found.items():
        assert rules.hits.tolist() == apart[step].hits.tolist()
        assert rules.predicted.tolist() == apart[step].predicted.tolist()
        if len(asked[step].sources) == len(graph.holders(step)):
            counts = [brute.path_counts(path, step) for path in listed[step]]
            assert list(zip(rules.hits, rules.predicted, strict=True)) == counts


@pytest.mark.slow
@both_ways
def test_kernels_let_go_of_what_they_were_given(compiled: bool) -> None:
    """Compiled generators do not: every graph and every scratch array would stay for good."""
    graph = graph_of([(0, 0, 4), (1, 0, 4), (4, 1, 5), (2, 0, 5)])
    given_to = [ref(column) for column in graph.links]
    with kernels_are(compiled):
        asked = queries_along(graph, STEPS[0])
        rules = counted(graph, STEPS[0], padded([(STEPS[0], STEPS[2])]), asked)
        pool = pool_of(GraphEvidence(graph), rules, asked, limit=100)
        firings_of(graph, rules, pool)
    del graph, asked, pool
    gc.collect()
    assert not any(column() is not None for column in given_to)


def check_constants(some: set[Triple], step: int, least: float) -> None:
    """The rules with constants of a step, above a confidence, are those of brute force."""
    graph, brute = graph_of(some), BruteGraph(some)
    rules = constant_rules(graph, step).and_then(any_entity_rules(graph, step))
    found = {
        (property_of(graph, int(p)), int(c)): (int(h), int(n))
        for p, c, h, n in zip(
            rules.property, rules.answer, rules.hits, rules.predicted, strict=True
        )
    }
    expected = {
        rule: (hits, predicted)
        for rule, (hits, predicted) in brute.constant_counts(step).items()
        if hits >= 2 and hits / (predicted + 5) >= least
    }
    assert found == expected


@both_ways
@given(triples, steps)
def test_constant_confidences(compiled: bool, some: set[Triple], step: int) -> None:
    with kernels_are(compiled):
        check_constants(some, step, MIN_CONFIDENCE)


@given(triples, steps, st.sampled_from([0.2, 0.25, 0.4]))
def test_answers_that_cannot_reach_a_confidence_are_not_counted(
    some: set[Triple], step: int, least: float
) -> None:
    """In small graphs, where a high confidence stands for many queries."""
    with kernels_are(False), pytest.MonkeyPatch.context() as patch:
        for module in (constants, constant_kernels):
            patch.setattr(module, "MIN_CONFIDENCE", least)
        check_constants(some, step, least)


@both_ways
@given(triples, steps)
def test_constants_of_some_sources(compiled: bool, some: set[Triple], step: int) -> None:
    """The rules that are counted for a source are those about its properties (s, d)."""
    graph = graph_of(some)

    def rows(rules: ConstantRules) -> set[tuple[int, ...]]:
        columns = (rules.property, rules.answer, rules.hits, rules.predicted)
        return set(zip(*(column.tolist() for column in columns), strict=True))

    with kernels_are(compiled):
        everything = rows(constant_rules(graph, step))
        for source in range(graph.n_entities):
            own = set(properties_of(graph, source).tolist())
            found = rows(constant_rules(graph, step, np.array([source], dtype=np.int32)))
            assert found == {row for row in everything if row[0] in own}


@both_ways
@given(triples, steps, paths)
def test_features(
    compiled: bool, some: set[Triple], step: int, listed: list[tuple[int, ...]]
) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    with kernels_are(compiled):
        asked = queries_along(graph, step)
        rules = counted(graph, step, padded(listed), asked)
        if not len(asked.sources):
            return
        pool = pool_of(GraphEvidence(graph), rules, asked, limit=100)
    constants = brute.constant_counts(step)
    place = {name: column for column, name in enumerate(FEATURES)}
    weights = graph_pair_weights(graph)
    for i, a in enumerate(pool.source.tolist()):
        known = brute.answers(a, step)
        held = brute.properties(a)
        for row in range(pool.offsets[i], pool.offsets[i + 1]):
            c = int(pool.entity[row])
            assert c not in known
            fired = {
                "path": [
                    confidence
                    for path, confidence in zip(listed, rules.confidence, strict=True)
                    if c in brute.proposed(path, a)
                ],
                "forward": [
                    hits / (predicted + 5)
                    for (rule, answer), (hits, predicted) in constants.items()
                    if answer == c and rule in held and hits >= 2
                ],
                "backward": [confidence for confidence, new in brute.backward(a, step) if c in new],
            }
            for group, confidences in fired.items():
                best = [*sorted(confidences, reverse=True), 0.0, 0.0, 0.0]
                total = -sum(math.log1p(-value) for value in confidences)
                expected = {
                    "best": math.log(max(best[0], 1e-4)),
                    "second": math.log(max(best[1], 1e-4)),
                    "third": math.log(max(best[2], 1e-4)),
                    "noisy_or": math.log(max(-math.expm1(-total), 1e-4)),
                    "fired": math.log1p(len(confidences)),
                    "sum": math.log1p(total),
                }
                for name, value in expected.items():
                    found = pool.feature[row, place[f"{group}_{name}"]]
                    assert found == pytest.approx(value, abs=1e-5), (group, name)
            assert pool.feature[row, place["itself"]] == (c == a)
            others = [code for code in range(2, graph.step_limit) if code != step]
            linked = [code for code in others if c in brute.answers(a, code)]
            expected = {
                "linked_along": sum(code % 2 == step % 2 for code in linked),
                "linked_against": sum(code % 2 != step % 2 and code != step ^ 1 for code in linked),
                "linked_reverse": linked.count(step ^ 1),
            }
            for name, number in expected.items():
                assert pool.feature[row, place[name]] == pytest.approx(math.log1p(number))
            together = sum(int(weights[code, step]) for code in linked) / 1e6
            assert pool.feature[row, place["linked_together"]] == pytest.approx(together)


@given(triples)
def test_weights_of_a_pairs_links_are_those_of_ridge_regressions(some: set[Triple]) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    steps = range(2, graph.step_limit)
    pairs = product(range(graph.n_entities), repeat=2)
    links = np.array([[c in brute.answers(a, s) for s in steps] for a, c in pairs], dtype=float)
    assert (links.T @ links == shared_pairs(graph)[2:, 2:]).all()
    found = graph_pair_weights(graph)
    for target in range(links.shape[1]):
        others = np.delete(links, target, axis=1)
        gram = others.T @ others + PENALTY * np.eye(others.shape[1])
        weights = np.linalg.solve(gram, others.T @ links[:, target])
        own = np.delete(found[2:, target + 2], target)
        assert own / 1e6 == pytest.approx(weights, abs=1e-6)
        assert found[target + 2, target + 2] == 0


@given(triples, steps, paths)
def test_firings_and_groundings_agree(
    some: set[Triple], step: int, listed: list[tuple[int, ...]]
) -> None:
    graph = graph_of(some)
    asked = queries_along(graph, step)
    if not len(asked.sources):
        return
    rules = counted(graph, step, padded(listed), asked)
    pool = pool_of(GraphEvidence(graph), rules, asked, limit=100)
    firings = firings_of(graph, rules, pool)
    for i, a in enumerate(pool.source.tolist()):
        for row in range(pool.offsets[i], pool.offsets[i + 1]):
            fired = sorted(firings.rule[firings.start[row] : firings.start[row + 1]].tolist())
            walks = [Walks(graph, a, int(pool.entity[row]), list(path)) for path in listed]
            numbers = [len(list(one)) for one in walks]
            assert numbers == [one.number for one in walks]
            assert fired == [k for k, number in enumerate(numbers) if number]


@both_ways
@given(triples_with_equal_steps)
def test_discovered_paths_are_the_distinct_ones(compiled: bool, some: set[Triple]) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    step = STEPS[0]
    with kernels_are(compiled):
        canonical = canonical_steps(graph)
        walked = canonical_links(graph.links, canonical)
        asked = queries_along(graph, step)
        plans = [GraphPlan(3, canonical, Extent(found=most), 0) for most in (10**6, 2)]
        found, few = (discover_paths(walked, step, asked, plan) for plan in plans)
    every: dict[tuple[int, ...], int] = {}
    for path in (p for n in (1, 2, 3) for p in product(STEPS, repeat=n)):
        links = sum(_simple(brute, path, a, c) for a, c in brute.queries(step) if a != c)
        if links and path != (step,):
            every[path] = links
    often = 2 if len(brute.queries(step)) > 20 else 1
    expected = {brute.spelt(path, step) for path, links in every.items() if links >= often}
    assert len(found) == len(expected)
    assert {tuple(code for code in row if code) for row in found.tolist()} == expected
    links_of = {brute.spelt(path, step): links for path, links in every.items()}
    kept = {tuple(code for code in row if code) for row in few.tolist()} - {(step,)}
    least = min((links_of[path] for path in kept if path in links_of), default=0)
    assert all(links_of[path] <= least for path in expected - kept if len(path) > 1)
    inverse_code = {tuple(code for code in row if code) for row in reversed_paths(found).tolist()}
    assert inverse_code == {tuple(code ^ 1 for code in reversed(path)) for path in expected}


def _simple(brute: BruteGraph, path: tuple[int, ...], a: int, c: int) -> bool:
    """Whether a walk along the path leads from a to c without passing either."""
    reached = {a}
    for step in path[:-1]:
        reached = {y for x in reached for y in brute.answers(x, step)} - {a, c}
    return any(c in brute.answers(x, path[-1]) for x in reached)


@given(triples_with_equal_steps, paths)
def test_given_paths_are_the_distinct_ones(
    some: set[Triple], listed: list[tuple[int, ...]]
) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    canonical = canonical_steps(graph)
    known = [path for path in listed if all(brute.links(step) for step in path)]
    for step in STEPS:
        if not brute.links(step):
            assert canonical[step] == step
            continue
        rules = [path for path in known if path != (step,)]
        found = canonical_paths(padded(rules), step, canonical).tolist()
        expected = list(dict.fromkeys(brute.spelt(path, step) for path in rules))
        assert [tuple(code for code in row if code) for row in found] == expected
        for path in rules:
            spelt = brute.spelt(path, step)
            assert brute.path_counts(path, step) == brute.path_counts(spelt, step)


def test_frequent_answers_and_their_share() -> None:
    graph = graph_of([(0, 0, 4), (1, 0, 4), (2, 0, 5)])
    found = answer_frequencies(graph, STEPS[0])
    assert found.frequent.tolist() == [4, 5]
    assert np.exp(found.log_share) == pytest.approx([0.5 / 4, 1.5 / 4, 2.5 / 4])


def test_rules_are_kept_half_by_confidence_half_by_gain() -> None:
    hits, predicted = np.array([3, 100, 1, 0]), np.array([3, 400, 300, 9])
    rules = PathRules(2, np.ones((4, 1), dtype=np.int32), hits, predicted)
    assert best_rules(rules, 0.001, 2).tolist() == [0, 1]
    assert best_rules(rules, 0.001, 9).tolist() == [0, 1, 2]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=12),
    st.integers(1, 8),
)
def test_no_rule_is_kept_twice(figures: list[tuple[int, int]], most: int) -> None:
    hits, others = (np.array(column) for column in zip(*figures, strict=True))
    rules = PathRules(2, np.ones((len(figures), 1), dtype=np.int32), hits, hits + others)
    base = 0.1
    useful = [k for k in range(len(figures)) if hits[k] and rules.confidence[k] > base]
    first = sorted(useful, key=lambda k: -rules.confidence[k])[: most // 2]
    left = [k for k in useful if k not in first]
    left.sort(key=lambda k: -hits[k] * math.log(rules.confidence[k] / base))
    expected = useful if len(useful) <= most else sorted(first + left[: most - len(first)])
    assert best_rules(rules, base, most).tolist() == expected


@both_ways
@given(triples, steps)
def test_ridge_is_the_autoencoder_with_zero_diagonal(
    compiled: bool, some: set[Triple], step: int
) -> None:
    graph, brute = graph_of(some), BruteGraph(some)
    with kernels_are(compiled):
        ridge = Ridge.fit(graph, 2.0)
        forward, backward = ridge.scores(step, np.arange(ENTITIES))
    properties = sorted(
        {p for x in range(ENTITIES) for p in brute.properties(x) if p[1] is not None},
        key=lambda p: (p[0], p[1] or 0),
    )
    x = np.array(
        [[p in brute.properties(e) for p in properties] for e in range(ENTITIES)], dtype=float
    )
    inverse = np.linalg.inv(x.T @ x + 2.0 * np.eye(len(properties)))
    weights = np.eye(len(properties)) - inverse / np.diag(inverse)
    predicted = x @ weights
    for a, c in product(range(ENTITIES), repeat=2):
        if c in brute.answers(a, step):
            continue
        for found, row, rule in (
            (forward[a, c], a, (step, c)),
            (backward[a, c], c, (step ^ 1, a)),
        ):
            expected = predicted[row, properties.index(rule)] if rule in properties else 0.0
            assert 2.0 * found == pytest.approx(expected, abs=1e-3)


def test_nothing_to_answer_from() -> None:
    graph = LinkedGraph(3, 1, *(np.empty(0, dtype=np.int32) for _ in range(3)))
    assert graph.ends(0, 2).tolist() == []
    assert len(constant_rules(graph, 2)) == 0


@given(triples, st.data())
def test_the_ridges_penalty_is_the_one_that_ranks_hidden_links_best(
    some: set[Triple], data: st.DataObject
) -> None:
    graph = graph_of(some)
    is_hidden = np.arange(len(graph)) % data.draw(st.integers(2, 3)) == 0
    hidden, rest = graph.select(is_hidden), graph.select(~is_hidden)
    asked = {step: queries_along(hidden, step) for step in STEPS}

    def naive(penalty: float) -> float:
        total, ridge = 0.0, Ridge.fit(rest, penalty)
        for step, queries in asked.items():
            for source, answer in zip(queries.known, queries.answers, strict=True):
                forward, backward = ridge.scores(step, np.array([source]))
                score = np.maximum(forward[0], 0) + np.maximum(backward[0], 0)
                known = [*rest.ends(source, step), *hidden.ends(source, step)]
                others = [c for c in range(ENTITIES) if c not in known]
                above = sum(score[c] > score[answer] for c in others)
                equal = sum(score[c] == score[answer] for c in others)
                total += 1 / (1 + above + equal / 2)
        return total

    sums = {penalty: naive(penalty) for penalty in PENALTIES}
    assert sums[choose_penalty(rest, asked)] == pytest.approx(max(sums.values()))
