"""What the page of an unfolded graph shows, whichever explorer it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.table import Facts
from hornbeam.serve.entity_facts import KnownEdges
from hornbeam.serve.unfolded_drawing import draw_columns, draw_outline
from hornbeam.serve.unfolding import Unfolding, unfold


class KnowsEdges(Protocol):
    """An explorer that knows the facts between entities."""

    @property
    def facts(self) -> Facts:
        """The evidence."""

    @property
    def entity_names(self) -> EntityNames:
        """What entities are called."""

    def known_edges(self, entity: int) -> Sequence[KnownEdges]:
        """Facts between an entity and others, by predicate and direction."""


def around_values(view: Unfolding, explorer: KnowsEdges) -> dict[str, Any]:
    """The values of the page: the graph in columns, and as an outline for narrow screens."""
    root = unfold(view, explorer.facts.entities, explorer.known_edges)
    names = explorer.entity_names
    return {
        "view": view,
        "root": root,
        "drawings": {
            "columns": draw_columns(root, view, names),
            "outline": draw_outline(root, view, names),
        },
    }
