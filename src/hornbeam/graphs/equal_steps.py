"""Steps with the same links: a symmetric relation and its inverse, or two names of one relation.

A path that takes one of them instead of another reaches the same entities. So a path of k such
steps would have 2^k spellings or more, which are one rule. Paths are spelt with the *canonical*
step, the smallest code with the same links (`hornbeam.rules.codes`).

One path keeps another spelling: that of a rule's own step. `r(Y, X) -> r(X, Y)` has the same links
in its body and in its head where r is symmetric, and still says something about other facts;
`r(X, Y) -> r(X, Y)` does not.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from hornbeam.base.arrays import Ids, part_numbers, pointers
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.graphs.linked_graph import LinkArrays, LinkedGraph
from hornbeam.rules.codes import step_code


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
    """The distinct rules of a step among paths, in their order and canonical spelling.

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
    """The links along canonical steps only, for searches that read runs and ends."""
    kept = canonical[links.run_step] == links.run_step
    if kept.all():
        return links
    sizes = np.diff(links.run_start)
    entities = links.run_entity[kept]
    return links._replace(
        first_run=pointers(np.bincount(entities, minlength=len(links.first_run) - 1)),
        run_step=links.run_step[kept],
        run_entity=entities,
        run_start=pointers(sizes[kept]),
        end=links.end[kept[part_numbers(links.run_start)]],
    )
