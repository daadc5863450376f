"""Lists the paths and chains behind a count, up to a limit.

Counting never lists paths; explaining must. Before the first path is walked, the entities on paths
are found from both ends, each time from the end that is cheaper to continue from. The walk then
visits only those, so that the first few of millions of paths cost no more than a few. A chain is a
path from one argument to some entities.

Paths come in the order of their entities' names: by the second entity, then the third, and so on.
"""

# mypy: disallow-untyped-calls=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Ids, Ints
from hornbeam.base.compiled import announced, kernels
from hornbeam.base.progress import SILENT, Progress
from hornbeam.facts.table import ONE
from hornbeam.graph.adjacency import Adjacency, Graph
from hornbeam.graph.edge_runs import contains, is_among, place_of, run_of, run_to
from hornbeam.rules.codes import inverse_code

kernel = kernels("the path walk")

#: Sentinel truth of entities from which the object cannot be reached.
NEVER = -(1 << 40)
#: What walks end in: the sink, an entity that is a variable, or a constant.
SINK, VARIABLE, CONSTANT = range(3)


@dataclass(frozen=True, eq=False)
class ChainEnd:
    """Where a chain may end."""

    nodes: Ids | None  #: sorted; None for any node
    #: Of the fact that a chain ends in, its truth value by node in millionths; None without a fact.
    truth: Ids | None = None
    is_constant: bool = False  #: a constant is not a variable, and may be any node


@dataclass(frozen=True, eq=False)
class PathEnds:
    """Two nodes, and the step between them that is not evidence for itself.

    A path connects them. A chain leads from the source to its own `end`.
    """

    source: int
    sink: int
    own_code: int
    end: ChainEnd | None = None

    @property
    def ending(self) -> int:
        """What walks end in, as the kernel knows it."""
        if self.end is None:
            return SINK
        return CONSTANT if self.end.is_constant else VARIABLE


def first_paths(
    graph: Graph,
    steps: Sequence[int],
    pair: PathEnds,
    distinct: bool,
    limit: int,
    progress: Progress = SILENT,
) -> tuple[Ids, Ints, Ids]:
    """Walk the first `limit` paths along the codes `steps` from the pair's source to their end.

    Returns one row of nodes per path, from source to end; the indices of its steps in the graph's
    forward lists; and its truth in millionths, above 0. The graph is already under its fan-out
    limit; with `distinct`, no path meets an entity twice, nor a chain the sink.
    """
    with announced(progress):
        levels = useful_nodes(graph, steps, pair)
        best = _best_truths(graph, steps, levels, pair.end)
        ends = np.cumsum([0, *(len(level) for level in levels)])
        n = len(steps)
        nodes, truths = np.empty((limit, n + 1), dtype=np.int32), np.empty(limit, dtype=np.int32)
        edges, edge_runs = np.empty((limit, n), dtype=np.int64), np.empty((2, n), dtype=np.int64)
        path, truth = np.full(n + 1, pair.source, np.int32), np.full(n + 1, ONE, np.int64)
        # arrays are made here: each that a kernel makes takes a fifth of a second to compile
        n_paths = graph.walked_by(_walk)(
            *graph.forward, np.array(steps, dtype=np.int64), ends, np.concatenate(levels),
            np.concatenate(best), pair.source, pair.sink, pair.own_code, pair.ending, distinct,
            edge_runs, path, truth, nodes, edges, truths,
        )  # fmt: skip
    return nodes[:n_paths].copy(), edges[:n_paths].copy(), truths[:n_paths].copy()


def useful_nodes(graph: Graph, steps: Sequence[int], pair: PathEnds) -> list[Ids]:
    """Nodes at every position of the paths, as far as the walk needs them.

    Positions after the meeting point of both searches may have nodes that no path from the source
    reaches; a walk from the source never meets those.
    """
    front = [np.array([pair.source], dtype=np.int32)]
    back = [np.array([pair.sink], dtype=np.int32)]
    anywhere = pair.end is not None and pair.end.nodes is None
    if pair.end is not None and pair.end.nodes is not None:
        back = [pair.end.nodes]
    count_edges = graph.walked_by(_cost)
    while len(front) + len(back) < len(steps) + 2:
        forth, towards = steps[len(front) - 1], inverse_code(steps[-len(back)])
        cost_forth = count_edges(*graph.forward[:3], front[-1], forth)
        cost_back = 0 if anywhere else count_edges(*graph.backward[:3], back[-1], towards)
        if anywhere or cost_forth <= cost_back:
            front.append(_reached(graph, graph.forward, front[-1], forth, cost_forth))
        else:
            back.append(_reached(graph, graph.backward, back[-1], towards, cost_back))
    back = front[-1:] if anywhere else back
    middle = np.intersect1d(front[-1], back[-1], assume_unique=True)
    levels = [*front[:-1], middle, *reversed(back[:-1])]
    for k in reversed(range(len(front) - 1)):
        leading = np.zeros(len(levels[k]), dtype=np.bool_)
        graph.walked_by(_leading)(*graph.forward[:3], levels[k], steps[k], levels[k + 1], leading)
        levels[k] = levels[k][leading]
    return levels


def _reached(graph: Graph, adjacency: Adjacency, nodes: Ids, step: int, n_edges: int) -> Ids:
    """Ends of the edges of a step that leave the nodes, each once; there are `n_edges` edges."""
    ends = np.empty(n_edges, dtype=np.int32)
    graph.walked_by(_ends)(*adjacency[:3], nodes, step, ends)
    return np.unique(ends)


