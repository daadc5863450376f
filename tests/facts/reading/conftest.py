"""Inputs are read by either way of numbering names, whatever their size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hornbeam.facts.reading import numbering


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(numbering.FEW, id="few"),
        pytest.param(-1, id="many", marks=pytest.mark.more_cases),
    ],
)
def few_and_many(request: pytest.FixtureRequest) -> Iterator[None]:
    """Number names here, where rows are few; and in the database, as if they were many."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numbering, "FEW", request.param)
        yield
