"""Counts what every target sees at its time, by engines that know no time.

Every time is a snapshot of the facts before it (`hornbeam.counting.snapshots`), in which another
engine finds and counts bodies. Only atoms that decay with time are counted here, as they weigh a
sum over their events, and paths in an order (`hornbeam.counting.ordered_events`): no snapshot has
either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from hornbeam.base.arrays import Floats, Ids, Ints
from hornbeam.base.dates import SECONDS_OF_DAY, TimeUnit
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.event_index import EventIndex
from hornbeam.counting.number_counts import asks_for_a_value
from hornbeam.counting.ordered_events import count_ordered
from hornbeam.counting.snapshots import SeenFacts, TimedRelation, snapshots, worlds
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.events import check_units
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.language.time_brackets import EVER, NO_TIME, TimeCondition
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import Candidates, RuleLimits
from hornbeam.rules.codes import step_code

#: Spans of time of the candidates, in days, and events that the longest of them has.
SPANS, AT_LEAST = (7, 30, 90), 3
#: The half-life of atoms that decay, by its place among the spans.
HALF_LIFE = 1
#: Quantiles of the times between events of one atom, which are the spans where days do not fit.
QUANTILES = (0.25, 0.5, 0.75)
COUNTING = "Counting what was seen"


@dataclass(frozen=True, eq=False)
class TimedEngine:
    """An engine over facts with a time, for targets with a time; see `Engine`."""

    facts: Facts
    #: Opens engines of its kind over snapshots; its own facts are those without times.
    inner: Engine

    def over(self, facts: Facts) -> TimedEngine:
        """An engine over other facts with a time."""
        return self if facts is self.facts else timed_engine(facts, self.inner)

    @cached_property
    def index(self) -> EventIndex:
        """The events by atom."""
        return EventIndex.of(self.facts)

    @property
    def predicates(self) -> Names:
        """Names of the predicates."""
        return self.facts.predicates

    @property
    def not_binary(self) -> Mapping[str, int]:
        """Arity of the predicates that are not binary."""
        return self.facts.not_binary

    @property
    def numbers(self) -> Numbers:
        """Numbers of the entities, which are the same at all times."""
        return self.facts.numbers

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""
        return self.facts.locate(names)

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given bodies for the targets, each over what it sees."""
        check_times(self.facts, targets)
        untimed = [k for k, body in enumerate(bodies) if not self._is_timed(body)]
        timed = np.setdiff1d(np.arange(len(bodies)), untimed).tolist()
        decays = [k for k in timed if bodies[k].decays]
        ordered = [k for k in timed if bodies[k].is_ordered and not bodies[k].decays]
        walked = np.setdiff1d(timed, [*decays, *ordered])
        named = [k for k in walked.tolist() if self._needs_names(bodies[k])]
        free = np.setdiff1d(walked, named).tolist()
        parts, at = list[Statistics](), list[int]()
        shares = language.shares or bool(decays)
        if untimed:
            # an entity that only later facts have counts as one that none has, and that is known
            plain, everyone = replace(targets, time=None), self.facts.over(targets.entities)
            engine = self.inner.over(replace(everyone, events=None))
            parts.append(engine.count(plain, _chosen(bodies, untimed), language))
        for some, whole in ((named, True), (free, False)):
            if some:
                asked = _chosen(bodies, some)
                parts.append(self._counted(targets, asked, language, whole, progress))
        if decays:
            parts.append(self._decayed(targets, _chosen(bodies, decays), language))
        if ordered:
            parts.append(self._ordered(targets, _chosen(bodies, ordered), language, progress))
        at = [*untimed, *named, *free, *decays, *ordered]
        if not parts:
            return Statistics.empty(bodies, len(targets), shares)
        table = parts[0]
        for part in parts[1:]:
            table = table.followed_by(part)
        place = np.argsort(at, kind="stable")
        return table.only(place)

    def relations_of(self, bodies: Iterable[Body]) -> list[TimedRelation]:
        """The relations of the atoms of bodies; numbers, `has_year(A)`, have no time."""
        steps = {step for body in bodies for step in body.steps if not self._has_number(step)}
        return sorted({TimedRelation(step.predicate, step.when) for step in steps})

    def _has_number(self, step: Step) -> bool:
        """Whether numbers ground a step, at all times."""
        return asks_for_a_value(replace(step, when=NO_TIME), self.numbers, self.predicates)

    def _is_timed(self, body: Body) -> bool:
        """Whether a body is about facts, and not about numbers or the names of entities alone."""
        return not all(map(self._has_number, body.steps))

    def _needs_names(self, body: Body) -> bool:
        """Whether a body names an entity, or asks for numbers of one that it walks to."""
        named = body.constant is not None or body.number is not None
        return named or self._has_number(body.steps[-1])

    def _counted(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        whole: bool,
        progress: Progress,
    ) -> Statistics:
        """Count bodies in one world after the other; in `whole` snapshots entities have names."""
        relations = self.relations_of(bodies)
        radius = max(_radius(body, language.shares) for body in bodies)
        parts, done = list[tuple[Ints, Statistics]](), 0
        seen: Iterable[SeenFacts] = (
            snapshots(self.facts, relations, targets)
            if whole
            else worlds(self.facts, self.index, relations, targets, radius)
        )
        for world in seen:
            counted = self.inner.over(world.facts).count(world.targets, bodies, language)
            parts.append((world.rows, counted))
            done += len(world.rows)
            progress.advance(COUNTING, done, len(targets))
        if not parts:
            return Statistics.empty(bodies, len(targets), language.shares)
        return Statistics.united(len(targets), parts)

    def discover(
        self,
        targets: Targets,
        language: RuleLimits,
        *,
        statistics: bool = True,
        progress: Progress = SILENT,
    ) -> Discovery:
        """Find every body that has groundings for targets; see `Engine.discover`.

        Single atoms are tried with every condition on time, longer paths with what was ever true,
        those of two atoms also in either order.
        """
        check_times(self.facts, targets)
        unsearched = language.conditions & {Kind.ANCHORED, Kind.CHAIN}
        if unsearched:
            names = ", ".join(sorted(kind.value for kind in unsearched))
            raise InputError(
                f"`bodies` {names} are not searched for over facts with a time: leave them out "
                "(own rules may have them)"
            )
        conditions = self.conditions()
        wide = replace(language, min_coverage=1, top=None)
        kept = self._found(targets, replace(wide, max_length=1), conditions, progress)
        if language.max_length > 1 and language.searches_paths:
            paths = replace(wide, bodies=(Kind.PATH,))
            longer = self._found(targets, paths, conditions, progress, EVER)
            rows = np.flatnonzero(longer.lengths > 1)
            kept = _joined(kept, longer.take(rows))
        found = len(kept)
        counted = self.count(targets, kept.bodies, language, progress=progress)
        kept = kept.with_figures(counted.figures(targets.positive))
        two = _pairs_of_atoms(kept, language)
        if len(two):
            orders = _in_both_orders(kept.take(two))
            kept = replace(kept, predicates=orders.predicates)  # a table that begins with its own
            in_order = self.count(targets, orders.bodies, language, progress=progress)
            orders = orders.with_figures(in_order.figures(targets.positive))
            # a path that is always in this order is no other condition
            other = np.flatnonzero(orders.paths < np.tile(kept.paths[two], 2))
            kept = _joined(kept, orders.take(other))
            counted = counted.followed_by(in_order.only(other))
            found += len(other)
        rows = kept.pruned(language)
        to_entity = targets.entities.translate(self.facts.entities)
        unseen = (to_entity[targets.subject] < 0) | (to_entity[targets.object] < 0)
        return Discovery(
            targets,
            kept.take(rows),
            counted.only(rows) if statistics else None,
            found=found,
            own_edges=0,
            unseen=int(unseen.sum()),
        )

    def conditions(self) -> list[TimeCondition]:
        """The conditions on time that are tried for every atom."""
        unit, index = self.index.unit, self.index
        spread = int(np.ptp(index.time)) if len(index.time) else 0
        day = {TimeUnit.DAY: 1, TimeUnit.SECOND: SECONDS_OF_DAY}.get(unit)
        spans: tuple[int, ...] = SPANS
        suffix = "d"
        if day is None or spread < SPANS[-1] * day:
            gaps = np.diff(index.time)[np.diff(index.atom_of_event) == 0]
            gaps = gaps if len(gaps) else np.array([max(spread, 1)])
            lengths = np.quantile(gaps, QUANTILES, method="higher").tolist()
            spans, suffix = tuple(sorted({max(int(length), 1) for length in lengths})), ""
        last = [TimeCondition("last", span, suffix) for span in spans]
        often = TimeCondition("last", spans[-1], suffix, AT_LEAST)
        decay = TimeCondition("decay", spans[min(HALF_LIFE, len(spans) - 1)], suffix)
        return [EVER, *last, often, decay]

    def _found(
        self,
        targets: Targets,
        language: RuleLimits,
        conditions: Sequence[TimeCondition],
        progress: Progress,
        only: TimeCondition | None = None,
    ) -> Candidates:
        """The bodies that have groundings in some world, over the relations of all conditions.

        With `only`, the facts of the others are left out.
        """
        relations = [TimedRelation(*two) for two in product(self.predicates, conditions)]
        radius = _radius_of_length(language.max_length)
        parts, done = list[Candidates](), 0
        for world in worlds(self.facts, self.index, relations, targets, radius):
            facts = world.facts if only is None else _of_condition(world.facts, only)
            engine = self.inner.over(facts)
            found = engine.discover(world.targets, language, statistics=False)
            parts.append(replace(found.candidates, constants=Names.of(())))
            done += len(world.rows)
            progress.advance("Finding bodies over time", done, len(targets))
        return _distinct(parts)

    def _decayed(
        self, targets: Targets, bodies: Sequence[Body], language: RuleLimits
    ) -> Statistics:
        """Count atoms that decay: their events, and as shares what is left of these."""
        rows = list[tuple[Ints, Ints, Ints, Ints]]()
        left = list[Floats]()
        for k, body in enumerate(bodies):
            row, atom = self._atoms_of(body, targets, language.distinct_variables)
            assert targets.time is not None
            time = targets.time[row]
            n = self.index.events_before(atom, time)
            some = n > 0
            row, atom, time, n = row[some], atom[some], time[some], n[some]
            share = self.index.decayed(body.steps[0].when, atom, time)
            values = self.index.values(self.facts, atom)
            truth = np.full(len(row), ONE) if values is None else values
            key, place = np.unique(row * (ONE + 1) + truth, return_inverse=True)
            count = np.bincount(place, n, len(key)).astype(np.int64)
            rows.append((np.full(len(key), k), *np.divmod(key, ONE + 1), count))
            left.append(np.bincount(place, share, len(key)).astype(np.float64))
        return _table(bodies, targets, rows, np.concatenate(left))

    def _ordered(
        self, targets: Targets, bodies: Sequence[Body], language: RuleLimits, progress: Progress
    ) -> Statistics:
        """Count paths whose atoms were true in an order."""
        if language.max_fanout is not None:
            raise InputError("`max_fanout` and an order of time, [after ...], are not counted both")
        rows = list[tuple[Ints, Ints, Ints, Ints]]()
        for k, body in enumerate(bodies):
            row, truth, number = count_ordered(
                self.facts, self.index, targets, body, language.distinct_variables
            )
            rows.append((np.full(len(row), k), row, truth, number))
            progress.advance("Counting paths in order", k + 1, len(bodies))
        table = _table(bodies, targets, rows)
        return replace(table, share=np.zeros(len(table.count))) if language.shares else table

    def _atoms_of(self, body: Body, targets: Targets, distinct: bool) -> tuple[Ints, Ints]:
        """Rows of targets, and the atoms that ground a body of one atom for them at any time."""
        if len(body.steps) != 1 or body.constant is not None or body.number is not None:
            raise InputError(
                f"{body.steps[0].when} is for a body of one atom whose others are free, such as "
                "visits(A, B), visits(A, X) or student(A)"
            )
        [step], index = body.steps, self.index
        to_entity = targets.entities.translate(self.facts.entities).astype(np.int64)
        ends = to_entity[targets.subject], to_entity[targets.object]
        here = np.where(
            targets.predicate == targets.predicates.index(body.target), ends[body.argument], -1
        )
        row, atom = index.atoms_at(here)
        keep = index.predicate[atom] == self.predicates.index(step.predicate)
        row, atom = row[keep], atom[keep]
        near, far = index.subject[atom], index.object[atom]
        if step.arity == 1:
            keep = far < 0
        else:
            near, far = (far, near) if step.inverse else (near, far)
            keep = near == here[row]
            if body.is_path:
                keep &= far == ends[1][row]
            elif distinct:
                keep &= (far != ends[0][row]) & (far != ends[1][row])
        return row[keep], atom[keep]


