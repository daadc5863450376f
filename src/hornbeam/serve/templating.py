"""Templates of pages: every value is escaped, and a value that is missing is a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from hornbeam.facts.entity_names import EntityNames


def templates(
    names: EntityNames, filters: Mapping[str, Callable[..., Any]], base: str, explorer: object
) -> Environment:
    """Templates with filters, for pages that extend `base` and show an explorer."""
    folder = files("hornbeam.serve") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {**filters, "shown": names.shown, "entity_type": names.type_of}
    environment.globals |= {
        "explorer": explorer,
        "base": base,
        "stylesheet": "/static/explorer.css",
    }
    return environment
