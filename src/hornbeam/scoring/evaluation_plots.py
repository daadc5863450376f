"""The plots of an evaluation: ROC, precision and recall, reliability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hornbeam.base.plots import BLUE, GREY, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hornbeam.scoring.evaluation import Evaluation


def evaluation_figure(evaluation: Evaluation) -> Figure:
    """The three plots side by side; a curve that labels of one class do not have is left out."""
    figure, (roc, pr, reliability) = new_figure(3)
    _labelled(roc, "ROC", "false positive rate", "true positive rate")
    roc.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    if evaluation.roc is not None:
        roc.plot(*evaluation.roc.T, color=BLUE)
        roc.set_title(f"ROC: area {evaluation.auc_roc:.3f}")
    _labelled(pr, "Precision and recall", "recall", "precision")
    share = evaluation.positives / evaluation.n
    pr.axhline(share, color=GREY, linewidth=1, linestyle="--")
    if evaluation.pr is not None:
        recall, precision = evaluation.pr.T
        # the precision of a step is that of its end
        pr.step([0.0, *recall], [precision[0], *precision], where="pre", color=BLUE)
        if evaluation.auc_pr is not None:
            pr.set_title(f"Average precision {evaluation.auc_pr:.3f}")
    _labelled(reliability, "Reliability", "mean score", "fraction true")
    reliability.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    bins = evaluation.calibration
    most = max(part.count for part in bins)
    reliability.scatter(
        [part.mean_score for part in bins],
        [part.fraction_true for part in bins],
        s=[20 + 180 * part.count / most for part in bins],
        color=BLUE,
        alpha=0.7,
        clip_on=False,  # dots at 0 and 1 are whole
    )
    reliability.set_title(f"Reliability: error {evaluation.calibration_error:.3f}")
    return figure


def _labelled(axis: Any, title: str, x: str, y: str) -> None:  # noqa: ANN401
    axis.set(title=title, xlabel=x, ylabel=y, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axis.set_aspect("equal")
