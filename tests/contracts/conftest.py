"""What the contracts share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hornbeam.counting.engine import Engine
from hornbeam.facts.table import Facts


@pytest.fixture(scope="session")
def make(request: pytest.FixtureRequest) -> Callable[[Facts], Engine]:
    """Return a maker of engines; that of Spark needs a session."""
    if request.param != "spark":
        maker: Callable[[Facts], Engine] = request.param
        return maker
    from tests.support.sparks import spark_engine

    session = request.getfixturevalue("spark")
    return lambda facts: spark_engine(session, facts)
