"""Columns that trees are boosted on, and the clauses with the same scores that trees become.

A tree is a sum of products of conditions. Let [x >= c] be 1 where column x reaches the cut c, else
0. A node with the children L (below the cut) and R is

    f = L + [x >= c] (R - L),

and the same holds for L and R. A product of two conditions on one column is the condition with the
larger cut. The result is a constant, and a weight for every set of up to three conditions. The set
becomes a conjunction for the target or, if the weight is below 0, against it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints
from hornbeam.counting.columns import weighed
from hornbeam.errors import InputError
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.held_out import bodies_beside_numbers, held_out_folds
from hornbeam.learning.problem import fit_priors
from hornbeam.learning.trees import SLACK, Binned, Tree
from hornbeam.rules.body import AnyBody, Conjunction, Part, simplest, without_implied
from hornbeam.rules.clause import Clause
from hornbeam.rules.weighing import Counts, Threshold, Weighing

#: A product of conditions: columns, each with the number of its cut, sorted; () is the constant.
Monomial = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Feature:
    """The meaning of a column that is boosted on: the groundings of a body, or its share."""

    body: AnyBody
    share: bool
    several: bool = False  #: whether entities have several values of a number

    def parts(self, cut: float) -> tuple[Part, ...]:
        """The conditions that the feature is at least `cut`."""
        first, *others = self.body.parts
        bound = Threshold(cut) if not self.share else None
        if self.share:
            # a model's threshold on shares is strict
            bound = Threshold(float(cut) * (1.0 - SLACK), share=True)
        elif self.body.is_fixed and not self.several:
            bound = None  # at most one grounding
        return (Part(first.body, bound), *others)

    def graded(self, x: Floats) -> Weighing | None:
        """The way of counting of the body as a clause without a cut, given its entries."""
        if self.share:
            return Weighing(Counts.SHARE, float(np.median(x)))
        return None if self.body.is_fixed else Weighing(Counts.LOG)


def polynomial(trees: Iterable[Tree]) -> dict[Monomial, float]:
    """Weights of all monomials of a sum of trees; the weight of () is the constant."""
    total: dict[Monomial, float] = defaultdict(float)
    for tree in trees:
        for monomial, weight in _expanded(tree, 0).items():
            total[monomial] += weight
    return dict(total)


def _expanded(tree: Tree, node: int) -> dict[Monomial, float]:
    if tree.column[node] < 0:
        return {(): float(tree.value[node])}
    below, above = _expanded(tree, 2 * node + 1), _expanded(tree, 2 * node + 2)
    condition = (int(tree.column[node]), int(tree.cut[node]))
    found: dict[Monomial, float] = defaultdict(float, below)
    for sign, side in ((1.0, above), (-1.0, below)):
        for monomial, weight in side.items():
            found[_times(monomial, condition)] += sign * weight
    return found


def _times(monomial: Monomial, condition: tuple[int, int]) -> Monomial:
    cuts = dict(monomial)
    column, cut = condition
    cuts[column] = max(cut, cuts.get(column, cut))
    return tuple(sorted(cuts.items()))


def conditions_of(
    monomial: Monomial, features: Sequence[Feature], cuts: Sequence[Floats]
) -> tuple[Part, ...]:
    """The conditions of a monomial, each once, without comparisons that others imply.

    There are none where two entities would fill one argument.
    """
    every = [p for column, cut in monomial for p in features[column].parts(cuts[column][cut - 1])]
    parts = without_implied(list(dict.fromkeys(every)))
    equal = [part.body.argument for part in parts if part.body.is_equality]
    return tuple(parts) if len(equal) == len(set(equal)) else ()


def body_of(parts: tuple[Part, ...]) -> tuple[AnyBody, Weighing | None]:
    """The body of the conditions of a monomial, and its way of counting.

    Where every condition only requires a grounding, the conjunction has `[exists]` once instead of
    `[n >= 1]` in every part.
    """
    bounds = [part.threshold for part in parts]
    if all(bound is None for bound in bounds):
        return simplest(parts), None
    if all(bound is None or bound == Threshold(1.0) for bound in bounds):
        return simplest([Part(part.body) for part in parts]), Weighing(Counts.EXISTS)
    return Conjunction(parts), None


def mirrored(monomial: Monomial, mirror: Mapping[int, int]) -> Monomial:
    """The monomial of the pair with subject and object swapped."""
    return tuple(sorted((mirror[column], cut) for column, cut in monomial))


class GrownClause(NamedTuple):
    """A clause made from trees, with its weight, which is negative for a negated head."""

    monomial: Monomial
    clause: Clause
    weight: float


@dataclass(frozen=True, eq=False)
class BoostedColumns:
    """Columns to boost on, and their features.

    Where the target is symmetric, every pair has a second row with subject and object swapped. A
    pair's score is the sum over both rows. `mirror[j]` is the column of the mirror image of column
    j's body. `pair` has equal numbers for a pair and its mirror image, which share a `fold`. `base`
    is the problem of a user's own rules and the priors, from whose scores boosting starts; None
    without own rules.
    """

    features: Sequence[Feature]
    entries: Sequence[tuple[Ids, Floats]]
    binned: Binned
    y: Floats
    priors: Sequence[Clause]
    fold: Ints
    pair: Ints
    mirror: dict[int, int]
    base: CountProblem | None = None

    @classmethod
    def of(cls, problem: CountProblem, folds: int, seed: int) -> BoostedColumns:
        """Make the columns of a problem; equal columns are left out."""
        targets = {clause.target for clause in problem.clauses}
        if len(targets) > 1:
            raise InputError("boost learns one target at a time: name it by `target`")
        features, columns = _features_of(problem)
        n = len(problem.y)
        images = list(range(len(features)))
        if problem.symmetric:
            place = {feature: j for j, feature in enumerate(features)}
            images = [place[replace(feature, body=feature.body.mirror)] for feature in features]
            columns = [
                (
                    np.append(rows, n + columns[image][0]).astype(np.int32),
                    np.append(x, columns[image][1]),
                )
                for (rows, x), image in zip(columns, images, strict=True)
            ]
        # columns equal to an earlier column are left out; mirror images refer to the earlier one
        first: dict[tuple[bytes, bytes], int] = {}
        same = [
            first.setdefault((rows.tobytes(), x.tobytes()), j)
            for j, (rows, x) in enumerate(columns)
        ]
        kept = {j: k for k, j in enumerate(first.values())}
        mirror = {k: kept[same[images[j]]] for j, k in kept.items()} if problem.symmetric else {}
        # the order of rows depends only on entries and labels, so that sums are always the same
        order = np.lexsort((problem.signature(np.random.default_rng(seed)), problem.y))
        place_of = np.empty(n, dtype=np.int64)
        place_of[order] = np.arange(n)
        entries = [_moved(columns[j], place_of) for j in kept]
        return cls(
            [features[j] for j in kept],
            entries,
            Binned.of(entries, 2 * n if problem.symmetric else n),
            problem.y[order],
            [clause for clause in problem.clauses if clause.is_prior],
            held_out_folds(problem, folds, seed)[order],
            (np.arange(n) if problem.pair is None else problem.pair)[order],
            mirror,
            _base_of(problem, order, place_of) if problem.is_own.any() else None,
        )

    @property
    def start(self) -> float:
        """The initial score without own rules, the log-odds of the mean label."""
        mean = float(np.clip(self.y.mean(), 1e-6, 1.0 - 1e-6))
        return float(np.log(mean / (1.0 - mean)))

    def starting_scores(self, training: BoostedColumns, ridge: float) -> Floats:
        """The initial score of every pair, fitted to the pairs of `training`."""
        if self.base is None or training.base is None:
            return np.full(len(self.y), training.start)
        up, down = self.base.strengths(fit_priors(training.base, ridge).weights)
        return np.asarray(up - down)

    @property
    def times(self) -> int:
        """Number of rows per pair: 2 where the target is symmetric, else 1."""
        return self.binned.n_rows // max(len(self.y), 1)

    def added(self, values: Floats) -> Floats:
        """Sum of the values of a pair's rows, for every pair."""
        total: Floats = values.reshape(self.times, -1).sum(axis=0)
        return total

    def subset(self, pairs: Bools) -> BoostedColumns:
        """The columns with only the pairs where `pairs` is True; `entries` stay."""
        binned = self.binned.subset(np.tile(pairs, self.times))
        base = None if self.base is None else self.base.subset(pairs)
        return replace(
            self, binned=binned, y=self.y[pairs], fold=self.fold[pairs], pair=self.pair[pairs],
            base=base,
        )  # fmt: skip

    def without_numbers(self) -> BoostedColumns:
        """The columns that would be there without numbers; itself if there are no numbers."""
        added = bodies_beside_numbers([feature.body for feature in self.features])
        kept = [j for j, feature in enumerate(self.features) if feature.body not in added]
        if not added:
            return self
        place, entries = {j: k for k, j in enumerate(kept)}, [self.entries[j] for j in kept]
        return replace(
            self,
            features=[self.features[j] for j in kept],
            entries=entries,
            binned=Binned.of(entries, self.binned.n_rows),
            mirror={place[j]: place[image] for j, image in self.mirror.items() if j in place},
        )

    def clauses(self, trees: Sequence[Tree]) -> tuple[list[GrownClause], float]:
        """The trees as clauses, and the constant that they add to the score of every pair.

        Of a monomial and its mirror image only one is listed, which stands for both. A clause that
        is its own mirror image is written once, and has the weight of both rows of a pair. Clauses
        that say the same as an own rule are left out: own rules are fitted again beside the others.
        """
        base = self.base
        own = [] if base is None else list(compress(base.clauses, base.is_own.tolist()))
        said = {_meaning(clause) for clause in own}
        if self.mirror:
            said |= {_meaning(clause.mirror) for clause in own}
        weights = polynomial(trees)
        total = dict[frozenset[Part], tuple[Monomial, tuple[Part, ...], float]]()
        constant = self.times * weights.pop((), 0.0)
        for monomial, weight in weights.items():
            image = mirrored(monomial, self.mirror) if self.mirror else monomial
            first = min(monomial, image)
            parts = conditions_of(first, self.features, self.binned.cuts)
            # several monomials may say the same, in columns of numbers and in conjunctions
            same, _, before = total.get(frozenset(parts), (first, parts, 0.0))
            if parts:
                total[frozenset(parts)] = min(first, same), parts, before + weight
        listed = []
        for monomial, parts, weight in sorted(total.values(), key=lambda entry: entry[0]):
            if weight != 0.0:
                body, weighing = body_of(parts)
                clause = Clause(body, weight < 0.0, weighing)
                twice = 2.0 if self.mirror and clause.mirror == clause else 1.0
                if _meaning(clause) not in said:
                    listed.append(GrownClause(monomial, clause, twice * weight))
        return listed, constant

    def rows_of(self, monomial: Monomial, itself: bool) -> tuple[Ids, Floats]:
        """Pairs with a row that meets all conditions, and the number of such rows per pair."""
        binned, rows = self.binned, np.arange(self.binned.n_rows, dtype=np.int32)
        for column, cut in monomial:
            entries = slice(int(binned.indptr[column]), int(binned.indptr[column + 1]))
            reached = binned.row[entries][binned.bin[entries] >= cut]
            rows = np.intersect1d(rows, reached, assume_unique=True)
        return self._of_pairs(rows, np.ones(len(rows)), itself)

    def _of_pairs(self, rows: Ids, x: Floats, itself: bool) -> tuple[Ids, Floats]:
        """Entries per pair: the sum of both rows, or the first row's if a body mirrors `itself`.

        `itself` is decided by bodies, not by columns, which may be equal for different bodies.
        """
        if not self.mirror or itself:
            first = rows < len(self.y)
            return rows[first], x[first]
        total: Floats = np.bincount(rows % len(self.y), x, len(self.y)).astype(np.float64)
        pairs = np.flatnonzero(total).astype(np.int32)
        return pairs, total[pairs]

    def graded(self) -> Iterator[tuple[AnyBody, Weighing | None, tuple[Ids, Floats]]]:
        """Yield bodies weighed by log or share, with columns; a body and its mirror image once."""
        for j, (feature, (rows, x)) in enumerate(zip(self.features, self.entries, strict=True)):
            image = self.mirror.get(j, j)
            if image >= j:
                weighing = feature.graded(x)
                x = x if weighing is None else weighed(x, weighing)
                itself = feature.body.mirror == feature.body
                yield feature.body, weighing, self._of_pairs(rows, x, itself)


