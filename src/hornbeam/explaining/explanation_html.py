"""An explanation as HTML, at the end of a notebook's cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from hornbeam.base.printable import printable
from hornbeam.base.result_table import html_table
from hornbeam.explaining.explanation_text import signed_pull, step_words, verdict
from hornbeam.explaining.known_scores import CAUTION
from hornbeam.explaining.reason import Reason
from hornbeam.explaining.waterfall import Waterfall
from hornbeam.explaining.waterfall_bar import waterfall_bar
from hornbeam.rules.rule_words import said

if TYPE_CHECKING:
    from hornbeam.explaining.explanation import Explanation

#: Rules that get a bar of their own.
MAX_BARS = 12


def explanation_html(explained: Explanation) -> str:
    """The waterfall, the reasons with their first groundings, and what would flip the decision."""
    title = (
        f"{explained.subject} {explained.predicate} {explained.object}: "
        f"score {explained.score:.4g}, {verdict(explained)}"
    )
    fall = explained.waterfall(MAX_BARS)
    parts = [str(Markup("<p><strong>{}</strong></p>").format(printable(title)))]
    if explained.place is not None:
        parts.append(f"<p>{CAUTION}</p>")
    if fall is not None and explained.reasons:
        parts.append(waterfall_html(fall))
    reasons = (
        *explained.starting_point, *explained.supporting, *explained.opposing, *explained.neutral,
    )  # fmt: skip
    columns = ["moves the score by", "rule", "weight", "count", "first grounding"]
    parts.append(html_table("What each rule does", columns, [*map(_reason, reasons)]))
    if explained.flip is not None:
        facts = [
            (fact.subject, fact.predicate, ", ".join(fact.arguments[1:]))
            for fact in explained.flip.facts
        ]
        status = f"What would {explained.crossing.short} ({explained.flip.status.value})"
        parts.append(html_table(status, ["subject", "predicate", "object"], facts))
    return "".join(parts)


def waterfall_html(fall: Waterfall) -> str:
    """The steps from the prior to the score, each with its bar."""
    columns = ["adds to the log-odds", "", "score so far", "rule"]
    return html_table("How the score adds up", columns, [*_steps(fall)])


def _steps(fall: Waterfall) -> Iterator[tuple[str, ...]]:
    for step in fall.all_steps:
        figures = f"{step.log_odds:+.2f}", waterfall_bar(step, fall), f"{step.probability:.4f}"
        yield *figures, step_words(step, fall)
    yield f"{fall.total:+.2f}", "", f"{fall.score:.4f}", "together"


def _reason(reason: Reason) -> tuple[str, ...]:
    formula = Markup("{}<br><code>{}</code>").format(
        printable(said(reason.words)), printable(reason.rule)
    )
    first = str(reason.groundings[0]) if reason.groundings else ""
    return signed_pull(reason.pull), formula, f"{reason.weight:.4g}", f"{reason.count:,}", first
