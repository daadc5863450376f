"""How templates of a whole graph show its values: addresses, rules, shares of a score."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from markupsafe import Markup

from hornbeam.explaining.explanation import Explanation
from hornbeam.graphs.graph_rule_words import graph_rule_words
from hornbeam.ranking.queries import Direction
from hornbeam.reporting.rendering import words_html
from hornbeam.serve.filters import FILTERS, quoted
from hornbeam.serve.pins import Pin

#: The end of an atom of a body that others follow.
ATOM_END = re.compile(r"(?<=\)), ")


def reasons_url(subject: str, relation: str, object_: str) -> Markup:
    """Address of the reasons of a triple, escaped for HTML."""
    return Markup(
        f"/reasons?subject={quoted(subject)}&amp;relation={quoted(relation)}"
        f"&amp;object={quoted(object_)}"
    )


def two_reasons_url(found: Explanation, other: Pin) -> Markup:
    """Address of two triples side by side, escaped for HTML."""
    return Markup(
        f"/links?subject={quoted(found.subject)}&amp;relation={quoted(found.relation)}"
        f"&amp;object={quoted(found.object)}&amp;subject2={quoted(other.subject)}"
        f"&amp;relation2={quoted(other.predicate)}&amp;object2={quoted(other.object)}"
    )


def query_url(known: str, relation: str, asks: Direction) -> Markup:
    """Address of the answers of a query, escaped for HTML."""
    given = "subject" if asks is Direction.OBJECT else "object"
    return Markup(f"/query?relation={quoted(relation)}&amp;{given}={quoted(known)}")


def relation_url(relation: str) -> str:
    """Address of a relation's page."""
    return f"/relation?name={quoted(relation)}"


def graph_rule(text: str) -> Markup:
    """A rule as HTML whose lines break between atoms rather than inside them.

    Examples
    --------
    >>> str(graph_rule("p(X, Y) <- q(X, A), r(A, Y)"))[:35]
    "<span class='atom'>p(X, Y) &lt;-</s"
    """
    head, arrow, body = text.partition(" <- ")
    atoms = ATOM_END.split(body) if arrow else []
    parts = [f"{head} <-" if arrow else head, *(f"{atom}," for atom in atoms[:-1]), *atoms[-1:]]
    return Markup(" ").join(Markup("<span class='atom'>{}</span>").format(part) for part in parts)


def graph_words(text: str) -> Markup:
    """A rule as a sentence."""
    return words_html(graph_rule_words(text))


def lift_bar(lift: float, parts: Collection[float]) -> Markup:
    """One of the parts of a score as a bar to the right, or to the left where it lowers the score.

    The largest part fills its half.
    """
    long = 50 * abs(lift) / (max(map(abs, parts)) or 1.0)
    side, start = ("for", 50.0) if lift >= 0 else ("against", 50.0 - long)
    return Markup(
        '<svg class="bar-chart lift" viewBox="0 0 100 8" preserveAspectRatio="none" '
        'aria-hidden="true" focusable="false"><rect class="track" width="100" height="8" rx="4"/>'
        f'<rect class="{side}" x="{start:.1f}" width="{long:.1f}" height="8"/></svg>'
    )


def rank_text(rank: float | None) -> str:
    """A rank; the mean of places that are shared may end in a half."""
    return "–" if rank is None else f"{rank:,g}"


GRAPH_FILTERS: dict[str, Callable[..., Any]] = FILTERS | {
    "reasons_url": reasons_url,
    "two_reasons_url": two_reasons_url,
    "query_url": query_url,
    "relation_url": relation_url,
    "graph_rule": graph_rule,
    "graph_words": graph_words,
    "lift_bar": lift_bar,
    "rank": rank_text,
}
