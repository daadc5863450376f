"""What the page of an unfolded graph shows, whichever explorer it belongs to."""

from __future__ import annotations

from typing import Any

from hornbeam.serve.entity_facts import EdgeSource
from hornbeam.serve.unfolded_drawing import draw_columns, draw_outline
from hornbeam.serve.unfolding import Unfolding, unfold


def around_values(view: Unfolding, explorer: EdgeSource) -> dict[str, Any]:
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
