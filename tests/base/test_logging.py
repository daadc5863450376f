"""What the library says without a progress goes to Python's logging."""

from __future__ import annotations

import pytest

import hornbeam as hb
from hornbeam.base.progress import SILENT
from hornbeam.learning.registry import make_learner


def test_messages_and_ended_stages_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "hornbeam"):
        SILENT.message("100 % done")
        SILENT.advance("Counting", 1, 2)
        SILENT.advance("Counting", 2, 2)
    assert caplog.messages == ["100 % done", "Counting: 2 of 2."]


@pytest.mark.parametrize("method", ["joint", "boost", "greedy", "ppll"])
def test_learning_says_its_stages(method: str, caplog: pytest.LogCaptureFixture) -> None:
    """Also the end of a search that stops early."""
    facts = [(f"a{i}", "p", f"b{i % 3}") for i in range(12)] + [("b0", "q", "c")]
    labels = [(f"a{i}", "t", "c", int(i % 3 == 0)) for i in range(12)]
    with caplog.at_level("INFO", "hornbeam"):
        hb.learn(facts, labels, method=method, language=hb.RuleLimits(min_coverage=2))
    stage = make_learner(method, 0).stage
    [ended] = [told for told in caplog.messages if told.startswith(f"{stage}: ")]
    done, total = ended.removeprefix(f"{stage}: ").rstrip(".").split(" of ")
    assert done == total
    assert {record.name for record in caplog.records} == {"hornbeam"}
