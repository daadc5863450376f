"""Path rules: which sequences of relations connect the ends of links, and their confidences.

The confidence of a rule is hits / (predicted + 5) over training queries (a, t, ?). A rule hits if
it proposes the answer. It predicts its proposals minus the other known answers.

Which entities a path reaches from a source does not depend on the step that it is a rule of. In a
small and dense graph most paths are rules of many steps, and most entities have links along these
steps. So all paths of all steps form one trie, which is walked once per source. The answers of a
path are compared with the known answers of every step that it is a rule of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Ints, pointers, ranges
from hornbeam.graphs.discovery_kernels import paths_between
from hornbeam.graphs.evidence_kernels import count_paths
from hornbeam.graphs.graph_settings import GraphPlan
from hornbeam.graphs.grouped_queries import GroupedQueries, QueriesByStep
from hornbeam.graphs.link_arrays import WORTH_COMPILING, LinkArrays
from hornbeam.graphs.linked_graph import (
    GraphSize,
    LinkedGraph,
    other_spelling,
)
from hornbeam.graphs.workload import Portion
from hornbeam.rules.codes import codes_of_keys, from_subject, key_bits, sequence_keys
from hornbeam.rules.rule_model import SMOOTHING

#: Number of sources per work item.
SOURCES_PER_ITEM = 16
#: Path rules, one row per rule: the steps of its path, padded with 0 at the end.
PathTable = Ids
#: Mean links per entity above which the longest paths have two, three and four steps.
DENSE, MEDIUM, THIN = 50.0, 12.0, 7.0
#: Maximum number of links visited, and of paths kept, per searched link.
MAX_VISITED_LINKS = 200_000


# --- discovery ------------------------------------------------------------------------------------


def longest_path(size: GraphSize) -> int:
    """Maximum length of paths that are worth a search at a graph's density: 2 to 5 steps."""
    links = size.mean_links
    if links > DENSE:
        return 2
    if links > MEDIUM:
        return 3
    length = 4 if links > THIN else 5
    return length if is_keyed(size, length) else 3


def is_keyed(size: GraphSize, length: int) -> bool:
    """Whether 64-bit keys can hold paths of a length; they cannot if relations are too many."""
    return size.step_limit <= 1 << key_bits(length)


