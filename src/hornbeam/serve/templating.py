"""Templates of pages: every value is escaped, and a value that is missing is a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from hornbeam.facts.entity_names import EntityNames
from hornbeam.reporting.rendering import said
from hornbeam.rules.rule_words import Words, with_shown_entities
from hornbeam.serve.named_filters import named_filters


def templates(
    names: EntityNames, filters: Mapping[str, Callable[..., Any]], base: str, explorer: object
) -> Environment:
    """Templates with filters, for pages that extend `base` and show an explorer."""

    # a page says the same rules again and again
    @lru_cache(maxsize=10_000)
    def words(pieces: Words) -> Markup:
        """A rule in words, with names in the place of ids."""
        return said(with_shown_entities(pieces, names.shown))

    folder = files("hornbeam.serve") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        **filters,
        "shown": names.shown,
        "entity_type": names.type_of,
        "words": words,
        **named_filters(names),
    }
    environment.globals |= {
        "explorer": explorer,
        "base": base,
        "stylesheet": "/static/explorer.css",
    }
    return environment
