"""The report: one HTML file that shows what was learned, how good it is, and where it fails.

Without labels it shows what was learned, from what and how; its figures are those of the internal
validation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Floats, Positions
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.columns import Columns
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.explainer import RuleExplainer
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.known_scores import cautions
from hornbeam.explaining.reason import Grounding, renamed
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.known import known_links
from hornbeam.facts.table import Targets
from hornbeam.learning.trace import Trace
from hornbeam.reporting import charts, report_charts
from hornbeam.reporting.data_profile import profile
from hornbeam.reporting.rendering import page_of
from hornbeam.reporting.rule_tables import covered_rows, rule_qualities
from hornbeam.rules.rule_words import counting_words, with_shown_entities
from hornbeam.scoring.evaluation import evaluate
from hornbeam.scoring.model_checks import warn_of_other_targets

#: Number of errors of each kind that are explained.
WORST = 5
#: Rows of a table that are visible at first; the rest is folded.
OPEN_ROWS = 20
#: Row limits to try per table, largest first, until the page is small enough.
ROWS = (300, 150, 80, 40, 20)
#: Maximum number of bytes of a page.
LARGEST = 200_000
#: Steps of a waterfall between prior and rest.
STEPS = 4
#: Number of known links on which rules are shown if there are no labels.
MAX_LINKS = 5_000


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


@dataclass(frozen=True)
class Mistake:
    """A wrong decision and its explanation."""

    label: float
    explanation: Explanation


def report(
    explainer: RuleExplainer,
    labels: Targets | None,
    trace: Trace | None = None,
    progress: Progress = SILENT,
    *,
    names: EntityNames = NO_NAMES,
) -> str:
    """Write the report of a model as one HTML page.

    The labels should not have been used for learning. Without any, the page has no errors, and
    shows rules on the links that the facts state; without a trace, it does not show how the model
    was learned.
    """
    model, semantics = explainer.model, explainer.model.semantics
    if labels is not None:
        warn_of_other_targets(model, labels)
    pairs = known_links(explainer.facts, model.targets)[:MAX_LINKS] if labels is None else labels
    counted = explainer.count(pairs, progress)
    scores = explainer.scores(pairs, counted)
    qualities = sorted(
        (
            replace(quality, words=with_shown_entities(quality.words, names.shown))
            for quality in rule_qualities(model, counted, pairs)
        ),
        key=lambda quality: (not quality.is_prior, -quality.weight, quality.index),
    )
    evaluation = None if labels is None else evaluate(labels.truth, scores)
    in_bodies = set[str]().union(*(body.predicates for body in model.bodies))
    data = profile(explainer.facts, pairs, in_bodies)
    data = replace(data, unseen_names=tuple(map(names.shown, data.unseen_names)))
    judged = labels is not None
    values = {
        "targets": sorted({quality.target for quality in qualities}),
        "semantics": semantics,
        "n_pairs": len(pairs),
        "judged": judged,
        "evaluation": evaluation,
        "confusion": confusion(pairs, scores, semantics.threshold) if judged else None,
        "qualities": qualities,
        "counting": counting_words(model),
        "cautions": cautions(model, trace),
        "beliefs": list(zip(model.beliefs, model.belief_texts, strict=True)),
        "examples": _examples(explainer, counted, pairs, names, progress),
        "mistakes": _mistakes(explainer, pairs, scores, names, progress) if judged else {},
        "steps": STEPS,
        "trace": trace,
        "data": data,
        "figures": report_charts.figures(pairs, scores, evaluation, semantics, data, trace),
        "charts": charts,
        "open_rows": OPEN_ROWS,
    }
    return fitting_page("report.html.j2", values)


def fitting_page(name: str, values: dict[str, object]) -> str:
    """The page with the most rows per table that is small enough to send."""
    for rows in ROWS:
        page = page_of(name, rows=rows, **values)
        if len(page.encode()) <= LARGEST:
            break
    return page


def confusion(labels: Targets, scores: Floats, threshold: float) -> Confusion:
    """Count right and wrong decisions."""
    true, called = labels.positive, scores >= threshold
    return Confusion(
        int((true & called).sum()),
        int((~true & called).sum()),
        int((true & ~called).sum()),
        int((~true & ~called).sum()),
    )


def _examples(
    explainer: RuleExplainer,
    counted: Statistics,
    labels: Targets,
    names: EntityNames,
    progress: Progress,
) -> list[list[Grounding]]:
    """Per rule its first grounding for the first pair with the label of its head, else for any.

    There is one grounding per condition.
    """
    found: list[list[Grounding]] = []
    columns = Columns(counted)
    for rule in explainer.model.rules:
        found.append([])
        if rule.clause.is_prior:
            continue
        covered = covered_rows(columns, rule.clause)
        right = covered[labels.positive[covered] != rule.clause.negated]
        chosen = right if len(right) else covered
        if len(chosen):
            subject, _, object_ = labels.names_at(int(chosen[0]))
            own = explainer.groundings(rule.clause.body, subject, object_, 1, progress)
            found[-1] += renamed(own, names.shown)
    return found


def _mistakes(
    explainer: RuleExplainer,
    labels: Targets,
    scores: Floats,
    names: EntityNames,
    progress: Progress,
) -> dict[str, list[Mistake]]:
    """Explain the false pairs of the highest scores and the true ones of the lowest."""
    semantics = explainer.model.semantics
    true, called = labels.positive, scores >= semantics.threshold
    too_high, too_low = "called true but false", "called false but true"
    if not semantics.decides:
        at = f"{semantics.threshold:g}"
        too_high, too_low = f"false pairs that score {at} or more", f"true pairs below {at}"
    kinds = {
        too_high: _first(np.flatnonzero(~true & called), -scores),
        too_low: _first(np.flatnonzero(true & ~called), scores),
    }
    total = sum(len(rows) for rows in kinds.values())
    found: dict[str, list[Mistake]] = {kind: [] for kind in kinds}
    done = 0
    for kind, rows in kinds.items():
        for row in rows:
            explanation = explainer.explain(*labels.names_at(row), paths=1)
            shown = explanation.in_names(names)
            found[kind].append(Mistake(float(labels.truth[row]), shown))
            done += 1
            progress.advance("Explaining errors", done, total)
    return found


def _first(rows: Positions, by: Floats) -> list[int]:
    """The first few rows by a key, equals in their order."""
    return [int(row) for row in rows[np.argsort(by[rows], kind="stable")][:WORST]]
