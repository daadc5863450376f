"""Statistics of collective learning: labelled targets as heads *and* as body atoms.

Bodies are made of facts and of the targets labelled true, and every other target's label is
conditioned on. For clause c and target i = t(u, v) a learner then needs

* heads    the walks of c from u to v that do not use i: n+ of a clause, n- of a negation;
* bodies   the ground clauses that have i once in their body, whose other body atoms are true, and
           whose head j is false (a clause) or true (a negation): they push i down, n-;
* repeats  the ground clauses in which i occurs m >= 2 times: max(0, m y - (m-1))^p each. A clause
           with i in its head and its body is a tautology and has no term.

Bodies are walks, too. A ground clause is a closed walk: its s body atoms and, backwards, its head.
Without the step of i there remains a walk of s steps from u to v that has the head among its
steps. So the ordinary path search counts it, over a graph in which false targets are edges of a
relation of their own. It leaves out walks that use i, as it does for heads. But it counts also
clauses with a false i as head and i in the body, which have no term; those are counted separately
and subtracted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hornbeam.base.arrays import Bools, Integers, Ints, added_up
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.collective.clause_kernels import CLOSED, Patterns, count_cycles
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.memory.parallel import even_blocks, run_blocks
from hornbeam.counting.opening import check_targets, recursive_engine
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import warn
from hornbeam.facts.known import among_facts, with_targets
from hornbeam.facts.table import ONE, Targets
from hornbeam.rules.body import MAX_LENGTH, Body, Step
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.codes import step_code

assert CLOSED == MAX_LENGTH + 1, "a closed walk is a body and its head"

#: Suffix of a relation of false targets; no name of the data contains a TAB.
FALSE = "\tfalse"
#: Blocks of patterns per thread.
BLOCKS_PER_THREAD = 8

CountRows = tuple[Ints, Ints, Ints]


@dataclass(frozen=True, eq=False)
class Repeats:
    """Ground clauses in which a target occurs several `times`; see `clause_numbers`."""

    clause: Ints
    target: Ints
    times: Ints
    count: Ints


def clause_numbers(sequence: Ints, negated: Bools | bool) -> Ints:
    """Numbers of clauses: sequence c has clause 2c and its negation 2c + 1."""
    return 2 * sequence + negated


@dataclass(frozen=True, eq=False)
class CollectiveStatistics:
    """Counts by sequence and target: as head, in bodies of clauses, in bodies of negations."""

    heads: Statistics
    bodies: Statistics
    negated_bodies: Statistics
    repeats: Repeats

    @property
    def sequences(self) -> Sequence[Body]:
        """The bodies of the clauses, which are paths."""
        return self.heads.bodies


def discover_collective(
    engine: Engine,
    labels: Targets,
    language: RuleLimits,
    *,
    progress: Progress = SILENT,
    own_facts_expected: bool = False,
    others: Sequence[Body] = (),
) -> tuple[Discovery, CollectiveStatistics]:
    """Find candidates over facts and true targets, and count what collective learning needs.

    Paths of `others` are counted too, whether they are candidates or not.
    """
    check_targets(engine, labels.arities)
    world = ConditionedWorld.of(recursive_engine(engine, language.max_fanout), labels)
    own = int(world.stated.sum())
    if own and not own_facts_expected:
        warn(
            f"{own:,} labelled targets are also among the facts; they are true for the others, "
            "and a target's own fact is never evidence for itself"
        )
    found = world.true.discover(labels, language, progress=progress)
    assert found.statistics is not None
    heads = found.statistics
    if missing := [body for body in others if body not in heads.place]:
        heads = heads.followed_by(world.true.count(labels, missing, language))
    return found, world.statistics(heads, language, progress)


@dataclass(frozen=True, eq=False)
class ConditionedWorld:
    """Facts and labels as evidence of each target.

    A target among the facts is true for the others, whatever its label. `true` is over the facts
    with the targets labelled true; `both` has also the false targets, as relations t + FALSE.
    """

    labels: Targets
    stated: Bools
    true: MemoryEngine
    both: MemoryEngine

    @classmethod
    def of(cls, engine: MemoryEngine, labels: Targets) -> ConditionedWorld:
        """Condition an engine's facts on labels."""
        stated = among_facts(engine.facts, labels)
        positive = labels.select(labels.positive)
        negative = labels.select(~labels.positive & ~stated)
        true = with_targets(engine.facts, positive)
        both = with_targets(true, negative, FALSE)
        return cls(labels, stated, engine.over(true), engine.over(both))

    def statistics(
        self, heads: Statistics, language: RuleLimits, progress: Progress = SILENT
    ) -> CollectiveStatistics:
        """The counts of heads with those of bodies and of repeated targets."""
        distinct = language.distinct_variables
        patterns = list(repeating_patterns(heads.bodies, self.labels.predicates, distinct))
        pattern, target, count = count_patterns(
            patterns, self.labels, self.both, distinct, progress
        )
        sequence = np.array([p.sequence for p in patterns], dtype=np.int64)[pattern]
        negated = np.array([p.negated for p in patterns], dtype=np.bool_)[pattern]
        times = np.array([len(p.places) for p in patterns], dtype=np.int64)[pattern]
        tautology = np.array([p.tautology for p in patterns], dtype=np.bool_)[pattern]
        # a true target was never counted as the false head of its own body
        undo = tautology & ~self.labels.positive[target] & ~self.stated[target]
        in_clauses = self._bodies(heads.bodies, False, language, progress)
        in_negations = self._bodies(heads.bodies, True, language, progress)
        taken_out = (sequence[undo], target[undo], -count[undo])
        keep, clause = ~tautology, clause_numbers(sequence, negated)
        return CollectiveStatistics(
            heads,
            _added_up(heads, in_clauses, taken_out),
            _added_up(heads, in_negations),
            Repeats(*added_up(count[keep], clause[keep], target[keep], times[keep])),
        )

    def _bodies(
        self, sequences: Sequence[Body], negated: bool, language: RuleLimits, progress: Progress
    ) -> CountRows:
        """Rows (sequence, target, count) of every place of a target in a body."""
        rotated = list(self._rotations(sequences, negated))
        walks = [walk for _, walk in rotated]
        counted = self.both.count(self.labels, walks, language, progress=progress)
        sequence = np.array([c for c, _ in rotated], dtype=np.int64)
        repeated = np.repeat(sequence, np.diff(counted.indptr))
        return repeated, counted.target.astype(np.int64), counted.count

    def _rotations(self, sequences: Sequence[Body], negated: bool) -> Iterator[tuple[int, Body]]:
        """Every place of a target in a body: the body's index, and the rest of its closed walk."""
        for c, sequence in enumerate(sequences):
            head = Step(sequence.target if negated else sequence.target + FALSE)
            for k, step in enumerate(sequence.steps):
                if self.labels.predicates.index(step.predicate) >= 0:
                    walk = closing_walk(sequence, k, head)
                    yield c, Body(tuple(other for other, _ in walk), step.predicate)


