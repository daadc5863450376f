"""Path rules, their tries, and their confidences.

The confidence of a rule is hits / (predicted + 5) over training queries (a, t, ?): it hits if it
proposes the answer, and predicts what it proposes minus the other known answers.

Which entities a path reaches from a source does not depend on the step that it is a rule of. In a
small and dense graph most paths are rules of many steps, and most entities have links along them;
so all paths of all steps form one trie, which is walked once per source, and each path's answers
are compared with the known ones of every step that it is a rule of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Ints, pointers, ranges
from hornbeam.graphs.discovery import PathTable
from hornbeam.graphs.evidence_kernels import count_paths, count_shared
from hornbeam.graphs.grouped_queries import GroupedQueries, QueriesByStep
from hornbeam.graphs.linked_graph import WORTH_COMPILING, LinkedGraph
from hornbeam.graphs.workload import Portion
from hornbeam.rules.codes import key_bits, sequence_keys
from hornbeam.rules.rule_model import SMOOTHING

#: A rule that proposes more answers than this is ignored for the query.
MAX_PROPOSED = 500
#: Number of sources per work item.
SOURCES_PER_ITEM = 16


class Trie(NamedTuple):
    """Paths of the step `target` as a trie in preorder; `skip` is the next node outside a subtree.

    `rule` is the number of the path that ends in a node, or -1; `loss` is -log(1 - confidence).
    """

    target: int
    depth: Ints
    step: Ints
    rule: Ints
    skip: Ints
    confidence: Floats
    loss: Floats


@dataclass(frozen=True, eq=False)
class PathRules:
    """Path rules of one step with their hits and predictions."""

    step: int
    paths: PathTable
    hits: Ints
    predicted: Ints

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def confidence(self) -> Floats:
        """Hits / (predicted + 5)."""
        return self.hits / (self.predicted + SMOOTHING)

    def select(self, rows: Integers | Bools) -> PathRules:
        """Keep the rules at `rows`."""
        return PathRules(self.step, self.paths[rows], self.hits[rows], self.predicted[rows])

    @cached_property
    def trie(self) -> Trie:
        """The rules as kernels walk them."""
        return build_trie(self.step, self.paths, self.confidence)

    @classmethod
    def none(cls, step: int, length: int = 1) -> PathRules:
        """No rules."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(step, np.empty((0, length), dtype=np.int32), nothing, nothing)


def build_trie(step: int, paths: PathTable, confidence: Floats) -> Trie:
    """Sort paths into a trie."""
    order = np.lexsort(paths.T[::-1])
    ordered = paths[order]
    lengths = np.count_nonzero(ordered, axis=1)
    shared = np.zeros(len(paths), dtype=np.int64)  # common prefix with the path before
    alike = (ordered[1:] == ordered[:-1]) & (ordered[1:] > 0)
    shared[1:] = np.cumprod(alike, axis=1).sum(axis=1)
    sizes = lengths - shared
    path, level = np.repeat(np.arange(len(paths)), sizes), ranges(shared, lengths)
    rule = np.full(len(path), -1, dtype=np.int64)
    rule[np.cumsum(sizes) - 1] = order
    steps = ordered[path, level].astype(np.int64)
    depth = (level + 1).astype(np.int64)
    loss = -np.log1p(-confidence)
    return Trie(step, depth, steps, rule, _behind_subtrees(depth), confidence, loss)


def _behind_subtrees(depth: Ints) -> Ints:
    """For every node in preorder the next one that is not deeper, or the number of nodes."""
    skip = np.empty(len(depth), dtype=np.int64)
    for level in np.unique(depth).tolist():
        ends = np.append(np.flatnonzero(depth <= level), len(depth))
        there = np.flatnonzero(depth[ends[:-1]] == level)
        skip[ends[there]] = ends[there + 1]
    return skip


class TrieWalk(NamedTuple):
    """Scratch arrays of kernels that walk a trie from a source.

    Per depth the entities reached, the first entity of the walks to each, the stamp of the step
    that reached it, and how many were reached; the last stamp; the answers of one rule.
    """

    node: Ids
    first: Ids
    seen: Ints
    size: Ints
    stamp: Ints
    answer: Ids

    @classmethod
    def of(cls, n_entities: int, length: int) -> TrieWalk:
        """Arrays for paths of up to `length` steps."""
        shape = (length + 1, n_entities)
        return cls(
            np.empty(shape, dtype=np.int32),
            np.empty(shape, dtype=np.int32),
            np.zeros(shape, dtype=np.int64),
            np.zeros(length + 1, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.empty(n_entities, dtype=np.int32),
        )


def counted(graph: LinkedGraph, step: int, paths: PathTable, queries: GroupedQueries) -> PathRules:
    """Count hits and predictions of paths over queries."""
    trie = build_trie(step, paths, np.zeros(len(paths)))
    count = count_paths.for_size(len(graph), WORTH_COMPILING)
    walk = TrieWalk.of(graph.n_entities, paths.shape[1])
    hits, predicted = count(graph.links, trie, len(paths), *queries, walk, MAX_PROPOSED)
    return PathRules(step, paths, hits, predicted)


def best_rules(rules: PathRules, base: float, most: int) -> Ints:
    """Numbers of the rules to keep, half by confidence, the others by hits log(confidence / base).

    `base` is the confidence of a rule that proposes answers at random.
    """
    useful = np.flatnonzero((rules.hits > 0) & (rules.confidence > base))
    if len(useful) <= most:
        return useful
    confidence, hits = rules.confidence[useful], rules.hits[useful]
    first = np.argsort(-confidence, kind="stable")[: most // 2]
    gain = hits * np.log(confidence / base)
    gain[first] = -np.inf
    others = np.argsort(-gain, kind="stable")[: most - len(first)]
    best: Ints = useful[np.sort(np.concatenate([first, others]))]
    return best


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
