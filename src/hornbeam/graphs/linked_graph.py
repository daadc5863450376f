"""The graph as arrays: every entity's links by step, in both directions, and its properties.

A *step* is a relation walked forwards or backwards (`hornbeam.rules.codes`). A query (a, t, ?) asks
for the ends of the step t from a; (?, t, b) asks for the ends of the inverse step from b. So a step
stands for a relation and a direction everywhere in this package.

Links are sorted by entity, step and end. The links of one entity along one step are a *run*. The
property (s, d), "linked to d by the step s", is held by the entities in the run of d along the
inverse of s: its number is the number of that run. The property (s, _), "linked by s to anything",
has the number `runs + s`.

Some steps have the same links: a symmetric relation and its inverse, or two names of one relation.
A path that takes one of these steps instead of another reaches the same entities. So one rule of k
such steps would have 2^k spellings or more. Paths are spelt with the *canonical* step, the smallest
code with the same links (`hornbeam.rules.codes`). The only exception is the path along the rule's
own step, which is spelt with another step of the same links. Where r is symmetric,
`r(Y, X) -> r(X, Y)` has the same links in body and head, and still says something about other
facts; `r(X, Y) -> r(X, Y)` does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ids,
    Integers,
    Ints,
    Positions,
    part_numbers,
    pointers,
    sums_by,
)
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import Facts
from hornbeam.graphs.link_arrays import LinkArrays
from hornbeam.rules.codes import code_limit, step_code

if TYPE_CHECKING:
    from hornbeam.facts.growth import Growth


@dataclass(frozen=True, eq=False)
class LinkedGraph:
    """Distinct triples over ids, sorted by subject, predicate and object."""

    n_entities: int
    n_predicates: int
    subject: Ids
    predicate: Integers
    object: Ids

    @classmethod
    def of(cls, facts: Facts) -> LinkedGraph:
        """Take the binary facts that round to true; the graph lives as long as the facts."""
        known = facts.kept.get("links")
        if not isinstance(known, cls):
            table, sizes = facts.binary, (len(facts.entities), len(facts.predicates))
            if table.millionths is not None:
                table = table.select(table.true)
            subject, object_ = table.arguments
            known = cls(*sizes, subject, table.predicate, object_)
            facts.kept["links"] = known
        return known

    def grown(self, growth: Growth) -> LinkedGraph:
        """The graph of facts that have grown; its arrays move along where links are all that grew.

        So do the values of `kept` that can grow.
        """
        graph = type(self).of(growth.facts)
        if growth.is_plain and "links" in vars(self):
            vars(graph)["links"] = self.links.grown(growth)
            degree = np.zeros(graph.n_entities, dtype=np.int64)
            degree[growth.to_entity] = self.degree
            np.add.at(degree, np.concatenate(growth.new_links.arguments), 1)
            vars(graph)["degree"] = degree
            for name, value in self.kept.items():
                if hasattr(value, "grown"):
                    graph.kept[name] = value.grown(growth, self, graph)
        return graph

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What was computed from the graph, by its name; it lives as long as the graph."""
        return {}

    def __len__(self) -> int:
        return len(self.subject)

    def select(self, rows: Bools | Integers) -> LinkedGraph:
        """Keep the triples at `rows`, over the same entities and predicates."""
        ids = (self.subject[rows], self.predicate[rows], self.object[rows])
        return LinkedGraph(self.n_entities, self.n_predicates, *ids)

    @property
    def step_limit(self) -> int:
        """The smallest number above every step."""
        return code_limit(self.n_predicates)

    @cached_property
    def _rows_by_predicate(self) -> tuple[Positions, Ints]:
        order = np.argsort(self.predicate, kind="stable")
        return order, pointers(np.bincount(self.predicate, minlength=self.n_predicates))

    def rows_of(self, predicate: int) -> Positions:
        """Rows of a predicate's triples."""
        order, start = self._rows_by_predicate
        return order[start[predicate] : start[predicate + 1]]

    @cached_property
    def size(self) -> GraphSize:
        """How large the graph is."""
        linked = int(np.count_nonzero(self.degree))
        mean_links = 2 * len(self) / max(linked, 1)
        return GraphSize(len(self), self.n_entities, self.n_predicates, mean_links)

    @cached_property
    def links(self) -> LinkArrays:
        """Runs of links, sorted."""
        edges = self.subject, self.predicate, self.object
        return LinkArrays.of(*edges, self.n_entities, self.n_predicates)

    @cached_property
    def degree(self) -> Ints:
        """Number of links of every entity, both directions."""
        out = np.bincount(self.subject, minlength=self.n_entities)
        return (out + np.bincount(self.object, minlength=self.n_entities)).astype(np.int64)

    def prepare(self) -> None:
        """Compute the arrays for kernels, once, before several threads need them."""
        _ = self.links, self.degree

    @cached_property
    def run_keys(self) -> Ints:
        """Entity and step of every run as one number, ascending."""
        links = self.links
        return pair_keys(links.entities_of_runs(), links.run_step, self.step_limit)

    def run_of(self, entities: Integers, step: int) -> Ints:
        """Run of every entity along a step, -1 for entities without links along the step."""
        keys = pair_keys(entities, step, self.step_limit)
        at = np.minimum(np.searchsorted(self.run_keys, keys), max(len(self.run_keys) - 1, 0))
        if not len(self.run_keys):
            return np.full(len(keys), -1, dtype=np.int64)
        return np.where(self.run_keys[at] == keys, at, -1)

    def ends(self, entity: int, step: int) -> Ids:
        """Ends of the step from an entity, ascending."""
        run = int(self.run_of(np.array([entity]), step)[0])
        if run < 0:
            return np.empty(0, dtype=np.int32)
        return self.links.end[self.links.run_start[run] : self.links.run_start[run + 1]]

    def runs_along(self, step: int) -> Ids:
        """Runs along a step, by entity."""
        links = self.links
        return links.holder_run[links.first_holder[step] : links.first_holder[step + 1]]

    def holders(self, step: int) -> Ids:
        """Entities that have links along a step, ascending."""
        links = self.links
        return links.holder[links.first_holder[step] : links.first_holder[step + 1]]


