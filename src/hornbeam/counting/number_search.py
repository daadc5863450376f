"""Candidates on numbers: which values are compared, and with what.

Differences between the two arguments come first, then single arguments. A value is a candidate
where it covers `MIN_SHARE` of the pairs. It is cut at up to `CUTS` observed values, quantiles of
the pairs; labels play no role in this. Every cut gives `>=` and `<`; the value itself and, of a
single argument, `has_year(A)` stand beside them.

Where few entities fill an argument, as ratings of films do, a number of the other argument says
nothing by itself, only together with that entity. So `(B == 'PG')` is a candidate, too; learners
conjoin it with conditions on numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from hornbeam.base.arrays import Floats, added_up, part_numbers
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.number_counts import NumberCounter
from hornbeam.counting.statistics import Histograms, Statistics
from hornbeam.errors import InputError, warn
from hornbeam.facts.table import Targets
from hornbeam.language.syntax import Bound, Operator, Unit
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.number_conditions import HAS, NumberCondition

#: Least share of the pairs that a value, or an entity at an argument, must cover.
MIN_SHARE = 0.05
#: Number of quantiles at which a value is cut.
CUTS = 8
#: Least share of the pairs whose entities at an argument are frequent, for it to be a class.
CLASS_SHARE = 0.5


def with_numbers(
    engine: Engine, found: Discovery, language: RuleLimits, progress: Progress = SILENT
) -> Discovery:
    """The candidates of a search, and those on numbers of the same targets."""
    targets, candidates = found.targets, found.candidates
    bodies = list[Body]()
    for p, name in enumerate(targets.predicates):
        of_target = _NumbersOfTarget(engine, targets, p, language)
        arity = targets.arities[name]
        bodies += [replace(body, target=name, head_arity=arity) for body in of_target.bodies()]
    if not bodies:
        _report_none(engine, targets, language)
        return found
    known = set(candidates.bodies)
    bodies = [body for body in bodies if body not in known]
    counted = engine.count(targets, bodies, language, progress=progress)
    everything = candidates.with_numbers(bodies, counted.figures(targets.positive))
    rows = everything.pruned(language)
    statistics, histograms = found.statistics, found.histograms
    if statistics is not None:
        statistics = statistics.followed_by(counted).only(rows)
    if histograms is not None:
        histograms = histograms.followed_by(_histograms(counted, targets, histograms.max_rows))
        histograms = histograms.only(rows)
    return replace(
        found,
        candidates=everything.take(rows),
        statistics=statistics,
        histograms=histograms,
        found=None if found.found is None else found.found + len(bodies),
    )


def _report_none(engine: Engine, targets: Targets, language: RuleLimits) -> None:
    """Say why no number is compared; refuse numbers that are about none of the labelled pairs.

    Tables have numbers of all of their entities: that these are others is no mistake.
    """
    if engine.facts is None or len(engine.facts.types.entity):
        return
    named = ", ".join(map(repr, islice(engine.numbers.attributes, 3)))
    must = "`numbers` must name the entities as the facts do"
    ids = engine.locate(targets.entities)[np.concatenate([targets.subject, targets.object])]
    if not np.isin(ids, engine.numbers.entity).any():
        raise InputError(f"no labelled pair has a value of an attribute such as {named}; {must}")
    least = max(language.min_coverage, MIN_SHARE * len(targets))
    warn(
        f"no number is compared: fewer than {least:.0f} of the labelled pairs have a value of one "
        f"of the attributes, such as {named}; {must}"
    )


class _NumbersOfTarget:
    """Makes the candidates on numbers of one target predicate; the target's name is left empty."""

    def __init__(
        self, engine: Engine, targets: Targets, predicate: int, language: RuleLimits
    ) -> None:
        self.numbers, self.language = engine.numbers, language
        self.predicates, self.entities = engine.predicates, targets.entities
        chosen = targets.select(targets.predicate == predicate)
        self.pairs = chosen
        self.counter = NumberCounter.of(self.numbers, chosen, engine.locate(targets.entities))
        self.least = max(language.min_coverage, MIN_SHARE * len(chosen))

    def bodies(self) -> Iterator[Body]:
        """Comparisons, values, conditions to have one, and the classes that go with them."""
        about = [self._attributes(argument) for argument in (0, 1)]
        if self.pairs.on_one.all():
            about.pop()  # of a target on one entity the second argument is the first
        for first in about[0]:
            for second in about[-1] if len(about) > 1 else ():
                if (first in self.numbers.dates) == (second in self.numbers.dates):
                    difference = NumberCondition(first, second)
                    yield from self._compared(difference, 0)
                    if first == second:
                        yield from self._compared(replace(difference, absolute=True), 0)
        for argument, attributes in enumerate(about):
            for attribute in attributes:
                yield from self._compared(NumberCondition(attribute), argument)
                name = HAS + attribute
                if self.predicates.index(name) < 0:
                    yield Body((Step(name, arity=1),), "", Kind.UNARY, argument)
            if attributes and len(about) > 1:
                yield from self._classes(1 - argument)

    def _attributes(self, argument: int) -> list[str]:
        """The attributes that enough pairs have at an argument."""
        names = [name for name in self.numbers.attributes if name not in self.language.exclude]
        return [name for name in names if self._covers(NumberCondition(name), argument)]

    def _covers(self, value: NumberCondition, argument: int) -> bool:
        row, _ = self.counter.values(value, argument)
        return len(np.unique(row)) >= self.least

    def _compared(self, value: NumberCondition, argument: int) -> Iterator[Body]:
        """A value of enough pairs, and its comparisons with its cuts."""
        row, values = self.counter.values(value, argument)
        cuts = cuts_of(values)
        if len(np.unique(row)) < self.least or not len(cuts):
            return
        dated = value.attribute in self.numbers.dates
        unit = Unit.NUMBER if not dated else Unit.DATE if value.minus is None else Unit.DAYS
        condition = Body((), "", Kind.NUMBERS, argument, number=value)
        yield condition
        for cut in cuts.tolist():
            for operator in (Operator.AT_LEAST, Operator.BELOW):
                yield replace(condition, number=value.compared(operator, Bound(cut, unit)))

    def _classes(self, argument: int) -> Iterator[Body]:
        """`(B == 'c')` for the entities that fill most of an argument, each of them many pairs."""
        ids = self.pairs.object if argument else self.pairs.subject
        entity, size = np.unique(ids[self.counter.subject >= 0], return_counts=True)
        frequent = size >= self.least
        if size[frequent].sum() >= CLASS_SHARE * len(ids):
            for name in self.entities.take(entity[frequent]):
                yield Body((), "", Kind.ANCHORED, argument, name)


def cuts_of(values: Floats) -> Floats:
    """Observed values at which a number is cut: quantiles, without the least value."""
    if not len(values):
        return values
    share = np.arange(1, CUTS + 1) / (CUTS + 1)
    cuts = np.unique(np.quantile(values, share, method="higher"))
    return np.asarray(cuts[cuts > values.min()])


def _histograms(counted: Statistics, targets: Targets, max_rows: int) -> Histograms:
    """The numbers of targets per body, count and label."""
    assert targets.millionths is not None
    body, label = part_numbers(counted.indptr), targets.millionths[counted.target]
    ones = np.ones(len(body), dtype=np.int64)
    body, count, label, size = added_up(ones, body, counted.count, label)
    return Histograms.of(counted.bodies, max_rows, body, count, label, size)
