"""How templates show values: numbers, changes, bars, labels, rules and addresses.

They are filters, not macros: a page shows hundreds of values, and a macro is ten times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2.utils import url_quote
from markupsafe import Markup, escape

from hornbeam.base.texts import elided, printable
from hornbeam.explaining.reason import Fact, Reason
from hornbeam.explaining.waterfall import waterfall_bar
from hornbeam.ranking.queries import Direction
from hornbeam.serve.drawing import NODE_HEIGHT, DrawnNode
from hornbeam.serve.shown_values import ShownLink
from hornbeam.serve.visits import Pin

if TYPE_CHECKING:  # models need no programs
    from hornbeam.programs.ground_rule_list import ShownGroundRule
    from hornbeam.programs.inferred_atoms import InferredAtom

#: Maximum number of letters of a name where several names are shown.
SHORT_NAME = 32
#: Changes below this are shown as no change.
NO_CHANGE = 0.0005

#: A link by its names.
NamedLink = ShownLink | Fact | Pin


@lru_cache(maxsize=10_000)
def quoted(name: str) -> str:
    """A name as part of an address."""
    return quote(name, safe="")


def entity_url(name: str) -> str:
    """Address of an entity's page."""
    return f"/entity?name={quoted(name)}"


def link_url(link: NamedLink, page: str = "link") -> Markup:
    """Address of a link's page, escaped for HTML."""
    return Markup(link_address(link, page))


def link_address(link: NamedLink, page: str = "link") -> str:
    """Address of a link's page, escaped for HTML, as a plain string."""
    return (
        f"/{page}?subject={quoted(link.subject)}&amp;relation={quoted(link.predicate)}"
        f"&amp;object={quoted(link.object or '')}"
    )


def triple_url(subject: str, relation: str, object_: str) -> Markup:
    """Address of the page of a link by its names, escaped for HTML."""
    return link_url(Pin(subject, relation, object_))


def links_url(link: NamedLink, other: Pin) -> Markup:
    """Address of two links side by side, escaped for HTML."""
    return Markup(
        f"{link_url(link, 'links')}&amp;subject2={quoted(other.subject)}"
        f"&amp;relation2={quoted(other.predicate)}&amp;object2={quoted(other.object)}"
    )


def query_url(known: str, relation: str, asks: Direction) -> Markup:
    """Address of the answers of a query, escaped for HTML."""
    given = "subject" if asks is Direction.OBJECT else "object"
    return Markup(f"/query?relation={quoted(relation)}&amp;{given}={quoted(known)}")


def rules_url(relation: str) -> str:
    """Address of the rules of a relation."""
    return f"/rules?relation={quoted(relation)}"


def score_text(value: float | None) -> str:
    """Three digits, as tables show scores."""
    return "–" if value is None else f"{value:.3f}"


def weight_text(value: float | None) -> str:
    """A weight in three significant digits."""
    return "–" if value is None else f"{value:.3g}"


def signed_text(value: float) -> str:
    """A change with its sign; the typographic minus is as wide as a plus."""
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


def log_odds_html(value: float) -> Markup:
    """A contribution to log-odds, coloured by its sign."""
    return _coloured(value, f"{'−' if value < 0 else '+'}{abs(value):.2f}")


def short_name(name: str) -> Markup:
    """A name of at most `SHORT_NAME` letters: the middle of a longer name is left out.

    The full name is the tooltip; screen readers read it, too.
    """
    text = printable(name)
    if len(text) <= SHORT_NAME:
        return Markup(f"<bdi>{escape(text)}</bdi>")
    full, short = escape(text), escape(elided(text, SHORT_NAME))
    return Markup(
        f'<bdi aria-hidden="true" title="{full}">{short}</bdi><bdi class="hidden">{full}</bdi>'
    )


def bar(score: float) -> Markup:
    """A score as a bar."""
    return Markup(
        '<svg class="bar-chart" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false"><rect class="track" width="100" height="8" rx="4"/>'
        f'<rect class="fill" width="{100 * score:.1f}" height="8" rx="4"/></svg>'
    )


def score_bar(score: float) -> Markup:
    """A score in three digits and as a bar."""
    return Markup(f'<span class="number">{score_text(score)}</span>{bar(score)}')


