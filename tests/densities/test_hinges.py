"""Sums of hinges against 40-digit quadrature, the closed forms, and their own derivatives."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from hornbeam.base.arrays import pointers
from hornbeam.base.choices import Relaxation
from hornbeam.densities.hinges import (
    Hinges,
    group_hinges,
    hinge_covariance,
    hinge_map,
    hinge_moments,
    hinge_values,
)
from hornbeam.densities.integrals import score_map, score_mean, two_sided
from tests.support.mp_reference import Measure, derivative, identity, measure, relative_error

CONTINUOUS = [Relaxation.LINEAR, Relaxation.SQUARED]
UP, DOWN = False, True
Row = tuple[int, float, bool, float]  # rule, height, down, count


@dataclass(frozen=True)
class Case:
    """One target: its hinges and the rules' weights."""

    rows: tuple[Row, ...]
    weights: tuple[float, ...]

    def hinges(self) -> Hinges:
        rule, height, down, count = zip(*self.rows, strict=True)
        return group_hinges(np.zeros(len(rule), int), rule, height, down, count)

    def potential(self, rule: int, p: int, y: mpf) -> mpf:
        return mp.fsum(mpf(c) * bend(b, d, y) ** p for r, b, d, c in self.rows if r == rule)

    def exact(self, p: int) -> Measure:
        def f(y: mpf) -> mpf:
            return mp.fsum(
                mpf(self.weights[r]) * c * bend(b, d, y) ** p for r, b, d, c in self.rows
            )

        def slope(y: mpf) -> mpf:
            return mp.fsum(
                (1 if d else -1) * mpf(self.weights[r]) * c * p * bend(b, d, y) ** (p - 1)
                for r, b, d, c in self.rows
                if bend(b, d, y) > 0
            )

        return measure(f, slope, [1 - mpf(b) if d else mpf(b) for _, b, d, _ in self.rows])


def bend(b: float, down: bool, y: mpf) -> mpf:
    low, high = sorted((mpf(b), y))
    return max(mpf(0), (high - 1) + low if down else mpf(b) - y)


def power(relaxation: Relaxation) -> int:
    return 2 if relaxation is Relaxation.SQUARED else 1


def assert_moments(case: Case, relaxation: Relaxation, tolerance: float) -> None:
    p, hinges, exact = power(relaxation), case.hinges(), case.exact(power(relaxation))
    found = hinge_moments(hinges, case.weights, relaxation)
    assert relative_error(found.log_z[0], exact.log_z) < tolerance
    assert relative_error(found.mean[0], exact.mean(identity)) < tolerance
    for g, rule in enumerate(hinges.rule):
        expected = exact.mean(partial(case.potential, rule, p))
        assert relative_error(found.expected[g], expected) < tolerance


def assert_covariance(case: Case, relaxation: Relaxation, tolerance: float) -> None:
    p, hinges, exact = power(relaxation), case.hinges(), case.exact(power(relaxation))
    n = hinges.rule.size
    found = hinge_covariance(hinges, case.weights, relaxation).reshape(n, n)
    phi = [lambda y, r=rule: case.potential(r, p, y) for rule in hinges.rule]
    for g in range(n):
        for h in range(g + 1):
            scale = np.sqrt(found[g, g] * found[h, h])
            assert abs(found[g, h] - exact.cov(phi[g], phi[h])) <= tolerance * scale
            assert found[g, h] == found[h, g]


CASES = {
    "one up": Case(((0, 0.6, UP, 1.0),), (3.0,)),
    "one down, faint": Case(((0, 0.6, DOWN, 2.0),), (1e-300,)),
    "faint and opposed": Case(((0, 0.3, UP, 1.0), (1, 0.9, DOWN, 3.0)), (1e-17, 1e-16)),
    "tiny bodies": Case(((0, 1e-6, UP, 1.0), (0, 1e-6, DOWN, 5.0)), (40.0,)),
    "three rules": Case(
        ((0, 0.25, UP, 2.0), (0, 0.8, UP, 1.0), (1, 0.55, DOWN, 1.0), (2, 1.0, DOWN, 1.0)),
        (1.5, 4.0, 0.3),
    ),
    "knees a rounding error apart": Case(((0, 0.3, UP, 1.0), (1, 0.7, DOWN, 1.0)), (1e12, 2e12)),
    "a wall either side": Case(((0, 0.4, UP, 1.0), (1, 0.4, DOWN, 1.0)), (1e12, 1e12)),
    "walls that overlap": Case(((0, 0.9, UP, 1.0), (1, 0.8, DOWN, 1.0)), (1e12, 3e11)),
    "strong against faint": Case(((0, 1.0, UP, 1.0), (1, 0.5, DOWN, 1.0)), (1e12, 1e-9)),
    "a rule of weight 0": Case(((0, 0.7, UP, 1.0), (1, 0.6, DOWN, 1.0)), (0.0, 2.0)),
    "no weight at all": Case(((0, 0.7, UP, 1.0), (1, 0.6, DOWN, 1.0)), (0.0, 0.0)),
    "steep everywhere": Case(
        ((0, 1.0, DOWN, 1.0), (0, 0.9, DOWN, 7.0), (1, 0.2, UP, 1.0)), (700.0, 90.0)
    ),
}


