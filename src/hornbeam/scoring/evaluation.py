"""How good scores are: ranking (AUC), probability (log-loss, Brier, calibration) and decision (F1).

Ranking metrics are computed from one small table: the distinct scores with the numbers of true and
false targets of each. So ties are handled in one place: targets with the same score, to 12
significant digits, are a single point of every curve.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hornbeam.base.arrays import Bools, Floats, Ints, are_ties
from hornbeam.base.result_table import ResultTable, html_table
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

#: Scores are kept this far from 0 and 1 in the log-loss, so that it stays finite.
CLIP = 1e-15
#: Calibration bins of equal width.
BINS = 10


@dataclass(frozen=True)
class CalibrationBin:
    """Targets whose score lies in [low, high), the last bin closed: mean score, share true."""

    low: float
    high: float
    mean_score: float
    fraction_true: float
    count: int


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How scores fit the truth.

    The ranking metrics are None where nothing can be ranked: `auc_roc` and `auc_pr` where all
    targets are of one class, `best_f1` and its threshold where none is true.

    Attributes
    ----------
    auc_roc
        Chance that a true target outscores a false one, ties counting half.
    auc_pr
        Average precision.
    log_loss, brier
        Mean cross entropy (natural logarithm) and mean squared error; smaller is better.
    best_f1, best_f1_threshold
        The highest F1 of "true where score >= threshold", and that threshold.
    calibration_error
        Expected calibration error: mean distance of predicted and true fractions.
    calibration
        The bins of a reliability diagram; those that no score falls into are left out.
    n, positives
        Numbers of targets and of true ones among them.
    roc, pr
        The curves as by `roc_points` and `pr_points`; None where labels are of one class.
    """

    auc_roc: float | None
    auc_pr: float | None
    log_loss: float
    brier: float
    best_f1: float | None
    best_f1_threshold: float | None
    calibration_error: float
    calibration: tuple[CalibrationBin, ...]
    n: int
    positives: int
    roc: Floats | None = field(default=None, compare=False)
    pr: Floats | None = field(default=None, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and None, ready for JSON; without the curves."""
        return {**self._figures, "calibration": [asdict(part) for part in self.calibration]}

    def to_table(self) -> ResultTable:
        """The figures as a table of one row, without the bins of the calibration."""
        figures = self._figures
        return ResultTable({name: [figures[name]] for name in figures if name != "calibration"})

    @property
    def _figures(self) -> dict[str, Any]:
        """The attributes without the curves."""
        names = [entry.name for entry in fields(self) if entry.name not in ("roc", "pr")]
        return {name: getattr(self, name) for name in names}

    def plot(self) -> Plot:
        """ROC, precision and recall, and reliability, as a figure of matplotlib.

        It needs matplotlib: `pip install 'hornbeam[plots]'`. A notebook shows the figure;
        `figure.savefig("quality.png")` writes it. The dots of the reliability diagram are as large
        as their bins.
        """
        from hornbeam.scoring.evaluation_plots import evaluation_figure

        return evaluation_figure(self)

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Names and texts of the figures, for people."""
        best = _shown(self.best_f1)
        if self.best_f1_threshold is not None:
            best += f" at {_shown(self.best_f1_threshold)}"
        return [
            ("AUC-ROC", _shown(self.auc_roc)),
            ("AUC-PR", _shown(self.auc_pr)),
            ("log-loss", _shown(self.log_loss)),
            ("Brier", _shown(self.brier)),
            ("best F1", best),
            ("calibration error", _shown(self.calibration_error)),
        ]

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in self.shown)
        return f"Evaluation({self.n:,} targets, {self.positives:,} true: {figures})"

    def _repr_html_(self) -> str:
        title = f"Evaluation: {self.n:,} targets, {self.positives:,} true"
        bins: list[tuple[str, ...]] = [
            (
                f"{part.low:.1f} to {part.high:.1f}",
                _shown(part.mean_score),
                _shown(part.fraction_true),
                f"{part.count:,}",
            )
            for part in self.calibration
        ]
        return html_table(title, ["metric", "value"], [*self.shown]) + html_table(
            "Calibration", ["score", "mean score", "fraction true", "targets"], bins
        )


