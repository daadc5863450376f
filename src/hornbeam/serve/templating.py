"""Pages from templates: the filters that show entities by their names, and pages of one message.

A page has dozens of links and facts, so filters make whole tables: a template would escape each
value separately, which is slower.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from hornbeam.explaining.known_scores import ScorePlace
from hornbeam.explaining.reason import renamed
from hornbeam.facts.entity_names import EntityNames
from hornbeam.ranking.queries import Direction
from hornbeam.reporting.rendering import templates_of, words_html
from hornbeam.rules.rule_words import rule_in_names, with_shown_names
from hornbeam.serve.explorer import Explorer
from hornbeam.serve.filters import (
    FILTERS,
    change,
    entity_url,
    label,
    link_address,
    rank_text,
    score_bar,
    short_name,
)
from hornbeam.serve.shown_values import EdgeGroup, ShownLink
from hornbeam.serve.visits import PageAnswer, Visit, shared_address


@dataclass(frozen=True, eq=False)
class PageWriter:
    """Makes pages by filling templates."""

    environment: Environment

    @classmethod
    def of(cls, explorer: Explorer, pages: Collection[str], *, weights: bool) -> PageWriter:
        """The writer of an explorer's pages; `pages` are the paths of the pages.

        `weights` says whether the rules of the model have weights.
        """
        environment, names = templates_of("hornbeam.serve"), explorer.entity_names
        shared = partial(shared_address, fingerprint=explorer.fingerprint, pages=pages)
        environment.filters |= {**FILTERS, **NameFilters(names).by_name(), "shared_address": shared}
        environment.globals |= {
            "explorer": explorer,
            "weights": weights,
            "stylesheet": "/static/explorer.css",
        }
        return cls(environment)

    def page(self, template: str, visit: Visit, **values: object) -> PageAnswer:
        """The page, or the part of a page, that a template makes of values."""
        here = template.removesuffix(".html")
        return PageAnswer(
            self.environment.get_template(template).render(visit=visit, here=here, **values)
        )

    def not_found(self, visit: Visit, text: str = "There is no such page.") -> PageAnswer:
        """A page with the status 404."""
        return self.message(visit, 404, text)

    def message(self, visit: Visit, status: int, text: str) -> PageAnswer:
        """A page of one message."""
        template = "_message.html" if visit.is_htmx else "message.html"
        return PageAnswer(self.page(template, visit, text=text, status=status).body, status)

    def ask_token(self) -> PageAnswer:
        """The page that requests the token; it shows nothing of the model or the data."""
        return PageAnswer(self.environment.get_template("token.html").render(), 401)


class NameFilters:
    """Filters that show entities and relations by their names."""

    def __init__(self, names: EntityNames) -> None:
        self.names = names
        # cached: all pairs on an entity's page have its name, and rules occur repeatedly on a page
        self._shown = lru_cache(maxsize=10_000)(lambda name: f"{escape(names.shown(name))}")
        self._words = lru_cache(maxsize=10_000)(
            lambda pieces: words_html(with_shown_names(pieces, names.shown))
        )

    def by_name(self) -> dict[str, Callable[..., Any]]:
        """The filters by the names that templates call them by."""
        shown = self.names.shown
        return {
            "shown": shown,
            "entity_type": self.names.type_of,
            "words": self._words,
            "named_rule": lambda rule: rule_in_names(rule, shown),
            "shown_atom": lambda fact: renamed(fact, shown).atom,
            "short": self.short,
            "pill": self.pill,
            "link_rows": self.link_rows,
            "edge_groups": self.edge_groups,
            "question": self.question,
        }

    def short(self, name: str) -> Markup:
        """A name that is cut if it is long."""
        return short_name(self.names.shown(name))

    def pill(self, name: str) -> Markup:
        """A hyperlink to an entity's page."""
        return Markup(self._pill(name))

    def link_rows(
        self,
        links: Iterable[ShownLink],
        seen_from: str = "",
        names: Sequence[str] = (),
        show_label: bool = True,
    ) -> Markup:
        """Rows of a table of links, scored by one model, or by two models with the given `names`.

        A row of a ranked answer begins with its rank.
        """
        heads = [f"{escape(name)}" for name in names]
        return Markup("".join(self._link_row(link, seen_from, heads, show_label) for link in links))

    def edge_groups(self, groups: Iterable[EdgeGroup]) -> Markup:
        """Known facts, group by group."""
        return Markup("".join(map(self._edge_group, groups)))

    def question(self, known: str, relation: str, asks: Direction) -> Markup:
        """A query, with a question mark for the entity that it asks for."""
        entity, predicate = f"<bdi>{self._shown(known)}</bdi>", self._predicate(relation)
        parts = (entity, predicate, "?") if asks is Direction.OBJECT else ("?", predicate, entity)
        return Markup(" ".join(parts))

    def _predicate(self, name: str) -> str:
        return f'<span class="predicate">{self._shown(name)}</span>'

    def _pill(self, name: str) -> str:
        return f'<a class="pill" href="{entity_url(name)}">{self.short(name)}</a>'

    def _pair_link(self, link: ShownLink, seen_from: str) -> str:
        """A hyperlink to a pair's page; the entity `seen_from`, whose page it is on, is greyed."""
        quiet = 'class="quiet"'
        subject, object_ = (
            f"<bdi {quiet if name == seen_from else ''}>{self._shown(name)}</bdi>"
            for name in (link.subject, link.object)
        )
        words = f"{subject} {self._predicate(link.predicate)}"
        return f'<a href="{link_address(link)}">{words if link.unary else f"{words} {object_}"}</a>'

    def _link_row(
        self, link: ShownLink, seen_from: str, heads: Sequence[str], show_label: bool
    ) -> str:
        head = f'data-name="{heads[0]}"' if heads else ""
        rank = "" if link.rank is None else f'<td class="number">{rank_text(link.rank)}</td>'
        cells = [
            f'  {rank}<td class="wide">{self._pair_link(link, seen_from)}</td>\n'
            f"  {_scored_cell(link.score, link.place, head)}\n"
        ]
        if heads and link.before is not None:
            head = f'data-name="{heads[1]}"'
            cells.append(_scored_cell(link.before, link.place_before, head))
        if link.before is not None:
            head = "difference" if heads else "change"
            cells.append(f'<td class="number" data-name="{head}">{change(link.change)}</td>')
        if show_label:
            cells.append(f"<td>{label(link.label)}</td>")
        return f"<tr>\n{''.join(cells)}</tr>\n"

    def _edge_group(self, group: EdgeGroup) -> str:
        predicate = self._predicate(group.predicate)
        if group.inverse:
            caption = (
                f'<span aria-hidden="true">←</span> {predicate} '
                '<span class="hidden">of which this is the object</span>'
            )
        else:
            caption = f'{predicate} <span aria-hidden="true">→</span>'
        pills = "".join(f"{self._pill(other)} " for other in group.first)
        further = group.total - len(group.first)
        more = f'<span class="quiet">and {further:,} more</span>' if further > 0 else ""
        return (
            f'<div>\n  <dt>{caption} <span class="count">{group.total:,}</span></dt>\n'
            f"  <dd>{pills}{more}</dd>\n</div>\n"
        )


def _scored_cell(score: float, place: ScorePlace | None, head: str) -> str:
    """A score as a bar, with its place if the model does not decide what is true."""
    words = "" if place is None else f'<small class="quiet">{place.short}</small>'
    return f'<td class="score" {head}>{score_bar(score)}{words}</td>'
