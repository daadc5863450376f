"""Slots: an entity as an answer, by the relations that it has links of.

X is the 0/1 matrix of entities by steps: 1 where an entity has a link along a step. As in
`hornbeam.graphs.linked_pairs`, weights B predict every column of X from all others, by a ridge in
closed form with a diagonal of zeros. The score of c as an answer along t is (X B)[c, inverse t]:
the sum of B[s, inverse t] over the steps s that c has links along. In words: what has these
relations usually has t, too.

The score does not depend on the query's source, and B is made from the facts at hand. So slots say
something about entities that training never saw and that no other rule proposes: the entities that
are not in the pool of a query are ordered by this score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hornbeam.base.arrays import Ids, Integers, Ints
from hornbeam.facts.growth import Growth
from hornbeam.graph.adjacency import new_edges
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.linked_pairs import MAX_STEPS, NO_WEIGHTS, moved_counts, zero_diagonal_weights
from hornbeam.rules.codes import inverse_code

#: L2 penalty of the weights.
SLOT_PENALTY = 10.0
#: Number of candidates that slots propose per query, known answers among them.
PROPOSED = 50
#: What a graph keeps the numbers of entities under.
ENTITIES = "entities of steps"
#: Weights of a step if there are no slots.
NO_SLOTS: Ints = np.empty(0, dtype=np.int64)


def slot_weights(shared: Ints, penalty: float) -> Ints:
    """The weight, in millionths, of every step (row) for every other step (column).

    Parameters
    ----------
    shared
        Number of entities that have links along any two steps; on the diagonal, along one step.
    penalty
        L2 penalty of the weights.
    """
    return zero_diagonal_weights(shared, penalty)


def graph_slot_weights(graph: LinkedGraph, penalty: float) -> Ints:
    """The slot weights of a graph; an empty array if the graph has too many relations."""
    if graph.step_limit > MAX_STEPS:
        return NO_WEIGHTS
    if ENTITIES not in graph.kept:
        x = entities_by_steps(graph)
        graph.kept[ENTITIES] = EntitiesOfSteps((x.T @ x).toarray())
    return slot_weights(graph.kept[ENTITIES].shared, penalty)


@dataclass(frozen=True)
class EntitiesOfSteps:
    """Number of entities that have links along any two steps, which follows facts that grow."""

    shared: Ints

    def grown(self, growth: Growth, before: LinkedGraph, graph: LinkedGraph) -> EntitiesOfSteps:
        """The numbers of the grown graph: only entities that have a new link are counted again."""
        links, new = graph.links, Counter[tuple[int, int]]()
        node, step, _ = new_edges(growth)
        new.update(zip(node.tolist(), step.tolist(), strict=True))
        changes = list[tuple[Integers, list[int]]]()
        for entity in np.unique(node).tolist():
            runs = slice(*links.first_run[entity : entity + 2].tolist())
            steps, sizes = (
                links.run_step[runs],
                np.diff(links.run_start[runs.start : runs.stop + 1]),
            )
            pairs = zip(steps.tolist(), sizes.tolist(), strict=True)
            changes.append((steps, [s for s, size in pairs if new[entity, s] == size]))
        return EntitiesOfSteps(moved_counts(self.shared, growth, graph.step_limit, changes))


def slot_scores(x: sparse.csr_array, weights: Ints) -> Ints:
    """Scores of all entities in millionths, by the weights of all steps for one step."""
    scores: Ints = x @ weights
    return scores


def proposed_entities(scores: Ints) -> Ids:
    """The entities of the highest scores above 0, ties by id."""
    positive = np.flatnonzero(scores > 0)
    if len(positive) > PROPOSED:
        least = np.partition(scores[positive], len(positive) - PROPOSED)[-PROPOSED]
        positive = positive[scores[positive] >= least]
    best = positive[np.argsort(-scores[positive], kind="stable")][:PROPOSED]
    return best.astype(np.int32)


def proposed_by_step(parts: Iterable[tuple[Ids, Integers]], weights: Ints) -> dict[int, Ids]:
    """The `proposed_entities` of every step, from parts of the runs of a graph.

    A part has the entities and steps of runs. It has all runs of its entities, whose ids are above
    those of the parts before.
    """
    kept = {step: (np.empty(0, np.int32), np.empty(0, np.int64)) for step in range(2, len(weights))}
    for entity, run_step in parts:
        ids, row = np.unique(entity, return_inverse=True)
        ones, shape = np.ones(len(row), dtype=np.int64), (len(ids), len(weights))
        scores = sparse.csr_array((ones, (row, run_step)), shape=shape) @ weights
        for step, (before, their_scores) in kept.items():
            own = scores[:, inverse_code(step)]
            candidates, both = np.append(before, ids), np.append(their_scores, own)
            best = proposed_entities(both)
            kept[step] = candidates[best], both[best]
    return {step: ids for step, (ids, _) in kept.items()}


def weights_for(weights: Ints, step: int) -> Ints:
    """Weights of all steps for answers along a step; empty without slots."""
    return np.ascontiguousarray(weights[:, inverse_code(step)]) if len(weights) else NO_SLOTS


def entities_by_steps(graph: LinkedGraph) -> sparse.csr_array:
    """The matrix X: an entity's runs are the ones of its row."""
    links = graph.links
    ones = np.ones(len(links.run_step), dtype=np.int64)
    shape = graph.n_entities, graph.step_limit
    first_run = links.first_run.astype(np.int32)  # as many runs as 32 bits count, at most
    return sparse.csr_array((ones, links.run_step, first_run), shape=shape)
