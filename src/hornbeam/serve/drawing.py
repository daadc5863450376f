"""A drawing of what is behind a prediction: subject on the left, object on the right.

On a phone it is drawn from top to bottom: `hornbeam.serve.vertical_drawing`.

Every condition of a rule is a band. All its paths have the same predicates, so these are written
once, above the band's columns; the entities of each step form a column, merged where paths share
them. That stays readable with many paths, where a force-directed layout would not. A condition on
one argument is a band of one step from that end.
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
from hornbeam.rules.body import Kind
from hornbeam.rules.rule_words import said, with_shown_entities
from hornbeam.serve.drawn_groundings import DrawnGroundings, strongest_groundings

#: Sizes in the drawing's own units, which are CSS pixels at full width.
WIDTH = 920
NODE_HEIGHT = 26
ROW = 36
HEADER = 30
FOOTER = 16
#: Gaps between bands of two rules, and of one.
GAP, INNER_GAP = 14, 3
MARGIN = 10
ENDS_WIDTH = 148
#: Gap between the ends and the bands, in which edges reach the height of their first entity.
GUTTER = 58
#: Maximum number of bands.
MAX_BANDS = 6
#: Estimated width of a letter, rather too wide, and of a bold one.
LETTER, BOLD_LETTER = 7.0, 8.2

#: A point in a drawing.
DrawnPoint = tuple[float, float]


@dataclass(frozen=True)
class DrawnNode:
    """An entity, or the unary atom about one, with its position: centre and width.

    `full` is its name, and `label` as much of that as fits.
    """

    name: str
    full: str
    label: str
    x: float
    y: float
    width: float
    is_end: bool = False
    is_entity: bool = True

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
    """A fact between two nodes as a curve in its direction."""

    curve: str
    title: str


@dataclass(frozen=True)
class StepLabel:
    """The predicate of one step, above its column."""

    text: str
    full: str
    x: float
    y: float


@dataclass(frozen=True)
class Band:
    """A condition of a rule that is "for" or "against" the pair, or "neutral".

    `words` are the rule's; `hidden` groundings are not drawn; `unit` is the word for one of them.
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
        words = said(with_shown_entities(reason.words, names.shown))
        return cls(words, reason.side, drawn.unit, drawn.hidden, top, height, nodes, edges, steps)


@dataclass(frozen=True)
class Drawing:
    """Bands below one another between subject and object; `undrawn` weaker rules are left out."""

    width: float
    height: float
    subject: DrawnNode
    object: DrawnNode
    bands: Sequence[Band]
    undrawn: int


def draw(explanation: Explanation, names: EntityNames = NO_NAMES) -> Drawing | None:
    """Draw the groundings of the strongest reasons; None where no rule has a fact."""
    strongest, undrawn = strongest_groundings(explanation, MAX_BANDS)
    if not strongest:
        return None
    gaps = [INNER_GAP if one.reason is other.reason else GAP for one, other in pairwise(strongest)]
    total = sum(map(_height, strongest)) + sum(gaps) + 2 * MARGIN
    middle = total / 2
    left, right = MARGIN + ENDS_WIDTH / 2, WIDTH - MARGIN - ENDS_WIDTH / 2
    subject, object_ = (
        DrawnNode(
            name, full, fitted(full, ENDS_WIDTH, BOLD_LETTER), x, middle, ENDS_WIDTH, is_end=True
        )
        for name, full, x in (
            (explanation.subject, names.shown(explanation.subject), left),
            (explanation.object, names.shown(explanation.object), right),
        )
    )
    bands, top = [], float(MARGIN)
    for drawn, gap in zip(strongest, [*gaps, 0], strict=True):
        bands.append(_band(drawn, top, subject, object_, names))
        top += _height(drawn) + gap
    return Drawing(WIDTH, total, subject, object_, bands, undrawn)


def _footer(drawn: DrawnGroundings) -> float:
    """Height of the note that there are more."""
    return FOOTER if drawn.hidden else 0.0


def _height(drawn: DrawnGroundings) -> float:
    """Height of a band."""
    most = max((len(layer) for layer in drawn.layers), default=1)
    return HEADER + ROW * most + _footer(drawn)


