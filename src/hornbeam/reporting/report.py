"""The report: one HTML file that says what was learned, how good it is, and where it fails.

Everything from the data passes Jinja2's escaping. The page needs no network and no script, and says
so to the browser in a content security policy: its one style sheet is named by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from hornbeam.arrays import Floats
from hornbeam.counting.columns import Columns
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.explainer import Explainer
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.named_facts import Grounding
from hornbeam.explaining.shown_names import explanation_in_names, grounding_in_names
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.table import Targets
from hornbeam.learning.trace import Trace
from hornbeam.printable import printable
from hornbeam.progress import SILENT, Progress
from hornbeam.reporting import charts, report_charts
from hornbeam.reporting.cautions import cautions
from hornbeam.reporting.data_profile import profile
from hornbeam.reporting.evaluation import evaluate
from hornbeam.reporting.rule_quality import covered_rows, rule_qualities
from hornbeam.rules.rule_words import PhraseRole, Words, counting_words, with_shown_entities
from hornbeam.scoring.model_checks import warn_of_other_targets

#: Errors of each kind that are explained.
WORST = 5
#: Rows of a table that show at once; the rest is folded away.
OPEN_ROWS = 20
#: Rows of a table that are written at all.
ROWS = 300
#: Characters of a name, and of a rule, that are shown.
NAME, RULE = 80, 500


@dataclass(frozen=True)
class Confusion:
    """Decisions at the threshold against the labels."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def precision(self) -> float | None:
        """Share of the pairs called true that are."""
        called = self.true_positive + self.false_positive
        return self.true_positive / called if called else None

    @property
    def recall(self) -> float | None:
        """Share of the true pairs that are called so."""
        true = self.true_positive + self.false_negative
        return self.true_positive / true if true else None

    @property
    def accuracy(self) -> float:
        """Share of all pairs on which the decision is right."""
        n = self.true_positive + self.false_positive + self.false_negative + self.true_negative
        return (self.true_positive + self.true_negative) / n


@dataclass(frozen=True)
class Mistake:
    """A wrong decision and its explanation."""

    label: float
    explanation: Explanation


