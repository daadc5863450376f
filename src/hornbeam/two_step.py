"""The second step of collective learning: rules about beliefs in other pairs.

The first step is a plain model. Its means are the beliefs; the mean of a training pair comes from
rules learned without the pair's fold. A second L1 model learns from three kinds of columns: bodies
over facts, bodies over facts and beliefs, and *rivals*, beliefs in other pairs of the same subject
or object (see `hornbeam.counting.collective.believed_pairs`). It is kept only if it helps: if its
held-out log-loss is lower than without beliefs by more than one standard error, clustered by the
entity that groups the pairs.

Rules about beliefs also learn how the pairs of a file were drawn: for example, that every film in
the file has a true pair. That would do harm where pairs are drawn otherwise. So training has copies
of the pairs, from which evenly spread shares of the true pairs are left out; each copy has its own
prior. The chosen strength has the least held-out loss over all copies. The second step is kept only
if it does not lose over the copies either. See `docs/howto/collective.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, Ints, pointers
from hornbeam.base.choices import CollectiveMethod
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.counting.collective.believed_pairs import (
    BelievedPairs,
    as_beliefs,
    is_linked,
    pair_density,
)
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.known import with_targets
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.learning.held_out import clustered_error, log_losses
from hornbeam.learning.joint import Joint
from hornbeam.learning.learner import Learned, Learner
from hornbeam.learning.problem import Problem
from hornbeam.learning.rule_learning import LearnedRules, learn_rules, problem_of, rules_of
from hornbeam.learning.trace import SecondStep
from hornbeam.rules.body import Body, Kind
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.clause import prior
from hornbeam.rules.own_rules import NO_OWN_RULES, OwnRules
from hornbeam.rules.rule_model import BELIEVED, Rule, RuleModel
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.independent_scores import score_targets

#: Name of the baseline in which every pair counts as true, whatever its belief.
ASKED_ONLY = "asked-only"
#: Weight of the prior by which every pair counts as true (asked-only).
CERTAIN = 20.0
#: Number of parts of the training pairs: the belief in a pair is learned from the other parts.
FOLDS = 5
#: Shares of the true pairs that the training copies leave out: none, and evenly between 0 and 1.
DROPPED = (0.0, 0.25, 0.5, 0.75)
#: Settings of the first step's learner that the second step's learner takes over.
SHARED = ("max_rules", "weight_variance", "length_penalty", "seed")
#: Name of the second step where progress is shown. Progress in percent at the end of each phase:
#: finding bodies, beliefs, counting copies, choosing the strength, the model without beliefs.
SECOND_STEP = "Second step"
FOUND, BELIEVED_ALL, COUNTED, CHOSEN, ALL_DONE = 6, 11, 36, 88, 100
#: Per fold, the rows of its training pairs, and an engine over the facts that these pairs see.
Views = Sequence[tuple[Ints, MemoryEngine]]


@dataclass(frozen=True, eq=False)
class FirstStep:
    """The plain model, and what it was learned from.

    `views` are the training pairs by the facts that they see. With cross-evidence, each fold sees
    other facts, and only pairs of the same fold are scored together. `group` has, per pair, the
    number of the entity whose pairs belong together.
    """

    learner: Learner
    learned: LearnedRules
    problem: Problem
    statistics: Statistics
    labels: Targets
    views: Views
    engine: MemoryEngine  #: over all facts
    group: Ints
    ways: Sequence[Counts]
    language: RuleLimits
    symmetric: bool
    own: OwnRules = NO_OWN_RULES

    def held_out_means(self, fold: Ints, progress: Progress = SILENT) -> Floats:
        """E[y] of every pair under rules that were learned without the pair's fold."""
        means = np.empty(len(self.labels))
        learner = self.learned.chosen or self.learner
        semantics = self.learned.model.semantics
        for k in range(int(fold.max()) + 1):
            without = learn_rules(self.problem.subset(fold != k), learner, semantics).model
            held_out = fold == k
            means[held_out] = score_targets(without, self.statistics, self.labels)[held_out]
            progress.advance("Believing", k + 1, FOLDS)
        return means

    @cached_property
    def linked_bodies(self) -> list[Body]:
        """Bodies that contain beliefs and have groundings for enough pairs."""
        # beliefs in entities, believed_t(X), end chains; those in pairs are on paths
        kinds = (Kind.CHAIN,) if self.labels.unary else (Kind.PATH, Kind.OPEN)
        language = replace(self.language, bodies=kinds, shares=False, top=None)
        beliefs = as_beliefs(self.labels)
        engine = self.engine.over(with_targets(self.engine.facts, beliefs))
        found = engine.discover(beliefs, language, statistics=False).candidates.bodies
        names = self.labels.predicates
        bodies = [
            body.with_target(body.target.removeprefix(BELIEVED))
            for body in found
            if is_linked(body, names)
        ]
        if self.symmetric:
            bodies = list(dict.fromkeys([*bodies, *(body.mirror for body in bodies)]))
        every = np.arange(len(self.labels))
        present = self.count_linked(every, np.ones(len(every)), bodies, as_facts=True)
        covered = np.diff(present.indptr)
        mirrored = {body.mirror: n for body, n in zip(bodies, covered.tolist(), strict=True)}
        return [
            body
            for body, n in zip(bodies, covered.tolist(), strict=True)
            if max(n, mirrored.get(body, 0) if self.symmetric else 0) >= language.min_coverage
        ]

    def count_linked(
        self, rows: Ints, belief: Floats, bodies: Sequence[Body], *, as_facts: bool = False
    ) -> Statistics:
        """Count bodies for the pairs of `rows`; beliefs in all other pairs are left out."""
        parts = []
        for members, engine in self.views:
            seen = np.intersect1d(members, rows)
            pairs = self.labels.select(seen)
            believed = BelievedPairs(engine, pairs, belief[seen], self.symmetric)
            counted = believed.count_linked(pairs, bodies, self.language, as_facts=as_facts)
            if len(self.views) == 1:
                return counted
            parts.append((np.searchsorted(rows, seen), counted))
        return Statistics.united(len(rows), parts)


