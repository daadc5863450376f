"""Plots of evaluations and explanations show their figures, or say what to install."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import InputError, MissingExtraError
from hornbeam.scoring.evaluation import evaluate, pr_points, roc_points

pytest.importorskip("matplotlib")

TRUTH, SCORES = [1, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.2, 0.2]
FACTS = [("a$b$", "p", "x"), ("x", "q", "c$d_"), ("a$b$", "q", "y")]
MODEL = hb.Model.parse("2: p(A, B) & q(B, C) -> t(A, C)\n1: q(A, X) -> !t(A, B)\n0.5: !t(A, B)\n")


def test_the_curves_of_an_evaluation_are_drawn() -> None:
    found = evaluate(TRUTH, SCORES)
    axes: list[Any] = found.plot().axes
    roc, pr, reliability = axes
    # chance, and perfect calibration
    for axis in (roc, reliability):
        assert axis.lines[0].get_xydata().tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert np.array_equal(roc.lines[1].get_xydata(), roc_points(TRUTH, SCORES))
    assert np.array_equal(pr.lines[1].get_xydata()[1:], pr_points(TRUTH, SCORES))
    dots = reliability.collections[0].get_offsets()
    assert dots.tolist() == [[b.mean_score, b.fraction_true] for b in found.calibration]
    assert not reliability.collections[0].get_clip_on()
    assert f"{found.auc_roc:.3f}" in roc.get_title()


def test_labels_of_one_class_have_no_curves() -> None:
    found = evaluate([1, 1], [0.4, 0.6])
    assert found.roc is None
    assert [len(axis.lines) for axis in found.plot().axes] == [1, 1, 1]
    assert "roc" not in found.as_dict()
    assert found == evaluate([1, 1], [0.4, 0.6])


def test_a_waterfall_has_a_bar_per_step() -> None:
    explained = MODEL.explain(FACTS, ("a$b$", "t", "c$d_"))
    fall = explained.waterfall()
    assert fall is not None
    figure = explained.plot()
    axes: list[Any] = figure.axes
    [axis] = axes
    bars = [(bar.get_x(), bar.get_width()) for bar in axis.patches]
    steps = [(min(step.before, step.after), abs(step.log_odds)) for step in fall.all_steps]
    expected = [*steps, (min(fall.total, 0.0), abs(fall.total))]
    drawn = [(min(x, x + width), abs(width)) for x, width in bars]
    assert np.allclose(drawn, expected)
    *joints, zero = (line.get_xydata().tolist() for line in axis.lines)
    assert [(x, y) for (x, _), (y, _) in joints] == [(s.after, s.after) for s in fall.all_steps]
    assert [round(y) for _, (_, y) in joints] == list(range(1, len(expected)))
    assert zero == [[0.0, 0.0], [0.0, 1.0]]
    assert figure.get_suptitle() == "a$b$ t c$d_"
    assert figure.get_size_inches()[1] > 1.2 + 0.35 * len(expected)  # room for a line per bar
    figure.draw_without_rendering()  # dollars are no formulas


def test_long_names_stay_within_the_figure() -> None:
    facts = [("a" * 99, "p", "x"), ("x", "q", "w" * 99), ("a" * 99, "q", "y")]
    figure = MODEL.explain(facts, ("a" * 99, "t", "w" * 99)).plot()
    figure.draw_without_rendering()
    [axis] = figure.axes
    inside = figure.bbox
    for text in (figure.texts[0], *axis.texts, *axis.get_yticklabels()):
        box = text.get_window_extent()
        assert inside.x0 <= box.x0
        assert box.x1 <= inside.x1


def test_an_answer_of_a_graph_has_no_waterfall() -> None:
    facts = [(f"a{i}", "p", f"b{i % 3}") for i in range(9)] + [("b0", "q", "b1")]
    model = hb.learn_graph(facts)
    with pytest.raises(InputError, match="no waterfall"):
        model.explain(facts, ("a1", "p", "b1")).plot()


def test_without_matplotlib_the_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hornbeam\[plots\]'"):
        evaluate(TRUTH, SCORES).plot()
    with pytest.raises(InputError, match="pip install"):
        MODEL.explain(FACTS, ("a$b$", "t", "c$d_")).plot()