def report(
    explainer: Explainer,
    labels: Targets,
    trace: Trace | None = None,
    progress: Progress = SILENT,
    *,
    names: EntityNames = NO_NAMES,
) -> str:
    """Write the report of a model on labelled pairs as one HTML page.

    Parameters
    ----------
    explainer
        The model and its facts.
    labels
        Labelled pairs, best those that it has not learned from.
    trace
        How it was learned, where that is known.
    names
        What entities are called.
    """
    model, semantics = explainer.model, explainer.model.semantics
    warn_of_other_targets(model, labels)
    counted = explainer.count(labels, progress)
    scores = explainer.scores(labels, counted)
    qualities = sorted(
        (
            replace(quality, words=with_shown_entities(quality.words, names.shown))
            for quality in rule_qualities(model, counted, labels)
        ),
        key=lambda quality: (not quality.is_prior, -quality.weight, quality.index),
    )
    evaluation = evaluate(labels.truth, scores)
    in_bodies = set[str]().union(*(body.predicates for body in model.bodies))
    data = profile(explainer.facts, labels, in_bodies)
    data = replace(data, unseen_names=tuple(map(names.shown, data.unseen_names)))
    style = template("report.css")
    return str(
        environment().get_template("report.html.j2").render(
            style=Markup(style),
            policy=policy_of(style),
            targets=sorted({quality.target for quality in qualities}),
            semantics=semantics,
            evaluation=evaluation,
            confusion=confusion(labels, scores, semantics.threshold),
            qualities=qualities,
            counting=counting_words(model),
            cautions=cautions(model, trace),
            examples=_examples(explainer, counted, labels, names, progress),
            mistakes=_mistakes(explainer, labels, scores, names, progress),
            trace=trace,
            data=data,
            figures=report_charts.figures(labels, scores, evaluation, semantics, data, trace),
            charts=charts,
            open_rows=OPEN_ROWS,
            rows=ROWS,
        )
    )  # fmt: skip


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
    explainer: Explainer,
    counted: Statistics,
    labels: Targets,
    names: EntityNames,
    progress: Progress,
) -> list[list[Grounding]]:
    """For every rule its first grounding on the first pair with the label of its head, else on any.

    There is one for each of its conditions.
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
            found[-1] += (grounding_in_names(one, names) for one in own)
    return found


def _mistakes(
    explainer: Explainer, labels: Targets, scores: Floats, names: EntityNames, progress: Progress
) -> dict[str, list[Mistake]]:
    """Explain the false pairs of the highest scores and the true ones of the lowest."""
    true, called = labels.positive, scores >= explainer.model.semantics.threshold
    kinds = {
        "called true but false": _first(np.flatnonzero(~true & called), -scores),
        "called false but true": _first(np.flatnonzero(true & ~called), scores),
    }
    total = sum(len(rows) for rows in kinds.values())
    found: dict[str, list[Mistake]] = {kind: [] for kind in kinds}
    done = 0
    for kind, rows in kinds.items():
        for row in rows:
            explanation = explainer.explain(*labels.names_at(row), paths=1)
            shown = explanation_in_names(explanation, names)
            found[kind].append(Mistake(float(labels.truth[row]), shown))
            done += 1
            progress.advance("Explaining errors", done, total)
    return found


def _first(rows: npt.NDArray[np.intp], by: Floats) -> list[int]:
    """The first few rows by a key, equals in their order."""
    return [int(row) for row in rows[np.argsort(by[rows], kind="stable")][:WORST]]


@cache
def environment() -> Environment:
    """Jinja2 with our filters, which escapes everything."""
    made = Environment(
        loader=FunctionLoader(template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "named": named,
        "stated": stated,
        "percent": percent,
        "said": said,
        "signed": signed,
        "steps": path_steps,
    }
    return made


def template(name: str) -> str:
    """Text of a template or style sheet."""
    return (files("hornbeam.reporting") / "templates" / name).read_text(encoding="utf-8")


def policy_of(style: str) -> str:
    """Say that nothing is loaded and no script runs; the one style sheet is known by its hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def named(name: str) -> Markup:
    """A name from the data: escaped, kept from turning its surroundings, cut where it is endless.

    Examples
    --------
    >>> print(named("<b>"))
    <bdi>&lt;b&gt;</bdi>
    """
    text = printable(name)
    if len(text) <= NAME:
        return Markup("<bdi>{}</bdi>").format(text)
    short = f"{text[: NAME - 20]}…{text[-15:]}"
    return Markup('<bdi title="{}">{}</bdi>').format(text[:500], short)


def stated(rule: str) -> str:
    """The text of a rule, whose constants are names from the data; cut where it is endless."""
    text = printable(rule)
    return text if len(text) <= RULE else f"{text[: RULE // 2]} … {text[-RULE // 2 :]}"


def said(words: Words) -> Markup:
    """A sentence about a rule, its variables and the names from the data set apart.

    Examples
    --------
    >>> from hornbeam.rules.rule_words import Phrase
    >>> print(said((Phrase("A", PhraseRole.VARIABLE), Phrase(" < "), Phrase("B"))))
    <var>A</var> &lt; B
    """
    forms = {
        PhraseRole.WORDS: "{}",
        PhraseRole.VARIABLE: "<var>{}</var>",
        PhraseRole.PREDICATE: "<b>{}</b>",
        PhraseRole.ENTITY: "{}",
    }
    from_data = (PhraseRole.PREDICATE, PhraseRole.ENTITY)
    return Markup("").join(
        Markup(forms[role]).format(named(text) if role in from_data else text)
        for text, role in words
    )


def percent(share: float | None) -> str:
    """A share as a percentage."""
    return "undefined" if share is None else f"{100 * share:.3g} %"


def signed(number: float) -> str:
    """A number with its sign, a real minus."""
    text = f"{number:+.1e}" if 0 < abs(number) < 5e-4 else f"{number:+.3f}"
    return text.replace("-", "−")


def path_steps(path: Grounding) -> Sequence[tuple[str, bool, str]]:
    """Steps of a path for the page: predicate, whether it is walked backwards, next entity.

    Of a fact of three or more arguments all of it is named, not its predicate alone.
    """
    return [
        (fact.predicate if fact.is_edge else fact.atom, inverse, there)
        for fact, inverse, there in zip(path.facts, path.inverse, path.entities[1:], strict=True)
    ]