@dataclass(frozen=True)
class GraphSize:
    """Numbers of facts, entities and predicates, and the mean number of links per linked entity."""

    facts: int
    entities: int
    predicates: int
    mean_links: float

    @property
    def step_limit(self) -> int:
        """The smallest number above every step."""
        return code_limit(self.predicates)


def n_walks(graph: LinkedGraph, length: int) -> float:
    """Number of walks of `length` links, each in either direction, whatever their relations."""
    walks: Floats = np.ones(graph.n_entities)
    for _ in range(length):
        walks = sums_by(graph.subject, walks[graph.object], graph.n_entities) + sums_by(
            graph.object, walks[graph.subject], graph.n_entities
        )
    return float(walks.sum())


# --- steps with the same links --------------------------------------------------------------------


def canonical_steps(graph: LinkedGraph) -> Ids:
    """The canonical step of every step; 0, which is not a step, stays 0."""
    canonical = np.arange(graph.step_limit, dtype=np.int32)
    smallest: dict[bytes, int] = {}
    for predicate in range(graph.n_predicates):
        rows = graph.rows_of(predicate)
        if not len(rows):
            continue
        ends = graph.subject[rows], graph.object[rows]
        for inverse, (start, end) in enumerate((ends, ends[::-1])):
            keys = np.sort(pair_keys(start, end, graph.n_entities))
            step = step_code(predicate, bool(inverse))
            canonical[step] = smallest.setdefault(blake2b(keys.tobytes()).digest(), step)
    return canonical


def other_spelling(step: int, canonical: Ids) -> int | None:
    """The smallest step other than `step` that has the same links, None if there is none."""
    same = np.flatnonzero(canonical == canonical[step])
    others = same[same != step]
    return int(others[0]) if len(others) else None


def canonical_paths(paths: Ids, step: int, canonical: Ids) -> Ids:
    """The paths as distinct rules of a step, in their order and in canonical spelling.

    Parameters
    ----------
    paths
        A row of steps per path, padded with 0 at the end.
    step
        The step that the paths are rules of.
    canonical
        See `canonical_steps`.
    """
    spelt = canonical[paths]
    other = other_spelling(step, canonical)
    if other is not None:
        own = (spelt[:, 0] == canonical[step]) & ~spelt[:, 1:].any(axis=1)
        spelt[own, 0] = other if canonical[step] == step else canonical[step]
    _, first = np.unique(spelt, axis=0, return_index=True)
    return spelt[np.sort(first)]


def canonical_links(links: LinkArrays, canonical: Ids) -> LinkArrays:
    """The links along canonical steps only; of the arrays, only runs and their ends are adapted."""
    kept = canonical[links.run_step] == links.run_step
    if kept.all():
        return links
    sizes = np.diff(links.run_start)
    of_entity = pointers(kept)[links.first_run]  # runs kept before each entity's
    return links._replace(
        first_run=of_entity,
        run_step=links.run_step[kept],
        run_start=pointers(sizes[kept]).astype(links.run_start.dtype),
        end=links.end[kept[part_numbers(links.run_start)]],
    )
