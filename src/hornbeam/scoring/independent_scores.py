"""Scores in closed form: with observed bodies targets are independent of each other.

A_i and B_i add up the weighted counts of the rules for and against target i; its score is the mean
E[y_i] of its conditional density, or the MAP state.

A rule of one body has the body's column in its way of counting; priors, and conjunctions and
thresholds, have columns of their own. Looking up every rule's column takes longer than adding a few
hundred entries, so that a model which scores a few pairs again and again looks them up once
(`RuleLayout`), and entries are computed once for all weights under which the same pairs are scored
(`CachedCounts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, Positions, ranges, run_starts
from hornbeam.base.choices import Score
from hornbeam.counting.columns import (
    Columns,
    HingeRows,
    clause_hinges,
    joined_rows,
    strengths_add_up,
    weighed_shares,
)
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.hinges import group_hinges, hinge_map, hinge_moments
from hornbeam.densities.integrals import closed_form_score, score_mean
from hornbeam.errors import InputError
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.weighing import Counts, Weighing

#: About the maximum number of entries per batch.
MAX_ENTRIES = 1 << 20
#: Ways of counting by their numbers.
WAYS = tuple(Counts)
SHARE = WAYS.index(Counts.SHARE)


class RuleColumns(NamedTuple):
    """Columns of the `rules` from one number to another, the `sizes` of which follow each other.

    A `cell` is the row of a target, plus the number of targets where the rule is negative; `x`
    is what the rule adds there per unit of weight.
    """

    rules: slice
    sizes: Ints
    cell: Ints
    x: Floats


@dataclass(frozen=True, eq=False)
class RuleLayout:
    """Where the columns of a model's rules are found in statistics of its bodies.

    Parameters
    ----------
    negated
        Which rules are against their targets.
    place, way, median
        For every rule the column of its body, the number of its way of counting among `WAYS`, and
        the median of its shares.
    own
        The clauses that have columns of their own, and how their groundings weigh, by number.
    """

    negated: Bools
    place: Ints
    way: Ints
    median: Floats
    own: Mapping[int, tuple[Clause, Weighing]]

    @classmethod
    def of(cls, model: RuleModel, bodies: Sequence[Body]) -> RuleLayout:
        """The layout of a model's rules over statistics of these bodies; of its own it is kept."""
        known = model.kept.get("layout") if bodies is model.bodies else None
        if isinstance(known, cls):
            return known
        column = {body: j for j, body in enumerate(bodies)}
        place, way, median = list[int](), list[int](), list[float]()
        own = dict[int, tuple[Clause, Weighing]]()
        for k, rule in enumerate(model.rules):
            clause, weighing = rule.clause, model.counts_of(rule.clause)
            parts = clause.body.parts
            single = len(parts) == 1 and parts[0].threshold is None
            if single and weighing.counts is not Counts.Z:
                place.append(column[parts[0].body])
            else:
                place.append(-1)
                own[k] = clause, weighing
            way.append(WAYS.index(weighing.counts))
            median.append(weighing.median)
        layout = cls(
            np.array([rule.clause.negated for rule in model.rules], dtype=np.bool_),
            np.array(place, dtype=np.int64),
            np.array(way, dtype=np.int64),
            np.array(median, dtype=np.float64),
            own,
        )
        if bodies is model.bodies:
            model.kept["layout"] = layout
        return layout

    def over(self, columns: Columns, targets: Targets) -> Iterator[RuleColumns]:
        """Yield the columns of the rules in batches of bounded size."""
        n = len(targets)
        for run in self._runs:
            if run.start in self.own:
                own, x = self._own_column(columns, targets, run.start)
                # a number below its mean speaks for the other side
                against = self.negated[run] ^ (x < 0.0)
                cell = own.astype(np.int64) + n * against
                yield RuleColumns(run, np.array([len(own)]), cell, np.abs(x))
                continue
            for rules in self._parts(columns.statistics, run):
                sizes, rows, x = self._columns(columns, rules)
                cell = np.repeat(n * self.negated[rules].astype(np.int64), sizes) + rows
                yield RuleColumns(rules, sizes, cell, x)

    @cached_property
    def _runs(self) -> Sequence[slice]:
        """Rules of one body each as long as they follow each other, all others alone."""
        numbers = range(len(self.place))
        runs = (list(run) for _, run in groupby(numbers, lambda k: k if k in self.own else -1))
        return [slice(run[0], run[-1] + 1) for run in runs]

    def _parts(self, statistics: Statistics, run: slice) -> list[slice]:
        """Parts of a run of rules with at most about `MAX_ENTRIES` entries each."""
        indptr, place = statistics.indptr, self.place[run]
        before = np.cumsum(indptr[place + 1] - indptr[place]) // MAX_ENTRIES
        if before[-1] == 0:
            return [run]
        starts = run.start + run_starts(before)
        return [slice(*ends) for ends in pairwise([*starts.tolist(), run.stop])]

    def _columns(self, columns: Columns, rules: slice) -> tuple[Ints, Ids, Floats]:
        """Sizes, rows and entries of rules of one body each."""
        place, ways = self.place[rules], self.way[rules]
        indptr, row, x = columns.all(WAYS[ways[0]])
        low, high = indptr[place], indptr[place + 1]
        sizes, entries = high - low, ranges(low, high)
        x = x[entries]
        way = np.repeat(ways, sizes)
        for other in set(ways.tolist()) - {int(ways[0])}:
            at = np.flatnonzero(way == other)
            x[at] = columns.all(WAYS[other]).x[entries[at]]
        if SHARE in ways:
            at = np.flatnonzero(way == SHARE)
            x[at] = weighed_shares(x[at], np.repeat(self.median[rules], sizes)[at])
        return sizes, row[entries], x

    def _own_column(
        self, columns: Columns, targets: Targets, rule: int
    ) -> tuple[Ids | Positions, Floats]:
        """Rows and entries of a rule that has a column of its own."""
        clause, weighing = self.own[rule]
        if not clause.is_prior:
            return columns.of(clause.body, weighing)
        rows = targets_of(clause, targets)
        return rows, np.ones(len(rows))


