"""Two drawings of an unfolded graph: in columns from the root to the right, and as an outline.

In columns the neighbours of an open node are to its right, those of one relation on a common
background. The outline, for narrow screens, has them below it, indented.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hornbeam.base.texts import elided
from hornbeam.facts.entity_names import EntityNames
from hornbeam.serve.drawing import NODE_HEIGHT, fitted, level_curve
from hornbeam.serve.unfolding import Branch, Group, Leaf, Unfolding

#: Sizes in the drawing's own units, which are CSS pixels.
ROW = 34
HEADER = 26
GAP = 10
MARGIN = 10
NODE_WIDTH = 190
#: Distance from one column to the next.
COLUMN = 284
#: Width of an outline, and indentation per level.
OUTLINE, INDENT = 336, 22
#: Width of a letter of a header.
LETTER = 7.3
#: Width at the end of a node for the link to its page.
PAGE_LINK = 24


@dataclass(frozen=True)
class GraphNode:
    """A node with its position: left edge, upper edge, width; `toggle` opens or closes it."""

    name: str
    full: str
    label: str
    x: float
    top: float
    width: float
    toggle: str
    is_root: bool = False
    is_open: bool = False
    is_open_elsewhere: bool = False

    @property
    def middle(self) -> float:
        """Height of its middle."""
        return self.top + NODE_HEIGHT / 2


@dataclass(frozen=True)
class GroupHeader:
    """The header of some neighbours: their relation, or the number of relations.

    `before` and `after` are the addresses of other pages.
    """

    text: str
    full: str
    x: float
    y: float
    width: float
    before: str | None
    after: str | None


@dataclass(frozen=True)
class GroupBackground:
    """The background of the neighbours by one relation."""

    x: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class UnfoldedDrawing:
    """All elements of a drawing with their positions."""

    width: float
    height: float
    nodes: Sequence[GraphNode]
    headers: Sequence[GroupHeader]
    #: Curves of facts, or in an outline lines of several of one relation.
    edges: Sequence[str]
    grounds: Sequence[GroupBackground]


def draw_columns(root: Branch, view: Unfolding, names: EntityNames) -> UnfoldedDrawing:
    """Draw an unfolded graph from left to right."""
    columns = _ColumnLayout(view, names)
    block = columns.block_height(root)
    top = MARGIN + max((block - NODE_HEIGHT) / 2, 0.0)
    first = columns.node(Leaf(root.name, root), MARGIN, top, is_root=True)
    columns.place(root, first, 1)
    height = max(max(columns.used, default=0.0), first.top + NODE_HEIGHT) + MARGIN
    width = MARGIN * 2 + NODE_WIDTH + COLUMN * len(columns.used)
    return UnfoldedDrawing(
        width, height, columns.nodes, columns.headers, columns.edges, columns.grounds
    )


class _ColumnLayout:
    """Collects placed elements; `used` is the lowest used position of each column."""

    def __init__(self, view: Unfolding, names: EntityNames) -> None:
        self.view = view
        self.names = names
        self.used = list[float]()
        self.nodes = list[GraphNode]()
        self.headers = list[GroupHeader]()
        self.edges = list[str]()
        self.grounds = list[GroupBackground]()

    def node(self, leaf: Leaf, x: float, top: float, is_root: bool = False) -> GraphNode:
        made = _node(leaf, x, top, NODE_WIDTH, self.view, self.names, is_root)
        self.nodes.append(made)
        return made

    def block_height(self, branch: Branch) -> float:
        """Height of the neighbours of an open node."""
        paged = HEADER if branch.before or branch.after else 0
        return paged + sum(HEADER + ROW * len(group.leaves) + GAP for group in branch.groups)

    def place(self, branch: Branch, parent: GraphNode, level: int) -> None:
        """Place the neighbours of an open node in the next column, near its height."""
        if not branch.groups:
            return
        if len(self.used) < level:
            self.used.append(float(MARGIN))
        x = MARGIN + COLUMN * level
        top = max(self.used[level - 1], parent.middle - self.block_height(branch) / 2)
        if branch.before or branch.after:
            self.headers.append(_relations_header(branch, x, top + HEADER / 2 + 4, NODE_WIDTH))
            top += HEADER
        open_leaves = list[tuple[Branch, GraphNode]]()
        for group in branch.groups:
            height = HEADER + ROW * len(group.leaves)
            self.grounds.append(GroupBackground(x - MARGIN, top, NODE_WIDTH + 2 * MARGIN, height))
            self.headers.append(_group_header(group, x, top + HEADER / 2 + 4, NODE_WIDTH))
            for k, leaf in enumerate(group.leaves):
                node = self.node(leaf, x, top + HEADER + ROW * k)
                self.edges.append(_across(parent, node, group.inverse))
                if leaf.branch is not None:
                    open_leaves.append((leaf.branch, node))
            top += height + GAP
        self.used[level - 1] = top
        for further, node in open_leaves:
            self.place(further, node, level + 1)


def draw_outline(root: Branch, view: Unfolding, names: EntityNames) -> UnfoldedDrawing:
    """Draw an unfolded graph from top to bottom, neighbours indented below their node."""
    outline = _Outline(view, names)
    first = outline.node(Leaf(root.name, root), MARGIN, is_root=True)
    outline.place(root, first, 1)
    return UnfoldedDrawing(
        OUTLINE, outline.top + MARGIN, outline.nodes, outline.headers, outline.edges, ()
    )


class _Outline:
    """Collects placed elements; `top` is the position of the next line."""

    def __init__(self, view: Unfolding, names: EntityNames) -> None:
        self.view = view
        self.names = names
        self.top = float(MARGIN)
        self.nodes = list[GraphNode]()
        self.headers = list[GroupHeader]()
        self.edges = list[str]()

    def node(self, leaf: Leaf, x: float, is_root: bool = False) -> GraphNode:
        width = OUTLINE - MARGIN - x
        made = _node(leaf, x, self.top, width, self.view, self.names, is_root)
        self.nodes.append(made)
        self.top += ROW
        return made

    def place(self, branch: Branch, parent: GraphNode, level: int) -> None:
        """Place the neighbours of an open node below it; deep levels are not indented further."""
        x = MARGIN + INDENT * min(level, 6)
        rail = x - INDENT / 2
        width = OUTLINE - MARGIN - x
        if branch.before or branch.after:
            self.headers.append(_relations_header(branch, x, self.top + HEADER / 2 + 4, width))
            self.top += HEADER
        for group in branch.groups:
            self.headers.append(_group_header(group, x, self.top + HEADER / 2 + 4, width))
            self.top += HEADER
            for leaf in group.leaves:
                node = self.node(leaf, x)
                start = parent.top + NODE_HEIGHT
                self.edges.append(f"M {rail:.1f} {start:.1f} V {node.middle:.1f} H {x:.1f}")
                if leaf.branch is not None:
                    self.place(leaf.branch, node, level + 1)


def _node(
    leaf: Leaf, x: float, top: float, width: float, view: Unfolding, names: EntityNames,
    is_root: bool,
) -> GraphNode:  # fmt: skip
    full = names.shown(leaf.name)
    return GraphNode(
        leaf.name,
        full,
        fitted(full, width - PAGE_LINK),
        x,
        top,
        width,
        view.toggled(leaf.name).address,
        is_root,
        leaf.branch is not None,
        leaf.is_open_elsewhere,
    )


def _group_header(group: Group, x: float, y: float, width: float) -> GroupHeader:
    last = group.first + len(group.leaves)
    of = f"{group.total:,}"
    if group.before or group.after:
        of = f"{group.first + 1:,}–{last:,} of {of}"
    name = elided(group.predicate, max(int((width - 34) / LETTER) - len(of) - 3, 3))
    text = f"← {name} {of}" if group.inverse else f"{name} → {of}"
    return GroupHeader(
        text, group.predicate, x, y, width, _address(group.before), _address(group.after)
    )


def _relations_header(branch: Branch, x: float, y: float, width: float) -> GroupHeader:
    last = branch.first + len(branch.groups)
    text = f"relations {branch.first + 1}–{last} of {branch.total:,}"
    return GroupHeader(text, text, x, y, width, _address(branch.before), _address(branch.after))


def _address(view: Unfolding | None) -> str | None:
    return None if view is None else view.address


def _across(parent: GraphNode, node: GraphNode, inverse: bool) -> str:
    """A curve from a node to a neighbour on its right, in the direction of the fact."""
    ends = [(parent.x + parent.width, parent.middle), (node.x, node.middle)]
    return level_curve(ends[::-1] if inverse else ends)
