"""Two drawings of an unfolded graph: in columns from the root to the right, and as an outline.

In columns, the neighbours of an open node are to its right; neighbours by the same relation have a
common background. In the outline, for narrow screens, neighbours are below their node, indented.
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
#: Width at the right end of a node that is reserved for the link to the entity's page.
PAGE_LINK = 24


@dataclass(frozen=True)
class GraphNode:
    """A node with its left edge, upper edge and width; the address `toggle` opens or closes it."""

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
        """Vertical position of the node's middle."""
        return self.top + NODE_HEIGHT / 2


@dataclass(frozen=True)
class GroupHeader:
    """The header of a group of neighbours (their relation), or of several pages of relations.

    `before` and `after` are the addresses of the previous and the next page, if any.
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
    #: Curves of facts; in an outline, lines from a node to its neighbours.
    edges: Sequence[str]
    grounds: Sequence[GroupBackground]


class _Layout:
    """Collects the elements of a drawing as they are placed."""

    def __init__(self, view: Unfolding, names: EntityNames) -> None:
        self.view = view
        self.names = names
        self.nodes = list[GraphNode]()
        self.headers = list[GroupHeader]()
        self.edges = list[str]()
        self.grounds = list[GroupBackground]()

    def node(
        self, leaf: Leaf, x: float, top: float, width: float, is_root: bool = False
    ) -> GraphNode:
        """Place a node."""
        full, toggle = self.names.shown(leaf.name), self.view.toggled(leaf.name).address
        label, is_open = fitted(full, width - PAGE_LINK), leaf.branch is not None
        state = (is_root, is_open, leaf.is_open_elsewhere)
        self.nodes.append(GraphNode(leaf.name, full, label, x, top, width, toggle, *state))
        return self.nodes[-1]

    def relations_header(self, branch: Branch, x: float, top: float, width: float) -> float:
        """Place a header if a node's relations fill several pages; returns its height, or 0."""
        if not (branch.before or branch.after):
            return 0.0
        last = branch.first + len(branch.groups)
        text = f"relations {branch.first + 1}–{last} of {branch.total:,}"
        self._header(text, text, x, top, width, branch)
        return HEADER

    def group_header(self, group: Group, x: float, top: float, width: float) -> None:
        """Place the header of the neighbours by one relation."""
        of = f"{group.total:,}"
        if group.before or group.after:
            of = f"{group.first + 1:,}–{group.first + len(group.leaves):,} of {of}"
        predicate = self.names.shown(group.predicate)
        name = elided(predicate, max(int((width - 34) / LETTER) - len(of) - 3, 3))
        text = f"← {name} {of}" if group.inverse else f"{name} → {of}"
        self._header(text, predicate, x, top, width, group)

    def _header(
        self, text: str, full: str, x: float, top: float, width: float, paged: Branch | Group
    ) -> None:
        y = top + HEADER / 2 + 4
        self.headers.append(GroupHeader(text, full, x, y, width, paged.before, paged.after))

    def drawing(self, width: float, height: float) -> UnfoldedDrawing:
        """The drawing of all elements that were placed."""
        return UnfoldedDrawing(width, height, self.nodes, self.headers, self.edges, self.grounds)


def draw_columns(root: Branch, view: Unfolding, names: EntityNames) -> UnfoldedDrawing:
    """Draw an unfolded graph from left to right."""
    columns = _ColumnLayout(view, names)
    top = MARGIN + max((columns.block_height(root) - NODE_HEIGHT) / 2, 0.0)
    first = columns.node(Leaf(root.name, root), MARGIN, top, NODE_WIDTH, is_root=True)
    columns.place(root, first, 1)
    height = max(max(columns.used, default=0.0), first.top + NODE_HEIGHT) + MARGIN
    return columns.drawing(MARGIN * 2 + NODE_WIDTH + COLUMN * len(columns.used), height)


class _ColumnLayout(_Layout):
    """Places neighbours in columns; `used` is the position per column down to which it is used."""

    def __init__(self, view: Unfolding, names: EntityNames) -> None:
        super().__init__(view, names)
        self.used = list[float]()

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
        top += self.relations_header(branch, x, top, NODE_WIDTH)
        open_leaves = list[tuple[Branch, GraphNode]]()
        for group in branch.groups:
            height = HEADER + ROW * len(group.leaves)
            self.grounds.append(GroupBackground(x - MARGIN, top, NODE_WIDTH + 2 * MARGIN, height))
            self.group_header(group, x, top, NODE_WIDTH)
            for k, leaf in enumerate(group.leaves):
                node = self.node(leaf, x, top + HEADER + ROW * k, NODE_WIDTH)
                ends = [(parent.x + parent.width, parent.middle), (node.x, node.middle)]
                self.edges.append(level_curve(ends[::-1] if group.inverse else ends))
                if leaf.branch is not None:
                    open_leaves.append((leaf.branch, node))
            top += height + GAP
        self.used[level - 1] = top
        for further, node in open_leaves:
            self.place(further, node, level + 1)


def draw_outline(root: Branch, view: Unfolding, names: EntityNames) -> UnfoldedDrawing:
    """Draw an unfolded graph from top to bottom, neighbours indented below their node."""
    outline = _OutlineLayout(view, names)
    outline.place_node(Leaf(root.name, root), 0)
    return outline.drawing(OUTLINE, outline.top + MARGIN)


class _OutlineLayout(_Layout):
    """Places neighbours below; `top` is the position of the next line."""

    top = float(MARGIN)

    def place_node(self, leaf: Leaf, level: int) -> GraphNode:
        """Place a node and, if it is open, its neighbours below it.

        Deep levels are not indented further.
        """
        x = MARGIN + INDENT * min(level, 6)
        node = self.node(leaf, x, self.top, OUTLINE - MARGIN - x, is_root=not level)
        self.top += ROW
        if leaf.branch is not None:
            self._place(leaf.branch, node, level + 1)
        return node

    def _place(self, branch: Branch, parent: GraphNode, level: int) -> None:
        x = MARGIN + INDENT * min(level, 6)
        rail, width = x - INDENT / 2, OUTLINE - MARGIN - x
        self.top += self.relations_header(branch, x, self.top, width)
        for group in branch.groups:
            self.group_header(group, x, self.top, width)
            self.top += HEADER
            for leaf in group.leaves:
                start, middle = parent.top + NODE_HEIGHT, self.top + NODE_HEIGHT / 2
                self.edges.append(f"M {rail:.1f} {start:.1f} V {middle:.1f} H {x:.1f}")
                self.place_node(leaf, level)