def cut(graph: Graph, steps: Sequence[int], pair: PathEnds) -> tuple[int, Ids, Ids]:
    """A step of a body, and starts and ends such that every path takes it between two of them.

    It is the first step or, of a path that has fewer ends there, the last.
    """
    levels = useful_nodes(graph, steps, pair)
    for k in range(len(steps)):
        size = graph.walked_by(_cost)(*graph.forward[:3], levels[k], steps[k])
        reached = _reached(graph, graph.forward, levels[k], steps[k], size)
        levels[k + 1] = np.intersect1d(reached, levels[k + 1], assume_unique=True)
    is_first = pair.end is not None or len(levels[1]) <= len(levels[-2])
    at = 0 if is_first else len(steps) - 1
    here, there = np.meshgrid(levels[at], levels[at + 1])
    return at, here.reshape(-1), there.reshape(-1)


def _best_truths(
    graph: Graph, steps: Sequence[int], levels: list[Ids], end: ChainEnd | None
) -> list[Ints]:
    """For every node an upper bound (at most 0) on what the rest of a path adds to its truth.

    A path whose atoms are x1 ... xs has the truth 1 - sum (1 - x); a walk is given up as soon as
    that cannot stay above 0 any more. The last nodes have what the fact adds that a chain ends in.
    """
    best = [np.zeros(len(level), dtype=np.int64) for level in levels]
    if end is not None and end.nodes is not None and end.truth is not None:
        best[-1] = end.truth[np.searchsorted(end.nodes, levels[-1])].astype(np.int64) - ONE
    if len(graph.forward.value):
        for k in reversed(range(len(steps))):
            best[k] = graph.walked_by(_best)(
                *graph.forward, levels[k], steps[k], levels[k + 1], best[k + 1]
            )
    return best


@kernel
def _cost(offsets, neighbour, code, nodes, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Count the edges of a step that leave the nodes."""
    total = 0
    for node in nodes:
        low, high = run_of(offsets, code, node, step)
        total += high - low
    return total


@kernel
def _ends(offsets, neighbour, code, nodes, step, found):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """List the ends of the edges of a step that leave the nodes in `found`; some may be equal."""
    at = 0
    for node in nodes:
        low, high = run_of(offsets, code, node, step)
        for edge in range(low, high):  # element by element: a slice takes seconds to compile
            found[at] = neighbour[edge]
            at += 1


@kernel
def _leading(offsets, neighbour, code, nodes, step, allowed, leads):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Mark in `leads` which nodes have an edge of the step to an allowed node."""
    for i in range(len(nodes)):
        low, high = run_of(offsets, code, nodes[i], step)
        if high - low <= len(allowed):
            for e in range(low, high):
                if contains(allowed, neighbour[e]):
                    leads[i] = True
                    break
        else:
            for node in allowed:
                e = place_of(neighbour, low, high, node)
                if e < high and neighbour[e] == node:
                    leads[i] = True
                    break


@kernel
def _best(offsets, neighbour, code, value, nodes, step, allowed, beyond):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """For every node the best of (value - 1) + beyond over its edges to allowed nodes."""
    best = np.full(len(nodes), NEVER, dtype=np.int64)
    for i in range(len(nodes)):
        low, high = run_of(offsets, code, nodes[i], step)
        for e in range(low, high):
            k = place_of(allowed, 0, len(allowed), neighbour[e])
            if k < len(allowed) and allowed[k] == neighbour[e]:
                best[i] = max(best[i], value[e] - ONE + beyond[k])
    return best


@kernel
def _walk(  # type: ignore[no-untyped-def] # noqa: ANN202
    offsets, neighbour, code, value, steps, ends, allowed, best,  # noqa: ANN001
    source, sink, own_code, ending, distinct,  # noqa: ANN001
    edge_runs, path, truth, nodes, edges, truths,  # noqa: ANN001
):  # fmt: skip
    """Depth-first over the allowed nodes, each node's edges in order, while there is room.

    `path` begins with the source and `truth` with 1. Fills one row of `nodes`, `edges` and `truths`
    per path; returns their number. `edge_runs` has the next edge of every step and the end of its
    edges. With `distinct`, a variable of a chain is not the sink either.
    """
    n, limit = len(steps), len(truths)
    found, depth, entered = 0, 0, True
    while depth >= 0 and found < limit:
        if entered:
            if depth == n - 1 and ending == SINK:
                low, high = run_to(offsets, neighbour, code, path[depth], steps[depth], sink)
            else:
                low, high = run_of(offsets, code, path[depth], steps[depth])
            edge_runs[0, depth], edge_runs[1, depth], entered = low, high, False
        edge = edge_runs[0, depth]
        if edge == edge_runs[1, depth]:
            depth -= 1
            continue
        edge_runs[0, depth] += 1
        here, there = path[depth], neighbour[edge]
        if steps[depth] == own_code and here == source and there == sink:
            continue
        if steps[depth] == own_code ^ 1 and here == sink and there == source:
            continue
        k = place_of(allowed, ends[depth + 1], ends[depth + 2], there)
        if k == ends[depth + 2] or allowed[k] != there:
            continue
        truth[depth + 1] = truth[depth] + (value[edge] - ONE if len(value) else 0)
        if truth[depth + 1] + best[k] <= 0:
            continue
        is_met = is_among(path, depth + 1, there) or (ending != SINK and there == sink)
        if distinct and is_met and (depth < n - 1 or ending != CONSTANT):
            continue
        path[depth + 1] = there
        if depth == n - 1:
            for i in range(n + 1):  # whole rows and comparisons of arrays take seconds to compile
                nodes[found, i] = path[i]
            for i in range(n):
                edges[found, i] = edge_runs[0, i] - 1
            truths[found] = truth[n] + best[k]
            found += 1
        else:
            depth += 1
            entered = True
    return found
