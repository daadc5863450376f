"""The closed forms against 40-digit quadrature, against each other, and at their limits."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.densities import integral_kernels
from hornbeam.densities.integrals import (
    score_map,
    score_mean,
    two_sided,
)
from tests.support.mp_reference import (
    derivative,
    identity,
    measure,
    relative_error,
    two_sided_measure,
)

STANDARD = 1e-12
REACHED = 1e-14
CONTINUOUS = [(Relaxation.LINEAR, 1), (Relaxation.SQUARED, 2)]
BELOW_TWO, BELOW_FIVE = np.nextafter(2.0, 0), np.nextafter(5.0, 0)
EDGES = [0.0, 1e-300, 1e-16, 1e-3, 1.0, BELOW_TWO, 2.0, BELOW_FIVE, 5.0, 6.0, 50.0, 700.0, 1e12]
PAIRS = [
    *itertools.combinations_with_replacement([0.0, 1e-300, 1e-16, 0.4, 3.0, 80.0, 1e12], 2),
    (np.nextafter(3.0, 0), 3.0),
    (1e12, 1e12 + 1),
    (2.5, 3.6),
    (1e-9, 700.0),
]

strengths = st.one_of(
    st.floats(-300, 12).map(lambda x: 10.0**x),
    st.floats(-3, 4).map(lambda x: 10.0**x),
    st.sampled_from(EDGES),
)


@pytest.fixture(autouse=True)
def _no_floating_point_trouble() -> Iterator[None]:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        yield


class OneSide(NamedTuple):
    """log Z of exp(-a u^p), and mean and variance of u^p."""

    log_z: Floats
    mean: Floats
    var: Floats


class Segment(NamedTuple):
    """Rows of the kernel `segments`."""

    log_z: Floats
    left: Floats
    right: Floats
    var: Floats
    third: Floats
    var_square: Floats


def segments(up: Floats, down: Floats, curve: Floats) -> Segment:
    out = np.empty((6, up.size))
    integral_kernels.segments.compiled(up, down, curve, out)
    return Segment(*out)


def one_sided(a: npt.ArrayLike, relaxation: Relaxation) -> OneSide:
    """The potentials of one side alone: nothing is on the other."""
    found = two_sided(0.0, a, relaxation)
    return OneSide(found.log_z, found.e_down, found.var_down)


def assert_one_sided(a: float, relaxation: Relaxation, p: int, tolerance: float) -> None:
    exact = two_sided_measure(0.0, a, p)
    found = one_sided(a, relaxation)
    assert relative_error(found.log_z, exact.log_z) < tolerance
    assert relative_error(found.mean, exact.mean(lambda u: u**p)) < tolerance
    assert relative_error(found.var, exact.cov(lambda u: u**p, lambda u: u**p)) < tolerance


def assert_two_sided(a: float, b: float, relaxation: Relaxation, p: int, tolerance: float) -> None:
    def up(y: mpf) -> mpf:
        return (1 - y) ** p

    def down(y: mpf) -> mpf:
        return y**p

    exact = two_sided_measure(a, b, p)
    found = two_sided(a, b, relaxation)
    mean = score_mean(a, b, relaxation)
    assert relative_error(found.log_z, exact.log_z) < tolerance
    assert relative_error(found.e_up, exact.mean(up)) < tolerance
    assert relative_error(found.e_down, exact.mean(down)) < tolerance
    assert relative_error(found.var_up, exact.cov(up, up)) < tolerance
    assert relative_error(found.var_down, exact.cov(down, down)) < tolerance
    assert relative_error(found.cov, exact.cov(up, down)) < tolerance
    assert relative_error(mean, exact.mean(identity)) < tolerance


# --- against quadrature --------------------------------------------------------------------


@pytest.mark.parametrize(("relaxation", "p"), CONTINUOUS)
@pytest.mark.parametrize("a", EDGES)
def test_one_sided_is_exact_at_the_edges(a: float, relaxation: Relaxation, p: int) -> None:
    assert_one_sided(a, relaxation, p, REACHED)


@pytest.mark.parametrize(("relaxation", "p"), CONTINUOUS)
@given(a=strengths)
@settings(max_examples=40, deadline=None)
def test_one_sided_keeps_the_standard(relaxation: Relaxation, p: int, a: float) -> None:
    assert_one_sided(a, relaxation, p, STANDARD)


@pytest.mark.parametrize(("relaxation", "p"), CONTINUOUS)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_two_sided_is_exact_at_the_edges(
    a: float, b: float, relaxation: Relaxation, p: int
) -> None:
    assert_two_sided(a, b, relaxation, p, REACHED)


@pytest.mark.parametrize(("relaxation", "p"), CONTINUOUS)
@given(a=strengths, b=strengths)
@settings(max_examples=40, deadline=None)
def test_two_sided_keeps_the_standard(relaxation: Relaxation, p: int, a: float, b: float) -> None:
    assert_two_sided(a, b, relaxation, p, STANDARD)


@pytest.mark.parametrize("curve", [0.0, 1e-9, 0.3, 5.9, 6.1, 49.0, 1e4, 1e12])
@pytest.mark.parametrize("slope", [0.0, 1e-9, 0.5, 5.9, 30.0, 51.0, 1e4, 1e12])
def test_a_piece_without_its_mode_is_exact(slope: float, curve: float) -> None:
    g, q = mpf(slope), mpf(curve)
    exact = measure(lambda t: t * (g + q * t), lambda t: g + 2 * q * t)
    centre = exact.mean(identity)
    square = lambda t: (t - centre) ** 2  # noqa: E731
    falling = [np.array([x]) for x in (-slope / 2, slope / 2 + curve, curve)]
    rising = [falling[1], falling[0], falling[2]]
    down, up = segments(*falling), segments(*rising)
    np.testing.assert_array_equal([down.left, down.right, down.var], [up.right, up.left, up.var])
    assert relative_error(down.log_z[0], exact.log_z) < REACHED
    assert relative_error(down.left[0], centre) < REACHED
    assert relative_error(down.right[0], 1 - centre) < REACHED
    assert relative_error(down.var[0], exact.mean(square)) < REACHED
    if curve > 0:
        scale = exact.mean(square) ** 1.5
        assert abs(down.third[0] - exact.mean(lambda t: (t - centre) ** 3)) < REACHED * scale
        assert relative_error(down.var_square[0], exact.cov(square, square)) < 5 * REACHED


# --- Boolean -------------------------------------------------------------------------------


@given(a=strengths, b=strengths)
@settings(max_examples=60, deadline=None)
def test_boolean_is_exact(a: float, b: float) -> None:
    exact_z = mp.exp(-mpf(a)) + mp.exp(-mpf(b))
    true = mp.exp(-mpf(b)) / exact_z if exact_z else mpf(a > b)
    false = mp.exp(-mpf(a)) / exact_z if exact_z else mpf(b > a)
    found = two_sided(a, b, Relaxation.BOOLEAN)
    tolerance = 1e-15 + 1.2e-16 * abs(a - b)  # half a unit in the last place of A - B
    assert relative_error(found.e_down, true) < tolerance
    assert relative_error(found.e_up, false) < tolerance
    assert relative_error(found.var_up, true * false) < tolerance
    assert found.var_down == found.var_up == -found.cov
    assert abs(found.log_z - mp.log(exact_z)) < 1e-15 * (min(a, b) + math.log(2))
    one = one_sided(a, Relaxation.BOOLEAN)
    assert relative_error(one.log_z, mp.log1p(mp.exp(-mpf(a)))) < 1e-15
    assert relative_error(one.mean, 1 / (1 + mp.exp(mpf(a)))) < 1e-15
    assert relative_error(one.var, mp.exp(mpf(a)) / (1 + mp.exp(mpf(a))) ** 2) < 1e-15


# --- against each other --------------------------------------------------------------------


@pytest.mark.parametrize("relaxation", Relaxation)
@pytest.mark.parametrize("a", [0.01, 0.7, 1.99, 2.01, 7.0, 60.0])
def test_one_sided_moments_are_derivatives(relaxation: Relaxation, a: float) -> None:
    found = one_sided(a, relaxation)
    slope = derivative(lambda x: one_sided(x, relaxation).log_z, a)
    assert slope == pytest.approx(-found.mean, rel=1e-9)
    slope = derivative(lambda x: one_sided(x, relaxation).mean, a)
    assert slope == pytest.approx(-found.var, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("relaxation", Relaxation)
@pytest.mark.parametrize(("a", "b"), [(0.01, 0.3), (0.9, 2.0), (3.1, 2.8), (30.0, 33.0)])
def test_two_sided_moments_are_derivatives(relaxation: Relaxation, a: float, b: float) -> None:
    found = two_sided(a, b, relaxation)
    by_up = derivative(lambda x: np.array(two_sided(x, b, relaxation)[:3]), a)
    by_down = derivative(lambda x: np.array(two_sided(a, x, relaxation)[:3]), b)
    expected = [-found.e_up, -found.var_up, -found.cov]
    np.testing.assert_allclose(by_up, expected, rtol=1e-8, atol=1e-12)
    expected = [-found.e_down, -found.cov, -found.var_down]
    np.testing.assert_allclose(by_down, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("relaxation", Relaxation)
def test_swapping_the_sides_mirrors_everything(relaxation: Relaxation) -> None:
    a, b = np.meshgrid(EDGES, EDGES)
    here, there = two_sided(a, b, relaxation), two_sided(b, a, relaxation)
    mirrored = there._replace(
        e_up=there.e_down, e_down=there.e_up, var_up=there.var_down, var_down=there.var_up
    )
    np.testing.assert_allclose(here, mirrored, rtol=1e-15)
    best, other = score_map(a, b, relaxation), score_map(b, a, relaxation)
    np.testing.assert_allclose(best, 1 - other, atol=1e-15)


@pytest.mark.parametrize("relaxation", Relaxation)
def test_either_side_alone_is_the_other_mirrored(relaxation: Relaxation) -> None:
    a = np.geomspace(1e-300, 1e12, 500)
    one, up = one_sided(a, relaxation), two_sided(a, 0.0, relaxation)
    np.testing.assert_allclose(one, [up.log_z, up.e_up, up.var_up], rtol=1e-14)


# --- ranges, limits and shapes -------------------------------------------------------------


@pytest.mark.parametrize("relaxation", Relaxation)
def test_everything_is_finite_and_in_range(relaxation: Relaxation) -> None:
    line = np.r_[0.0, 5e-324, np.geomspace(1e-308, 1e15, 300), 1e100]
    a, b = np.meshgrid(line, line)
    found = two_sided(a, b, relaxation)
    assert np.isfinite(found).all()
    for mean, var in ((found.e_up, found.var_up), (found.e_down, found.var_down)):
        assert ((mean >= 0) & (mean <= 1) & (var >= 0) & (var < 0.25 + 1e-15)).all()
    assert (found.cov <= 0).all()
    assert (found.cov**2 <= found.var_up * found.var_down * (1 + 1e-12)).all()
    assert np.isfinite(one_sided(line, relaxation)).all()


@pytest.mark.parametrize(("relaxation", "p"), CONTINUOUS)
def test_large_strengths_reach_their_limit(relaxation: Relaxation, p: int) -> None:
    a = np.array([1e3, 1e8, 1e12])
    found = one_sided(a, relaxation)
    np.testing.assert_allclose(found.mean, 1 / (p * a), rtol=1e-15)
    np.testing.assert_allclose(found.var, 1 / (p * a * a), rtol=1e-15)


def test_means_near_the_ends_keep_their_digits() -> None:
    assert score_mean(0.0, 1e9, Relaxation.LINEAR) == pytest.approx(1e-9, rel=1e-15)
    assert score_mean(0.0, 1e12, Relaxation.SQUARED) == pytest.approx(
        1e-6 / math.sqrt(math.pi), rel=1e-15
    )


@pytest.mark.parametrize(
    ("relaxation", "expected"),
    [
        (Relaxation.BOOLEAN, [0.5, 1.0, 0.0, 0.5, 1.0]),
        (Relaxation.LINEAR, [0.5, 1.0, 0.0, 0.5, 1.0]),
        (Relaxation.SQUARED, [0.5, 0.75, 0.25, 0.5, 1.0]),
    ],
)
def test_map_states(relaxation: Relaxation, expected: list[float]) -> None:
    found = score_map([0.0, 3.0, 1.0, 1e12, 1e-300], [0.0, 1.0, 3.0, 1e12, 0.0], relaxation)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("relaxation", Relaxation)
def test_shapes_are_kept_and_broadcast(relaxation: Relaxation) -> None:
    assert one_sided(np.zeros((2, 3)), relaxation).mean.shape == (2, 3)
    assert one_sided([], relaxation).log_z.shape == (0,)
    assert two_sided(np.ones((4, 1)), [1, 2, 3], relaxation).cov.shape == (4, 3)
    strided = np.arange(12.0).reshape(3, 4).T
    np.testing.assert_array_equal(
        one_sided(strided, relaxation).mean, one_sided(strided.copy(), relaxation).mean
    )


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_impossible_strengths_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="keep weights at or above 0"):
        one_sided([1.0, bad], Relaxation.LINEAR)
    with pytest.raises(ValueError, match="keep weights at or above 0"):
        two_sided(1.0, bad, Relaxation.SQUARED)
