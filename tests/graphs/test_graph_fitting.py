"""Fitting of the ranking model: the minimum, its gradient, calibration, and shares of work."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.sparse import csr_array

from hornbeam.base.arrays import Bools, Floats, part_numbers
from hornbeam.base.machine import blas_threads
from hornbeam.base.progress import SILENT
from hornbeam.graphs import softmax
from hornbeam.graphs.elimination import inverted_core
from hornbeam.graphs.evidence_kernels import chosen_candidates
from hornbeam.graphs.features import FEATURES, RIDGE, TOTAL, WITHOUT_RIDGE
from hornbeam.graphs.graph_settings import Extent, StageShares
from hornbeam.graphs.graph_stages import fair_share, with_held
from hornbeam.graphs.grouped_queries import queries_along
from hornbeam.graphs.lbfgs import minimise
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_choice import (
    STRONGER,
    USUAL_PENALTY,
    WEAKER,
    choose_ranking,
    measuring_trials,
)
from hornbeam.graphs.ranking_fit import Trial
from hornbeam.graphs.ranking_model import Calibration
from hornbeam.graphs.softmax import (
    CandidateRows,
    Firings,
    fit_calibration,
    fit_softmax,
    inverse_of,
    linear_scores,
    probabilities,
    reciprocal_ranks,
    softmax_log_odds,
)
from hornbeam.graphs.softmax_kernels import MIN_CURVING, add_curvature, loss_and_gradient
from hornbeam.graphs.workload import Portion, Workload
from tests.support.brute_graphs import graph_of
from tests.support.kernels import both_ways, kernels_are
from tests.support.recorded_progress import RecordedProgress

seeds = st.integers(0, 10_000)


def random_rows(seed: int, fired: bool = False) -> CandidateRows:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=8)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(offsets[-1])
    feature = rng.normal(size=(n, 6)).astype(np.float32)
    start = np.arange(0, 2 * n + 1, 2, dtype=np.int64)
    rule = rng.integers(0, 3, size=2 * n).astype(np.int32)
    none = Firings(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32))
    return CandidateRows(
        offsets, feature, rng.random(n) < 0.4, Firings(start, rule) if fired else none
    )


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(0, 120))
def test_a_fair_share_is_the_largest_that_fits(sizes: list[int], total: int) -> None:
    taken = {m: sum(min(size, m) for size in sizes) for m in range(1, max(sizes) + 1)}
    fitting = [m for m in taken if taken[m] <= total]
    assert fair_share(np.array(sizes), total) == max(fitting, default=1)


def naive_curvature(rows: CandidateRows, weights: Floats) -> tuple[Floats, Floats]:
    """Covariances of features, and variances of rules, where all true answers count as one."""
    whole, own = np.zeros((6, 6)), np.zeros(3)
    scores = rows.feature.astype(float) @ weights[:6]
    scores += weights[6:][rows.firings.rule].reshape(-1, 2).sum(axis=1)
    for low, high in zip(rows.offsets[:-1], rows.offsets[1:], strict=True):
        truth = rows.truth[low:high]
        if truth.all() or not truth.any():
            continue
        share = np.exp(scores[low:high]) / np.where(truth, truth.sum(), 1)
        share /= share.sum()
        feature = rows.feature[low:high].astype(float)
        away = feature - share @ feature
        whole += truth.sum() * (away.T * share) @ away
        rule = rows.firings.rule.reshape(-1, 2)[low:high]
        for column in rule.T:
            np.add.at(own, column, truth.sum() * share * (1 - share))
    return whole, own


@given(seeds)
def test_the_curvature_is_that_of_its_definition(seed: int) -> None:
    rows = random_rows(seed, fired=True)
    weights = np.random.default_rng(seed).normal(size=9) / 4
    whole, own = np.zeros((6, 6)), np.zeros(3)
    add_curvature.function(
        rows.offsets, rows.feature, rows.truth, *rows.firings, weights, np.empty(6), np.empty(6),
        whole, own,
    )  # fmt: skip
    expected, expected_own = naive_curvature(rows, weights)
    error = 100 * MIN_CURVING  # small shares are left out
    np.testing.assert_allclose(np.tril(whole), np.tril(expected), atol=error, rtol=1e-3)
    np.testing.assert_allclose(own, expected_own, atol=error, rtol=1e-3)


def test_a_constant_that_all_scores_have_changes_neither_loss_nor_curvature() -> None:
    rows, weights = random_rows(1), np.zeros(6)
    rows.feature[:, 0] = 1.0
    found = []
    for constant in (0.0, 2000.0):
        weights[0], whole, gradient = constant, np.zeros((6, 6)), np.zeros(6)
        given = (rows.offsets, rows.feature, rows.truth, *rows.firings, weights, np.empty(6))
        loss = loss_and_gradient.function(*given, gradient)
        add_curvature.function(*given, np.empty(6), whole, np.zeros(0))
        found.append([loss, *gradient, *whole.ravel()])
    assert found[0] == found[1]


def test_an_answer_far_below_the_others_is_a_large_loss() -> None:
    rows = random_rows(0)._replace(offsets=np.array([0, 2]), truth=np.array([True, False]))
    weights = np.array([1e5, 0, 0, 0, 0, 0]) * (
        1 if rows.feature[0, 0] < rows.feature[1, 0] else -1
    )
    loss = loss_and_gradient.function(
        rows.offsets, rows.feature[:2], rows.truth, *rows.firings, weights, np.empty(2), np.zeros(6)
    )
    assert 700 <= loss < np.inf


def test_candidates_are_chosen_by_the_best_confidence_of_any_class() -> None:
    evidence = np.zeros((4, 2, TOTAL + 2))
    evidence[:, :, 0] = [[0.1, 0.2], [0.6, 0.1], [0.5, 0.4], [0.1, 0.9]]
    evidence[:, :, 1] = [[0.0, 0.2], [0.0, 0.0], [0.5, 0.0], [0.0, 0.0]]
    evidence[:, :, TOTAL] = [[90, 0], [0, 0], [0, 0], [0, 0]]  # a thousandth of it counts
    listed, strength = np.arange(4, dtype=np.int32), np.array([3.0, 2.0, 1.0, 9.0])
    slot = np.array([5, 7, 9, 6])  # decides only where no rule fires

    def chosen(limit: int, has_ridge: bool) -> list[int]:
        rows = chosen_candidates(evidence, listed, limit, limit, strength, has_ridge, slot)  # type: ignore[no-untyped-call]
        return [int(row) for row in rows]

    assert chosen(4, has_ridge=False) == [0, 1, 2, 3]
    assert chosen(3, has_ridge=False) == [3, 1, 2]
    assert chosen(3, has_ridge=True) == [3, 0, 1]  # in turn by confidence and by ridge
    evidence[:3] = 0.0
    assert chosen(3, has_ridge=False) == [3, 2, 1]


def naive_loss(rows: CandidateRows, weights: Floats) -> float:
    """The loss by its definition."""
    total = 0.0
    scores = rows.feature.astype(float) @ weights[:6]
    if len(rows.firings.rule):
        scores += weights[6:][rows.firings.rule].reshape(-1, 2).sum(axis=1)
    for i in range(len(rows.offsets) - 1):
        part = slice(rows.offsets[i], rows.offsets[i + 1])
        true, false = scores[part][rows.truth[part]], scores[part][~rows.truth[part]]
        if len(true) and len(false):
            total += sum(np.log(np.exp(t) + np.exp(false).sum()) - t for t in true)
    return total


@both_ways
@given(seeds, st.booleans())
def test_loss_and_gradient(compiled: bool, seed: int, fired: bool) -> None:
    rows = random_rows(seed, fired)
    weights = np.random.default_rng(seed + 1).normal(size=9 if fired else 6)

    def both(w: Floats) -> tuple[float, Floats]:
        gradient = np.zeros(len(w))
        with kernels_are(compiled):
            run = loss_and_gradient.choose(1, 1)
            loss = run(
                rows.offsets, rows.feature, rows.truth, *rows.firings, w, np.empty(9), gradient
            )
        return loss, gradient

    assert both(weights)[0] == pytest.approx(naive_loss(rows, weights), rel=1e-6, abs=1e-9)
    assert check_grad(lambda w: both(w)[0], lambda w: both(w)[1], weights) < 1e-4


@given(seeds)
def test_the_minimum_is_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(8, 5))
    b = rng.normal(size=8)

    def function(x: Floats) -> tuple[float, Floats]:
        z = a @ x - b
        return float(np.log1p(np.exp(z)).sum() + x @ x / 2), a.T @ (1 / (1 + np.exp(-z))) + x

    found = minimise(function, np.zeros(5), 200, 1e-14)
    other = minimize(function, np.zeros(5), jac=True, method="BFGS")
    assert found.value == pytest.approx(other.fun, abs=1e-8)
    assert found.x == pytest.approx(other.x, abs=1e-3)
    assert found.iterations < 100  # it ends where there is nothing more to gain


def test_the_first_step_of_a_search_is_no_longer_than_1() -> None:
    seen = list[Floats]()

    def steep(x: Floats) -> tuple[float, Floats]:
        seen.append(x)
        return 1e6 * float(x @ x), 2e6 * x

    minimise(steep, np.full(4, 5.0), 1)
    assert np.linalg.norm(seen[1] - seen[0]) == pytest.approx(1.0)


def test_a_strong_penalty_keeps_weights_where_they_are_drawn_to() -> None:
    rows, center = random_rows(3), np.arange(6.0)
    found = fit_softmax(rows, np.ones(6), center, np.full(6, 1e9))
    assert found == pytest.approx(center, abs=1e-6)
    free = fit_softmax(rows, np.ones(6), np.zeros(6), np.full(6, 0.1))
    assert naive_loss(rows, free) < naive_loss(rows, np.zeros(6))


def test_a_search_ends_where_time_does() -> None:
    found = minimise(lambda x: (float(x @ x), 2 * x), np.ones(3), expired=lambda: True)
    assert (found.iterations, found.status) == (1, "the time limit is reached")


def test_queries_come_in_parts() -> None:
    graph = graph_of([(0, 0, 4), (0, 0, 5), (1, 0, 4), (2, 0, 5)])
    asked = queries_along(graph, 2)
    parts = list(asked.parts(2))
    assert [part.sources.tolist() for part in parts] == [[0, 1], [2]]
    assert [part.answers.tolist() for part in parts] == [[4, 5, 4], [5]]
    assert np.concatenate([part.known for part in parts]).tolist() == asked.known.tolist()


@given(seeds, st.booleans(), st.booleans())
def test_the_fit_is_the_minimum(seed: int, fired: bool, begins_with_part: bool) -> None:
    rows, n = random_rows(seed, fired), 9 if fired else 6
    center, penalty = np.linspace(-1, 1, n), np.full(n, 0.5)

    def whole(w: Floats) -> float:
        return naive_loss(rows, w) + float((penalty * (w - center) ** 2).sum()) / 2

    other = minimize(whole, center, method="BFGS")
    with patch.object(softmax, "MANY", 0 if begins_with_part else softmax.MANY):
        found = fit_softmax(rows, np.ones(n), center, penalty)
    assert whole(found) == pytest.approx(other.fun, abs=1e-4)


def test_the_ridge_does_not_depend_on_the_threads_of_blas() -> None:
    rng = np.random.default_rng(0)
    properties = rng.random((600, 400)) < 0.05
    whole = properties @ properties.T.astype(np.float32) + 30 * np.eye(600)
    found = []
    for number in (1, 2):
        with blas_threads(number):
            found.append(inverted_core(csr_array(whole), 600))
    assert found[0].tobytes() == found[1].tobytes()
    assert found[0] @ whole == pytest.approx(np.eye(600), abs=1e-3)


@given(seeds)
def test_small_matrices_are_inverted(seed: int) -> None:
    a = np.random.default_rng(seed).normal(size=(9, 6))
    matrix = a.T @ a + np.eye(6)
    assert inverse_of(matrix) @ matrix == pytest.approx(np.eye(6), abs=1e-9)


def test_true_answers_that_are_not_asked_for_are_no_candidates() -> None:
    ids = {"step": [2, 3], "source": [7, 7], "entity": [1, 2, 3, 1, 2], "fold": [0, 0]}
    step, source, entity, fold = (np.array(column, dtype=np.int32) for column in ids.values())
    truth = np.array([True, False, False, False, False])
    offsets, missed = np.array([0, 3, 5]), np.zeros(2, dtype=np.int64)
    feature = np.arange(5, dtype=np.float32)[:, None]
    pool = Pool(step, source, offsets, entity, feature, truth, missed, fold)
    known = np.array([(2, 7, 1), (2, 7, 2), (3, 7, 1), (4, 7, 3)], dtype=np.int32)
    left = pool.without(*known.T)
    assert left.feature[:, 0].tolist() == [0, 2, 4]
    assert left.offsets.tolist() == [0, 2, 3]
    assert left.informative().source.tolist() == [7]
    asked = Pool(
        step[:1], source[:1], np.array([0, 2]), entity[1:3], feature[:2], np.array([True, False]),
        missed[:1], fold[:1],
    )  # fmt: skip
    both = with_held(pool, asked)
    assert both.entity.tolist() == [1, 3, 1, 2, 2, 3]  # 2 is the held-out answer of step 2
    assert both.n_queries == pool.n_queries + asked.n_queries


def test_ties_are_averaged() -> None:
    offsets = np.array([0, 4, 6])
    score = np.array([1.0, 2.0, 1.0, 0.0, 3.0, 3.0])
    truth = np.array([True, False, False, True, True, False])
    found = reciprocal_ranks(offsets, score, truth)
    assert found.tolist() == [1 / 2.5, 1 / 3, 1 / 1.5]


def test_scores_are_sums_of_products() -> None:
    feature = np.array([[1, 2], [3, 4]], dtype=np.float32)
    assert linear_scores(feature, np.array([10.0, 1.0])).tolist() == [12.0, 34.0]


def test_calibration_recovers_slope_and_intercept() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(-2, 3, size=40_000)
    truth = rng.random(len(z)) < probabilities(z, Calibration(0.7, -0.4))
    found = fit_calibration(z, truth)
    assert found.slope == pytest.approx(0.7, abs=0.05)
    assert found.intercept == pytest.approx(-0.4, abs=0.05)
    assert fit_calibration(z, np.zeros(len(z), dtype=np.bool_)) == Calibration()


@given(seeds, st.sampled_from([0.0, 2.0, 20.0]))
def test_few_answers_leave_the_calibration_near_its_prior(seed: int, deviation: float) -> None:
    """The minimum of log-loss + (slope - 1)^2 / 2 + intercept^2 / 2, by SciPy."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, deviation, size=6)
    truth = np.append([True, False], rng.random(4) < 0.5)

    def loss(x: Floats) -> float:
        away = np.where(truth, -1.0, 1.0) * (x[0] * z + x[1])
        return float(np.logaddexp(0.0, away).sum() + (x[0] - 1) ** 2 / 2 + x[1] ** 2 / 2)

    found, best = fit_calibration(z, truth), minimize(loss, [1.0, 0.0], tol=1e-10).x
    assert found.slope == pytest.approx(max(best[0], 1e-6), abs=1e-4)
    if best[0] > 1e-6:
        assert found.intercept == pytest.approx(best[1], abs=1e-4)


