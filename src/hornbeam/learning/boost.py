"""Functional gradient boosting to conjunctive clauses.

Trees of depth three are boosted on the counts and shares of all bodies, as many as internal
cross-validation says. They become clauses without loss (see `hornbeam.learning.monomials`), which
makes hundreds of short ones. With a limit on rules the boosted scores are then fitted once more, by
these clauses and by those of single bodies weighed by log or share, under the weakest L1 penalty
that keeps few enough, and by the survivors without it: a short model that says nearly the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from hornbeam.arrays import Bools, Floats, Ids, Ints
from hornbeam.counting.columns import weighed
from hornbeam.errors import InputError
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.joint import Joint, deal, log_loss
from hornbeam.learning.learner import Learned
from hornbeam.learning.monomials import Feature, Monomial, mirrored, polynomial, stated
from hornbeam.learning.newton import Fit, Newton, Status
from hornbeam.learning.problem import Problem
from hornbeam.learning.settings import Setting, check_settings, option
from hornbeam.learning.trees import Binned, Booster, Tree, tree_values
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Body, Kind
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Relaxation
from hornbeam.rules.weighing import Counts, Weighing

#: Trees between two signs of progress.
STEP = 10


@dataclass(frozen=True)
class Boost:
    """Settings of the boosting learner.

    Parameters
    ----------
    trees
        Most trees.
    patience
        Trees without a lower held-out loss after which a fold ends.
    folds
        Parts of the internal cross-validation.
    max_rules
        Most rules besides the priors, a rule and its mirror image counting once; None keeps all
        that the trees say.
    weight_variance
        Variance of the Gaussian prior on the weights of a shortened model.
    seed
        Deals targets to folds and columns to trees.
    booster
        How trees grow.
    """

    name: ClassVar[str] = "boost"
    relaxation: ClassVar[Relaxation] = Relaxation.BOOLEAN
    bodies: ClassVar[tuple[Kind, ...]] = Joint.bodies
    counts: ClassVar[tuple[Counts, ...]] = (Counts.RAW, Counts.SHARE)
    ties_mirrors: ClassVar[bool] = False
    dropped: ClassVar[str] = "no tree asks for it, or the short model does without"
    piecewise: ClassVar[None] = None

    trees: int = Setting(400, least=1).field()
    patience: int = 60
    folds: int = Setting(5, least=2).field()
    max_rules: int | None = option("max_rules")
    weight_variance: float = option("weight_variance")
    seed: int = 0
    booster: Booster = field(default_factory=Booster)

    def __post_init__(self) -> None:
        check_settings(self)

    def learn(self, problem: Problem, progress: Progress = SILENT) -> Learned:
        """Boost, choose the number of trees by internal validation, and write clauses."""
        if problem.relaxation is not Relaxation.BOOLEAN:
            raise InputError(f'boost learns with `relaxation="boolean"`, not {problem.relaxation}')
        columns = _Columns.of(problem, self.folds, self.seed)
        n_trees = self._number_of_trees(columns, progress)
        grown_trees = list(islice(self._boosting(columns.binned, columns.y), n_trees))
        trees, score = [tree for tree, _ in grown_trees], grown_trees[-1][1]
        grown = columns.clauses(trees)
        weights = np.array([weight for _, _, weight in grown])
        constant = columns.start + columns.constant(trees)
        boosted = _problem(grown, columns)
        fit = Fit(
            np.append(np.abs(weights), [max(constant, 0.0), max(-constant, 0.0)]),
            Status.CONVERGED,
            log_loss(columns.y, _probability(score)),
            len(trees),
        )
        if self.max_rules is None or len(grown) <= self.max_rules:
            return Learned(boosted, fit)
        return self._shortened(_problem(grown, columns, graded=True), score)

    def _number_of_trees(self, columns: _Columns, progress: Progress) -> int:
        """Boost on every fold's training part and look at the loss of the rest.

        All folds go on together, until the loss has not fallen for `patience` trees.
        """
        parts = [columns.split(k) for k in range(self.folds)]
        growing = [self._boosting(train.binned, train.y) for train, _ in parts]
        scores = [np.full(len(held_out.y), train.start) for train, held_out in parts]
        losses = list[float]()
        while len(losses) < self.trees:
            for (_, held_out), trees, score in zip(parts, growing, scores, strict=True):
                score += held_out.added(tree_values(held_out.binned, next(trees)[0]))
            losses.append(
                sum(
                    log_loss(held_out.y, _probability(score))
                    for (_, held_out), score in zip(parts, scores, strict=True)
                )
            )
            if len(losses) % STEP == 0:
                progress.advance("Choosing the number of trees", len(losses), self.trees)
            if len(losses) - int(np.argmin(losses)) > self.patience:
                break
        return int(np.argmin(losses)) + 1

    def _boosting(self, binned: Binned, y: Floats) -> Iterator[tuple[Tree, Floats]]:
        """Trees without end, each with the scores (log-odds) that all so far add up to."""
        rng = np.random.default_rng(self.seed)
        score = np.full(len(y), _log_odds(y))
        times = binned.n_rows // len(y)
        booster = replace(self.booster, least=times * self.booster.least)
        while True:
            p = _probability(score)
            gradient, curvature = np.tile(p - y, times), np.tile(p * (1.0 - p), times)
            tree, value = booster.grow(binned, gradient, curvature, rng)
            score = score + value.reshape(times, -1).sum(axis=0)
            yield tree, score

    def _shortened(self, boosted: CountProblem, score: Floats) -> Learned:
        """Fit the boosted scores by few clauses: an L1 path, then the survivors without it."""
        assert self.max_rules is not None
        soft = replace(boosted, y=_probability(score))
        joint = Joint(weight_variance=self.weight_variance, strengths=40, smallest=1e-4)
        unit = joint.unit_penalty(soft) * np.sqrt(np.maximum(soft.lengths, 1))
        start = joint.priors(soft).weights
        kept = np.flatnonzero(soft.is_prior)
        for strength in joint.grid(soft):
            fit = joint.newton.fit(
                soft,
                strength * len(soft.y) * unit,
                np.full(len(unit), 1.0 / self.weight_variance),
                start,
            )
            start = fit.weights
            members = np.flatnonzero((start > 0.0) | soft.is_prior)
            if int((start[~soft.is_prior] > 0.0).sum()) > self.max_rules:
                break
            kept = members
        short = soft.only(kept)
        ridge = np.full(len(kept), 1.0 / self.weight_variance)
        return Learned(short, Newton().fit(short, np.zeros(len(kept)), ridge))


def _log_odds(y: Floats) -> float:
    """Of the mean label: where all scores start."""
    mean = float(np.clip(y.mean(), 1e-6, 1.0 - 1e-6))
    return float(np.log(mean / (1.0 - mean)))


def _probability(score: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-score)))


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns to boost on, and what they are.

    Where the target is symmetric, every pair has a second row with subject and object exchanged,
    and `mirror` says which column has there what a column has here; a tree's values of both rows
    add up.
    """

    features: Sequence[Feature]
    entries: Sequence[tuple[Ids, Floats]]
    binned: Binned
    y: Floats
    target: str
    fold: Ints
    mirror: dict[int, int]

    @classmethod
    def of(cls, problem: Problem, folds: int, seed: int) -> _Columns:
        """Take the columns of a problem."""
        features, columns = list[Feature](), list[tuple[Ids, Floats]]()
        targets = {clause.target for clause in problem.clauses}
        if len(targets) > 1:
            raise InputError("boost learns one target at a time: name it by `target`")
        for k, clause in enumerate(problem.clauses):
            if clause.is_prior or clause.negated:
                continue
            rows, x = problem.column(k)
            share = clause.weighing is not None and clause.weighing.counts is Counts.SHARE
            if share:
                assert clause.weighing is not None
                x = clause.weighing.median * (2.0**x - 1.0)
            elif (x != np.rint(x)).any():
                raise InputError(
                    "boost asks how many groundings there are: it takes facts that are true or "
                    "absent, and `counts` raw or auto"
                )
            [part] = clause.body.parts
            features.append(Feature(part.body, share))
            columns.append((rows, x))
        n = len(problem.y)
        images = list(range(len(features)))
        if problem.symmetric:
            place = {feature: j for j, feature in enumerate(features)}
            images = [place[Feature(one.body.mirror, one.share)] for one in features]
            columns = [
                (
                    np.append(rows, n + columns[image][0]).astype(np.int32),
                    np.append(x, columns[image][1]),
                )
                for (rows, x), image in zip(columns, images, strict=True)
            ]
        # columns that repeat an earlier one are left out, and with them their mirror images
        first: dict[tuple[bytes, bytes], int] = {}
        same = [
            first.setdefault((rows.tobytes(), x.tobytes()), j)
            for j, (rows, x) in enumerate(columns)
        ]
        kept = {j: k for k, j in enumerate(first.values())}
        mirror = {k: kept[same[images[j]]] for j, k in kept.items()} if problem.symmetric else {}
        # rows in an order that entries and labels alone decide, so that sums come out the same
        order = np.lexsort((problem.signature(np.random.default_rng(seed)), problem.y))
        place_of = np.empty(n, dtype=np.int64)
        place_of[order] = np.arange(n)
        entries = [_moved(columns[j], place_of) for j in kept]
        return cls(
            [features[j] for j in kept],
            entries,
            Binned.of(entries, 2 * n if problem.symmetric else n),
            problem.y[order],
            next(iter(targets)),
            deal(problem, folds, seed)[order],
            mirror,
        )

    @property
    def start(self) -> float:
        """Where all scores start."""
        return _log_odds(self.y)

    @property
    def times(self) -> int:
        """Rows per pair."""
        return self.binned.n_rows // max(len(self.y), 1)

    def added(self, values: Floats) -> Floats:
        """What rows add to the scores of their pairs."""
        total: Floats = values.reshape(self.times, -1).sum(axis=0)
        return total

    def split(self, k: int) -> tuple[_Columns, _Columns]:
        """The pairs of all folds but one, and of that one."""
        return self._subset(self.fold != k), self._subset(self.fold == k)

    def _subset(self, pairs: Bools) -> _Columns:
        binned = self.binned.subset(np.tile(pairs, self.times))
        return replace(self, binned=binned, y=self.y[pairs], fold=self.fold[pairs])

    def constant(self, trees: Sequence[Tree]) -> float:
        """What all trees add to every pair."""
        return self.times * polynomial(trees).get((), 0.0)

    def clauses(self, trees: Sequence[Tree]) -> list[tuple[Monomial, Clause, float]]:
        """The trees as clauses, each with its weight; one below 0 pushes down.

        Of a monomial and its mirror image one is listed: it stands for both. A clause that is its
        own mirror image is written once, and has the weight of both rows of a pair.
        """
        total: dict[Monomial, float] = {}
        for monomial, weight in polynomial(trees).items():
            if monomial:
                image = mirrored(monomial, self.mirror) if self.mirror else monomial
                first = min(monomial, image)
                total[first] = total.get(first, 0.0) + weight
        listed = []
        for monomial, weight in sorted(total.items()):
            if weight != 0.0:
                body, weighing = stated(monomial, self.features, self.binned.cuts)
                clause = Clause(body, weight < 0.0, weighing)
                twice = 2.0 if self.mirror and clause.mirror == clause else 1.0
                listed.append((monomial, clause, twice * weight))
        return listed

    def rows_of(self, monomial: Monomial, itself: bool) -> tuple[Ids, Floats]:
        """How often each pair, or its mirror image, meets all conditions."""
        binned, rows = self.binned, np.arange(self.binned.n_rows, dtype=np.int32)
        for column, cut in monomial:
            entries = slice(int(binned.indptr[column]), int(binned.indptr[column + 1]))
            reached = binned.row[entries][binned.bin[entries] >= cut]
            rows = np.intersect1d(rows, reached, assume_unique=True)
        return self._of_pairs(rows, np.ones(len(rows)), itself)

    def _of_pairs(self, rows: Ids, x: Floats, itself: bool) -> tuple[Ids, Floats]:
        """Entries per pair: those of both its rows added up, or of one for what mirrors itself.

        Columns may be equal where bodies are not, so that the bodies decide: both are written.
        """
        if not self.mirror or itself:
            mine = rows < len(self.y)
            return rows[mine], x[mine]
        total: Floats = np.bincount(rows % len(self.y), x, len(self.y)).astype(np.float64)
        pairs = np.flatnonzero(total).astype(np.int32)
        return pairs, total[pairs]

    def graded(self) -> Iterator[tuple[Body, Weighing | None, tuple[Ids, Floats]]]:
        """Bodies weighed by log or share, with their columns; a body and its mirror image once."""
        for j, (feature, (rows, x)) in enumerate(zip(self.features, self.entries, strict=True)):
            image = self.mirror.get(j, j)
            if image >= j:
                weighing = feature.graded(x)
                x = x if weighing is None else weighed(x, weighing)
                itself = feature.body.mirror == feature.body
                yield feature.body, weighing, self._of_pairs(rows, x, itself)