def learn_second_step(
    first: FirstStep,
    *,
    seed: int = 0,
    asked_only: bool = False,
    refit: bool = False,
    progress: Progress = SILENT,
) -> tuple[LearnedRules, SecondStep | None]:
    """Learn the second step; returns the first step's rules if the second step does not help.

    With `asked_only`, every pair counts as true and the second step is always kept. That is a
    baseline: it shows what the choice of pairs reveals by itself.
    """
    labels, rng = first.labels, np.random.default_rng([seed, 3])
    group = np.unique(first.group, return_inverse=True)[1]
    n_groups = int(group.max()) + 1
    # groups are sorted by ids, so that the order of the pairs changes nothing
    fold = (rng.permutation(n_groups) % FOLDS)[group]
    whole = PartOfWork(progress, SECOND_STEP, 0, ALL_DONE, ALL_DONE)
    whole.advance("Finding bodies", 0, 1)
    if n_groups < FOLDS or not first.linked_bodies:
        return first.learned, None
    means = first.held_out_means(fold, whole.part(FOUND, BELIEVED_ALL, ALL_DONE))
    belief = np.ones(len(labels)) if asked_only else means
    copies = _copies(labels, rng)
    rows = np.concatenate(copies)
    problem = problem_of(
        _stacked(first, copies, belief, whole.part(BELIEVED_ALL, COUNTED, ALL_DONE)),
        _with_own_priors(labels, copies), first.ways,
        first.learned.model.semantics.relaxation, first.symmetric, first.learner.ties_mirrors,
        first.own,
    )  # fmt: skip
    learner = _second_learner(first.learner)
    learned, scores = learner.learn_held_out(
        problem.distinct_columns(), fold[rows], whole.part(COUNTED, CHOSEN, ALL_DONE)
    )
    found = _both_steps(first, learner.weight_variance if refit else None, learned, asked_only)
    facts_only = learner.held_out(first.problem, fold, whole.part(CHOSEN, ALL_DONE, ALL_DONE))
    whole.finish()
    judged = _held_out_gain(group, problem.y, scores, means, facts_only, copies)
    targets = Names.of(found.model.targets)
    helps = judged.kept and any(is_linked(body, targets) for body in found.model.bodies)
    return (found if helps or asked_only else first.learned), replace(judged, kept=helps)