def added(columns: Iterable[RuleColumns], weights: Floats, n_targets: int) -> tuple[Floats, Floats]:
    """Add up the rules for and against every target, in the order of the rules."""
    sides = np.zeros(2 * n_targets)
    for part in columns:
        np.add.at(sides, part.cell, np.repeat(weights[part.rules], part.sizes) * part.x)
    return sides[:n_targets], sides[n_targets:]


def weights_of(rules: Sequence[Rule]) -> Floats:
    """The weights of rules, in their order."""
    return np.array([rule.weight for rule in rules], dtype=np.float64)


def targets_of(prior: Clause, targets: Targets) -> Positions:
    """The targets that a prior is about."""
    return np.flatnonzero(targets.predicate == targets.predicates.index(prior.target))


def score_targets(
    model: RuleModel, statistics: Statistics, targets: Targets, score: Score = Score.MEAN
) -> Floats:
    """Score every target from the counts of the rules' bodies."""
    relaxation = model.semantics.relaxation
    if not strengths_add_up(statistics, relaxation):
        return _hinge_scores(model, statistics, targets, score)
    up, down = strengths(model, statistics, targets)
    return closed_form_score(score, up, down, relaxation)


def strengths(model: RuleModel, statistics: Statistics, targets: Targets) -> tuple[Floats, Floats]:
    """Add up A and B of every target."""
    columns = Columns(statistics, model.semantics.relaxation)
    batches = RuleLayout.of(model, statistics.bodies).over(columns, targets)
    return added(batches, weights_of(model.rules), len(targets))


def _hinge_scores(
    model: RuleModel, statistics: Statistics, targets: Targets, score: Score
) -> Floats:
    """Score where bodies are soft and targets continuous: every hinge has its own knee."""
    columns = Columns(statistics)
    of_rule, (target, height, number) = joined_rows(
        [
            rule_hinges(columns, rule.clause, model.counts_of(rule.clause), targets)
            for rule in model.rules
        ]
    )
    down = np.array([rule.clause.negated for rule in model.rules])[of_rule]
    hinges = group_hinges(target, of_rule, height, down, number, len(targets))
    weights = weights_of(model.rules)
    if score is Score.MAP:
        return hinge_map(hinges, weights, model.semantics.relaxation)
    return hinge_moments(hinges, weights, model.semantics.relaxation).mean


def rule_hinges(
    columns: Columns, clause: Clause, weighing: Weighing, targets: Targets
) -> HingeRows:
    """The hinges of a rule where bodies are soft and targets continuous.

    A share does not depend on the truth of its groundings, so it is one hinge of height 1.
    """
    if clause.is_prior:
        return HingeRows.wholly_true(targets_of(clause, targets))
    if weighing.counts is Counts.Z:
        raise InputError(
            f"{clause} is for Boolean targets where facts have truth values between 0 and 1"
        )
    if weighing.counts is Counts.SHARE:
        rows, x = columns.of(clause.body, weighing)
        return HingeRows.wholly_true(rows, x)
    return clause_hinges(columns.ground_clauses(clause.body), weighing.counts)


@dataclass(frozen=True, eq=False)
class CachedCounts:
    """Pairs and their counts; what the model's rules add to them is computed once.

    Parameters
    ----------
    model, layout
        The rules, and where their columns are.
    statistics, pairs
        The counts, and what was counted.
    left_out
        The number of further pairs, which have no counts.
    """

    model: RuleModel
    layout: RuleLayout
    statistics: Statistics
    pairs: Targets
    left_out: int = 0

    @property
    def size(self) -> int:
        """How much it holds: rows."""
        return len(self.pairs) + len(self.statistics.count) + sum(len(c.x) for c in self._columns)

    @cached_property
    def _columns(self) -> Sequence[RuleColumns]:
        return list(self.layout.over(Columns(self.statistics), self.pairs))

    def scores(self, rules: Sequence[Rule]) -> Floats:
        """Scores by the model's rules with other weights, the bytes of `score_targets`."""
        relaxation = self.model.semantics.relaxation
        if not strengths_add_up(self.statistics, relaxation):
            # every grounding has its own hinge: there are no columns to add
            return score_targets(self.model.with_rules(rules), self.statistics, self.pairs)
        return score_mean(*added(self._columns, weights_of(rules), len(self.pairs)), relaxation)

    def grounded(self, rules: Bools) -> Bools:
        """Which pairs have a grounding of one of these rules, all of them with a body."""
        grounded = np.zeros(len(self.pairs), dtype=np.bool_)
        for part in self._columns:
            cell = part.cell[np.repeat(rules[part.rules], part.sizes)]
            grounded[cell % max(len(grounded), 1)] = True
        return grounded
