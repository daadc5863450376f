"""Path rules of a relation: which relation sequences connect the ends of its links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.base.arrays import Ids
from hornbeam.graphs.discovery_kernels import paths_between
from hornbeam.graphs.grouped_queries import GroupedQueries
from hornbeam.graphs.linked_graph import WORTH_COMPILING, GraphSize, LinkArrays, other_spelling
from hornbeam.rules.codes import codes_of_keys, from_subject, key_bits

#: A path rule as its steps, padded with 0 at the end: one row per rule.
PathTable = Ids

#: Mean links per entity above which the longest paths have two, three and four steps.
DENSE, MEDIUM, THIN = 50.0, 12.0, 7.0
#: Maximum number of links visited, and of paths kept, per searched link.
MAX_VISITED_LINKS = 200_000


def longest_path(size: GraphSize) -> int:
    """Longest paths that are worth their search at a graph's density: 2 to 5 steps."""
    links = size.mean_links
    if links > DENSE:
        return 2
    if links > MEDIUM:
        return 3
    length = 4 if links > THIN else 5
    return length if is_keyed(size, length) else 3


def is_keyed(size: GraphSize, length: int) -> bool:
    """Whether 64-bit keys can hold paths of a length: not with too many relations."""
    return size.step_limit <= 1 << key_bits(length)


def discover_paths(
    links: LinkArrays,
    canonical: Ids,
    step: int,
    length: int,
    queries: GroupedQueries,
    kept: int,
) -> PathTable:
    """Find the paths that connect the ends of a step's links most often.

    Parameters
    ----------
    links, canonical
        The links along canonical steps, and the canonical step of every step
        (`hornbeam.graphs.linked_graph`).
    step
        The step (a relation and a direction) whose links are searched.
    length
        Maximum number of steps of a path.
    queries
        The links that are searched.
    kept
        Maximum number of paths, chosen by the number of links that they connect.
    """
    bits = key_bits(length)
    prefix, suffix = (length + 1) // 2, length // 2
    search = paths_between.for_size(len(links.end) // 2, WORTH_COMPILING)
    starts, ends, n_entities = queries.known, queries.answers, len(links.first_run) - 1
    keys = search(links, starts, ends, step, prefix, suffix, bits, MAX_VISITED_LINKS, n_entities)
    found, counts = np.unique(keys, return_counts=True)
    min_links = 2 if len(queries.answers) > 20 else 1
    found, counts = found[counts >= min_links], counts[counts >= min_links]
    best = np.sort(np.argsort(-counts, kind="stable")[:kept])
    codes = codes_of_keys(found[best].astype(np.uint64), bits, length)
    # the steps of suffixes are the inverses of those that were walked, which may not be canonical
    paths = canonical[from_subject(codes, flipped=False).astype(np.int32)]
    other = other_spelling(step, canonical)
    connected = np.count_nonzero(starts != ends)
    if other is None or canonical[step] != step or connected < min_links:
        return paths
    # the search leaves out a link's own step, and with it all steps of the same links
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
