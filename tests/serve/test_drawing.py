"""Drawings hold every path once, and nothing in them overlaps."""

from __future__ import annotations

import itertools
import re

import pytest

from hornbeam.explaining.explanation import ExplainedScore, Explanation
from hornbeam.explaining.reason import Fact, GroundedCondition, Grounding, Reason, parts_of
from hornbeam.rules.body import Kind
from hornbeam.serve.drawing import (
    GUTTER,
    MAX_BANDS,
    NODE_HEIGHT,
    PHONE_NODES,
    WIDTH,
    Drawing,
    draw,
    draw_vertical,
)
from hornbeam.serve.drawn_groundings import MAX_NODES


def path(*entities: str, inverse: bool = False) -> Grounding:
    facts = tuple(
        Fact(b, "p", a) if inverse else Fact(a, "p", b) for a, b in itertools.pairwise(entities)
    )
    return Grounding(entities, facts)


def conditions(paths: list[Grounding]) -> tuple[GroundedCondition, ...]:
    """The one condition that these are all groundings of; none without groundings."""
    if not paths:
        return ()
    steps = len(paths[0].facts)
    return (GroundedCondition("p", Kind.PATH, 0, len(paths), tuple(paths), steps=steps),)


def explained(*reasons: list[Grounding], pull: float = 0.1) -> Explanation:
    found = tuple(
        Reason(i, f"rule {i}", 1.0, len(paths), pull, (of_paths(paths),))
        for i, paths in enumerate(reasons)
    )
    return Explanation("s", "t", "o", (ExplainedScore(0.7, parts_of(found)),), 1.0, 0.5)


def of_paths(paths: list[Grounding]) -> GroundedCondition:
    steps = len(paths[0].facts) if paths else 0
    return GroundedCondition("path", Kind.PATH, 0, len(paths), tuple(paths), steps=steps)


def drawn(*reasons: list[Grounding]) -> Drawing:
    drawing = draw(explained(*reasons))
    assert drawing is not None
    return drawing


def test_rules_that_rest_on_the_same_are_drawn_once() -> None:
    """A body that is weighed in several ways is several rules."""
    shared, other = [path("s", "a", "o")], [path("s", "b", "o")]
    drawing = drawn(shared, other, shared)
    assert [[node.name for node in band.nodes] for band in drawing.bands] == [["a"], ["b"]]
    assert drawing.undrawn == 0


def test_paths_share_their_entities() -> None:
    drawing = drawn([path("s", "a", "x", "o"), path("s", "a", "y", "o"), path("s", "b", "y", "o")])
    [band] = drawing.bands
    assert sorted(node.name for node in band.nodes) == ["a", "b", "x", "y"]
    assert len(band.edges) == 2 + 3 + 2
    assert band.hidden == 0
    assert [step.text for step in band.steps] == ["p →"] * 3


def test_nothing_overlaps() -> None:
    many = [path("s", f"m{i}", f"n{k}", "o") for i in range(4) for k in range(5)]
    drawing = drawn(many, [path("s", "o")], [path("s", "a", "o"), path("s", "b", "o")])
    boxes = [(n.left, n.right, n.top, n.top + NODE_HEIGHT) for b in drawing.bands for n in b.nodes]
    boxes += [(n.left, n.right, n.top, n.top + NODE_HEIGHT) for n in drawing.ends]
    for i, (left, right, top, bottom) in enumerate(boxes):
        assert left >= 0
        assert right <= WIDTH
        assert top >= 0
        assert bottom <= drawing.height
        for other in boxes[:i]:
            assert right <= other[0] or left >= other[1] or bottom <= other[2] or top >= other[3]
    for one, next_ in zip(drawing.bands, drawing.bands[1:], strict=False):
        assert one.top + one.height < next_.top
    for band in drawing.bands:
        for node in band.nodes:
            assert band.top < node.top
            assert node.top + NODE_HEIGHT <= band.top + band.height
            assert drawing.ends[0].right + GUTTER <= node.left
            assert node.right <= drawing.ends[1].left - GUTTER


def ends(curve: str) -> tuple[tuple[float, float], tuple[float, float]]:
    numbers = [float(x) for x in re.findall(r"-?[0-9.]+", curve)]
    return (numbers[0], numbers[1]), (numbers[-2], numbers[-1])


@pytest.mark.parametrize("inverse", [False, True])
def test_edges_end_at_their_entities_and_point_as_their_facts_do(inverse: bool) -> None:
    drawing = drawn([path("s", "a", "o", inverse=inverse)])
    [band] = drawing.bands
    [node] = band.nodes
    first, second = (ends(edge.curve) for edge in band.edges)
    if inverse:
        first, second = first[::-1], second[::-1]
    assert first == ((drawing.ends[0].right, drawing.ends[0].y), (node.left, node.y))
    assert second == ((node.right, node.y), (drawing.ends[1].left, drawing.ends[1].y))
    assert band.steps[0].text == ("← p" if inverse else "p →")
    assert band.edges[0].title == ("p(a, s)" if inverse else "p(s, a)")


def test_of_many_paths_some_are_drawn_and_the_rest_counted() -> None:
    drawing = drawn(
        *([path("s", f"m{k}{i:02}", "o") for i in range(30)] for k in range(MAX_BANDS + 2))
    )
    assert len(drawing.bands) == MAX_BANDS
    assert drawing.undrawn == 2
    for band in drawing.bands:
        assert len(band.nodes) == MAX_NODES
        assert band.hidden == 30 - MAX_NODES


def test_the_ends_may_be_passed_on_the_way_and_names_be_long() -> None:
    drawing = drawn([path("s", "o", "s", "o"), path("s", "x" * 500, "s", "o")])
    [band] = drawing.bands
    assert sorted(node.name[:5] for node in band.nodes) == ["o", "s", "xxxxx"]
    assert max(len(node.label) for node in band.nodes) < 30


def test_a_prior_alone_draws_nothing() -> None:
    assert draw(explained([])) is None


def test_upright_bands_lead_from_subject_to_object() -> None:
    many = [path("s", f"m{i}", f"n{k}", "o") for i in range(4) for k in range(5)]
    drawing = draw_vertical(explained(many, [path("s", "o")], [path("s", "a", "o", inverse=True)]))
    assert drawing is not None
    for band in drawing.bands:
        assert [node.name for node in band.nodes if node.is_end] == ["s", "o"]
        rows: dict[float, list[tuple[float, float]]] = {}
        for node in band.nodes:
            assert node.left >= 0
            assert node.right <= drawing.width
            assert band.top <= node.top
            assert node.top + NODE_HEIGHT <= band.top + band.height
            rows.setdefault(node.y, []).append((node.left, node.right))
        for row in rows.values():
            assert len(row) <= PHONE_NODES
            assert all(one[1] <= other[0] for one, other in itertools.pairwise(sorted(row)))
    assert drawing.bands[0].hidden > 0
    first, second = (ends(edge.curve) for edge in drawing.bands[2].edges)
    assert first[0][1] > first[1][1]
    assert second[0][1] > second[1][1]
    assert drawing.bands[2].steps[0].text == "↑ p"


def test_upright_a_prior_alone_draws_nothing() -> None:
    assert draw_vertical(explained([])) is None