def timed_engine(facts: Facts, inner: Engine) -> TimedEngine:
    """The engine over facts with a time that counts snapshots by engines of the kind of `inner`."""
    return TimedEngine(facts, inner.over(replace(facts, events=None)))


def check_times(facts: Facts, targets: Targets) -> None:
    """Refuse targets without a time, or with times of another unit than those of the facts."""
    assert facts.events is not None
    if targets.time is None:
        raise InputError("the facts have a time and the pairs have none; expected `time` for both")
    check_units(facts.events.unit, targets.unit, "the facts", "the pairs")


def _table(
    bodies: Sequence[Body],
    targets: Targets,
    rows: Iterable[tuple[Ints, Ints, Ints, Ints]],
    share: Floats | None = None,
) -> Statistics:
    """The table of rows: numbers of bodies and targets, truths and counts."""
    body, target, truth, count = (np.concatenate(column) for column in zip(*rows, strict=True))
    target, truth = target.astype(np.int32), truth.astype(np.int32)
    return Statistics.of(bodies, len(targets), body, target, truth, count, share)


def _chosen(bodies: Sequence[Body], places: Iterable[int]) -> list[Body]:
    return [bodies[k] for k in places]


def _radius(body: Body, shares: bool) -> int:
    """How many steps from the ends of a target there are entities whose facts count."""
    if body.is_path:
        length = len(body.steps)
        return _radius_of_length(length) + (shares and length > 1 and length % 2 == 0)
    return max(len(body.steps) - 1, 0)


