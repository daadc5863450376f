"""Ground clauses in which a target occurs several times: the possible patterns, and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from hornbeam.base.arrays import Integers, Ints
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.collective.repeat_kernels import STEPS, Patterns, count_cycles
from hornbeam.counting.collective.target_edges import FALSE
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.memory.parallel import run_blocks
from hornbeam.facts.table import Targets
from hornbeam.rules.body import MAX_LENGTH, Body, Step
from hornbeam.rules.codes import step_code

assert STEPS == MAX_LENGTH + 1, "a closed walk is a body and its head"

#: Blocks of patterns per thread.
BLOCKS_PER_THREAD = 8


@dataclass(frozen=True)
class Pattern:
    """A clause and the places, two or more, of one and the same target in it.

    The clause is that of the body with number `sequence`, or its negation. Places count the body
    atoms from 0; the head comes last. A `tautology` has the target in head and body and is counted
    only to be subtracted.
    """

    sequence: int
    negated: bool
    body: Body
    target: str
    places: tuple[int, ...]
    tautology: bool

    @property
    def closed_walk(self) -> tuple[Step, ...]:
        """The body, and the head backwards: false heads of clauses, true ones of negations."""
        in_head = len(self.body) in self.places
        false_head = not (self.negated or in_head)
        name = self.body.target + FALSE if false_head else self.body.target
        return (*self.body.steps, Step(name, inverse=True))


def repeating_patterns(
    bodies: Sequence[Body], targets: Iterable[str], distinct: bool
) -> Iterator[Pattern]:
    """Every way in which a target can have two or more places in a clause."""
    names = list(targets)
    for c, body in enumerate(bodies):
        if distinct and len(body) > 1:
            continue  # two places share a node
        for name in names:
            places = [k for k, step in enumerate(body.steps) if step.predicate == name]
            places += [len(body)] if body.target == name else []
            for size in range(2, len(places) + 1):
                for chosen in combinations(places, size):
                    in_head = len(body) in chosen
                    yield Pattern(c, True, body, name, chosen, False)
                    if not in_head or size == 2:
                        yield Pattern(c, False, body, name, chosen, in_head)


def count_patterns(
    patterns: Sequence[Pattern],
    labels: Targets,
    world: MemoryEngine,
    distinct: bool = False,
    progress: Progress = SILENT,
) -> tuple[Ints, Ints, Ints]:
    """Rows (pattern, target, count); `world` has true targets as facts and false ones as FALSE."""
    order = np.argsort(labels.predicate, kind="stable")
    arrays = _as_arrays(patterns, labels, world, labels.predicate[order])
    to_node, graph = world.locate(labels.entities), world.graph.forward
    ends = [to_node[ids[order]].astype(np.int64) for ids in (labels.subject, labels.object)]

    def count(low: int, high: int) -> tuple[int, tuple[Ints, Ints, Ints]]:
        some = Patterns._make(np.ascontiguousarray(column[low:high]) for column in arrays)
        found, target, counted = count_cycles.compiled(graph, some, ends[0], ends[1], distinct)
        return 0, (found + low, target, counted)

    workers = world.threads
    cuts = np.linspace(0, len(patterns), workers * BLOCKS_PER_THREAD + 1).astype(int).tolist()
    bounds = [(low, high) for low, high in pairwise(cuts) if high > low]
    with announced(progress):
        rows = [found for _, found in run_blocks(count, bounds or [(0, 0)], workers, progress)]
    pattern, target, total = (np.concatenate([part[k] for part in rows]) for k in range(3))
    return pattern, order[target], total


def _as_arrays(
    patterns: Sequence[Pattern], labels: Targets, world: MemoryEngine, predicate: Integers
) -> Patterns:
    """Patterns for the kernel; `predicate` is that of the targets in the kernel's order."""
    starts = np.searchsorted(predicate, np.arange(len(labels.predicates) + 1))
    known = {name: p for p, name in enumerate(world.predicates)}
    code = np.zeros((len(patterns), STEPS), dtype=np.int64)
    taken = np.zeros((len(patterns), STEPS), dtype=np.bool_)
    figures = np.zeros((5, len(patterns)), dtype=np.int64)
    for p, pattern in enumerate(patterns):
        steps = pattern.closed_walk
        code[p, : len(steps)] = [step_code(known[step.predicate], step.inverse) for step in steps]
        taken[p, list(pattern.places)] = True
        q = labels.predicates.index(pattern.target)
        own, false = (step_code(known[pattern.target + suffix]) for suffix in ("", FALSE))
        figures[:, p] = len(steps), own, false, starts[q], starts[q + 1]
    return Patterns(code, taken, *figures)
