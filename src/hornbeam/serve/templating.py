"""Pages from templates: those that every explorer has, and how others are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from hornbeam.facts.entity_names import EntityNames
from hornbeam.reporting.rendering import templates_of, words_html
from hornbeam.rules.rule_words import Words, with_shown_entities
from hornbeam.serve.named_filters import named_filters
from hornbeam.serve.visits import PageAnswer, Visit


@dataclass(frozen=True, eq=False)
class PageWriter:
    """Fills templates."""

    environment: Environment

    def page(self, template: str, visit: Visit, **values: object) -> PageAnswer:
        """The page, or part of one, that a template makes of values."""
        here = template.removesuffix(".html")
        return PageAnswer(
            self.environment.get_template(template).render(visit=visit, here=here, **values)
        )

    def not_found(self, visit: Visit, text: str = "There is no such page.") -> PageAnswer:
        """A page of the status 404."""
        return self.message(visit, 404, text)

    def message(self, visit: Visit, status: int, text: str) -> PageAnswer:
        """A page of one message."""
        template = "_message.html" if visit.is_htmx else "message.html"
        return PageAnswer(self.page(template, visit, text=text, status=status).body, status)

    def ask_token(self) -> PageAnswer:
        """The page that requests the token; it shows nothing of what is served."""
        return PageAnswer(self.environment.get_template("token.html").render(), 401)


def page_writer(
    names: EntityNames,
    filters: Mapping[str, Callable[..., Any]],
    explorer: object,
    *,
    weights: bool,
) -> PageWriter:
    """Templates with filters, for pages of an explorer; `weights`: whether its rules have some."""

    # cached: the same rules occur repeatedly on a page
    @lru_cache(maxsize=10_000)
    def words(pieces: Words) -> Markup:
        """A rule in words, with names instead of ids."""
        return words_html(with_shown_entities(pieces, names.shown))

    environment = templates_of("hornbeam.serve")
    environment.filters |= {
        **filters,
        "shown": names.shown,
        "entity_type": names.type_of,
        "words": words,
        **named_filters(names),
    }
    environment.globals |= {
        "explorer": explorer,
        "weights": weights,
        "stylesheet": "/static/explorer.css",
    }
    return PageWriter(environment)
