"""The graph as arrays: every entity's links by step, in both directions, and its properties.

A *step* is a relation walked forwards or backwards (`hornbeam.rules.codes`); a query (a, t, ?) asks
for the ends of the step t from a, a query (?, t, b) for those of the inverse step from b. So a step
stands for a relation and a direction everywhere in this room.

Links are sorted by entity, step and end. The links of one entity along one step are a *run*. The
property (s, d), "linked to d by the step s", is held by the entities in the run of d along the
inverse of s: its number is the number of that run. The property (s, _), "linked by s to anything",
has the number `runs + s`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.arrays import Bools, Ids, Integers, Ints, pointers, run_starts
from hornbeam.facts.table import HALF, Facts
from hornbeam.graphs.graph_size import GraphSize
from hornbeam.rules.codes import code_limit, step_code

#: Facts above which the loops over a graph are compiled.
WORTH_COMPILING = 100


class Links(NamedTuple):
    """What kernels see of a graph.

    Entity v has the runs `first_run[v]` to `first_run[v + 1]`; run r walks the step `run_step[r]`
    from the entity `run_entity[r]` to the entities `end[run_start[r]]` to `end[run_start[r + 1]]`.
    `property[i]` is the property that link i gives to the entity it starts from. The entities with
    runs of a step s are `holder[first_holder[s]]` to `holder[first_holder[s + 1]]`.
    """

    first_run: Ints
    run_step: Ids
    run_entity: Ids
    run_start: Ints
    end: Ids
    property: Ids
    first_holder: Ints
    holder: Ids


@dataclass(frozen=True, eq=False)
class LinkedGraph:
    """Distinct triples over ids of entities and predicates."""

    n_entities: int
    n_predicates: int
    subject: Ids
    predicate: Ids
    object: Ids

    @classmethod
    def of(cls, facts: Facts) -> LinkedGraph:
        """Take the binary facts that round to true."""
        atoms = facts.binary
        kept = np.ones(len(atoms), dtype=np.bool_)
        if atoms.millionths is not None:
            kept = atoms.millionths >= HALF
        subject, object_ = (ids[kept].astype(np.int32) for ids in atoms.arguments)
        predicate = atoms.predicate[kept].astype(np.int32)
        return cls(len(facts.entities), len(facts.predicates), subject, predicate, object_)

    def __len__(self) -> int:
        return len(self.subject)

    def select(self, rows: Bools | Integers) -> LinkedGraph:
        """Keep the triples at `rows`, over the same entities and predicates."""
        ids = (self.subject[rows], self.predicate[rows], self.object[rows])
        return LinkedGraph(self.n_entities, self.n_predicates, *ids)

    @property
    def step_limit(self) -> int:
        """The least number above every step."""
        return code_limit(self.n_predicates)

    @cached_property
    def size(self) -> GraphSize:
        """How large the graph is."""
        linked = len(np.unique(np.concatenate([self.subject, self.object])))
        mean_links = 2 * len(self) / max(linked, 1)
        return GraphSize(len(self), self.n_entities, self.n_predicates, mean_links)

    @cached_property
    def links(self) -> Links:
        """Runs of links, sorted."""
        start = np.concatenate([self.subject, self.object])
        end = np.concatenate([self.object, self.subject])
        predicate = self.predicate
        step = np.concatenate([step_code(predicate), step_code(predicate, inverse=True)])
        order = np.lexsort((end, step, start))
        start, step, end = start[order], step[order].astype(np.int32), end[order]
        runs = run_starts(start, step)
        run_entity, run_step = start[runs], step[runs]
        by_step = np.argsort(run_step, kind="stable")
        sizes = np.bincount(run_step, minlength=self.step_limit)
        key = run_entity.astype(np.int64) * self.step_limit + run_step
        wanted = end.astype(np.int64) * self.step_limit + (step ^ 1)
        return Links(
            np.searchsorted(run_entity, np.arange(self.n_entities + 1)).astype(np.int64),
            run_step,
            run_entity,
            np.append(runs, len(start)).astype(np.int64),
            end,
            np.searchsorted(key, wanted).astype(np.int32),
            pointers(sizes),
            run_entity[by_step],
        )

    @cached_property
    def degree(self) -> Ints:
        """Links of every entity, both directions."""
        ends = np.concatenate([self.subject, self.object])
        return np.bincount(ends, minlength=self.n_entities).astype(np.int64)

    @cached_property
    def run_keys(self) -> Ints:
        """Entity and step of every run as one number, ascending."""
        links = self.links
        return links.run_entity.astype(np.int64) * self.step_limit + links.run_step

    def run_of(self, entities: Integers, step: int) -> Ints:
        """Run of every entity along a step, -1 where there is none."""
        keys = entities.astype(np.int64) * self.step_limit + step
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

    def holders(self, step: int) -> Ids:
        """Entities that have links along a step, ascending."""
        links = self.links
        return links.holder[links.first_holder[step] : links.first_holder[step + 1]]