def _meaning(clause: Clause) -> tuple[bool, frozenset[Part]]:
    """Sign and conditions of a clause; `[n >= 1]` says no more than the condition itself."""
    plain = (
        Part(part.body) if part.threshold == Threshold(1.0) else part for part in clause.body.parts
    )
    return clause.negated, frozenset(plain)


def _base_of(problem: CountProblem, order: Ints, place: Ints) -> CountProblem:
    """The problem of priors and own rules, with its rows in another order."""
    members = np.flatnonzero(problem.is_base)
    entries = [_moved(problem.column(k), place) for k in members.tolist()]
    clauses = [problem.clauses[k] for k in members.tolist()]
    base = CountProblem.from_columns(
        clauses, entries, np.arange(len(members)), problem.y[order], problem.symmetric
    )
    fixed = None if problem.fixed is None else problem.fixed[members]
    return replace(base, own=problem.is_own[members], fixed=fixed)


def _features_of(problem: CountProblem) -> tuple[list[Feature], list[tuple[Ids, Floats]]]:
    """Features of a problem, and their columns: unweighed counts and shares of the bodies."""
    features, columns = list[Feature](), list[tuple[Ids, Floats]]()
    # a tree may use a body for and against the target, which own rules may say already
    against = {clause for clause in problem.clauses if clause.negated}
    for k, clause in enumerate(problem.clauses):
        if problem.is_base[k] or clause.negated or replace(clause, negated=True) not in against:
            continue
        if clause.body.decays:
            continue  # a threshold is a whole number of groundings; spans of time say the same
        rows, x = problem.column(k)
        share = clause.weighing is not None and clause.weighing.counts is Counts.SHARE
        if share:
            assert clause.weighing is not None
            x = clause.weighing.median * (2.0**x - 1.0)
        elif problem.soft or (x != np.rint(x)).any():
            raise InputError(
                "boost needs the numbers of groundings: use facts that are true or absent, and "
                '`counts="raw"` or `counts="auto"`'
            )
        if sum(not part.body.is_equality for part in clause.body.parts) > 1:
            raise InputError(
                "boost writes conjunctions of up to three conditions, the most that a rule may "
                'have, and a guard is one more: use `method="joint"`, or leave out `guard`'
            )
        features.append(Feature(clause.body, share))
        columns.append((rows, x))
    number = [bool(feature.body.attributes) for feature in features]
    if any(
        is_number and x.max(initial=0.0) > 1.0
        for is_number, (_, x) in zip(number, columns, strict=True)
    ):
        features = [
            replace(feature, several=is_number)
            for feature, is_number in zip(features, number, strict=True)
        ]
    return features, columns