def closing_walk(body: Body, place: int, head: Step) -> list[tuple[Step, int]]:
    """The rest of a ground clause, a closed walk, without the body atom at a place.

    The walk leads from the subject to the object of that atom; `head` is the step for the head.
    Each step comes with its place in the clause; the place of the head is `len(body)`.
    """
    before = [(body.steps[k].reversed(), k) for k in reversed(range(place))]
    after = [(body.steps[k].reversed(), k) for k in reversed(range(place + 1, len(body)))]
    walk = [*before, (head, len(body)), *after]
    if body.steps[place].inverse:
        walk = [(step.reversed(), k) for step, k in reversed(walk)]
    return walk


def _added_up(heads: Statistics, *parts: CountRows) -> Statistics:
    """One table of the added up rows (sequence, target, count)."""
    sequence, target, count = (np.concatenate([part[k] for part in parts]) for k in range(3))
    sequence, target, count = added_up(count, sequence, target)
    keep = count != 0
    body = np.full(int(keep.sum()), ONE, dtype=np.int32)
    target = target[keep].astype(np.int32)
    return Statistics.of(heads.bodies, heads.n_targets, sequence[keep], target, body, count[keep])


@dataclass(frozen=True)
class Pattern:
    """A clause and the places, two or more, of one and the same target in it.

    The clause is that of the body with number `sequence`, or its negation. Places count the body
    atoms from 0; the head comes last.
    """

    sequence: int
    negated: bool
    body: Body
    target: str
    places: tuple[int, ...]

    @property
    def tautology(self) -> bool:
        """Whether the target is in head and body of a clause: counted only to be subtracted."""
        return not self.negated and len(self.body) in self.places

    @property
    def closed_walk(self) -> tuple[Step, ...]:
        """The body, and the head backwards: false heads of clauses, true ones of negations."""
        false_head = not (self.negated or self.tautology)
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
                    yield Pattern(c, True, body, name, chosen)
                    clause = Pattern(c, False, body, name, chosen)
                    if not clause.tautology or size == 2:
                        yield clause


def count_patterns(
    patterns: Sequence[Pattern],
    labels: Targets,
    world: MemoryEngine,
    distinct: bool = False,
    progress: Progress = SILENT,
) -> CountRows:
    """Rows (pattern, target, count); `world` has true targets as facts and false ones as FALSE."""
    order = np.argsort(labels.predicate, kind="stable")
    arrays = _as_arrays(patterns, labels, world, labels.predicate[order])
    to_node, graph = world.locate(labels.entities), world.graph.forward
    ends = [to_node[ids[order]].astype(np.int64) for ids in (labels.subject, labels.object)]

    def count(low: int, high: int) -> CountRows:
        block = Patterns._make(np.ascontiguousarray(column[low:high]) for column in arrays)
        pattern, target, counted = count_cycles.compiled(graph, block, *ends, distinct)
        return pattern + low, target, counted

    bounds = even_blocks(len(patterns), world.threads * BLOCKS_PER_THREAD) or [(0, 0)]
    with announced(progress):
        rows = run_blocks(count, bounds, world.threads, progress)
    pattern, target, total = (np.concatenate([part[k] for part in rows]) for k in range(3))
    return pattern, order[target], total


def _as_arrays(
    patterns: Sequence[Pattern], labels: Targets, world: MemoryEngine, predicate: Integers
) -> Patterns:
    """Patterns for the kernel; `predicate` is that of the targets in the kernel's order."""
    starts = np.searchsorted(predicate, np.arange(len(labels.predicates) + 1))
    known = {name: p for p, name in enumerate(world.predicates)}
    code = np.zeros((len(patterns), CLOSED), dtype=np.int64)
    taken = np.zeros((len(patterns), CLOSED), dtype=np.bool_)
    figures = np.zeros((5, len(patterns)), dtype=np.int64)
    for p, pattern in enumerate(patterns):
        steps = pattern.closed_walk
        code[p, : len(steps)] = [step_code(known[step.predicate], step.inverse) for step in steps]
        taken[p, list(pattern.places)] = True
        q = labels.predicates.index(pattern.target)
        own, false = (step_code(known[pattern.target + suffix]) for suffix in ("", FALSE))
        figures[:, p] = len(steps), own, false, starts[q], starts[q + 1]
    return Patterns(code, taken, *figures)
