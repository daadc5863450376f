"""The figures of the report say in words what was chosen, and mark it."""

from __future__ import annotations

import pytest

from hornbeam.learning.trace import Choice, FitReport, Trace, Validation
from hornbeam.reporting.report_charts import Figure, learning_figures

STRENGTHS = (1.0, 0.5, 0.25, 0.125)
LOSSES = (0.69, 0.51, 0.50, 0.52)
#: Folds whose mean has a standard error of 0.012.
FOLDS = (0.48, 0.50, 0.52)


def validation(chosen: int, folds: tuple[float, ...] = FOLDS) -> Figure:
    run = Validation(STRENGTHS, LOSSES, folds)
    choice = Choice(STRENGTHS[chosen], LOSSES[chosen], run, ())
    trace = Trace("joint", "log", 9, 5, 1, (), {}, fit=FitReport(choice=choice))
    return learning_figures(trace)[0]


@pytest.mark.parametrize(
    ("chosen", "folds", "words"),
    [
        (1, FOLDS, "the shortest model within one standard error of the least loss."),
        (2, FOLDS, "the model of least loss, with all rules; a shorter one is within"),
        (2, (0.5, 0.5), "the model of least loss; no shorter one is within a standard error."),
        (0, FOLDS, "the best of the models that are as short as was asked for."),
    ],
)
def test_why_a_strength_was_chosen(chosen: int, folds: tuple[float, ...], words: str) -> None:
    found = validation(chosen, folds)
    assert f"is the chosen strength, {STRENGTHS[chosen]:.3g}: {words}" in found.caption


def test_the_chosen_strength_and_the_least_loss_are_marked() -> None:
    chart = validation(1).chart
    lines = [part for part in chart.split("<line ") if 'class="mark"' in part]
    assert len(lines) == 1
    dashed = [part for part in chart.split("<line ") if 'class="reference"' in part]
    assert len(dashed) == 1
    assert "0.5000 at best, at a strength of 0.25; 0.5100 at the chosen strength of 0.5" in chart