def _moved(column: tuple[Ids, Floats], place: Ints) -> tuple[Ids, Floats]:
    """A column with its rows renumbered; a second row per pair moves with the first."""
    rows, x = column
    n = len(place)
    moved = place[rows % n] + rows // n * n
    order = np.argsort(moved)
    return moved[order].astype(np.int32), x[order]


def clause_problem(
    grown: Sequence[GrownClause], columns: BoostedColumns, graded: bool = False
) -> CountProblem:
    """The problem of the clauses of trees, a user's own rules and both priors.

    With `graded` it also has single bodies as clauses for the target and against it.
    """
    clauses = [one.clause for one in grown]
    entries = [columns.rows_of(one.monomial, one.clause.mirror == one.clause) for one in grown]
    column = list(range(len(grown)))
    present = set(clauses)
    for body, weighing, entry in columns.graded() if graded else ():
        both = {Clause(body, negated, weighing) for negated in (False, True)}
        clauses += sorted(both - present, key=lambda clause: clause.negated)
        column += [len(entries)] * len(both - present)
        entries.append(entry)
    priors = list(columns.priors)
    every = [(np.arange(len(columns.y), dtype=np.int32), np.ones(len(columns.y)))]
    base = columns.base
    if base is not None:
        priors, every = list(base.clauses), [base.column(k) for k in range(len(base.clauses))]
    column += [len(entries) + min(k, len(every) - 1) for k in range(len(priors))]
    problem = CountProblem.from_columns(
        clauses + priors, entries + every, np.array(column), columns.y, bool(columns.mirror)
    )
    if base is None:
        return problem
    ordinary = len(clauses)
    return replace(
        problem,
        own=np.append(np.zeros(ordinary, dtype=np.bool_), base.is_own),
        fixed=None if base.fixed is None else np.append(np.full(ordinary, np.nan), base.fixed),
    )
