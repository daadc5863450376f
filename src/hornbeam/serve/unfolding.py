"""The graph around an entity, unfolded node by node; the address lists the open nodes.

An open node shows its neighbours by relation, one page at a time. So a hub of a million facts takes
no longer than any other node. The address has the whole state of the view, so that a view can be
bookmarked, sent and returned to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hornbeam.facts.names import Names
from hornbeam.serve.filters import quoted
from hornbeam.serve.shown_values import KnownEdges
from hornbeam.serve.visits import whole_number

#: Page sizes: neighbours by one relation, and relations of one node.
NEIGHBOURS, RELATIONS = 5, 5
#: Maximum number of open nodes; beyond it, the node that was opened first closes.
MAX_OPEN = 12
#: Separates names in an address: no name contains a tab.
SEPARATOR = "\t"
#: In place of a step, it stands for the page of a node's relations (see `Unfolding.pages`).
ALL_RELATIONS = ""


@dataclass(frozen=True)
class Unfolding:
    """Which nodes around a root are open, and the page that each of their relations shows.

    `pages` are by entity and step. A step is a relation with ">" before it, or with "<" if the
    entity is the object.
    """

    root: str
    opened: tuple[str, ...] = ()
    pages: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Unfolding:
        """The unfolding in an address."""
        opened = tuple(dict.fromkeys(filter(None, query.get("open", "").split(SEPARATOR))))
        parts = query.get("page", "").split(SEPARATOR)
        triples = zip(parts[::3], parts[1::3], parts[2::3], strict=False)
        pages = {(name, step): whole_number(page, 0) for name, step, page in triples}
        return cls(query.get("name", ""), opened[-MAX_OPEN:], pages)

    @property
    def address(self) -> str:
        """The address of the view."""
        kept = {self.root, *self.opened}
        pages = [
            part
            for (name, step), page in self.pages.items()
            if page and name in kept
            for part in (name, step, str(page))
        ]
        lists = {"open": self.opened, "page": pages}
        further = "".join(
            f"&{key}={quoted(SEPARATOR.join(parts))}" for key, parts in lists.items() if parts
        )
        return f"/around?name={quoted(self.root)}{further}"

    def toggled(self, name: str) -> Unfolding:
        """The view with a closed node opened, or an open node closed."""
        if name in self.opened:
            return replace(self, opened=tuple(node for node in self.opened if node != name))
        return replace(self, opened=(*self.opened, name)[-MAX_OPEN:])

    def with_page(self, name: str, step: str, page: int) -> Unfolding:
        """The view with another page of a node's neighbours by one step."""
        return replace(self, pages={**self.pages, (name, step): page})


@dataclass(frozen=True)
class Leaf:
    """A neighbour, with its `branch` if it is open at this place."""

    name: str
    branch: Branch | None = None
    is_open_elsewhere: bool = False


@dataclass(frozen=True)
class Group:
    """A page of the neighbours of a node by one relation, from number `first` of `total`.

    `before` and `after` are the addresses of the previous and the next page, if any.
    """

    predicate: str
    inverse: bool
    leaves: Sequence[Leaf]
    first: int
    total: int
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Branch:
    """An open node: a page of its relations; for the other fields see `Group`."""

    name: str
    groups: Sequence[Group]
    first: int
    total: int
    before: str | None
    after: str | None


#: The edges of an entity by its id.
EdgesOf = Callable[[int], Sequence[KnownEdges]]


def unfold(view: Unfolding, entities: Names, edges_of: EdgesOf) -> Branch:
    """Unfold the open nodes; a node that occurs several times is unfolded nearest to the root."""
    branches = {view.root: _branch(view, view.root, entities, edges_of)}
    parents, at = dict[str, str](), deque([view.root])
    while at:
        name = at.popleft()
        for leaf in [leaf for group in branches[name].groups for leaf in group.leaves]:
            if leaf.name in view.opened and leaf.name not in branches:
                branches[leaf.name] = _branch(view, leaf.name, entities, edges_of)
                parents[leaf.name] = name
                at.append(leaf.name)
    return _with_open_nodes(view.root, branches, parents, set())


def _with_open_nodes(
    name: str, branches: Mapping[str, Branch], parents: Mapping[str, str], placed: set[str]
) -> Branch:
    """A branch with the branches of its open leaves; `placed` are nodes unfolded already."""

    def opened(leaf: Leaf) -> Leaf:
        if parents.get(leaf.name) != name or leaf.name in placed:
            return replace(leaf, is_open_elsewhere=leaf.name in branches)
        placed.add(leaf.name)
        return replace(leaf, branch=_with_open_nodes(leaf.name, branches, parents, placed))

    branch = branches[name]
    groups = [replace(group, leaves=list(map(opened, group.leaves))) for group in branch.groups]
    return replace(branch, groups=groups)


def _branch(view: Unfolding, name: str, entities: Names, edges_of: EdgesOf) -> Branch:
    """An open node with its neighbours by relation."""
    edges = edges_of(entities.index(name))
    page = _page(view, name, ALL_RELATIONS, len(edges), RELATIONS)
    groups = []
    for predicate, inverse, others in edges[page[0] : page[0] + RELATIONS]:
        step = ("<" if inverse else ">") + predicate
        shown = _page(view, name, step, len(others), NEIGHBOURS)
        names = entities.take(others[shown[0] : shown[0] + NEIGHBOURS])
        groups.append(Group(predicate, inverse, list(map(Leaf, names)), *shown))
    return Branch(name, groups, *page)


def _page(
    view: Unfolding, name: str, step: str, total: int, size: int
) -> tuple[int, int, str | None, str | None]:
    """First row of a page, number of all rows, and addresses of the pages before and after."""
    last = max((total - 1) // size, 0)
    page = min(view.pages.get((name, step), 0), last)
    before, after = (
        view.with_page(name, step, other).address if 0 <= other <= last else None
        for other in (page - 1, page + 1)
    )
    return page * size, total, before, after