def evaluate(truth: npt.ArrayLike, score: npt.ArrayLike) -> Evaluation:
    """Evaluate scores in [0, 1] against labels in [0, 1]; other values are refused.

    Soft labels count as true from 0.5 on where targets are ranked (AUC, F1); log-loss, Brier and
    calibration use them as they are.

    Returns
    -------
    Evaluation
        With y the truth, s the scores, and P_k, R_k precision and recall at the k-th highest
        distinct score: AUC-ROC = (sum of mid-ranks of the true - p(p+1)/2) / (p (n-p)) for p true
        ones of n, average precision = sum (R_k - R_(k-1)) P_k, log-loss = -mean(y log s +
        (1-y) log(1-s)) with s clipped to [1e-15, 1 - 1e-15], Brier = mean (s-y)^2.

    Examples
    --------
    >>> found = evaluate([1, 1, 0, 0], [0.9, 0.4, 0.4, 0.1])
    >>> found.auc_roc, round(found.auc_pr, 4), found.best_f1
    (0.875, 0.8333, 0.8)
    """
    y, s = _checked(truth, score)
    distinct, true, false = _by_score(y, s)
    best_f1, threshold = _best_f1(distinct, true, false)
    bins = _calibration(y, s)
    return Evaluation(
        auc_roc=_auc_roc(true, false),
        auc_pr=_average_precision(true, false),
        log_loss=_log_loss(y, s),
        brier=float(np.mean((s - y) ** 2)),
        best_f1=best_f1,
        best_f1_threshold=threshold,
        calibration_error=sum(b.count * abs(b.mean_score - b.fraction_true) for b in bins) / len(y),
        calibration=bins,
        n=len(y),
        positives=int(true.sum()),
        roc=_roc_curve(true, false) if true.any() and false.any() else None,
        pr=_pr_curve(true, false) if true.any() and false.any() else None,
    )