def test_penalties_are_tried_away_from_the_usual_one() -> None:
    """Of the weights per step: the first that does worse ends the search in its direction."""
    assert [*WEAKER[::-1], USUAL_PENALTY, *STRONGER] == sorted({*WEAKER, USUAL_PENALTY, *STRONGER})


def test_log_odds_of_shares() -> None:
    odds = softmax_log_odds(np.array([0, 2, 2, 3]), np.array([np.log(3.0), 0.0, 5.0]))
    assert odds[:2] == pytest.approx([np.log(3), -np.log(3)])
    assert odds[2] > 20


def test_stages_share_the_whole_work() -> None:
    graph = graph_of([(0, 0, 1), (1, 0, 2)])
    for folds, ridge, held, sparse in ((5, True, True, False), (2, False, False, True)):
        extent = Extent(hidden=folds, rediscover=ridge)
        shares = StageShares.of(graph.size, 2, extent, ridge, held, sparse)
        parts = vars(shares) | {"ridge": (folds + held) * shares.ridge}
        for name in ("recounting", "gathering"):
            parts[name] *= folds
        assert sum(parts.values()) == pytest.approx(1.0)


def test_work_that_time_does_not_allow_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = RecordedProgress()
    work = Workload(progress, "Working", seconds=None, threads=2)
    assert Portion(work, 0.5).each(lambda x: x * x, [3, 1, 2], [3.0, 1.0, 2.0]) == [
        (3, 9),
        (1, 1),
        (2, 4),
    ]
    begun: list[int] = []
    Portion(work, 0.0).each(begun.append, [3, 1, 2], [3.0, 1.0, 2.0], threads=1)
    assert begun == [3, 2, 1]  # the largest first
    work.finish()
    assert progress.reports == sorted(progress.reports)
    assert progress.reports[-2:] == [("Working", 500, 1000), ("Working", 1000, 1000)]
    monkeypatch.setattr("hornbeam.graphs.workload.time.monotonic", lambda: 100.0)
    late = Workload(progress, "Late", seconds=4.0, started=97.0)
    late.advance(0.1)
    # what is left to do is never more than the limit leaves
    assert progress.reports[-1] == ("Late", 750, 1000)
    assert late.left() == 1.0
    assert late.left(0.75) == 0.0
    assert not late.expired(0.75)
    assert late.expired(0.5)
    late = Workload(seconds=0.0, started=99.0)
    assert Portion(late, 1.0).each(lambda x: x, [1, 2], [1.0, 1.0]) == []


