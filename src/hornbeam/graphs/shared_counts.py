"""Counting the path rules of all steps in one walk.

Which entities a path reaches from a source does not depend on the step that it is a rule of. In a
small and dense graph most paths are rules of many steps, and most entities have links along them;
so all paths of all steps form one trie, which is walked once per source, and each path's answers
are compared with the known ones of every step that it is a rule of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ids, Ints, pointers
from hornbeam.graphs.discovery import PathTable
from hornbeam.graphs.evidence_kernels import count_shared
from hornbeam.graphs.graph_counter import Portion
from hornbeam.graphs.grouped_queries import GroupedQueries, QueriesByStep
from hornbeam.graphs.linked_graph import WORTH_COMPILING, LinkedGraph
from hornbeam.graphs.path_rules import MAX_PROPOSED, PathRules, TrieWalk, build_trie
from hornbeam.rules.codes import key_bits, sequence_keys

#: Number of sources per work item.
SOURCES_PER_ITEM = 16


class PathUses(NamedTuple):
    """The rules of path p: `rule[start[p]]` to `rule[start[p + 1]]`, with the step of each."""

    start: Ints
    rule: Ints
    step: Ints


class SourceQueries(NamedTuple):
    """Queries by source: source i has the rows `start[i]` to `start[i + 1]`, one per step.

    Row q has the queries along step number `step[q]` for `answer[low[q]]` to `answer[high[q]]`.
    """

    start: Ints
    step: Ints
    low: Ints
    high: Ints
    answer: Ids


def shared_counts(
    graph: LinkedGraph,
    paths: Mapping[int, PathTable],
    queries: QueriesByStep,
    portion: Portion,
) -> dict[int, PathRules] | None:
    """Hits and predictions of paths by step; None if counting step by step is less work."""
    steps = [step for step in paths if len(paths[step])]
    if not steps or not len(graph.links.run_at):
        return None
    distinct, uses = _uses([paths[step] for step in steps])
    sources, by_source = _by_source([queries[step] for step in steps])
    separately = sum(len(queries[step].sources) * len(paths[step]) for step in steps)
    if len(sources) * len(distinct) > separately:
        return None
    trie = build_trie(0, distinct, np.zeros(len(distinct)))
    run = count_shared.for_size(len(graph), WORTH_COMPILING)
    targets, n_rules = np.array(steps, dtype=np.int64), len(uses.rule)

    def one(part: Ints) -> Ints:
        walk = TrieWalk.of(graph.n_entities, distinct.shape[1])
        counts: Ints = run(
            graph.links, trie, n_rules, uses, targets, sources, part, by_source, walk, MAX_PROPOSED
        )
        return counts

    numbers = np.arange(len(sources))
    parts = [
        numbers[low : low + SOURCES_PER_ITEM] for low in range(0, len(sources), SOURCES_PER_ITEM)
    ]
    counted = [
        some for some in portion.each(one, parts, [float(len(part)) for part in parts])
        if some is not None
    ]  # fmt: skip
    hits, predicted = np.sum(counted, axis=0) if counted else np.zeros((2, n_rules), dtype=np.int64)
    start = pointers(np.array([len(paths[step]) for step in steps]))
    found = {step: PathRules.none(step, distinct.shape[1]) for step in paths}
    for place, step in enumerate(steps):
        rules = slice(start[place], start[place + 1])
        found[step] = PathRules(step, paths[step], hits[rules], predicted[rules])
    return found


def _uses(tables: list[PathTable]) -> tuple[PathTable, PathUses]:
    """The distinct paths of some steps, and the rules, numbered step after step, of each path."""
    rows = np.concatenate(tables)
    keys = sequence_keys(rows, key_bits(rows.shape[1]))
    _, first, path = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(path, kind="stable")
    step = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    return rows[first], PathUses(pointers(np.bincount(path)), order, step[order])


def _by_source(queries: list[GroupedQueries]) -> tuple[Ids, SourceQueries]:
    """All sources of some steps' queries, and the queries of each."""
    source = np.concatenate([some.sources for some in queries])
    step = np.repeat(np.arange(len(queries)), [len(some.sources) for some in queries])
    bounds = pointers(np.concatenate([np.diff(some.offsets) for some in queries]))
    order = np.argsort(source, kind="stable")
    sources, counts = np.unique(source, return_counts=True)
    answer = np.concatenate([some.answers for some in queries])
    by_source = SourceQueries(
        pointers(counts), step[order], bounds[:-1][order], bounds[1:][order], answer
    )
    return sources, by_source