def drawn_node(node: DrawnNode) -> Markup:
    """A node of a drawing; an entity links to the page of its neighbours."""
    full, end = escape(node.full), " end" if node.is_end else ""
    if node.is_entity:
        address = f"/around?name={url_quote(node.name)}"
        tag, kind, radius = "a", "", 7
        opened = (
            f'<a href="{address}" hx-get="{address}" hx-target="#around" '
            f'hx-swap="outerHTML show:top" aria-label="Neighbours of {full}">'
        )
    else:
        tag, kind, radius, opened = "g", " said", 13, "<g>"
    return Markup(
        f'{opened}<title>{full}</title><rect class="node{end}{kind}" x="{node.left:.1f}" '
        f'y="{node.top:.1f}" width="{node.width:.1f}" height="{NODE_HEIGHT}" rx="{radius}"/>'
        f'<text class="node-label{end}" x="{node.x:.1f}" y="{node.y + 4.5:.1f}">'
        f"{escape(node.label)}</text></{tag}>"
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
    """A rule as HTML whose lines break between atoms rather than inside them."""
    body, arrow, head = text.rpartition(" -> ")
    atoms = body.split(" & ") if arrow else []
    parts = [*(f"{atom} &" for atom in atoms[:-1]), *atoms[-1:], f"-> {head}" if arrow else head]
    return Markup(" ").join(Markup("<span class='atom'>{}</span>").format(part) for part in parts)


def lift_bar(lift: float, parts: Collection[float]) -> Markup:
    """A part of a score as a bar: to the right if it raises the score, to the left if it lowers it.

    The largest of all `parts` fills its half.
    """
    long = 50 * abs(lift) / (max(map(abs, parts)) or 1.0)
    side, start = ("for", 50.0) if lift >= 0 else ("against", 50.0 - long)
    return Markup(
        '<svg class="bar-chart lift" viewBox="0 0 100 8" preserveAspectRatio="none" '
        'aria-hidden="true" focusable="false"><rect class="track" width="100" height="8" rx="4"/>'
        f'<rect class="{side}" x="{start:.1f}" width="{long:.1f}" height="8"/></svg>'
    )


def reason_figure(reason: Reason) -> Markup:
    """The confidence of a rule that fires, or its weight if rules were fitted together."""
    if reason.confidence is None:
        figure: str | Markup = change(reason.weight or 0.0)
    else:
        figure = score_text(reason.confidence)
    return Markup(f'<span class="number pull">{figure}</span>')


def rank_text(rank: float | None) -> str:
    """A rank; the mean rank of answers that tie may end in a half."""
    return "–" if rank is None else f"{rank:,g}"


def atom_url(atom: InferredAtom) -> Markup:
    """Address of an atom's page, escaped for HTML."""
    arguments = (f"&amp;a{k}={quoted(name)}" for k, name in enumerate(atom.arguments, 1))
    return Markup(f"/atom?predicate={quoted(atom.predicate)}{''.join(arguments)}")


def atom_link(atom: InferredAtom) -> Markup:
    """An atom with a hyperlink to its page; one that is observed has none."""
    text = f"<bdi>{escape(printable(atom.text))}</bdi>"
    return Markup(text if atom.variable is None else f'<a href="{atom_url(atom)}">{text}</a>')


def ground_rule(rule: ShownGroundRule, around: InferredAtom | None = None) -> Markup:
    """A ground rule with the values of its atoms; the atom `around`, whose page it is, is bold."""

    def shown(part: str | InferredAtom) -> str:
        if isinstance(part, str):
            return f"{escape(printable(part))}"
        value = f'<span class="value">{part.value:.2f}</span>'
        if part == around:
            return f"<strong><bdi>{escape(printable(part.text))}</bdi></strong>{value}"
        return f"{atom_link(part)}{value}"

    return Markup(f"<code>{''.join(map(shown, rule.parts))}</code>")


def pull(rule: ShownGroundRule) -> Markup:
    """The pull of a ground rule on an atom: with its sign, as a limit, or as hard."""
    if rule.pull is None:
        return Markup('<span class="number">hard</span>')
    limit = "up to " if rule.holds else ""
    return Markup(f'<span class="number">{limit}{weight_change(rule.pull)}</span>')


FILTERS: dict[str, Callable[..., Any]] = {
    "entity_url": entity_url,
    "link_url": link_url,
    "score": score_text,
    "weight": weight_text,
    "signed": signed_text,
    "change": change,
    "weight_change": weight_change,
    "bar": bar,
    "drawn_node": drawn_node,
    "rule": rule_text,
    "log_odds_html": log_odds_html,
    "waterfall_bar": waterfall_bar,
    "triple_url": triple_url,
    "links_url": links_url,
    "query_url": query_url,
    "rules_url": rules_url,
    "lift_bar": lift_bar,
    "reason_figure": reason_figure,
    "rank": rank_text,
    "atom_url": atom_url,
    "atom_link": atom_link,
    "ground_rule": ground_rule,
    "pull": pull,
}