def test_sets_of_features_are_compared_by_weights_per_step() -> None:
    """What steps make opposite use of is worth nothing to the graph's weights alone."""
    rng = np.random.default_rng(0)

    def drawn(sources: int) -> Pool:
        truth = np.tile(np.arange(10) == 0, sources)
        step = np.repeat([2, 3], sources // 2).astype(np.int32)
        feature = np.zeros((10 * sources, len(FEATURES)), dtype=np.float32)
        feature[:, FEATURES.index("frequency")] = rng.normal(size=len(feature)) + 0.5 * truth
        sign = np.repeat(np.where(step == 2, 1, -1), 10)
        feature[:, FEATURES.index("path_third")] = rng.normal(size=len(feature)) + 4 * sign * truth
        return Pool(
            step, np.arange(sources, dtype=np.int32), np.arange(sources + 1) * 10,
            np.tile(np.arange(10, dtype=np.int32), sources), feature, truth,
            np.zeros(sources, dtype=np.int64), np.zeros(sources, dtype=np.int32),
        )  # fmt: skip

    trial = Trial(drawn(400), drawn(200), 0)
    work = Workload(SILENT, "fitting", None, 1)
    for measured_by, least in ((None, 0.9), ([trial], 0.0)):
        (ranking,), mrr = choose_ranking(
            [trial], ("path_third", "frequency"), work, measured_by=measured_by
        )
        assert mrr is not None
        assert mrr > least
        assert measured_by or "path_third" in ranking.features
        assert measured_by is None or ranking.penalty in (None, USUAL_PENALTY)


def test_no_judged_link_is_known_to_the_weights_that_it_judges() -> None:
    """Both directions of a link are in one half, and each half judges weights of the other."""
    rng = np.random.default_rng(0)
    facts = {(s, o) for s, o in rng.integers(0, 12, size=(60, 2)).tolist()}
    fold_of = {pair: int(rng.integers(2)) for pair in sorted(facts)}

    def asked(step: int, fold: int) -> Pool:
        """Queries for the links of a fold, with all entities but one as candidates."""
        links = [(o, s) if step % 2 else (s, o) for (s, o), of in fold_of.items() if of == fold]
        sources = sorted({source for source, _ in links})
        entity = np.tile(np.arange(11, dtype=np.int32), len(sources))
        truth = [(a, c) in set(links) for a in sources for c in range(11)]
        missed = [sum((a, 11) == link for link in links) for a in sources]
        same = np.full(len(sources), step, dtype=np.int32)
        return Pool(
            same, np.array(sources, dtype=np.int32), np.arange(len(sources) + 1) * 11, entity,
            np.zeros((len(entity), 1), dtype=np.float32), np.array(truth), np.array(missed),
            np.full_like(same, fold),
        )  # fmt: skip

    def links(pool: Pool, rows: Bools) -> set[tuple[int, int, int]]:
        """Direction and ends of the candidates at some rows, as facts."""
        of = part_numbers(pool.offsets)[rows]
        columns = (pool.step[of], pool.source[of], pool.entity[rows])
        ends = zip(*(column.tolist() for column in columns), strict=True)
        return {(step, c, a) if step % 2 else (step, a, c) for step, a, c in ends}

    pool = Pool.concatenated([asked(step, fold) for fold in (0, 1) for step in (2, 3)])
    trials = list(measuring_trials(pool, seed=5))
    judged = [links(trial.judged, trial.judged.truth) for trial in trials]
    assert set().union(*judged) == links(pool, pool.truth)
    assert sum(map(len, judged)) == pool.truth.sum()
    assert sum(trial.judged.n_queries for trial in trials) == pool.n_queries
    for trial, of_trial in zip(trials, judged, strict=True):
        fitted = links(trial.fitted, trial.fitted.truth)
        assert {trial.fitted.fold[0]} == {*trial.fitted.fold, *trial.judged.fold}
        assert not {link[1:] for link in fitted} & {link[1:] for link in of_trial}
        assert not links(trial.judged, ~trial.judged.truth) & fitted
        sources = {(step, o if step % 2 else s) for step, s, o in fitted}
        wrong = links(trial.fitted, ~trial.fitted.truth)
        assert {
            (step, s, o) for step, s, o in of_trial if (step, o if step % 2 else s) in sources
        } <= wrong


def test_the_sets_of_features_that_are_compared_are_parts_of_all() -> None:
    assert (*WITHOUT_RIDGE, *RIDGE) == FEATURES
    assert RIDGE
    assert all(name.startswith("ridge") for name in RIDGE)
    assert not any(name.startswith("ridge") for name in WITHOUT_RIDGE)