def _moved(column: tuple[Ids, Floats], place: Ints) -> tuple[Ids, Floats]:
    """A column with its rows at other places; a second row per pair moves with the first."""
    rows, x = column
    n = len(place)
    moved = place[rows % n] + rows // n * n
    order = np.argsort(moved)
    return moved[order].astype(np.int32), x[order]


def _problem(
    grown: Sequence[tuple[Monomial, Clause, float]], columns: _Columns, graded: bool = False
) -> CountProblem:
    """The clauses of the trees as a problem of their own, with both priors.

    With `graded` single bodies are clauses besides, for the target and against it.
    """
    clauses = [clause for _, clause, _ in grown]
    entries = [columns.rows_of(monomial, clause.mirror == clause) for monomial, clause, _ in grown]
    column = list(range(len(grown)))
    said = set(clauses)
    for body, weighing, entry in columns.graded() if graded else ():
        both = {Clause(body, negated, weighing) for negated in (False, True)}
        clauses += sorted(both - said, key=lambda clause: clause.negated)
        column += [len(entries)] * len(both - said)
        entries.append(entry)
    clauses += [prior(columns.target, negated) for negated in (False, True)]
    column += [len(entries)] * 2
    entries.append((np.arange(len(columns.y), dtype=np.int32), np.ones(len(columns.y))))
    return CountProblem.from_columns(
        clauses, entries, np.array(column), columns.y, bool(columns.mirror)
    )
