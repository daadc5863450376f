"""Rules of whole graphs by brute force: sets of triples, walks one by one, counts by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from hornbeam.graphs.grouped_queries import GroupedQueries
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.path_rules import PathRules, PathTable, counted_rules
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.rules.codes import step_code

Triple = tuple[int, int, int]
#: A property: a step, and an entity or None for any.
Property = tuple[int, int | None]

ENTITIES, RELATIONS = 7, 3

triples = st.sets(
    st.tuples(
        st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)
    ),
    min_size=3,
    max_size=30,
)


def _with_equal_steps(some: set[Triple]) -> set[Triple]:
    """Relation 0 made its own inverse, and relation 2 the inverse of relation 1."""
    mirrored = {(o, 0, s) for s, p, o in some if p == 0}
    inverse = {(o, 2, s) for s, p, o in some if p == 1}
    return {triple for triple in some if triple[1] != 2} | mirrored | inverse


#: Graphs with steps that have the same links, and without.
triples_with_equal_steps = triples | triples.map(_with_equal_steps)


def graph_of(
    some: Iterable[Triple], entities: int = ENTITIES, relations: int = RELATIONS
) -> LinkedGraph:
    rows = np.array(sorted(some), dtype=np.int32).reshape(-1, 3)
    return LinkedGraph(entities, relations, rows[:, 0], rows[:, 1], rows[:, 2])


def counted(graph: LinkedGraph, step: int, paths: PathTable, queries: GroupedQueries) -> PathRules:
    """The rules of one step, counted over queries."""
    portion = Portion(Workload(), 1.0)
    return counted_rules(graph, {step: paths}, {step: queries}, portion)[step]


class BruteGraph:
    """Links by definition."""

    def __init__(self, some: Iterable[Triple], entities: int = ENTITIES) -> None:
        self.entities = range(entities)
        self.ends: dict[tuple[int, int], set[int]] = {}
        for s, p, o in some:
            self.ends.setdefault((s, int(step_code(p))), set()).add(o)
            self.ends.setdefault((o, int(step_code(p, True))), set()).add(s)

    def answers(self, a: int, step: int) -> set[int]:
        return self.ends.get((a, step), set())

    def proposed(self, path: Sequence[int], a: int) -> set[int]:
        """Ends of walks that never pass a again and do not end where they first led."""
        walks: list[tuple[int, ...]] = [(a,)]
        for depth, step in enumerate(path):
            walks = [
                (*walk, y)
                for walk in walks
                if depth == 0 or walk[-1] != a
                for y in self.answers(walk[-1], step)
            ]
        return {walk[-1] for walk in walks if len(path) == 1 or walk[-1] != walk[1]}

    def properties(self, x: int) -> set[Property]:
        found: set[Property] = set()
        for (entity, step), ends in self.ends.items():
            if entity == x:
                found.add((step, None))
                found.update((step, d) for d in ends)
        return found

    def holders(self, some: Property) -> set[int]:
        return {x for x in self.entities if some in self.properties(x)}

    def links(self, step: int) -> set[tuple[int, int]]:
        return {(a, c) for (a, s), ends in self.ends.items() if s == step for c in ends}

    def spelt(self, path: Sequence[int], own: int) -> tuple[int, ...]:
        """The path of smallest steps with the same links, other than `own` alone."""
        steps = sorted({step for _, step in self.ends})
        same = [[s for s in steps if self.links(s) == self.links(step)] for step in path]
        return tuple(min(s for s in some if len(path) > 1 or s != own) for some in same)

    def queries(self, step: int) -> list[tuple[int, int]]:
        return [
            (a, c) for (a, s), ends in sorted(self.ends.items()) if s == step for c in sorted(ends)
        ]

    def path_counts(self, path: Sequence[int], step: int) -> tuple[int, int]:
        """Hits, and answers proposed less the other known ones, over all queries."""
        hits = predicted = 0
        for a, c in self.queries(step):
            proposed = self.proposed(path, a) - (self.answers(a, step) - {c})
            hits += c in proposed
            predicted += len(proposed)
        return hits, predicted

    def constant_counts(self, step: int) -> dict[tuple[Property, int], tuple[int, int]]:
        """Hits and predictions of t(X, c) <- property, other than those that repeat the head."""
        counts: dict[tuple[Property, int], tuple[int, int]] = {}
        queries = self.queries(step)
        properties = {a: self.properties(a) for a in self.entities}
        for some in set().union(*properties.values()):
            for c in self.entities:
                if some in ((step, None), (step, c)):
                    continue
                hits = predicted = 0
                for a, answer in queries:
                    if some in properties[a]:
                        hits += c == answer
                        predicted += c == answer or c not in self.answers(a, step)
                counts[some, c] = (hits, predicted)
        return counts

    def backward(self, a: int, step: int) -> list[tuple[float, set[int]]]:
        """Confidence and new answers of every property that two known answers of a share."""
        known = self.answers(a, step)
        shared = Counter(some for c in known for some in self.properties(c))
        rules = []
        for some, hits in shared.items():
            if hits < 2 or some in ((step ^ 1, None), (step ^ 1, a)):
                continue
            holders = self.holders(some)
            rules.append((hits / (len(holders) + 5), holders - known))
        return rules
