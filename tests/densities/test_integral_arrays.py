"""Integrals by NumPy, by loops as they are and by compiled loops: not a bit differs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.choices import Relaxation
from hornbeam.densities.integrals import score_mean, two_sided
from tests.support.kernels import kernels_are

STRENGTHS = st.lists(
    st.tuples(*(st.just(0.0) | st.floats(0, 20) | st.floats(0, 1e12) for _ in range(2))),
    max_size=30,
)


@pytest.mark.parametrize("relaxation", Relaxation)
@given(pairs=STRENGTHS)
def test_small_and_large_work_give_the_same_bytes(
    relaxation: Relaxation, pairs: list[tuple[float, float]]
) -> None:
    up, down = np.array(pairs).reshape(-1, 2).T
    found = []
    for compiled in (False, True):
        with kernels_are(compiled):
            results = (
                *two_sided(0.0, up, relaxation),
                *two_sided(up, down, relaxation),
                score_mean(up, down, relaxation),
            )
            found.append(np.stack(results).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("relaxation", Relaxation)
def test_strengths_out_of_all_measure_end_the_same_way(relaxation: Relaxation) -> None:
    far = np.array([1e300, 1.7e308, 1e155, 1e-300, 5e-324])
    found = []
    for compiled in (False, True):
        with kernels_are(compiled):
            results = (
                *two_sided(far, 0.0, relaxation),
                *two_sided(far, far[::-1].copy(), relaxation),
            )
            found.append(np.stack(results).tobytes())
    assert found[0] == found[1]