def discover_paths(
    links: LinkArrays, step: int, queries: GroupedQueries, plan: GraphPlan
) -> PathTable:
    """Find the paths that connect the ends of a step's links most often.

    Parameters
    ----------
    links
        The links along canonical steps.
    step
        The step (a relation and a direction) whose links are searched.
    queries
        The links that are searched.
    plan
        The maximum number of steps of a path, the canonical steps, and the maximum number of paths.
        Paths are chosen by the number of links that they connect.
    """
    length, canonical = plan.length, plan.canonical
    bits = key_bits(length)
    prefix, suffix = (length + 1) // 2, length // 2
    search = paths_between.for_size(len(links.end) // 2, WORTH_COMPILING)
    starts, ends, n_entities = queries.known, queries.answers, len(links.first_run) - 1
    keys = search(links, starts, ends, step, prefix, suffix, bits, MAX_VISITED_LINKS, n_entities)
    found, counts = np.unique(keys, return_counts=True)
    min_links = 2 if len(queries.answers) > 20 else 1
    found, counts = found[counts >= min_links], counts[counts >= min_links]
    best = np.sort(np.argsort(-counts, kind="stable")[: plan.extent.found])
    codes = codes_of_keys(found[best].astype(np.uint64), bits, length)
    # steps of suffixes are inverses of the walked steps, and inverses may not be canonical
    paths = canonical[from_subject(codes, flipped=False).astype(np.int32)]
    other = other_spelling(step, canonical)
    connected = np.count_nonzero(starts != ends)
    if other is None or canonical[step] != step or connected < min_links:
        return paths
    # the search leaves out a link's own step, and with it all steps with the same links
    return np.concatenate([path_table([[other]], length), paths])


def path_table(paths: Sequence[Sequence[int]], length: int) -> PathTable:
    """Paths of up to `length` codes each as a table."""
    table = np.zeros((len(paths), length), dtype=np.int32)
    for row, codes in enumerate(paths):
        table[row, : len(codes)] = codes
    return table


def reversed_paths(paths: PathTable) -> PathTable:
    """The same paths from their other ends: rules of the inverse step."""
    return from_subject(paths, flipped=True)


# --- rules ----------------------------------------------------------------------------------------


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
        """The rules in the form in which kernels walk them."""
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
    shared = np.zeros(len(paths), dtype=np.int64)  # steps shared with the previous path
    shared[1:] = np.cumprod(ordered[1:] == ordered[:-1], axis=1).sum(axis=1)
    sizes = lengths - shared
    path, level = np.repeat(np.arange(len(paths)), sizes), ranges(shared, lengths)
    rule = np.full(len(path), -1, dtype=np.int64)
    rule[np.cumsum(sizes) - 1] = order
    steps = ordered[path, level].astype(np.int64)
    depth = (level + 1).astype(np.int64)
    loss = -np.log1p(-confidence)
    return Trie(step, depth, steps, rule, _behind_subtrees(depth), confidence, loss)


def _behind_subtrees(depth: Ints) -> Ints:
    """For every node in preorder the next node that is not deeper, or the number of nodes."""
    skip = np.empty(len(depth), dtype=np.int64)
    for level in np.unique(depth).tolist():
        ends = np.append(np.flatnonzero(depth <= level), len(depth))
        there = np.flatnonzero(depth[ends[:-1]] == level)
        skip[ends[there]] = ends[there + 1]
    return skip


class TrieWalk(NamedTuple):
    """Scratch arrays of kernels that walk a trie from a source.

    Per depth, `node` has the entities reached and `size` their number. Per depth and entity,
    `first` has the first entity of the walks to it, `seen` the stamp of the step that reached it.
    `stamp` has the last stamp, `answer` the answers of one rule.
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


def best_rules(rules: PathRules, base: float, most: int) -> Ints:
    """Numbers of the rules to keep: half by confidence, half by hits log(confidence / base).

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


# --- counting -------------------------------------------------------------------------------------


class SharedPaths(NamedTuple):
    """Paths of the steps `targets` as one trie, their rules, and the queries of these steps.

    Rules are numbered step after step. Path p has the rules `rule[first_rule[p]]` to
    `rule[first_rule[p + 1]]`, and `rule_step` has the number of each rule's step. Source i has the
    queries `first_query[i]` to `first_query[i + 1]`, one per step. Query q, along step number
    `query_step[q]`, asks for `answer[low[q]]` to `answer[high[q]]`.
    """

    targets: Ints
    trie: Trie
    first_rule: Ints
    rule: Ints
    rule_step: Ints
    sources: Ids
    first_query: Ints
    query_step: Ints
    low: Ints
    high: Ints
    answer: Ids

    @classmethod
    def of(
        cls, steps: Sequence[int], paths: Mapping[int, PathTable], queries: QueriesByStep
    ) -> SharedPaths:
        """Number distinct paths and rules, and group the queries of steps by source."""
        rows = np.concatenate([paths[step] for step in steps])
        keys = sequence_keys(rows, key_bits(rows.shape[1]))
        _, first, path = np.unique(keys, return_index=True, return_inverse=True)
        rule = np.argsort(path, kind="stable")
        rule_step = np.repeat(np.arange(len(steps)), [len(paths[step]) for step in steps])
        asked = [queries[step] for step in steps]
        source = np.concatenate([queried.sources for queried in asked])
        query_step = np.repeat(np.arange(len(steps)), [len(queried.sources) for queried in asked])
        bounds = pointers(np.concatenate([np.diff(queried.offsets) for queried in asked]))
        by_source = np.argsort(source, kind="stable")
        sources, n_queries = np.unique(source, return_counts=True)
        return cls(
            np.array(steps, dtype=np.int64),
            build_trie(0, rows[first], np.zeros(len(first))),
            pointers(np.bincount(path)),
            rule,
            rule_step[rule],
            sources,
            pointers(n_queries),
            query_step[by_source],
            bounds[:-1][by_source],
            bounds[1:][by_source],
            np.concatenate([queried.answers for queried in asked]),
        )

    @property
    def visits(self) -> int:
        """Number of walks: of every path from every source."""
        return len(self.sources) * (len(self.first_rule) - 1)


def counted_rules(
    graph: LinkedGraph, paths: Mapping[int, PathTable], queries: QueriesByStep, portion: Portion
) -> dict[int, PathRules]:
    """Hits and predictions of paths by step; a step for which no time is left has no rules.

    All steps are counted in one walk per source, or one step after the other if that is less work.
    """
    found = {step: PathRules.none(step, table.shape[1]) for step, table in paths.items()}
    steps = [step for step in paths if len(paths[step])]
    if not steps:
        return found
    groups, most = [SharedPaths.of(steps, paths, queries)], SOURCES_PER_ITEM
    separately = sum(len(queries[step].sources) * len(paths[step]) for step in steps)
    if not len(graph.links.run_at) or groups[0].visits > separately:
        groups = [SharedPaths.of([step], paths, queries) for step in steps]
        most = graph.n_entities
    items = [
        (number, np.arange(low, min(low + most, len(group.sources))))
        for number, group in enumerate(groups)
        for low in range(0, max(len(group.sources), 1), most)
    ]
    run = count_paths.for_size(len(graph), WORTH_COMPILING)

    def count(item: tuple[int, Ints]) -> Ints:
        number, part = item
        walk = TrieWalk.of(graph.n_entities, paths[steps[0]].shape[1])
        counts: Ints = run(graph.links, groups[number], part, walk)
        return counts

    totals: dict[int, Ints] = {}
    sizes = [len(part) + 10.0 for _, part in items]
    for (number, _), counts in portion.each(count, items, sizes):
        totals[number] = totals[number] + counts if number in totals else counts
    for number, counts in totals.items():
        for step in groups[number].targets.tolist():
            own, counts = np.split(counts, [len(paths[step])], axis=1)
            found[step] = PathRules(step, paths[step], *own)
    return found
