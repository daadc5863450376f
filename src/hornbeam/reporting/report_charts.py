"""The figures of the report, with captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from hornbeam.base.arrays import Floats
from hornbeam.facts.table import Targets
from hornbeam.learning.trace import Choice, PathPoint, Trace
from hornbeam.ranking.filtered_ranks import Ranks
from hornbeam.reporting.charts import (
    Series,
    bar_chart,
    column_chart,
    line_chart,
    log_axis,
    number_axis,
    unit_axis,
)
from hornbeam.reporting.data_profile import DataProfile
from hornbeam.rules.rule_model import Semantics
from hornbeam.scoring.evaluation import CalibrationBin, Evaluation, pr_points, roc_points

#: Number of bars per class in the histogram of scores.
BINS = 20
#: Greatest rank of each bar but the last, which has all greater ranks.
RANK_BARS = (1, 3, 10, 100)


@dataclass(frozen=True)
class Figure:
    """A chart and its caption."""

    chart: Markup
    caption: str


def quality_figures(
    labels: Targets, scores: Floats, evaluation: Evaluation, semantics: Semantics
) -> list[Figure]:
    """Draw how scores fit labels: scores, calibration and, with labels of both classes, curves."""
    curves, nouns = list[Figure](), nouns_of(labels.unary.issuperset(labels.predicates))[1]
    if evaluation.auc_roc is not None:
        curves = [
            _roc(labels, scores, evaluation.auc_roc, semantics.decides, nouns),
            _pr(labels, scores, evaluation, semantics.decides, nouns),
        ]
    return [*curves, _scores(labels, scores, semantics), _calibration(evaluation, nouns)]


def nouns_of(on_one_entity: bool) -> tuple[str, str]:
    """What the labels of a report are about, and several of them."""
    return ("entity", "entities") if on_one_entity else ("pair", "pairs")


def _roc(labels: Targets, scores: Floats, area: float, decides: bool, nouns: str) -> Figure:
    points = roc_points(labels.truth, scores)
    chart = line_chart(
        "roc",
        "ROC curve",
        f"True positive rate against false positive rate; the area under the curve is {area:.3f}.",
        unit_axis(f"share of false {nouns} {'called true' if decides else 'above a score'}"),
        unit_axis(f"share of true {nouns} found"),
        [Series(points[:, 0], points[:, 1])],
        diagonal=True,
    )
    return Figure(chart, f"ROC curve, area {area:.3f}. The dashed line is chance.")


def _pr(
    labels: Targets, scores: Floats, evaluation: Evaluation, decides: bool, nouns: str
) -> Figure:
    recall, precision = pr_points(labels.truth, scores).T
    called = f"called {nouns}" if decides else f"{nouns} above a score"
    # steps, since average precision is the area under steps: each precision up to its recall
    x = np.repeat(np.concatenate([[0.0], recall]), 2)[1:-1]
    share = evaluation.positives / evaluation.n
    chart = line_chart(
        "pr",
        "Precision-recall curve",
        f"Precision against recall; average precision is {evaluation.auc_pr:.3f}.",
        unit_axis(f"share of true {nouns} found (recall)"),
        unit_axis(f"share of {called} that are true (precision)"),
        [
            Series(x, np.repeat(precision, 2)),
            Series(np.array([0.0, 1.0]), np.array([share, share]), "reference"),
        ],
    )
    caption = (
        f"Precision and recall, average precision {evaluation.auc_pr:.3f}. The dashed line is "
        f"chance: {100 * share:.3g} % of the {nouns} are true."
    )
    return Figure(chart, caption)


def _scores(labels: Targets, scores: Floats, semantics: Semantics) -> Figure:
    place = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    true = np.bincount(place[labels.positive], minlength=BINS)
    false = np.bincount(place[~labels.positive], minlength=BINS)
    _, nouns = nouns_of(labels.unary.issuperset(labels.predicates))
    chart = column_chart(
        "scores",
        f"Scores of true and false {nouns}",
        f"How many true and false {nouns} have each score, in {BINS} steps from 0 to 1.",
        "score",
        nouns,
        [f"{k / BINS:g}" for k in range(BINS)],
        [("true", "one", true.tolist()), ("false", "two", false.tolist())],
    )
    caption = f"Scores of true and of false {nouns}."
    if semantics.decides:
        caption += f" From {semantics.threshold:g} on they are called true."
    return Figure(chart, caption)


def _calibration(evaluation: Evaluation, nouns: str) -> Figure:
    axes = "mean score", f"share of true {nouns}"
    chart = reliability_chart("calibration", "Calibration", evaluation.calibration, axes)
    caption = (
        f"Calibration: on the dashed line a score of 0.8 is true 8 times in 10. On average scores "
        f"are {evaluation.calibration_error:.3f} away from it."
    )
    return Figure(chart, caption)


def reliability_chart(
    name: str, title: str, bins: Sequence[CalibrationBin], axes: tuple[str, str]
) -> Markup:
    """Draw the share of true pairs by score; `axes` are the names of the two axes."""
    return line_chart(
        name,
        title,
        "; ".join(f"score {b.mean_score:.2f}: {100 * b.fraction_true:.0f} % true" for b in bins),
        unit_axis(axes[0]),
        unit_axis(axes[1]),
        [
            Series(
                np.array([b.mean_score for b in bins]),
                np.array([b.fraction_true for b in bins]),
                dots=True,
            )
        ],
        diagonal=True,
    )


def degrees(data: DataProfile) -> Figure:
    """Draw the number of entities by their number of facts."""
    labels = [f"{low}" if low == high else f"{low}-{high}" for low, high, _ in data.degrees]
    chart = column_chart(
        "degrees",
        "Entities by degree",
        "; ".join(
            f"{n:,} entities in {label} facts"
            for label, (_, _, n) in zip(labels, data.degrees, strict=True)
        ),
        "facts about an entity",
        "entities",
        labels,
        [("", "one", [n for _, _, n in data.degrees])],
    )
    return Figure(chart, "Number of facts per entity; hubs are on the right.")


def rank_figures(ranks: Ranks, answers: Evaluation, queries: int) -> list[Figure]:
    """Draw ranks of true answers, and the share of true answers by stated probability.

    `answers` judges the probabilities of answers to a number of `queries`.
    """
    axes = ("stated probability", "share of true answers")
    chart = reliability_chart("reliability", "Reliability", answers.calibration, axes)
    caption = (
        f"Reliability of probabilities on answers to {queries:,} test queries: on average "
        f"{answers.calibration_error:.3f} from the dashed line. Answers that the test does not "
        "know count as wrong, so true ones that it lacks lower the curve."
    )
    return [rank_figure(ranks), Figure(chart, caption)]


def rank_figure(ranks: Ranks) -> Figure:
    """Draw the share of queries whose true answer has a rank, by ranges of ranks."""
    labels, shares, low = list[str](), list[float](), 0
    for high in (*RANK_BARS, None):
        inside = ranks.rank > low
        if high is not None:
            inside &= ranks.rank <= high
        span = f"over {low}" if high is None else str(high) if high == low + 1 else f"to {high}"
        labels.append(span)
        shares.append(float(inside.mean()))
        low = high or low
    text = "; ".join(f"{label}: {share:.0%}" for label, share in zip(labels, shares, strict=True))
    chart = column_chart(
        "ranks", "Ranks of true answers", text, "rank of the true answer", "share of queries",
        labels, [("", "one", shares)],
    )  # fmt: skip
    return Figure(chart, "Ranks of the true answers among all entities; rank 1 is the best.")


def learning_figures(trace: Trace) -> list[Figure]:
    """Draw how the strength was chosen, and where the time went."""
    found = [] if trace.fit.choice is None else _chosen(trace.fit.choice)
    if trace.seconds:
        spent = [(phase, s, f"{s:.2f} s") for phase, s in trace.seconds.items()]
        words = "; ".join(f"{phase}: {s:.2f} seconds" for phase, s in trace.seconds.items())
        found.append(
            Figure(bar_chart("seconds", "Seconds of every phase", words, spent), "Time spent.")
        )
    return found


def _chosen(choice: Choice) -> list[Figure]:
    """Figures of how the strength was chosen: validation, number of rules, and folds."""
    found, run = [], choice.validation
    if len(run.strengths) > 1:
        found.append(_validation(choice))
    if len(choice.path) > 1:
        found.append(_path(choice.path))
    if run.folds:
        chart = column_chart(
            "folds",
            "Folds of the internal validation",
            "; ".join(f"fold {k + 1}: {loss:.4f}" for k, loss in enumerate(run.folds)),
            "fold",
            "log-loss",
            [str(k + 1) for k in range(len(run.folds))],
            [("", "one", run.folds)],
        )
        spread = f"Their mean has a standard error of {run.standard_error:.2g}."
        caption = f"Log-loss of every fold at the strength of least loss. {spread}"
        found.append(Figure(chart, caption))
    return found


def _validation(choice: Choice) -> Figure:
    run = choice.validation
    strengths, losses = np.array(run.strengths), np.array(run.log_loss)
    limit = float(losses.min()) + run.standard_error
    least = float(strengths[np.argmin(losses)])
    ends = np.array([strengths.min(), strengths.max()])
    chart = line_chart(
        "validation",
        "Validation along the regularisation path",
        f"Held-out log-loss against the strength of regularisation: {losses.min():.4f} at best, "
        f"at a strength of {least:.3g}; {choice.log_loss:.4f} at the chosen strength of "
        f"{choice.strength:.3g}.",
        log_axis("strength of regularisation", *ends.tolist()),
        number_axis("log-loss", float(losses.min()), max(float(losses.max()), limit)),
        [
            Series(strengths, losses),
            Series(ends, np.array([limit, limit]), "reference"),
        ],
        marked=[(least, "reference"), (choice.strength, "mark")],
    )
    caption = (
        "Internal validation: log-loss on what was held out in training, lower is better. "
        f"{_why(choice)} The dashed lines are the strength of least loss and one standard error "
        "above that loss."
    )
    return Figure(chart, caption)


def _why(choice: Choice) -> str:
    """A sentence about how the strength was chosen."""
    run = choice.validation
    limit = min(run.log_loss) + run.standard_error
    within = [s for s, loss in zip(run.strengths, run.log_loss, strict=True) if loss <= limit]
    least = run.strengths[run.log_loss.index(min(run.log_loss))]
    chosen = f"The vertical line is the chosen strength, {choice.strength:.3g}:"
    if choice.strength == within[0] != least:
        return f"{chosen} the shortest model within one standard error of the least loss."
    if choice.strength == least:
        if within[0] == least:
            return f"{chosen} the model of least loss; no shorter one is within a standard error."
        return (
            f"{chosen} the model of least loss, with all rules; a shorter one is within an error."
        )
    return f"{chosen} the best of the models that are as short as was asked for."


def _path(path: Sequence[PathPoint]) -> Figure:
    strengths = np.array([point.strength for point in path])
    rules = np.array([float(point.rules) for point in path])
    chart = line_chart(
        "path",
        "Rules along the regularisation path",
        f"From {int(rules[0]):,} rules at the strongest to {int(rules[-1]):,} at the chosen one.",
        log_axis("strength of regularisation", float(strengths.min()), float(strengths.max())),
        number_axis("rules", 0.0, float(rules.max())),
        [Series(strengths, rules, dots=len(rules) <= 40)],
    )
    return Figure(
        chart, "The weaker the regularisation, the more rules stay (read from the right)."
    )
