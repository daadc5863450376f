"""Counts conditions on numbers, alike for every engine.

Numbers are in memory, whatever engine has the facts: a table of (attribute, entity, value). The
values of an entity are groundings of `year(A)`, pairs of values those of `year(A) - year(B)`.
`Statistics.share` has the sum of the values where a body is a value, for `[z / mean deviation]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ids,
    Ints,
    added_up,
    part_numbers,
    pointers,
    ranges,
    run_starts,
    sums_by,
)
from hornbeam.base.progress import Progress
from hornbeam.counting.engine import Engine
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Atoms, Facts, Targets
from hornbeam.language.syntax import Operator
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.number_conditions import NumberCondition, attribute_of

#: Conditions on numbers at the ends of chains, each with whether it holds once; and the names of
#: the unary facts that stand for the values of an end.
NumberEnds = tuple[tuple[NumberCondition, bool], ...]
NumberFacts = dict[tuple[NumberCondition, bool], list[str]]
#: Maximum number of engines with such facts that an engine keeps.
MAX_KEPT = 2


@dataclass(frozen=True, eq=False)
class NumberCounter:
    """Counts the groundings of conditions on numbers for pairs; -1 is an entity without facts."""

    numbers: Numbers
    subject: Ids
    object: Ids
    #: Where the values of every pair's entity begin and end, by attribute and argument; a cache.
    _runs: dict[tuple[str, int], tuple[Floats, Ints, Ints]] = field(
        default_factory=dict, init=False, repr=False
    )
    #: The values that were wanted last: comparisons of one number follow each other.
    _last: dict[tuple[NumberCondition, int], tuple[Ints, Floats]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def of(cls, numbers: Numbers, targets: Targets, to_node: Ids) -> NumberCounter:
        """The counter of targets, whose entities have the ids `to_node` among the numbers.

        A pair with an entity that no fact has is scored by its prior alone: it has no groundings.
        """
        subject, object_ = to_node[targets.subject], to_node[targets.object]
        seen = (subject >= 0) & (object_ >= 0)
        return cls(numbers, np.where(seen, subject, -1), np.where(seen, object_, -1))

    def values(self, condition: NumberCondition, argument: int) -> tuple[Ints, Floats]:
        """Rows of pairs and values of a condition's number, one of each per grounding."""
        key = (condition.value, argument)
        if key not in self._last:
            self._last.clear()
            self._last[key] = self._values(condition, argument)
        return self._last[key]

    def _values(self, condition: NumberCondition, argument: int) -> tuple[Ints, Floats]:
        values, low, high = self._runs_of(condition.attribute, argument)
        row, value = np.repeat(np.arange(len(low)), high - low), values[ranges(low, high)]
        if condition.minus is None:
            return row, value
        values, low, high = self._runs_of(condition.minus, 1 - argument)
        low, high = low[row], high[row]
        difference = np.repeat(value, high - low) - values[ranges(low, high)]
        return np.repeat(row, high - low), np.abs(difference) if condition.absolute else difference

    def _runs_of(self, attribute: str, argument: int) -> tuple[Floats, Ints, Ints]:
        """The values of an attribute, and where those of every pair's entity begin and end."""
        key = (attribute, argument)
        if key not in self._runs:
            nodes = self.object if argument else self.subject
            entity, value = self.numbers.values_of(attribute)
            low, high = (np.searchsorted(entity, nodes, side=side) for side in ("left", "right"))
            self._runs[key] = value, low, high  # -1 is before all entities
        return self._runs[key]

    def meeting(self, condition: NumberCondition, argument: int) -> tuple[Ints, Floats]:
        """Rows of pairs and values of the groundings of a condition."""
        row, value = self.values(condition, argument)
        met = holds(condition, value)
        return row[met], value[met]

    def statistics(
        self, bodies: Sequence[Body], targets: Targets, distinct: bool = False
    ) -> Statistics:
        """Counts of the bodies for the pairs, which are those of the targets.

        With `distinct` variables a pair of one entity has no grounding of an atom, `has_year(A)`.
        """
        heads, n_targets = targets.predicates.find(body.target for body in bodies), len(targets)
        sizes, parts = np.zeros(len(bodies), dtype=np.int64), []
        for k, (body, head) in enumerate(zip(bodies, heads.tolist(), strict=True)):
            row, value = self.meeting(number_of(body), body.argument)
            same = targets.predicate[row] == head
            if distinct and body.steps:
                same &= self.subject[row] != self.object[row]
            row, value = row[same], value[same]
            count = np.bincount(row, minlength=n_targets)
            if body.steps:  # to have a value is one condition, whatever the number of values
                count = np.minimum(count, 1)
            total = sums_by(row, value, n_targets) if body.is_value else np.zeros(n_targets)
            target = np.flatnonzero(count)
            sizes[k] = len(target)
            parts.append((target.astype(np.int32), count[target], total[target]))
        none = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64), np.empty(0))
        rows, counts, shares = (np.concatenate(column) for column in zip(none, *parts, strict=True))
        indptr = pointers(sizes)
        return Statistics(
            bodies, n_targets, indptr, rows.astype(np.int32, copy=False), counts, share=shares
        )


def holds(condition: NumberCondition, value: Floats) -> Bools:
    """Which values meet a condition; all of them where it has no bound."""
    if condition.bound is None:
        return np.ones(len(value), dtype=np.bool_)
    bound = condition.bound.value
    met = value >= bound if condition.operator is Operator.AT_LEAST else value < bound
    return np.asarray(met)


def number_of(body: Body) -> NumberCondition:
    """The number that a body is about; of `has_year(A)` the attribute."""
    if body.number is not None:
        return body.number
    attribute = attribute_of(body.steps[-1].predicate)
    assert attribute is not None
    return NumberCondition(attribute)


