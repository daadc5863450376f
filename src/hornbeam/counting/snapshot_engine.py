"""An engine over what was known at one time, whose graph is walked for groundings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.base.arrays import Bools, Ints
from hornbeam.base.dates import TimeUnit
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.ordered_events import atoms_between, in_order
from hornbeam.counting.snapshots import TimedRelation, snapshot
from hornbeam.counting.statistics import Statistics
from hornbeam.counting.timed_engine import TimedEngine
from hornbeam.errors import InputError
from hornbeam.facts.table import Facts, Targets
from hornbeam.language.time_brackets import EVER
from hornbeam.rules.body import Body, Step
from hornbeam.rules.candidates import RuleLimits


@dataclass(frozen=True, eq=False, kw_only=True)
class SnapshotEngine(MemoryEngine):
    """The engine of a snapshot; its facts are those of the relations that rules ask for.

    Targets that have no time of their own are seen at the time of the snapshot.
    """

    timed: TimedEngine = field(repr=False)
    relations: Sequence[TimedRelation]
    time: int

    @classmethod
    def of(
        cls, timed: TimedEngine, bodies: Sequence[Body], time: int | None = None
    ) -> SnapshotEngine:
        """The engine at a time for the relations of some bodies; by default after all events."""
        relations = {TimedRelation(name, EVER) for name in timed.predicates}
        listed = sorted(relations.union(timed.relations_of(bodies)))
        moments = timed.index.moments
        at = time if time is not None else int(moments[-1]) + 1 if len(moments) else 0
        return cls._at(timed, listed, at)

    @classmethod
    def _at(
        cls, timed: TimedEngine, relations: Sequence[TimedRelation], time: int
    ) -> SnapshotEngine:
        facts = snapshot(timed.facts, timed.index, relations, time)
        return cls(facts, timed=timed, relations=relations, time=time)

    def at(self, time: int) -> SnapshotEngine:
        """The engine at another time."""
        return self if time == self.time else self._at(self.timed, self.relations, time)

    @property
    def unit(self) -> TimeUnit:
        """What times count."""
        return self.timed.index.unit

    def over(self, facts: Facts) -> MemoryEngine:
        """Itself over its own facts; see `Engine.over`."""
        if facts.atoms is self.facts.atoms:
            return self
        raise InputError("what a model over time says without some facts is not computed")

    def with_facts(self, new: Facts) -> MemoryEngine:
        """An engine over the facts and new ones, at the same time."""
        return self._at(self.timed.over(self.timed.facts + new), self.relations, self.time)

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given bodies for the targets, each over what it sees."""
        if targets.time is None:
            time = np.full(len(targets), self.time, dtype=np.int64)
            targets = replace(targets, time=time, unit=self.unit)
        return self.timed.count(targets, bodies, language, progress=progress)

    def in_order(self, steps: Sequence[Step], nodes: Ints) -> tuple[Bools, Ints]:
        """Which paths, rows of `nodes`, have events in the order of their steps, and their times.

        See `hornbeam.counting.ordered_events.in_order`.
        """
        index, predicates = self.timed.index, self.timed.facts.predicates
        atoms = [
            atoms_between(index, predicates, step, nodes[:, k], nodes[:, k + 1])
            for k, step in enumerate(steps)
        ]
        return in_order(index, steps, atoms, np.full(len(nodes), self.time, dtype=np.int64))

    def history(self, relation: str, arguments: Sequence[str], at: int | None = None) -> str:
        """How often an atom was true before, and when last, in words; or that it was true `at`.

        Examples
        --------
        >>> from hornbeam import read_facts
        >>> from hornbeam.counting.opening import open_engine
        >>> facts = read_facts([("a", "p", "b", t) for t in (3, 5)], time=4)
        >>> engine = SnapshotEngine.of(open_engine(facts), [], time=9)
        >>> engine.history("p", ["a", "b"])
        '2 times, the last one at 5, 4 steps before'
        """
        if at is not None:
            return self._ago_words(at)
        step, facts, index = Step.along(relation), self.timed.facts, self.timed.index
        s, o = facts.entities.index(arguments[0]), -1
        if len(arguments) > 1:
            o = facts.entities.index(arguments[1])
        _, atoms = index.atoms_at(np.array([s]))
        same = (index.predicate[atoms] == facts.predicates.index(step.predicate)) & (
            index.subject[atoms] == s
        )
        found = atoms[same & (index.object[atoms] == o)]
        if not len(found):
            return ""
        low = int(index.starts[found[0]])
        times = index.time[low : low + int(index.events_before(found, np.array([self.time]))[0])]
        if step.when.kind == "last":
            times = times[times >= self.time - step.when.span(self.unit)]
        if not len(times):
            return ""
        often = "once," if len(times) == 1 else f"{len(times):,} times, the last one"
        return f"{often} {self._ago_words(int(times[-1]))}"

    def _ago_words(self, time: int) -> str:
        """A time, and how long ago it was."""
        day = "at" if self.unit is TimeUnit.STEP else "on"
        return f"{day} {self.unit.text(time)}, {_ago(self.time - time, self.unit)} before"


def as_timed(engine: object, why: str) -> TimedEngine:
    """The engine if it is over facts with a time; an InputError with the reason if not."""
    if not isinstance(engine, TimedEngine):
        raise InputError(why)
    return engine


def _ago(span: int, unit: TimeUnit) -> str:
    """A span of time in words."""
    if unit is TimeUnit.SECOND:
        for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
            if span >= 2 * size:
                return f"{span // size:,} {name}s"
    return f"{span:,} {unit}{'s' * (span != 1)}"
