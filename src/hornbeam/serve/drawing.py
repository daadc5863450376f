"""A drawing of the paths behind a prediction: subject on the left, object on the right.

Every rule is a band. All its paths walk the same predicates, so these stand once above the band's
columns, and between them the entities of each step stand below one another, merged where paths
share them. That stays readable with many paths, where a free layout would be a ball of wool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hornbeam.explaining.explanation import Explanation, Grounding, Reason

#: Sizes in the drawing's own units, which are CSS pixels at full width.
WIDTH = 920
NODE_HEIGHT = 26
ROW = 36
HEADER = 30
FOOTER = 16
GAP = 14
MARGIN = 10
ENDS_WIDTH = 132
#: Between the ends and the bands, where edges climb to the height of their first entity.
GUTTER = 58
#: Most entities of one step that are drawn, and bands.
MOST_NODES = 7
MOST_BANDS = 6
#: Width of a letter, generously.
LETTER = 7.0


@dataclass(frozen=True)
class DrawnNode:
    """An entity in its place: centre and width."""

    name: str
    label: str
    x: float
    y: float
    width: float
    is_end: bool = False

    @property
    def left(self) -> float:
        """Left edge."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """Upper edge."""
        return self.y - NODE_HEIGHT / 2


@dataclass(frozen=True)
class Edge:
    """A fact between two nodes as a curve; `inverse` where it points from right to left."""

    curve: str
    title: str
    inverse: bool


@dataclass(frozen=True)
class StepLabel:
    """The predicate of one step, above its column."""

    text: str
    full: str
    x: float
    y: float


@dataclass(frozen=True)
class Band:
    """The paths of one rule that is "for" or "against" the pair or, "neutral", moves nothing."""

    number: int
    rule: str
    side: str
    count: int
    hidden: int
    top: float
    height: float
    nodes: Sequence[DrawnNode]
    edges: Sequence[Edge]
    steps: Sequence[StepLabel]


@dataclass(frozen=True)
class Drawing:
    """Bands under one another between subject and object."""

    width: float
    height: float
    subject: DrawnNode
    object: DrawnNode
    bands: Sequence[Band]
    undrawn: int


def draw(explanation: Explanation) -> Drawing | None:
    """Lay out the paths of the strongest reasons; None where no rule has a path."""
    with_paths = [reason for reason in explanation.reasons if reason.groundings]
    if not with_paths:
        return None
    drawn = with_paths[:MOST_BANDS]
    heights = [_band_height(reason) for reason in drawn]
    total = sum(heights) + GAP * (len(drawn) - 1) + 2 * MARGIN
    middle = total / 2
    left, right = MARGIN + ENDS_WIDTH / 2, WIDTH - MARGIN - ENDS_WIDTH / 2
    subject, object_ = (
        DrawnNode(name, _short(name, ENDS_WIDTH), x, middle, ENDS_WIDTH, is_end=True)
        for name, x in ((explanation.subject, left), (explanation.object, right))
    )
    bands, top = [], float(MARGIN)
    for reason, height in zip(drawn, heights, strict=True):
        bands.append(_band(reason, top, height, subject, object_))
        top += height + GAP
    return Drawing(WIDTH, total, subject, object_, bands, len(with_paths) - len(drawn))


def _band_height(reason: Reason) -> float:
    drawn = _drawable(reason)
    most = max((len(layer) for layer in _layers(drawn)), default=1)
    return HEADER + ROW * most + _footer(reason, drawn)


def _footer(reason: Reason, drawn: Sequence[Grounding]) -> float:
    """Room for the note that there are more paths."""
    return FOOTER if reason.count > len(drawn) else 0.0


def _drawable(reason: Reason) -> list[Grounding]:
    """The first paths, as long as no step has more entities than are drawn."""
    kept: list[Grounding] = []
    for grounding in reason.groundings:
        layers = _layers([*kept, grounding])
        if all(len(layer) <= MOST_NODES for layer in layers):
            kept.append(grounding)
    return kept


def _layers(groundings: Sequence[Grounding]) -> list[list[str]]:
    """Entities between the ends at every step, each once, in the order of the paths."""
    if not groundings:
        return []
    inner = range(1, len(groundings[0].entities) - 1)
    return [list(dict.fromkeys(grounding.entities[k] for grounding in groundings)) for k in inner]


def _band(
    reason: Reason, top: float, height: float, subject: DrawnNode, object_: DrawnNode
) -> Band:
    groundings = _drawable(reason)
    layers = _untangled(_layers(groundings), groundings)
    left, right = subject.right + GUTTER, object_.left - GUTTER
    column = (right - left) / len(groundings[0].facts)
    width = min(column * 0.7, 200.0)
    room = height - HEADER - _footer(reason, groundings)
    placed: list[dict[str, DrawnNode]] = []
    for k, layer in enumerate(layers):
        x = left + column * (k + 1)
        first = top + HEADER + (room - ROW * len(layer)) / 2 + ROW / 2
        placed.append(
            {
                name: DrawnNode(name, _short(name, width), x, first + ROW * i, width)
                for i, name in enumerate(layer)
            }
        )
    columns = [
        {groundings[0].entities[0]: subject}, *placed, {groundings[0].entities[-1]: object_}
    ]  # fmt: skip
    middle = top + HEADER + room / 2
    edges: dict[tuple[int, str, str], Edge] = {}
    for grounding in groundings:
        for k, (fact, inverse) in enumerate(zip(grounding.facts, grounding.inverse, strict=True)):
            here, there = grounding.entities[k], grounding.entities[k + 1]
            curve = _curve(columns[k][here], columns[k + 1][there], inverse, middle)
            title = f"{fact.predicate}({fact.subject}, {fact.object})"
            soft = "" if fact.truth >= 1 else f" = {fact.truth:.3g}"
            edges.setdefault((k, here, there), Edge(curve, title + soft, inverse))
    return Band(
        reason.index,
        reason.rule,
        "for" if reason.pull > 0 else "against" if reason.pull < 0 else "neutral",
        reason.count,
        reason.count - len(groundings),
        top,
        height,
        [node for layer in placed for node in layer.values()],
        list(edges.values()),
        _step_labels(groundings[0], left, column, top + HEADER / 2 + 4),
    )


def _untangled(layers: list[list[str]], groundings: Sequence[Grounding]) -> list[list[str]]:
    """Order each layer by the mean place of its neighbours in the layer before: few crossings."""
    ordered: list[list[str]] = []
    for k, layer in enumerate(layers):
        if not ordered:
            ordered.append(layer)
            continue
        place = {name: i for i, name in enumerate(ordered[-1])}
        places: dict[str, list[int]] = {name: [] for name in layer}
        for grounding in groundings:
            places[grounding.entities[k + 1]].append(place[grounding.entities[k]])
        ordered.append(sorted(layer, key=lambda name: sum(places[name]) / len(places[name])))
    return ordered


def _curve(here: DrawnNode, there: DrawnNode, inverse: bool, band_middle: float) -> str:
    """A line between two nodes, drawn in the direction of its fact so that its arrow is right.

    Up and down it goes in the gutters only, or between two columns of a band.
    """
    x1, x2 = here.right, there.left
    y1 = here.y if not here.is_end else band_middle if there.is_end else there.y
    y2 = there.y if not there.is_end else band_middle if here.is_end else here.y
    points = [(x1, here.y)]
    if here.is_end:
        points.append((x1 + GUTTER, y1))
    if there.is_end:
        points.append((x2 - GUTTER, y2))
    points.append((x2, there.y))
    if inverse:
        points.reverse()
    return f"M {_at(*points[0])}" + "".join(_bend(start, end) for start, end in pairwise(points))


def _bend(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A curve that leaves and arrives level."""
    reach = (end[0] - start[0]) * 0.5
    return f" C {_at(start[0] + reach, start[1])}, {_at(end[0] - reach, end[1])}, {_at(*end)}"


def _at(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"


def _step_labels(grounding: Grounding, start: float, column: float, y: float) -> list[StepLabel]:
    labels = []
    for k, (fact, inverse) in enumerate(zip(grounding.facts, grounding.inverse, strict=True)):
        name = _short(fact.predicate, column - 30)
        text = f"← {name}" if inverse else f"{name} →"
        labels.append(StepLabel(text, fact.predicate, start + column * (k + 0.5), y))
    return labels


def _short(text: str, width: float) -> str:
    """Cut a text to what fits."""
    fits = max(int((width - 16) / LETTER), 3)
    return text if len(text) <= fits else text[: fits - 1] + "…"
