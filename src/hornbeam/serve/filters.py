"""How templates show values: numbers, changes, bars, labels, rules and addresses.

Filters and not macros: a page shows hundreds of them, and a macro costs ten times as much.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.named_facts import Fact
from hornbeam.reporting.report import said
from hornbeam.serve.links import Link

#: A change that three digits do not show.
NO_CHANGE = 0.0005


@lru_cache(maxsize=10_000)
def quoted(name: str) -> str:
    """A name as part of an address."""
    return quote(name, safe="")


def entity_url(name: str) -> str:
    """Address of an entity's page."""
    return f"/entity?name={quoted(name)}"


def link_url(pair: Link | Explanation | Fact, page: str = "link") -> Markup:
    """Address of a pair's page, ready to stand in HTML."""
    return Markup(
        f"/{page}?subject={quoted(pair.subject)}&amp;predicate={quoted(pair.predicate)}"
        f"&amp;object={quoted(pair.object or '')}"
    )


def score_text(value: float | None) -> str:
    """Three digits, as tables show scores."""
    return "–" if value is None else f"{value:.3f}"


def weight_text(value: float | None) -> str:
    """A weight in three significant digits."""
    return "–" if value is None else f"{value:.3g}"


def signed_text(value: float) -> str:
    """A change with its sign; a true minus is as wide as a plus."""
    if abs(value) < NO_CHANGE:
        return "±0.000"
    return f"{'+' if value > 0 else '−'}{abs(value):.3f}"


def change(value: float) -> Markup:
    """A change of a score, coloured by its sign."""
    return _coloured(value, signed_text(value))


def weight_change(value: float) -> Markup:
    """A difference of weights, coloured by its sign."""
    text = f"{'−' if value < 0 else '+'}{abs(value):.3g}" if value else "±0"
    return _coloured(value, text)


def _coloured(value: float, text: str) -> Markup:
    side = "up" if value > NO_CHANGE else "down" if value < -NO_CHANGE else "same"
    return Markup(f'<span class="change {side}">{text}</span>')


def bar(score: float) -> Markup:
    """A score as a bar."""
    return Markup(
        '<svg class="bar-chart" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false"><rect class="track" width="100" height="8" rx="4"/>'
        f'<rect class="fill" width="{100 * score:.1f}" height="8" rx="4"/></svg>'
    )


def label(value: float | None) -> Markup:
    """A label as a chip."""
    if value is None:
        kind, text = "none", "unlabelled"
    else:
        kind, text = ("yes", "true") if value >= 0.5 else ("no", "false")
    return Markup(f'<span class="chip {kind}">{text}</span>')


@lru_cache(maxsize=10_000)
def rule_text(text: str) -> Markup:
    """A rule whose lines break between atoms rather than inside them."""
    body, arrow, head = text.rpartition(" -> ")
    atoms = body.split(" & ") if arrow else []
    parts = [*(f"{atom} &" for atom in atoms[:-1]), *atoms[-1:], f"-> {head}" if arrow else head]
    return Markup(" ").join(Markup("<span class='atom'>{}</span>").format(part) for part in parts)


FILTERS: dict[str, Callable[..., Any]] = {
    "entity_url": entity_url,
    "link_url": link_url,
    "score": score_text,
    "weight": weight_text,
    "signed": signed_text,
    "change": change,
    "weight_change": weight_change,
    "bar": bar,
    "label": label,
    "rule": rule_text,
    "said": said,
}
