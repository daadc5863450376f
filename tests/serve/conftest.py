"""One explorer and one server for most tests: visitors do not change what others see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hornbeam.serve.rule_explorer import RuleExplorer
from tests.support.servers import Client, serving, small_explorer


@pytest.fixture(scope="session")
def explorer() -> RuleExplorer:
    """Everything the explorer can show."""
    return small_explorer()


@pytest.fixture(scope="session")
def port(explorer: RuleExplorer) -> Iterator[int]:
    """Port of a running server."""
    with serving(explorer) as client:
        yield client.port


@pytest.fixture
def client(port: int) -> Client:
    """A new visitor."""
    return Client(port)