def _radius_of_length(length: int) -> int:
    """The radius of paths, whose facts are near either end."""
    return (length - 1) // 2


def _of_condition(facts: Facts, when: TimeCondition) -> Facts:
    """The facts of the relations of one condition, over the same names."""
    wanted = np.array([Step.along(name).when == when for name in facts.predicates], dtype=np.bool_)
    atoms = {arity: table.select(wanted[table.predicate]) for arity, table in facts.atoms.items()}
    return replace(facts, atoms={arity: table for arity, table in atoms.items() if len(table)})


def _distinct(parts: Sequence[Candidates]) -> Candidates:
    """The rows of all parts, each body once, without figures."""
    whole = parts[0]
    for part in parts[1:]:
        whole = _joined(whole, part)
    bodies: dict[Body, int] = {}
    for row, body in enumerate(whole.bodies):
        bodies.setdefault(body, row)
    return whole.take(np.array(list(bodies.values()), dtype=np.int64))


def _joined(candidates: Candidates, more: Candidates) -> Candidates:
    """The rows of both, over the same relations and targets."""
    width = max(candidates.steps.shape[1], more.steps.shape[1])
    first, second = (
        replace(
            some if some.conditions is not None else some.beside_conditions(
                candidates.constants, candidates.unary_facts
            ),
            steps=np.pad(some.steps, ((0, 0), (0, width - some.steps.shape[1]))),
        )
        for some in (candidates, more)
    )  # fmt: skip
    facts = first.unary_facts | second.unary_facts
    return replace(first.followed_by(second), unary_facts=facts)


def _pairs_of_atoms(candidates: Candidates, language: RuleLimits) -> Ints:
    """Rows of the paths of two atoms that are tried in either order: those that have a chance."""
    if language.max_fanout is not None or candidates.unary:
        return np.empty(0, dtype=np.int64)
    rows = candidates.pruned(replace(language, top=None))
    # conditions on one argument are searched for with one atom only
    return np.sort(rows[candidates.lengths[rows] == 2])


def _in_both_orders(candidates: Candidates) -> Candidates:
    """Paths of two atoms, first with the second atom as the later one, then with the first."""
    n, steps = len(candidates.predicates), candidates.steps
    later, earlier = steps.copy(), steps.copy()
    first = np.argmax(steps > 0, axis=1)
    last = steps.shape[1] - 1 - np.argmax(steps[:, ::-1] > 0, axis=1)
    rows = np.arange(len(steps))
    later[rows, last] += step_code(n) - step_code(0)
    earlier[rows, first] += step_code(2 * n) - step_code(0)
    both = candidates.followed_by(candidates)
    return replace(
        both,
        predicates=tuple(
            replace(Step.along(name), after=after).relation
            for after in (0, -1, 1)
            for name in candidates.predicates
        ),
        steps=np.concatenate([later, earlier]),
    )
