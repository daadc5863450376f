"""Paths and queries of many steps as tables: what `hornbeam.graphs.sql.walk_queries` joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints, pointers
from hornbeam.graphs.discovery import PathTable
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.path_rules import build_trie


@dataclass(frozen=True, eq=False)
class PathTries:
    """Tries of several steps as one: the rules of `steps[i]` are numbered from `first[i]` on."""

    steps: Sequence[int]
    first: Ints
    columns: Mapping[str, Array]
    depth: int

    @classmethod
    def of(cls, paths: Mapping[int, PathTable]) -> PathTries:
        """Number the nodes and rules of all steps."""
        parts, nodes, depth = list[dict[str, Array]](), 0, 0
        first = pointers([len(some) for some in paths.values()])
        for (step, some), rules in zip(paths.items(), first.tolist(), strict=False):
            trie = build_trie(step, some, np.zeros(len(some)))
            parts.append(
                {
                    "node": nodes + np.arange(len(trie.depth)),
                    "parent": _parents(trie.depth, step, nodes),
                    "code": trie.step,
                    "rule": np.where(trie.rule >= 0, trie.rule + rules, -1),
                }
            )
            nodes += len(trie.depth)
            depth = max(depth, int(trie.depth.max(initial=0)))
        names = ("node", "parent", "code", "rule")
        columns = {
            name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)])
            for name in names
        }
        return cls(list(paths), first, columns, depth)


def _parents(depth: Ints, step: int, base: int) -> Ints:
    """The parent of every node; the negative of the step for first nodes."""
    open_nodes = [-step]
    found = np.empty(len(depth), dtype=np.int64)
    for node, level in enumerate(depth.tolist()):
        del open_nodes[level:]
        found[node] = open_nodes[-1]
        open_nodes.append(base + node)
    return found


def asked_columns(queries: QueriesByStep) -> tuple[dict[str, Array], dict[str, Array]]:
    """The tables `asked` and `answers`: queries are numbered by step and source."""
    sources = _concatenated(some.sources for some in queries.values())
    sizes = _concatenated(np.diff(some.offsets) for some in queries.values())
    query = np.arange(len(sources), dtype=np.int32)
    step = np.repeat(list(queries), [len(some.sources) for some in queries.values()])
    return (
        {"query": query, "step": step.astype(np.int32), "source": sources, "queries": sizes},
        {
            "query": np.repeat(query, sizes),
            "entity": _concatenated(some.answers for some in queries.values()),
        },
    )


def _concatenated(parts: Iterable[Array]) -> Ids:
    together: Ids = np.concatenate([np.empty(0, np.int32), *parts]).astype(np.int32)
    return together
