"""Inputs are read by either way of interning names, whatever their size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hornbeam.facts.reading import interning


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(interning.FEW, id="few"),
        pytest.param(-1, id="many", marks=pytest.mark.more_cases),
    ],
)
def few_and_many(request: pytest.FixtureRequest) -> Iterator[None]:
    """Number names here, where rows are few; and in the database, as if they were many."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(interning, "FEW", request.param)
        yield