@pytest.mark.parametrize("relaxation", CONTINUOUS)
@pytest.mark.parametrize("name", CASES)
def test_moments_are_exact_on_hard_cases(name: str, relaxation: Relaxation) -> None:
    assert_moments(CASES[name], relaxation, 1e-13)
    assert_covariance(CASES[name], relaxation, 1e-13)


heights = st.one_of(
    st.floats(1e-9, 1),
    st.integers(0, 10**6).map(lambda k: k / 10**6),
    st.sampled_from([0.0, 0.5, 1.0]),
)
weights = st.one_of(
    st.floats(-2, 2).map(lambda x: 10.0**x),
    st.floats(-300, 2).map(lambda x: 10.0**x),
    st.just(0.0),
)
rows = st.tuples(st.integers(0, 1), heights, st.booleans(), st.integers(1, 9).map(float))
cases = st.builds(
    Case, st.lists(rows, min_size=1, max_size=4).map(tuple), st.tuples(weights, weights)
)


@pytest.mark.parametrize("relaxation", CONTINUOUS)
@given(case=cases)
@settings(max_examples=15, deadline=None)
def test_moments_keep_the_standard(relaxation: Relaxation, case: Case) -> None:
    assert_moments(case, relaxation, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_error_is_that_of_rounding_the_weights(relaxation: Relaxation) -> None:
    """Strong rules that nearly cancel: no method can do better than the inputs' last digit."""
    rows = ((0, 1.0, UP, 1.0), (1, 0.9, UP, 1.0), (2, 1.0, DOWN, 1.0), (3, 0.95, DOWN, 1.0))
    case = Case(rows, (1e12 / 3, 1e12 / 7, 1e12 / 3 + 0.1, 1e12 / 7))
    p, exact = power(relaxation), case.exact(power(relaxation))
    found = hinge_moments(case.hinges(), case.weights, relaxation)
    sensitivity = mp.fsum(
        w * abs(exact.cov(identity, partial(case.potential, r, p)))
        for r, w in enumerate(case.weights)
    )
    error = abs(found.mean[0] - exact.mean(identity))
    assert error < np.finfo(float).eps * (sensitivity + 1)
    assert relative_error(found.log_z[0], exact.log_z) < 1e-15


# --- against the closed forms --------------------------------------------------------------


@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_hard_evidence_gives_the_closed_form(relaxation: Relaxation) -> None:
    line = np.r_[0.0, np.geomspace(1e-300, 1e12, 40)]
    a, b = (x.ravel() for x in np.meshgrid(line, line))
    n = a.size
    # every target has two rules of its own, so that weights can be its strengths
    hinges = group_hinges(np.repeat(np.arange(n), 2), np.arange(2 * n), 1.0, np.tile([UP, DOWN], n))
    w = np.stack([a, b], axis=1).ravel()
    closed = two_sided(a, b, relaxation)
    found = hinge_moments(hinges, w, relaxation)
    np.testing.assert_allclose(found.log_z, closed.log_z, rtol=1e-14)
    np.testing.assert_allclose(found.mean, score_mean(a, b, relaxation), rtol=1e-14)
    np.testing.assert_allclose(found.expected[::2], closed.e_up, rtol=1e-14)
    np.testing.assert_allclose(found.expected[1::2], closed.e_down, rtol=1e-14)
    blocks = hinge_covariance(hinges, w, relaxation).reshape(n, 2, 2)
    np.testing.assert_allclose(blocks[:, 0, 0], closed.var_up, rtol=1e-13)
    np.testing.assert_allclose(blocks[:, 1, 1], closed.var_down, rtol=1e-13)
    np.testing.assert_allclose(blocks[:, 0, 1], closed.cov, rtol=1e-13)
    np.testing.assert_array_equal(hinge_map(hinges, w, relaxation), score_map(a, b, relaxation))


@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_a_target_twice_in_a_clause_is_a_hinge(relaxation: Relaxation) -> None:
    y = np.linspace(0, 1, 11)
    n, p = y.size, power(relaxation)
    hinges = group_hinges(np.arange(n), 0, 0.5, DOWN, 2.0**p)
    values = hinge_values(hinges, y, relaxation)
    np.testing.assert_allclose(values, np.maximum(0, 2 * y - 1) ** p, atol=1e-16)


# --- against each other --------------------------------------------------------------------


class Table(NamedTuple):
    target: np.ndarray
    rule: np.ndarray
    height: np.ndarray
    down: np.ndarray
    number: np.ndarray


def random_table(seed: int, targets: int = 40, hinges: int = 300) -> Table:
    rng = np.random.default_rng(seed)
    height = rng.choice([rng.random(hinges), np.round(rng.random(hinges), 1)])
    target, rule = rng.integers(0, targets, hinges), rng.integers(0, 5, hinges)
    down = rng.random(hinges) < 0.5
    return Table(target, rule, height, down, rng.integers(1, 5, hinges).astype(float))


@pytest.mark.parametrize("relaxation", CONTINUOUS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_potentials_are_derivatives_of_log_z(relaxation: Relaxation, scale: float) -> None:
    hinges = group_hinges(*random_table(1), n_targets=41)
    w = scale * np.array([1.0, 0.5, 2.0, 0.1, 3.0])
    found = hinge_moments(hinges, w, relaxation)
    total = np.bincount(hinges.rule, found.expected)
    blocks = hinge_covariance(hinges, w, relaxation)
    ptr = pointers(np.diff(hinges.target_ptr) ** 2)
    variance = np.zeros(5)
    for i in range(41):
        mine = hinges.rule[hinges.target_ptr[i] : hinges.target_ptr[i + 1]]
        block = blocks[ptr[i] : ptr[i + 1]].reshape(mine.size, mine.size)
        variance[mine] += np.diag(block)
    for rule in range(5):

        def sums(x: float, rule: int = rule) -> np.ndarray:
            moments = hinge_moments(hinges, np.r_[w[:rule], x, w[rule + 1 :]], relaxation)
            return np.array([moments.log_z.sum(), np.bincount(hinges.rule, moments.expected)[rule]])

        expected = [-total[rule], -variance[rule]]
        np.testing.assert_allclose(derivative(sums, w[rule]), expected, rtol=1e-8)


@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_mirroring_the_hinges_mirrors_the_target(relaxation: Relaxation) -> None:
    target, rule, height, down, count = random_table(2)
    w = np.array([1.0, 9.0, 80.0, 1e-5, 1e4])
    here = hinge_moments(group_hinges(target, rule, height, down, count), w, relaxation)
    there = hinge_moments(group_hinges(target, rule, height, ~down, count), w, relaxation)
    np.testing.assert_allclose(here.log_z, there.log_z, rtol=1e-14)
    np.testing.assert_allclose(here.mean, 1 - there.mean, rtol=1e-10)
    np.testing.assert_allclose(here.expected, there.expected, rtol=1e-12)


@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_a_target_is_the_same_alone_and_in_any_order(relaxation: Relaxation) -> None:
    table = random_table(3)
    w = np.array([1.0, 2.0, 0.3, 7.0, 0.0])
    together = hinge_moments(group_hinges(*table), w, relaxation)
    shuffle = np.random.default_rng(0).permutation(table[0].size)
    shuffled = hinge_moments(group_hinges(*Table._make(c[shuffle] for c in table)), w, relaxation)
    for one, other in zip(together, shuffled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    for i in np.unique(table[0]):
        mine = table[0] == i
        alone = group_hinges(0, *(c[mine] for c in table[1:]))
        found = hinge_moments(alone, w, relaxation)
        assert (found.log_z[0], found.mean[0]) == (together.log_z[i], together.mean[i])


# --- observed values and modes -------------------------------------------------------------


@given(case=cases, y=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_observed_potentials(case: Case, y: float) -> None:
    hinges = case.hinges()
    for relaxation in CONTINUOUS:
        values = hinge_values(hinges, [y], relaxation)
        for rule, value in zip(hinges.rule, values, strict=True):
            exact = case.potential(rule, power(relaxation), mpf(y))
            assert relative_error(value, exact) < 1e-15 * (1 + len(case.rows))


@given(case=cases, rivals=st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_no_value_beats_the_map(case: Case, rivals: list[float]) -> None:
    for relaxation in CONTINUOUS:
        p = power(relaxation)

        def f(y: float, p: int = p) -> mpf:
            return mp.fsum(w * case.potential(r, p, mpf(y)) for r, w in enumerate(case.weights))

        best = f(hinge_map(case.hinges(), case.weights, relaxation)[0])
        slack = 1e-14 * sum(case.weights)
        assert all(best <= f(y) + slack for y in rivals)


def test_the_map_of_a_flat_stretch_is_its_middle() -> None:
    walls = group_hinges([0, 0], [0, 0], [0.2, 0.4], [UP, DOWN])
    for relaxation in CONTINUOUS:
        assert hinge_map(walls, [5.0], relaxation)[0] == pytest.approx(0.4, rel=1e-15)
    level = group_hinges([0, 0], [0, 0], [0.75, 0.5], [UP, DOWN])
    assert hinge_map(level, [1.0], Relaxation.LINEAR)[0] == 0.625
    assert hinge_map(level, [1.0], Relaxation.SQUARED)[0] == 0.625
    steep = group_hinges([0, 0], [0, 1], [0.8, 1.0], [UP, DOWN])
    assert hinge_map(steep, [2.0, 1.0], Relaxation.LINEAR)[0] == 0.8
    assert hinge_map(steep, [1.0, 2.0], Relaxation.LINEAR)[0] == 0.0


# --- edges of the interface ----------------------------------------------------------------


@pytest.mark.parametrize("relaxation", CONTINUOUS)
def test_a_target_without_hinges_is_uniform(relaxation: Relaxation) -> None:
    hinges = group_hinges([1], [0], [0.5], [UP], n_targets=3)
    found = hinge_moments(hinges, [4.0], relaxation)
    assert found.log_z[0] == found.log_z[2] == 0
    assert found.mean[0] == 0.5
    assert hinge_map(hinges, [4.0], relaxation).tolist() == [0.5, 0.75, 0.5]
    assert np.diff(hinges.target_ptr).tolist() == [0, 1, 0]
    assert hinge_covariance(hinges, [4.0], relaxation).shape == (1,)
    empty = group_hinges([], [], [], [])
    assert hinge_moments(empty, [], relaxation).log_z.size == 0


def test_impossible_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="outside \\[0, 1\\]"):
        group_hinges([0], [0], [1.5], [UP])
    with pytest.raises(ValueError, match="count"):
        group_hinges([0], [0], [0.5], [UP], [-1.0])
    hinges = group_hinges([0], [0], [0.5], [UP])
    with pytest.raises(ValueError, match="weight"):
        hinge_moments(hinges, [-1.0], Relaxation.LINEAR)
    with pytest.raises(ValueError, match="two_sided"):
        hinge_map(hinges, [1.0], Relaxation.BOOLEAN)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_rules_of_both_powers_in_one_target(seed: int) -> None:
    """Linear and squared rules together, against a fine composite Gauss-Legendre rule."""
    rng = np.random.default_rng(seed)
    n = 12
    rule, height = rng.integers(4, size=n), rng.random(n).round(2)
    down, count = rng.random(n) < 0.5, rng.integers(1, 4, size=n).astype(float)
    squared, weights = rng.random(4) < 0.5, rng.exponential(2.0, 4)
    hinges = group_hinges(np.zeros(n), rule, height, down, count)
    knees = np.unique(np.concatenate([[0.0, 1.0], np.where(down, 1 - height, height)]))
    nodes, areas = np.polynomial.legendre.leggauss(40)
    gaps = np.diff(knees)[:, None]
    y = (knees[:-1, None] + gaps * (nodes + 1) / 2).ravel()
    area = (gaps * areas / 2).ravel()
    bent = np.maximum(np.where(down, height + y[:, None] - 1, height - y[:, None]), 0.0)
    bent = count * np.where(squared[rule], bent**2, bent)
    phi = np.stack([bent[:, rule == g].sum(axis=1) for g in range(4)])
    mass = area * np.exp(-weights @ phi)
    found = hinge_moments(hinges, weights, squared)
    assert found.log_z[0] == pytest.approx(np.log(mass.sum()), abs=1e-11)
    assert found.mean[0] == pytest.approx(mass @ y / mass.sum(), rel=1e-11)
    expected = phi @ mass / mass.sum()
    assert found.expected == pytest.approx(expected[hinges.rule], rel=1e-9, abs=1e-12)
    centred = phi - expected[:, None]
    covariance = (centred * mass) @ centred.T / mass.sum()
    block = hinge_covariance(hinges, weights, squared).reshape(2 * [len(hinges.rule)])
    assert block == pytest.approx(covariance[np.ix_(hinges.rule, hinges.rule)], abs=1e-10)
    at = float(rng.random())
    value = np.maximum(np.where(down, height + at - 1, height - at), 0.0)
    value = count * np.where(squared[rule], value**2, value)
    observed = np.bincount(rule, value, 4)[hinges.rule]
    assert hinge_values(hinges, [at], squared) == pytest.approx(observed, abs=1e-12)
    least = hinge_map(hinges, weights, squared)[0]
    cost = weights @ phi
    value = np.maximum(np.where(down, height + least - 1, height - least), 0.0)
    value = count * np.where(squared[rule], value**2, value)
    assert weights[rule] @ value <= cost.min() + 1e-12
