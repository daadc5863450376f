"""The unfolded graph: addresses say all of it, hubs stay small, and drawings have room for all."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.facts.entity_names import NO_NAMES
from hornbeam.serve.drawing import NODE_HEIGHT
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.unfolded_drawing import UnfoldedDrawing, draw_columns, draw_outline
from hornbeam.serve.unfolding import (
    MAX_OPEN,
    NEIGHBOURS,
    RELATIONS,
    Branch,
    Leaf,
    Unfolding,
    unfold,
)
from tests.support.commands import HOSTILE

NAMES = st.sampled_from(["a", "b", "c", "d", *HOSTILE])
FACTS = st.lists(st.tuples(NAMES, st.sampled_from(["p", "q & r", "<s>"]), NAMES), min_size=1)
PAGES = st.dictionaries(st.tuples(NAMES, st.sampled_from(["", ">p", "<p"])), st.integers(0, 3))


def unfolded(rows: list[tuple[str, str, str]], view: Unfolding) -> Branch:
    facts = hb.read_facts(rows)
    explorer = open_rule_explorer(facts, hb.Model.parse("1: !t(A, B)"), threads=1)
    return unfold(view, facts.entities, explorer.known_edges)


def at(address: str) -> Unfolding:
    """What an address says."""
    return Unfolding.of(dict(parse_qsl(urlsplit(address).query)))


def leaves(branch: Branch) -> list[tuple[str, Leaf]]:
    """All leaves, each with the node that it is a neighbour of."""
    found = []
    for group in branch.groups:
        for leaf in group.leaves:
            found.append((branch.name, leaf))
            found += leaves(leaf.branch) if leaf.branch else []
    return found


@given(opened=st.lists(NAMES, unique=True, max_size=MAX_OPEN), pages=PAGES, name=NAMES)
def test_an_address_says_what_is_open(
    opened: list[str], pages: dict[tuple[str, str], int], name: str
) -> None:
    kept = {key: page for key, page in pages.items() if page and key[0] in {name, *opened}}
    view = Unfolding(name, tuple(opened), kept)
    assert at(view.address) == view
    assert view.toggled("other").toggled("other") == Unfolding(
        name, tuple(opened)[-(MAX_OPEN - 1) :], kept
    )


@given(rows=FACTS, opened=st.lists(NAMES, unique=True), pages=PAGES)
def test_what_is_open_shows_its_facts(
    rows: list[tuple[str, str, str]], opened: list[str], pages: dict[tuple[str, str], int]
) -> None:
    root = rows[0][0]
    tree = unfolded(rows, Unfolding(root, tuple(opened), pages))
    stated = {(s, o) for s, _, o in rows} | {(o, s) for s, _, o in rows}
    found = leaves(tree)
    assert all((here, leaf.name) in stated for here, leaf in found)
    unfolded_ones = [leaf.name for _, leaf in found if leaf.branch]
    assert len(set(unfolded_ones)) == len(unfolded_ones)
    assert set(unfolded_ones) <= set(opened)
    # a node that is open and in sight is unfolded somewhere
    in_sight = {leaf.name for _, leaf in found}
    assert in_sight & set(opened) - {root} == set(unfolded_ones)
    for drawing in (
        draw_columns(tree, Unfolding(root), NO_NAMES),
        draw_outline(tree, Unfolding(root), NO_NAMES),
    ):
        assert len(drawing.nodes) == len(found) + 1
        check_room(drawing)


def check_room(drawing: UnfoldedDrawing) -> None:
    """Nodes stand inside the drawing, and none on another."""
    boxes = [(n.x, n.x + n.width, n.top, n.top + NODE_HEIGHT) for n in drawing.nodes]
    grounds = [(g.x, g.x + g.width, g.top, g.top + g.height) for g in drawing.grounds]
    for left, right, top, bottom in grounds:
        assert 0 <= left < right <= drawing.width
        assert 0 <= top < bottom <= drawing.height
    for i, (left, right, top, bottom) in enumerate(boxes):
        assert left >= 0
        assert right <= drawing.width
        assert top >= 0
        assert bottom <= drawing.height
        for other in boxes[:i]:
            assert right <= other[0] or left >= other[1] or bottom <= other[2] or top >= other[3]


@pytest.mark.slow
def test_a_hub_is_paged() -> None:
    rows = [("hub", f"p{k}", f"n{i:04}") for k in range(20) for i in range(1000)]
    tree = unfolded(rows, Unfolding("hub"))
    assert (len(tree.groups), tree.total) == (RELATIONS, 20)
    [group, *_] = tree.groups
    assert (len(group.leaves), group.total, group.before) == (NEIGHBOURS, 1000, None)
    assert group.after is not None
    second = unfolded(rows, at(group.after)).groups[0]
    assert second.leaves[0].name == f"n{NEIGHBOURS:04}"
    assert second.before == Unfolding("hub").address
    last = unfolded(rows, Unfolding("hub", (), {("hub", ">p0"): 10**6})).groups[0]
    assert last.after is None
    assert last.leaves[-1].name == "n0999"


@pytest.mark.parametrize(
    "query", [{}, {"open": "\t\t"}, {"page": "a"}, {"page": "a\tb"}, {"page": "a\t>p\t-1"}]
)
def test_odd_addresses_are_addresses(query: dict[str, str]) -> None:
    view = Unfolding.of({"name": "a", **query})
    assert view.opened == ()
    assert not any(view.pages.values())
