"""The drawing of what is behind a prediction for narrow screens: subject above, object below.

Every condition of a rule is a band with its own subject and object, so that no edge crosses other
bands; a few entities of each step are side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbeam.explaining.explanation import Explanation
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.rules.body import Kind
from hornbeam.serve.drawing import (
    BOLD_LETTER,
    LETTER,
    NODE_HEIGHT,
    Band,
    DrawnNode,
    StepLabel,
    fact_curves,
    fitted,
    vertical_curve,
)
from hornbeam.serve.drawn_groundings import DrawnGroundings, strongest_groundings

#: Sizes in the drawing's own units, which are CSS pixels on a phone 390 pixels wide.
WIDTH = 336
#: Distance between the middles of two rows of entities.
ROW = 72
MARGIN = 10
GAP = 12
FOOTER = 18
#: Maximum numbers of bands, and of entities side by side.
MAX_BANDS = 6
MAX_NODES = 3
#: The widest node.
WIDEST = 180.0


@dataclass(frozen=True)
class VerticalDrawing:
    """Bands below one another, each from subject to object."""

    width: float
    height: float
    bands: Sequence[Band]


def draw_vertical(
    explanation: Explanation, names: EntityNames = NO_NAMES
) -> VerticalDrawing | None:
    """Draw the groundings of the strongest reasons; None where no rule has a fact."""
    strongest, _ = strongest_groundings(explanation, MAX_BANDS, MAX_NODES)
    if not strongest:
        return None
    bands, top = list[Band](), 0.0
    for drawn in strongest:
        bands.append(_band(drawn, top, names))
        top += bands[-1].height + GAP
    return VerticalDrawing(WIDTH, top - GAP, bands)


def _band(drawn: DrawnGroundings, top: float, names: EntityNames) -> Band:
    rows = _rows(drawn, top, names)
    footer = FOOTER if drawn.hidden else 0
    height = 2 * MARGIN + NODE_HEIGHT + ROW * (len(rows) - 1) + footer
    nodes = [node for row in rows for node in row.values()]
    edges = fact_curves(drawn, rows, names, _curve)
    return Band.of(drawn, names, top, height, nodes, edges, _labels(drawn, rows))


def _rows(drawn: DrawnGroundings, top: float, names: EntityNames) -> list[Mapping[str, DrawnNode]]:
    """The nodes by name, row by row; the ends are rows of one."""
    between = dict(zip(drawn.inner, drawn.ordered_layers, strict=True))
    unary = drawn.condition.kind is Kind.UNARY
    rows = list[Mapping[str, DrawnNode]]()
    for k, end in enumerate(drawn.drawn[0].nodes):
        layer = between.get(k, [end])
        room = (WIDTH - 2 * MARGIN) / len(layer)
        width = min(room - 8, WIDEST)
        y = top + MARGIN + NODE_HEIGHT / 2 + ROW * k
        is_entity, is_end = not (unary and k in between), k not in between
        letter = BOLD_LETTER if is_end else LETTER
        nodes = {
            name: DrawnNode(name, full, fitted(full, width, letter), MARGIN + room * (i + 0.5), y,
                            width, is_end, is_entity)
            for i, name in enumerate(layer)
            for full in [names.shown(name) if is_entity else name]
        }  # fmt: skip
        rows.append(nodes)
    return rows


def _curve(above: DrawnNode, below: DrawnNode, backwards: bool) -> str:
    """A line from row to row in the direction of its fact."""
    ends = [(above.x, above.y + NODE_HEIGHT / 2), (below.x, below.top)]
    return vertical_curve(*(reversed(ends) if backwards else ends))


def _labels(drawn: DrawnGroundings, rows: Sequence[Mapping[str, DrawnNode]]) -> list[StepLabel]:
    """The predicates of the steps, between the rows."""
    labels, grounding = list[StepLabel](), drawn.drawn[0]
    for k, (fact, backwards) in enumerate(zip(grounding.facts, grounding.backwards, strict=True)):
        name = "is" if drawn.condition.kind is Kind.UNARY else fact.predicate
        text = fitted(name, WIDTH - 2 * MARGIN - 30)
        y = next(iter(rows[k].values())).y + ROW / 2 + 4
        arrow = "↑" if backwards else "↓"
        labels.append(StepLabel(f"{arrow} {text}", fact.predicate, WIDTH / 2, y))
    return labels
