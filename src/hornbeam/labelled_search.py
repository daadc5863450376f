"""Candidates and counts for labelled targets: over the facts alone, by folds, or collectively.

`hornbeam.facts.folds` decides which facts a fold sees. All folds share their candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.base.choices import CollectiveMethod, Sampling
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.collective.collective_statistics import discover_collective
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.opening import (
    collective_engine,
    discover_bodies,
    facts_in_memory,
    open_engine,
    select_target,
)
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import HornbeamNote, InputError, warn
from hornbeam.facts.folds import EvidenceFolds, assign_evidence_folds, pair_groups
from hornbeam.facts.known import is_symmetric, with_known
from hornbeam.facts.negatives import origins, with_negatives
from hornbeam.facts.reading.readers import Input, as_labels
from hornbeam.facts.table import Facts, Targets
from hornbeam.learning.collective_problem import collective_problem, with_own_rules
from hornbeam.learning.problem import Problem
from hornbeam.learning.rule_learning import LearnedRules, problem_of
from hornbeam.learning_plan import LearningPlan
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.own_rules import NO_OWN_RULES, OwnRules
from hornbeam.rules.rule_model import Semantics
from hornbeam.two_step import FirstStep

#: Names that a column of yes and no has if it is read as names.
ANSWERS = frozenset({"yes", "no", "true", "false"})


@dataclass(frozen=True, eq=False)
class LabelledSearch:
    """Finds and counts candidates for labelled targets.

    `sampling` is how the false pairs were sampled; None if all labels are given. Bodies of
    `own` rules are counted besides the candidates.
    """

    engine: Engine
    labels: Targets
    language: RuleLimits
    progress: Progress
    sampling: Sampling | None
    own: OwnRules = NO_OWN_RULES

    @cached_property
    def symmetric(self) -> bool:
        """Whether a pair of the target means the same as its mirror image."""
        facts = self.engine.facts
        return facts is not None and is_symmetric(facts, self.labels)

    def discover_plain(self) -> Discovery:
        """Find and count candidates over the facts alone."""
        found = discover_bodies(self.engine, self.labels, self.language, progress=self.progress)
        return self._with_others(found, self.count)

    def assign_folds(self, seed: int) -> EvidenceFolds:
        """Assign the pairs to folds; each fold hides its own true pairs from the facts."""
        facts = facts_in_memory(
            self.engine, "cross-evidence hides facts by folds and needs them in memory"
        )
        if self.sampling is None:
            facts, origin = with_known(facts, self.labels), None
        else:
            rng_of_origins = np.random.default_rng([seed, 1])
            origin = origins(self.labels, self.sampling, rng_of_origins, facts)
        rng = np.random.default_rng([seed, 2])
        return assign_evidence_folds(facts, self.labels, rng, origin, self.symmetric)

    def discover_by_folds(self, folds: EvidenceFolds) -> Discovery:
        """Find and count candidates over facts and true pairs, each fold over the facts it sees."""
        folded = FoldedEvidence(folds, self.engine, self.language, self.progress)
        return self._with_others(folded.discover(), folded.count)

    def _with_others(
        self, found: Discovery, count: Callable[[Sequence[Body]], Statistics]
    ) -> Discovery:
        """Also count the mirror images that a symmetric target needs, and bodies of own rules."""
        found = with_mirrors(found, count) if self.symmetric else found
        if found.statistics is None or not self.own:
            return found
        missing = self.own_beside(found).extra - set(found.statistics.bodies)
        bodies = sorted(missing, key=str)
        return replace(found, statistics=found.statistics.followed_by(count(bodies)))

    def own_beside(self, found: Discovery) -> OwnRules:
        """The own rules beside the candidates that were found."""
        if not self.own:
            return self.own
        bodies = found.candidates.bodies
        mirrors = [body.mirror for body in bodies] if self.symmetric else []
        return self.own.beside([*bodies, *mirrors], self.labels.predicates, self.symmetric)

    def discover_collectively(self, semantics: Semantics) -> tuple[Discovery, Problem]:
        """Find and count candidates over facts and labelled targets; also returns the problem."""
        found, counted = discover_collective(
            self.engine, self.labels, self.language, progress=self.progress,
            own_facts_expected=self.sampling is not None,
            others=self.own.bodies(self.labels.predicates, self.symmetric),
        )  # fmt: skip
        heads_only = semantics.collective is CollectiveMethod.MAP_HEADS
        problem = collective_problem(counted, self.labels, semantics.relaxation, heads_only)
        return found, with_own_rules(problem, self.own_beside(found)) if self.own else problem

    def learning_problem(self, found: Discovery, plan: LearningPlan) -> Problem:
        """The learning problem of the candidates that were found."""
        assert found.statistics is not None
        problem = problem_of(
            found.statistics, self.labels, plan.ways, plan.semantics.relaxation,
            self.symmetric, plan.learner.ties_mirrors, self.own_beside(found),
        )  # fmt: skip
        for k in np.flatnonzero(problem.is_own & (problem.scales == 0.0)).tolist():
            warn(f"no labelled pair grounds the own rule {problem.clauses[k]}: nothing is fitted")
        return problem

    def first_step(
        self,
        plan: LearningPlan,
        learned: LearnedRules,
        problem: Problem,
        found: Discovery,
        folds: EvidenceFolds | None,
    ) -> FirstStep:
        """The plain model as the first of two steps."""
        assert found.statistics is not None
        engine = collective_engine(self.engine)
        views = [(np.arange(len(self.labels)), engine)]
        if folds is not None:
            engine = engine.over(folds.facts)
            views = [(rows, engine.over(facts)) for rows, facts in folds.views()]
        return FirstStep(
            learner=plan.learner,
            learned=learned,
            problem=problem,
            statistics=found.statistics,
            labels=self.labels,
            views=views,
            engine=engine,
            group=pair_groups(engine.facts, self.labels, drawn=self.sampling is not None),
            ways=plan.ways,
            language=self.language,
            symmetric=self.symmetric,
            own=self.own_beside(found),
        )

    def count(self, bodies: Sequence[Body]) -> Statistics:
        """Count the groundings of bodies for all targets."""
        return self.engine.count(self.labels, bodies, self.language, progress=self.progress)


@dataclass(frozen=True, eq=False)
class FoldedEvidence:
    """Finds and counts bodies for training pairs, each over the facts that its fold sees."""

    folds: EvidenceFolds
    #: Opens an engine over the facts of each fold. Its own facts are not used.
    engine: Engine
    language: RuleLimits
    progress: Progress = SILENT

    def discover(self) -> Discovery:
        """Find candidates over all facts, and keep those with groundings for enough pairs.

        For a pair, only groundings over the facts that its fold sees count. Each fold sees a subset
        of the facts, so the search over all facts misses no candidate. With soft facts, coverage
        and counts are those over all facts.
        """
        pairs, whole = self.folds.pairs, self.engine.over(self.folds.facts)
        discovery = discover_bodies(
            whole, pairs, replace(self.language, top=None), statistics=False,
            progress=self.progress, own_facts_expected=True,
        )  # fmt: skip
        counted = self.count(discovery.candidates.bodies)
        seen = discovery.candidates
        if counted.body_truth is None:  # soft rows do not show which paths round to true
            seen = seen.with_figures(counted.figures(pairs.positive))
        rows = seen.pruned(self.language)
        return replace(
            discovery, candidates=seen.take(rows), statistics=counted.only(rows), own_edges=0
        )

    def count(self, bodies: Sequence[Body]) -> Statistics:
        """Count the groundings of bodies for the training pairs."""
        pairs, parts = self.folds.pairs, list[tuple[Ints, Statistics]]()
        for rows, facts in self.folds.views():
            counted = self.engine.over(facts).count(pairs.select(rows), bodies, self.language)
            parts.append((rows, counted))
            self.progress.advance("Counting fold by fold", len(parts), len(self.folds.hidden))
        return Statistics.united(len(pairs), parts)


def with_mirrors(found: Discovery, count: Callable[[Sequence[Body]], Statistics]) -> Discovery:
    """Also count the mirror images of candidates, unless they are candidates themselves.

    This is for a symmetric target, where a body and its mirror image share one weight.
    """
    counted = found.statistics
    if counted is None:
        return found
    bodies = set(counted.bodies)
    missing = [body.mirror for body in counted.bodies if body.mirror not in bodies]
    return replace(found, statistics=counted.followed_by(count(missing))) if missing else found


def discover(
    facts: Input,
    labels: Input | None = None,
    language: RuleLimits | None = None,
    *,
    target: str | Sequence[str] | None = None,
    negatives: float = 1.0,
    negative_sampling: Sampling = "typed",
    seed: int = 0,
    engine: str = "memory",
    threads: int | None = None,
    statistics: bool = True,
    progress: Progress = SILENT,
) -> Discovery:
    """Find the candidate clauses for labelled targets, and count their groundings.

    Parameters
    ----------
    facts
        The evidence: a file, a frame, tuples, a list of any of them, `Facts`, or an open engine.
    labels
        Labelled targets as a file, a frame, tuples, or the result of `read_labels`. Without labels,
        the facts of `target` are the true pairs, hidden by folds, and false pairs are sampled
        unless facts state them (value 0).
    language
        Which clauses are candidates.
    target
        The target predicate, or several; required without labels.
    negatives, negative_sampling
        False pairs sampled per true pair, and how; see `hornbeam.facts.negatives`.
    seed
        Seed of the folds and of the sampled negatives.
    engine
        "memory" or "duckdb": the engine that counts groundings, unless `facts` is an open engine.
    threads
        Threads to use; one per core by default.
    statistics
        Keep the counts per target; without labels they are always kept.
    progress
        Callback that is given the progress of the work.

    Examples
    --------
    >>> from hornbeam import RuleLimits, read_facts, read_labels
    >>> from hornbeam.counting import discover
    >>> facts = read_facts([("paper1", "cites", "paper2"), ("paper2", "mentions", "gene")])
    >>> labels = read_labels([("paper1", "mentions", "gene", 1.0)])
    >>> found = discover(facts, labels, RuleLimits(min_coverage=1))
    >>> [candidate.text for candidate in found.candidates][0]
    'cites(A, B) & mentions(B, C) -> mentions(A, C)'
    """
    opened, language = open_engine(facts, engine, threads), language or RuleLimits()
    if labels is None:
        known, sampling = labels_of_facts(opened, target, negatives, negative_sampling, seed)
        search = LabelledSearch(opened, known, language, progress, sampling)
        return search.discover_by_folds(search.assign_folds(seed))
    return discover_bodies(
        opened, chosen_labels(labels, target), language, statistics=statistics, progress=progress
    )


def chosen_labels(labels: Input, target: str | Sequence[str] | None) -> Targets:
    """Labelled targets, restricted to the predicates that `target` names, if any."""
    known = as_labels(labels, target if isinstance(target, str) else None)
    return select_target(known, target)


def _warn_of_answers(facts: Facts, target: str) -> None:
    """Warn of a target that links entities to "yes" and "no": its column was read as names."""
    links = facts.binary
    ends = np.unique(links.arguments[1][links.predicate == facts.predicates.index(target)])
    answers = facts.entities.take(ends[: len(ANSWERS) + 1])
    if answers and ANSWERS.issuperset(map(str.lower, answers)):
        listed = " and ".join(map(repr, answers))
        warn(
            f"{target!r} leads to {listed} alone, and such links are learned. To learn where "
            f"{target!r} holds, say that the column is Boolean by `types`, or give `labels`"
        )


def labels_of_facts(
    engine: Engine,
    target: str | Sequence[str] | None,
    negatives: float,
    sampling: Sampling,
    seed: int,
) -> tuple[Targets, Sampling | None]:
    """Facts of the target predicates as true pairs, and false pairs: stated ones, or sampled.

    Second, how some of them were sampled; None where the facts state the false pairs.
    """
    if not target:
        raise InputError("without labels, name the predicate to learn: `target=PREDICATE`")
    facts = facts_in_memory(
        engine,
        "this engine leaves the facts where they are and samples no negatives: give `labels`",
    )
    names = [target] if isinstance(target, str) else target
    rng = np.random.default_rng(seed)
    for name in names:
        _warn_of_answers(facts, name)
    labels = with_negatives(facts, names, negatives, sampling, rng=rng)
    if any(facts.denied_of(name) is None for name in names):
        return labels, sampling
    false = len(labels) - int(labels.positive.sum())
    stated = f"{', '.join(labels.predicates)}: the facts state {false:,} false ones (value 0)"
    warn(f"{stated}, and none are sampled", HornbeamNote)
    return labels, None
