"""An explanation as HTML, at the end of a notebook's cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from hornbeam.base.result_table import html_table
from hornbeam.base.texts import printable
from hornbeam.explaining.explanation_text import (
    query_of,
    rank_words,
    step_words,
    verdict,
)
from hornbeam.explaining.known_scores import CAUTION
from hornbeam.explaining.reason import Reason
from hornbeam.explaining.waterfall import Waterfall
from hornbeam.explaining.waterfall_bar import waterfall_bar
from hornbeam.rules.rule_words import said

if TYPE_CHECKING:
    from hornbeam.explaining.explanation import ExplainedScore, Explanation

#: Rules that get a bar of their own.
MAX_BARS = 12


def explanation_html(explained: Explanation) -> str:
    """How the score adds up, the reasons with their first groundings, and what would flip it."""
    title = f"{explained.subject} {explained.predicate} {explained.object}"
    if not explained.is_ranked:
        title += f": score {explained.score:.4g}, {verdict(explained)}"
    pieces = [str(Markup("<p><strong>{}</strong></p>").format(printable(title)))]
    if explained.place is not None:
        pieces.append(f"<p>{CAUTION}</p>")
    if explained.is_fact:
        pieces.append("<p>is among the facts; explained as if it were not</p>")
    for one in explained.directions:
        pieces += _score_html(explained, one)
    if explained.flip is not None:
        facts = [
            (fact.subject, fact.predicate, ", ".join(fact.arguments[1:]))
            for fact in explained.flip.facts
        ]
        status = f"What would {explained.crossing.short} ({explained.flip.status.value})"
        pieces.append(html_table(status, ["subject", "predicate", "object"], facts))
    return "".join(pieces)


def _score_html(explained: Explanation, one: ExplainedScore) -> Iterator[str]:
    """The parts of a score and their reasons; of an answer also those above it."""
    figure = "moves the score by"
    if one.asks is not None:
        query = " ".join(query_of(explained, one))
        yield str(Markup("<p>{}: {}</p>").format(printable(query), rank_words(one)))
        parts = [(f"{part.value:+.2f}", part.name) for part in one.parts]
        yield html_table("Score above the mean candidate", ["adds to the log-odds", "part"], parts)
        figure = "confidence or weight"
    elif one.reasons and (fall := explained.waterfall(MAX_BARS)) is not None:
        yield waterfall_html(fall)
    columns = ["part", figure, "rule", "by", "count", "first grounding"]
    rows = [_reason(part.name, reason) for part in one.parts for reason in part.reasons]
    yield html_table("What each rule does", columns, rows)
    if one.above:
        above = [
            (f"{other.rank:g}", other.answer, f"{other.probability:.3f}") for other in one.above
        ]
        yield html_table("Answers above it", ["rank", "answer", "probability"], above)


def waterfall_html(fall: Waterfall) -> str:
    """The steps from the prior to the score, each with its bar."""
    columns = ["adds to the log-odds", "", "score so far", "rule"]
    return html_table("How the score adds up", columns, [*_steps(fall)])


def _steps(fall: Waterfall) -> Iterator[tuple[str, ...]]:
    for step in fall.all_steps:
        figures = f"{step.log_odds:+.2f}", waterfall_bar(step, fall), f"{step.probability:.4f}"
        yield *figures, step_words(step, fall)
    yield f"{fall.total:+.2f}", "", f"{fall.score:.4f}", "together"


def _reason(part: str, reason: Reason) -> tuple[str, ...]:
    formula = Markup("{}<br><code>{}</code>").format(
        printable(said(reason.words)), printable(reason.rule)
    )
    first = str(reason.groundings[0]) if reason.groundings else ""
    return part, reason.figure, formula, reason.origin, f"{reason.count:,}", first