def _band(
    drawn: DrawnGroundings, top: float, subject: DrawnNode, object_: DrawnNode, names: EntityNames
) -> Band:
    left, right = subject.right + GUTTER, object_.left - GUTTER
    column = (right - left) / drawn.columns
    width = min(column * 0.7, 200.0)
    height = _height(drawn)
    room = height - HEADER - _footer(drawn)
    entities = drawn.condition.kind is not Kind.UNARY
    placed: list[dict[str, DrawnNode]] = [{} for _ in drawn.drawn[0].nodes]
    for k, layer in zip(drawn.inner, drawn.ordered_layers, strict=True):
        x = left + column * (drawn.offset + k)
        first = top + HEADER + (room - ROW * len(layer)) / 2 + ROW / 2
        placed[k] = {
            name: DrawnNode(name, full, fitted(full, width), x, first + ROW * i, width,
                            is_entity=entities)
            for i, name in enumerate(layer)
            for full in [names.shown(name) if entities else name]
        }  # fmt: skip
    nodes = [node for layer in placed for node in layer.values()]
    for k, end in ((0, subject), (len(placed) - 1, object_)):
        if k not in drawn.inner:
            placed[k] = {drawn.drawn[0].nodes[k]: end}
    curve = partial(_curve, band_middle=top + HEADER + room / 2)
    edges = fact_curves(drawn, placed, names, curve)
    labels = _step_labels(drawn, left, column, top + HEADER / 2 + 4)
    return Band.of(drawn, names, top, height, nodes, edges, labels)


def fact_curves(
    drawn: DrawnGroundings,
    placed: Sequence[Mapping[str, DrawnNode]],
    names: EntityNames,
    curve: Callable[[DrawnNode, DrawnNode, bool], str],
) -> list[DrawnEdge]:
    """The facts, each once, as curves between nodes."""
    edges: dict[tuple[int, str, str], DrawnEdge] = {}
    for one in drawn.drawn:
        for k, (fact, backwards) in enumerate(zip(one.facts, one.backwards, strict=True)):
            here, there = one.nodes[k], one.nodes[k + 1]
            line = curve(placed[k][here], placed[k + 1][there], backwards)
            soft = "" if fact.truth >= 1 else f" = {fact.truth:.3g}"
            title = renamed(fact, names.shown).atom + soft
            edges.setdefault((k, here, there), DrawnEdge(line, title))
    return list(edges.values())


def _curve(here: DrawnNode, there: DrawnNode, inverse: bool, band_middle: float) -> str:
    """A curve between two nodes in the direction of its fact, so that its arrow is right.

    It rises and falls only in the gutters, or between two columns of a band.
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
    return level_curve(points)


def level_curve(points: Sequence[DrawnPoint]) -> str:
    """A curve through points that is horizontal at both ends."""
    parts = [f"M {_at(*points[0])}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        reach = (x2 - x1) / 2
        parts.append(f"C {_at(x1 + reach, y1)}, {_at(x2 - reach, y2)}, {_at(x2, y2)}")
    return " ".join(parts)


def vertical_curve(start: DrawnPoint, end: DrawnPoint) -> str:
    """A curve that is vertical at both ends."""
    middle = (start[1] + end[1]) / 2
    return f"M {_at(*start)} C {_at(start[0], middle)}, {_at(end[0], middle)}, {_at(*end)}"


def _at(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"


def _step_labels(drawn: DrawnGroundings, start: float, column: float, y: float) -> list[StepLabel]:
    labels, grounding = [], drawn.drawn[0]
    for k, (fact, backwards) in enumerate(zip(grounding.facts, grounding.backwards, strict=True)):
        # a unary atom is written in its node
        label = "is" if drawn.condition.kind is Kind.UNARY else fact.predicate
        name = fitted(label, column - 30)
        text = f"← {name}" if backwards else f"{name} →"
        labels.append(StepLabel(text, fact.predicate, start + column * (drawn.offset + k + 0.5), y))
    return labels


def fitted(text: str, width: float, letter: float = LETTER) -> str:
    """As much of a text as fits into a width, its middle left out."""
    return elided(text, max(int((width - 16) / letter), 3))