def _held_out_gain(
    group: Ints,
    y: Floats,
    scores: Floats,
    plain: Floats,
    facts_only: Floats,
    copies: Sequence[Ints],
) -> SecondStep:
    """Compare the held-out loss of the second step with the better of two references.

    They are the plain model, and the second step without beliefs. The latter may beat the plain
    model by its own learner and strength alone, which is not a gain of beliefs.
    """
    loss = log_losses(y, scores)
    n = len(plain)
    alone = min(log_losses(y[:n], plain), log_losses(y[:n], facts_only), key=np.sum)
    gain = alone - loss[:n]
    fewer = float(np.mean((log_losses(y, _in_copies(plain, copies)) - loss)[n:]))
    error = clustered_error(gain, group)
    kept = bool(gain.mean() > error and fewer >= 0)
    return SecondStep(kept, float(gain.mean()), error, int(group.max()) + 1, fewer)


def _in_copies(scores: Floats, copies: Sequence[Ints]) -> Floats:
    """Scores in the copies: odds are multiplied by the share of true pairs that a copy keeps."""
    copied = scores[np.concatenate(copies)]
    left = np.repeat(1.0 - np.array(DROPPED), [len(rows) for rows in copies])
    return np.asarray(left * copied / (left * copied + 1.0 - copied))


def _both_steps(
    first: FirstStep, refit: float | None, learned: Learned, asked_only: bool
) -> LearnedRules:
    """One model of both steps."""
    plain = first.learned.model
    view = np.zeros(len(first.labels), dtype=np.int32)
    for number, (rows, _) in enumerate(first.views):
        view[rows] = number
    semantics = replace(
        plain.semantics,
        collective=CollectiveMethod.TWO_STEP,
        asked=pair_density(first.labels, view),
    )
    beliefs = plain.rules
    if asked_only:
        arities = plain.target_arities.items()
        beliefs = tuple(Rule(CERTAIN, prior(name, False, arity)) for name, arity in arities)
    found = rules_of(learned, refit, semantics)
    rules = [rule for rule in found.model.rules if rule.clause.target in plain.targets]
    return replace(found, model=RuleModel(tuple(rules), semantics, beliefs))


def _second_learner(first: Learner) -> Joint:
    """The L1 learner, with the `SHARED` settings that the first step's learner has."""
    names = {entry.name for entry in fields(first)}
    return Joint(all_rules=True, **{name: getattr(first, name) for name in SHARED if name in names})


def _copies(labels: Targets, rng: np.random.Generator) -> list[Ints]:
    """Rows of the pairs in each copy; the first copy has all pairs."""
    # by ids, not by rows, so that the order of the pairs changes nothing
    order = np.lexsort((labels.object, labels.subject, labels.predicate))
    copies = []
    for share in DROPPED:
        chance = np.empty(len(labels))
        chance[order] = rng.random(len(labels))
        copies.append(np.flatnonzero((chance >= share) | ~labels.positive))
    return copies


def _with_own_priors(labels: Targets, copies: Sequence[Ints]) -> Targets:
    """Pairs of all copies, with a target predicate of its own per copy.

    So each copy has its own prior, and its share of true pairs does not influence other copies.
    """
    names = [[_copied(name, k) for name in labels.predicates] for k in range(len(copies))]
    predicates = Names.of([name for some in names for name in some])
    number = [
        predicates.find(some)[labels.predicate[rows]]
        for some, rows in zip(names, copies, strict=True)
    ]
    every = labels.select(np.concatenate(copies))
    return replace(
        every,
        predicates=predicates,
        predicate=np.concatenate(number).astype(np.int32),
        unary=frozenset(_copied(name, k) for name in labels.unary for k in range(len(copies))),
    )


def _copied(target: str, copy: int) -> str:
    """Name of a target in a copy; no name of the data contains a TAB."""
    return f"{target}\t{copy}" if copy else target


def _stacked(
    first: FirstStep, copies: Sequence[Ints], belief: Floats, progress: Progress
) -> Statistics:
    """Counts of all copies, one below the other: over facts, and over beliefs."""
    starts = pointers([len(rows) for rows in copies])
    known, linked = list[tuple[Ints, Statistics]](), list[tuple[Ints, Statistics]]()
    for k, rows in enumerate(copies):
        progress.advance("Counting beliefs", k, len(copies))
        places = np.arange(starts[k], starts[k + 1])
        known.append((places, first.statistics.of_targets(rows)))
        linked.append((places, first.count_linked(rows, belief, first.linked_bodies)))
    n = int(starts[-1])
    return Statistics.united(n, known).followed_by(Statistics.united(n, linked))
