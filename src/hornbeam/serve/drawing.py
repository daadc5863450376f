"""Drawings of the rules and facts behind a score: left to right, and top to bottom for phones.

Every condition of a rule is a band. All paths of a band have the same predicates, which are written
once per step. The entities of each step form a layer; an entity that several paths share is drawn
once. With many paths, bands stay readable, unlike a force-directed layout. A condition on one
argument is a band of one step from that argument.

From left to right, layers are columns, and all bands share one subject and one object. From top to
bottom, layers are rows of a few entities. There every band has its own subject and object, so that
no edge crosses other bands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from hornbeam.base.texts import elided
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.reason import renamed
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.rules.rule_words import said, with_shown_names
from hornbeam.serve.drawn_groundings import DrawnGroundings, strongest_groundings

#: Sizes in the drawing's own units, which are CSS pixels at full width.
WIDTH = 920
NODE_HEIGHT = 26
ROW = 36
HEADER = 30
FOOTER = 16
#: Gap between bands of two rules, and between bands of the same rule.
GAP, INNER_GAP = 14, 3
MARGIN = 10
ENDS_WIDTH = 148
#: Gap between subject or object and the bands; edges reach the height of their entity in it.
GUTTER = 58
#: Maximum number of bands.
MAX_BANDS = 6
#: Estimated widths of a letter and of a bold letter, rather too wide than too narrow.
LETTER, BOLD_LETTER = 7.0, 8.2
#: Sizes of drawings from top to bottom, in CSS pixels of a phone 390 pixels wide: width of the
#: drawing, distance of rows, gap between bands, height of a footer, and width of the widest node.
PHONE_WIDTH, PHONE_ROW, PHONE_GAP, PHONE_FOOTER, PHONE_NODE = 336, 72, 12, 18, 180.0
#: Maximum number of entities side by side in a drawing from top to bottom.
PHONE_NODES = 3

#: A point in a drawing.
DrawnPoint = tuple[float, float]


@dataclass(frozen=True)
class DrawnNode:
    """An entity, or the predicate of a unary atom, with its position: centre and width.

    `full` is its whole name, and `label` as much of the name as fits.
    """

    name: str
    full: str
    label: str
    x: float
    y: float
    width: float
    is_end: bool = False
    is_entity: bool = True

    @classmethod
    def of(
        cls, name: str, names: EntityNames, at: DrawnPoint, width: float, *,
        is_end: bool = False, is_entity: bool = True,
    ) -> DrawnNode:  # fmt: skip
        """A node at a point, with as much of its name as fits."""
        full = names.shown(name)
        label = fitted(full, width, BOLD_LETTER if is_end else LETTER)
        return cls(name, full, label, *at, width, is_end, is_entity)

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
class DrawnEdge:
    """A fact between two nodes, as a curve in the direction of the fact."""

    curve: str
    title: str


@dataclass(frozen=True)
class StepLabel:
    """The predicate of one step, beside its facts."""

    text: str
    full: str
    x: float
    y: float


@dataclass(frozen=True)
class Band:
    """A condition of a rule that is "for" or "against" the pair, or "neutral".

    `words` say the rule; `hidden` is the number of groundings that are not drawn, and `unit` the
    word for a grounding.
    """

    words: str
    side: str
    unit: str
    hidden: int
    top: float
    height: float
    nodes: Sequence[DrawnNode]
    edges: Sequence[DrawnEdge]
    steps: Sequence[StepLabel]

    @classmethod
    def of(
        cls, drawn: DrawnGroundings, names: EntityNames, top: float, height: float,
        nodes: Sequence[DrawnNode], edges: Sequence[DrawnEdge], steps: Sequence[StepLabel],
    ) -> Band:  # fmt: skip
        """The band of a condition, with its captions."""
        reason = drawn.reason
        words = said(with_shown_names(reason.words, names.shown))
        return cls(
            words, reason.side, drawn.condition.unit, drawn.hidden, top, height, nodes, edges, steps
        )


@dataclass(frozen=True)
class Drawing:
    """Bands below one another; `undrawn` is the number of weaker rules that are left out.

    From left to right, the bands are between the two `ends`: subject and object.
    """

    width: float
    height: float
    bands: Sequence[Band]
    undrawn: int
    ends: Sequence[DrawnNode] = ()


def draw(explanation: Explanation, names: EntityNames = NO_NAMES) -> Drawing | None:
    """Draw the strongest reasons from left to right; None where no rule has a fact."""
    strongest, undrawn = strongest_groundings(explanation, MAX_BANDS)
    if not strongest:
        return None
    gaps = [INNER_GAP if a.reason is b.reason else GAP for a, b in pairwise(strongest)]
    total = sum(map(_height, strongest)) + sum(gaps) + 2 * MARGIN
    left, right = MARGIN + ENDS_WIDTH / 2, WIDTH - MARGIN - ENDS_WIDTH / 2
    subject, object_ = (
        DrawnNode.of(name, names, (x, total / 2), ENDS_WIDTH, is_end=True)
        for name, x in ((explanation.subject, left), (explanation.object, right))
    )
    bands, top = list[Band](), float(MARGIN)
    for drawn, gap in zip(strongest, [*gaps, 0], strict=True):
        bands.append(_band(drawn, top, subject, object_, names))
        top += bands[-1].height + gap
    return Drawing(WIDTH, total, bands, undrawn, (subject, object_))


def draw_vertical(explanation: Explanation, names: EntityNames = NO_NAMES) -> Drawing | None:
    """Draw the strongest reasons from top to bottom; None where no rule has a fact."""
    strongest, undrawn = strongest_groundings(explanation, MAX_BANDS, PHONE_NODES)
    if not strongest:
        return None
    bands, top = list[Band](), 0.0
    for drawn in strongest:
        bands.append(_vertical_band(drawn, top, names))
        top += bands[-1].height + PHONE_GAP
    return Drawing(PHONE_WIDTH, top - PHONE_GAP, bands, undrawn)


def _footer(drawn: DrawnGroundings) -> float:
    """Height of the note about groundings that are not drawn."""
    return FOOTER if drawn.hidden else 0.0


def _height(drawn: DrawnGroundings) -> float:
    """Height of a band."""
    most = max((len(layer) for layer in drawn.layers), default=1)
    return HEADER + ROW * most + _footer(drawn)


def _band(
    drawn: DrawnGroundings, top: float, subject: DrawnNode, object_: DrawnNode, names: EntityNames
) -> Band:
    """A band between subject and object, its layers in columns."""
    left, right = subject.right + GUTTER, object_.left - GUTTER
    column, height = (right - left) / drawn.columns, _height(drawn)
    width, room = min(column * 0.7, 200.0), height - HEADER - _footer(drawn)
    placed: list[dict[str, DrawnNode]] = [{} for _ in drawn.drawn[0].nodes]
    for k, layer in zip(drawn.inner, drawn.ordered_layers, strict=True):
        x = left + column * (drawn.offset + k)
        first = top + HEADER + (room - ROW * len(layer)) / 2 + ROW / 2
        placed[k] = {
            name: DrawnNode.of(
                name, names, (x, first + ROW * i), width, is_entity=drawn.is_entity(k)
            )
            for i, name in enumerate(layer)
        }
    nodes = [node for layer in placed for node in layer.values()]
    for k, end in ((0, subject), (len(placed) - 1, object_)):
        if k not in drawn.inner:
            placed[k] = {drawn.drawn[0].nodes[k]: end}
    curve = partial(_curve, band_middle=top + HEADER + room / 2)
    start, y = left + column * (drawn.offset + 0.5), top + HEADER / 2 + 4
    places = [(start + column * k, y) for k in range(len(placed) - 1)]
    labels = _step_labels(drawn, names, places, column - 30, ("← {}", "{} →"))
    edges = _fact_curves(drawn, placed, names, curve)
    return Band.of(drawn, names, top, height, nodes, edges, labels)


def _vertical_band(drawn: DrawnGroundings, top: float, names: EntityNames) -> Band:
    """A band with its own subject above and object below, its layers in rows."""
    layers = dict(zip(drawn.inner, drawn.ordered_layers, strict=True))
    placed = list[dict[str, DrawnNode]]()
    for k, end in enumerate(drawn.drawn[0].nodes):
        layer, is_end = layers.get(k, [end]), k not in layers
        room = (PHONE_WIDTH - 2 * MARGIN) / len(layer)
        y = top + MARGIN + NODE_HEIGHT / 2 + PHONE_ROW * k
        placed.append({
            name: DrawnNode.of(
                name, names, (MARGIN + room * (i + 0.5), y), min(room - 8, PHONE_NODE),
                is_end=is_end, is_entity=is_end or drawn.is_entity(k),
            )
            for i, name in enumerate(layer)
        })  # fmt: skip
    footer = PHONE_FOOTER if drawn.hidden else 0
    height = 2 * MARGIN + NODE_HEIGHT + PHONE_ROW * (len(placed) - 1) + footer
    middle = top + MARGIN + (NODE_HEIGHT + PHONE_ROW) / 2 + 4
    places = [(PHONE_WIDTH / 2, middle + PHONE_ROW * k) for k in range(len(placed) - 1)]
    labels = _step_labels(drawn, names, places, PHONE_WIDTH - 2 * MARGIN - 30, ("↑ {}", "↓ {}"))
    nodes = [node for row in placed for node in row.values()]
    edges = _fact_curves(drawn, placed, names, _vertical_curve)
    return Band.of(drawn, names, top, height, nodes, edges, labels)


def _step_labels(
    drawn: DrawnGroundings,
    names: EntityNames,
    places: Sequence[DrawnPoint],
    width: float,
    arrows: tuple[str, str],
) -> list[StepLabel]:
    """The predicates of the steps at `places`; `arrows` mark facts backwards, and forwards."""
    grounding = drawn.drawn[0]
    steps = zip(grounding.facts, grounding.backwards, places, strict=True)
    return [
        StepLabel(
            # the predicate of a unary atom is written in its node
            arrows[not backwards].format(
                fitted(names.shown(fact.predicate) if len(fact.arguments) > 1 else "is", width)
            ),
            names.shown(fact.predicate),
            *place,
        )
        for fact, backwards, place in steps
    ]


def _fact_curves(
    drawn: DrawnGroundings,
    placed: Sequence[Mapping[str, DrawnNode]],
    names: EntityNames,
    curve: Callable[[DrawnNode, DrawnNode, bool], str],
) -> list[DrawnEdge]:
    """The facts, each once, as curves between nodes."""
    edges: dict[tuple[int, str, str], DrawnEdge] = {}
    for grounding in drawn.drawn:
        steps = zip(grounding.facts, grounding.backwards, pairwise(grounding.nodes), strict=True)
        for k, (fact, backwards, (here, there)) in enumerate(steps):
            line = curve(placed[k][here], placed[k + 1][there], backwards)
            soft = "" if fact.truth >= 1 else f" = {fact.truth:.3g}"
            title = renamed(fact, names.shown).atom + soft
            edges.setdefault((k, here, there), DrawnEdge(line, title))
    return list(edges.values())


def _curve(here: DrawnNode, there: DrawnNode, backwards: bool, band_middle: float) -> str:
    """A curve between two nodes in the direction of its fact, which its arrow shows.

    The curve rises and falls only in the gutters, or between two columns of a band.
    """
    points = [(here.right, here.y)]
    if here.is_end:
        points.append((here.right + GUTTER, band_middle if there.is_end else there.y))
    if there.is_end:
        points.append((there.left - GUTTER, band_middle if here.is_end else here.y))
    points.append((there.left, there.y))
    return level_curve(points[::-1] if backwards else points)


def level_curve(points: Sequence[DrawnPoint]) -> str:
    """A curve through points that is horizontal at both ends."""
    parts = [f"M {_at(*points[0])}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        reach = (x2 - x1) / 2
        parts.append(f"C {_at(x1 + reach, y1)}, {_at(x2 - reach, y2)}, {_at(x2, y2)}")
    return " ".join(parts)


def _vertical_curve(above: DrawnNode, below: DrawnNode, backwards: bool) -> str:
    """A curve from row to row in the direction of its fact, vertical at both ends."""
    ends = [(above.x, above.y + NODE_HEIGHT / 2), (below.x, below.top)]
    start, end = reversed(ends) if backwards else ends
    middle = (start[1] + end[1]) / 2
    return f"M {_at(*start)} C {_at(start[0], middle)}, {_at(end[0], middle)}, {_at(*end)}"


def _at(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"


def fitted(text: str, width: float, letter: float = LETTER) -> str:
    """As much of a text as fits into a width; the middle of a longer text is left out."""
    return elided(text, max(int((width - 16) / letter), 3))