def are_numeric(bodies: Sequence[Body], numbers: Numbers, predicates: Names) -> Bools:
    """Which bodies numbers ground: comparisons, values, and `has_year(A)` where it is no fact."""
    return np.array([_is_numeric(body, numbers, predicates) for body in bodies], dtype=np.bool_)


def _is_numeric(body: Body, numbers: Numbers, predicates: Names) -> bool:
    if body.number is not None or not body.steps:
        return body.number is not None
    return asks_for_a_value(body.steps[-1], numbers, predicates)


def asks_for_a_value(step: Step, numbers: Numbers, predicates: Names) -> bool:
    """Whether a step is `has_year(A)`, which numbers ground: the facts have no such predicate."""
    attribute = attribute_of(step.predicate) if step.arity == 1 else None
    known = attribute is not None and numbers.attributes.index(attribute) >= 0
    return known and predicates.index(step.stated) < 0


def count_with_numbers(
    engine: Engine,
    numeric: Bools,
    targets: Targets,
    bodies: Sequence[Body],
    language: RuleLimits,
    progress: Progress,
) -> Statistics:
    """The counts of all bodies in their order: of `numeric` ones here, of others by the engine."""
    if any(map(ends_a_chain, compress(bodies, numeric))):
        return _count_chains(engine, numeric, targets, bodies, language, progress)
    plain, others = list(compress(bodies, ~numeric)), list(compress(bodies, numeric))
    counter = NumberCounter.of(engine.numbers, targets, engine.locate(targets.entities))
    counted = counter.statistics(others, targets, language.distinct_variables)
    counted = counted if language.shares else counted.without_shares()
    if not plain:
        return counted
    order = np.argsort(np.argsort(numeric, kind="stable"))
    before = engine.count(targets, plain, language, progress=progress)
    return before.followed_by(counted).only(order)


def ends_a_chain(body: Body) -> bool:
    """Whether the number of a numeric body is that of the last entity of a chain."""
    return bool(body.steps) and body.kind is not Kind.UNARY


def _count_chains(
    engine: Engine,
    numeric: Bools,
    targets: Targets,
    bodies: Sequence[Body],
    language: RuleLimits,
    progress: Progress,
) -> Statistics:
    """The counts of bodies, some of which are chains that end in a number.

    An entity with n values that meet the comparison grounds it n times: once in each of n unary
    facts, "has a first such value", "has a second", and so on. So a chain that ends in a number is
    counted as the sum of chains that end in these facts.
    """
    chains = [k for k, body in enumerate(bodies) if numeric[k] and ends_a_chain(body)]
    ends = tuple(dict.fromkeys((number_of(bodies[k]), bodies[k].number is None) for k in chains))
    # kept with the engine: a cache of this module would keep engines and their facts alive
    kept: dict[NumberEnds, tuple[Engine, NumberFacts]] = vars(engine).setdefault(
        "_number_facts", {}
    )
    found = kept.get(ends) or _with_number_facts(engine, ends)
    for oldest in list(kept)[: 1 - MAX_KEPT]:
        kept.pop(oldest, None)
    kept[ends] = found
    grown, names = found
    expanded, owner = list[Body](), list[int]()
    for k, body in enumerate(bodies):
        if k not in chains:
            expanded, owner = [*expanded, body], [*owner, k]
            continue
        for name in names[number_of(body), body.number is None]:
            steps = (*(body.steps if body.number else body.walk), Step(name, arity=1))
            expanded.append(replace(body, steps=steps, number=None))
            owner.append(k)
    counted = grown.count(targets, expanded, language, progress=progress)
    body_of = np.array(owner, dtype=np.int64)[part_numbers(counted.indptr)]
    share = counted.share if counted.share is not None else np.zeros(len(counted.count))
    columns = (body_of, counted.target, counted.all_truths)
    number, target, truth, count = added_up(counted.count, *columns)
    by_row = np.lexsort(columns[::-1])
    shares = np.add.reduceat(share[by_row], run_starts(*(c[by_row] for c in columns)))
    return Statistics.of(
        bodies, len(targets), number, target, truth, count, shares if language.shares else None
    )


def _with_number_facts(engine: Engine, ends: NumberEnds) -> tuple[Engine, NumberFacts]:
    """An engine whose facts say which entities have a first, second, ... value that meets an end.

    An end is a condition, and whether it holds once, as `has_year(X)` does.
    """
    facts = engine.facts
    if facts is None:
        raise InputError(
            "a number at the end of a chain is counted over facts in memory, and the open engine "
            "has them somewhere else: give the facts themselves"
        )
    everything = np.arange(len(facts.entities), dtype=np.int32)
    counter = NumberCounter(engine.numbers, everything, everything)
    names, rows = NumberFacts(), list[tuple[str, Ids]]()
    for number, (condition, once) in enumerate(ends):
        row, _ = counter.meeting(condition, 0)
        n = np.bincount(row, minlength=len(everything))
        most = min(int(n.max(initial=0)), 1) if once else int(n.max(initial=0))
        # no name of the data has a line break
        names[condition, once] = [f"number\n{number}\n{k}" for k in range(1, most + 1)]
        for k, name in enumerate(names[condition, once], start=1):
            rows.append((name, everything[n >= k]))
    predicates = Names.of([name for name, _ in rows])
    entity = np.concatenate([np.empty(0, dtype=np.int32), *(ids for _, ids in rows)])
    parts = [np.full(len(ids), predicates.index(name)) for name, ids in rows]
    predicate = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    order = np.lexsort((predicate, entity))
    atoms = Atoms(predicate[order].astype(np.uint16), (entity[order],))
    more = Facts(facts.entities, predicates, {1: atoms} if len(entity) else {})
    return engine.over(facts + more), names