@dataclass(frozen=True)
class Confusion:
    """Decisions at the threshold against the labels."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def precision(self) -> float | None:
        """Share of the pairs called true that are true."""
        called = self.true_positive + self.false_positive
        return self.true_positive / called if called else None

    @property
    def recall(self) -> float | None:
        """Share of the true pairs that are called true."""
        true = self.true_positive + self.false_negative
        return self.true_positive / true if true else None

    @property
    def accuracy(self) -> float:
        """Share of all pairs whose decision is right."""
        n = self.true_positive + self.false_positive + self.false_negative + self.true_negative
        return (self.true_positive + self.true_negative) / n


def confusion(true: Bools, called: Bools) -> Confusion:
    """Count right and wrong decisions."""
    counts = (true & called, ~true & called, true & ~called, ~true & ~called)
    return Confusion(*(int(decided.sum()) for decided in counts))


def roc_points(truth: npt.ArrayLike, score: npt.ArrayLike) -> Floats:
    """Corners of the ROC curve, from (0, 0) to (1, 1): false positive rate, true positive rate.

    The area under straight lines between them is AUC-ROC.

    Examples
    --------
    >>> roc_points([1, 0, 1], [0.8, 0.5, 0.5]).tolist()
    [[0.0, 0.0], [0.0, 0.5], [1.0, 1.0]]
    """
    _, true, false = _by_score(*_checked(truth, score))
    if not true.any() or not false.any():
        raise InputError("a ROC curve needs both true and false labels; all are of one class")
    return _roc_curve(true, false)


def pr_points(truth: npt.ArrayLike, score: npt.ArrayLike) -> Floats:
    """Points of the precision-recall curve, by falling threshold: recall, precision.

    The area under the steps through them is average precision.

    Examples
    --------
    >>> pr_points([1, 0, 1], [0.8, 0.5, 0.5]).round(3).tolist()
    [[0.5, 1.0], [1.0, 0.667]]
    """
    _, true, false = _by_score(*_checked(truth, score))
    if not true.any():
        raise InputError("a precision-recall curve needs true labels; there are none")
    return _pr_curve(true, false)


@dataclass(frozen=True)
class PrecisionRecallAreas:
    """Two definitions of the area under the precision-recall curve of one class.

    `average` is average precision, the area under steps. `trapezoid` is the area under straight
    lines between the points, from precision 1 at recall 0 on, which is optimistic: precision
    between two points is no mean of theirs. None where all targets are of one class.
    """

    average: float | None
    trapezoid: float | None


def precision_recall_areas(
    truth: npt.ArrayLike, score: npt.ArrayLike, negative: bool = False
) -> PrecisionRecallAreas:
    """Areas under the precision-recall curve of the true targets, ranked by falling score.

    With `negative`, the areas of the false targets, ranked by rising score.

    Examples
    --------
    >>> precision_recall_areas([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    PrecisionRecallAreas(average=0.8333333333333333, trapezoid=0.7916666666666666)
    """
    _, true, false = _by_score(*_checked(truth, score))
    if negative:
        true, false = false[::-1], true[::-1]
    if not true.any() or not false.any():
        return PrecisionRecallAreas(None, None)
    recall = np.diff(_rates(true), prepend=0.0)
    precision = _precision(true, false)
    before = np.append(1.0, precision[:-1])
    return PrecisionRecallAreas(
        _average_precision(true, false), float(np.sum(recall * (before + precision)) / 2.0)
    )


def paired_significance(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Two-sided p-value of a paired t-test over folds: could two methods be equally good?

    With differences d over k folds, t = mean(d) / (sd(d) / sqrt(k)), and the p-value is the chance
    of a value at least as far from 0 under Student's t with k-1 degrees of freedom. Folds that
    share training data are not independent, so treat values near the limit with care. Where a
    single fold is given, or the folds are identical, the methods cannot be distinguished: 1.0.

    Examples
    --------
    >>> round(paired_significance([0.84, 0.83, 0.85], [0.80, 0.80, 0.81]), 4)
    0.0082
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or not len(first):
        raise InputError("a paired test needs one figure per fold for both methods")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("a paired test needs a figure for every fold; some are missing")
    difference = first - second
    if len(difference) == 1 or not difference.any():
        return 1.0
    spread = float(np.std(difference, ddof=1)) / len(difference) ** 0.5
    if spread == 0.0:
        return 0.0
    from scipy.special import stdtr  # Student's t without the half second of scipy.stats

    return float(2.0 * stdtr(len(difference) - 1, -abs(float(np.mean(difference))) / spread))


def _checked(truth: npt.ArrayLike, score: npt.ArrayLike) -> tuple[Floats, Floats]:
    y, s = np.asarray(truth, dtype=np.float64), np.asarray(score, dtype=np.float64)
    if y.ndim != 1 or y.shape != s.shape:
        raise InputError(
            f"expected one score for every label; got {s.size:,} scores and {y.size:,} labels"
        )
    if not len(y):
        raise InputError("nothing to evaluate: no labelled targets; expected at least one")
    for name, values in (("label", y), ("score", s)):
        wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))  # NaN is wrong too
        if len(wrong):
            at = int(wrong[0])
            raise InputError(f"{name} {at + 1} is {values[at]}; expected a number from 0 to 1")
    return y, s


def _by_score(y: Floats, s: Floats) -> tuple[Floats, Ints, Ints]:
    """Distinct scores, highest first, with the numbers of true and of false targets at each.

    Of scores that differ by rounding errors only, the lowest stands for all.
    """
    # the bit patterns of doubles in [0, 1] sort like the numbers: sorting them with the label as
    # lowest bit takes a tenth of the time of an argsort (0.0 + -0.0 is 0.0)
    keys = np.sort(((s + 0.0).view(np.int64) << 1) | (y >= 0.5))
    ordered = (keys >> 1).view(np.float64)
    starts = np.flatnonzero(np.append(True, ~are_ties(ordered)))
    true = np.add.reduceat(keys & 1, starts)
    count = np.diff(np.append(starts, len(s)))
    return ordered[starts][::-1], true[::-1], (count - true)[::-1].astype(np.int64)


def _rates(count: Ints) -> Floats:
    """Cumulative share of the targets down to each distinct score."""
    met: Floats = np.cumsum(count) / count.sum()
    return met


def _roc_curve(true: Ints, false: Ints) -> Floats:
    return np.vstack([np.zeros((1, 2)), np.column_stack([_rates(false), _rates(true)])])


def _pr_curve(true: Ints, false: Ints) -> Floats:
    return np.column_stack([_rates(true), _precision(true, false)])


def _precision(true: Ints, false: Ints) -> Floats:
    return np.cumsum(true) / np.cumsum(true + false)


def _auc_roc(true: Ints, false: Ints) -> float | None:
    """Pairs (true, false) in the right order, ties half: in integers, so exact up to a division."""
    n_true, n_false = int(true.sum()), int(false.sum())
    if not n_true or not n_false:
        return None
    beaten = n_false - np.cumsum(false)
    return int(np.sum(true * (2 * beaten + false))) / (2 * n_true * n_false)


def _average_precision(true: Ints, false: Ints) -> float | None:
    if not true.any() or not false.any():
        return None
    return float(np.sum(true * _precision(true, false)) / true.sum())


def _best_f1(distinct: Floats, true: Ints, false: Ints) -> tuple[float | None, float | None]:
    """Highest F1 = 2 TP / (predicted + actual) and its threshold, the highest of equals."""
    if not true.any():
        return None, None
    f1 = 2 * np.cumsum(true) / (np.cumsum(true + false) + true.sum())
    best = int(np.argmax(f1))
    return float(f1[best]), float(distinct[best])


def _log_loss(y: Floats, s: Floats) -> float:
    clipped = np.clip(s, CLIP, 1.0 - CLIP)
    return float(-np.mean(y * np.log(clipped) + (1.0 - y) * np.log1p(-clipped)))


def _calibration(y: Floats, s: Floats) -> tuple[CalibrationBin, ...]:
    """Bins of the scores."""
    place = np.searchsorted(np.arange(1, BINS) / BINS, s, side="right")
    count = np.bincount(place, minlength=BINS)
    scores = np.bincount(place, weights=s, minlength=BINS)
    truths = np.bincount(place, weights=y, minlength=BINS)
    return tuple(
        CalibrationBin(
            k / BINS,
            (k + 1) / BINS,
            float(scores[k] / count[k]),
            float(truths[k] / count[k]),
            int(count[k]),
        )
        for k in np.flatnonzero(count).tolist()
    )


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"
