"""Learning on one page: label -> discover -> fit -> describe."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.arrays import Ints
from hornbeam.choices import CollectiveMethod, Sampling
from hornbeam.compiled import announced
from hornbeam.counting.collective.collective_statistics import discover_collective
from hornbeam.counting.cross_evidence import FoldedEvidence
from hornbeam.counting.engine import Discovery, Engine, PathCounter
from hornbeam.counting.leaks import warn_of_leaks
from hornbeam.counting.mirrors import with_mirrors
from hornbeam.counting.opening import (
    Evidence,
    as_evidence,
    discover,
    facts_in_memory,
    open_engine,
    select_target,
)
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.evidence_folds import EvidenceFolds, deal_evidence, pair_groups
from hornbeam.facts.negatives import origins, with_negatives_of_each
from hornbeam.facts.reading.readers import Input, as_labels
from hornbeam.facts.symmetry import is_symmetric, with_known
from hornbeam.facts.table import Facts, Targets
from hornbeam.files import fingerprint
from hornbeam.learning.collective_problem import collective_problem
from hornbeam.learning.count_problem import model_counts
from hornbeam.learning.histogram_learning import learn_from_histograms
from hornbeam.learning.learner import Learner
from hornbeam.learning.outcomes import candidate_outcomes
from hornbeam.learning.problem import Problem
from hornbeam.learning.registry import make_learner
from hornbeam.learning.rule_learning import LearnedRules, learn_rules, problem_of
from hornbeam.learning.trace import Trace
from hornbeam.model import Model
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Body, Kind
from hornbeam.rules.candidates import Language
from hornbeam.rules.model_file import model_text
from hornbeam.rules.rule_model import Relaxation, Semantics
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.two_step_scorer import two_step_facts
from hornbeam.two_step import ASKED_ONLY, FirstStep, learn_second_step

#: Methods whose rules have the targets themselves in their bodies.
RECURSIVE = (CollectiveMethod.MAP, CollectiveMethod.MAP_HEADS)


def learn(
    facts: Input,
    labels: Input | None = None,
    *,
    target: str | Sequence[str] | None = None,
    method: str | Learner = "joint",
    language: Language | None = None,
    counts: Counts | str = "auto",
    relaxation: Relaxation | str | None = None,
    cross_evidence: bool = False,
    collective: bool | str = False,
    refit: bool = False,
    negatives: float = 1.0,
    negative_sampling: Sampling = "typed",
    seed: int = 0,
    engine: str = "memory",
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Model:
    """Learn a rule model from facts and labelled targets.

    Without labels the facts of `target` are the positives and negatives are sampled.

    Parameters
    ----------
    facts
        The evidence: a file, a frame, tuples, a list of these, `Facts`, or an open engine.
    labels
        Labelled targets as a file, a frame, tuples or what `read_labels` returns, or None.
    target
        Learn this target predicate only, or these in one model; required without labels.
    method
        "joint", "boost", "ppll", "greedy", or a learner with settings of your own.
    language
        Which clauses are candidates.
    counts
        How much n groundings weigh: "raw", "log", "exists", "share", or "auto" (the joint learner
        has log, exists and share side by side, boosting raw and share, the others raw).
    relaxation
        "boolean", "linear" or "squared"; by default the one the method is best with.
    cross_evidence
        Let the true pairs be evidence for each other, hidden by folds while rules are learned
        (see `hornbeam.facts.evidence_folds`). Scoring then needs them among the facts: `known`.
        Without labels this is always done.
    collective
        Let what is believed of one pair count for others; the model then scores all pairs
        together. True is "two-step": a plain model, and rules about what it believes of other
        pairs where these pay. "map" and "map-heads" are recursive rules with PSL's meaning;
        "asked-only" is a comparison in which every pair is believed in.
    refit
        Fit the surviving rules once more, together and without L1.
    negatives, negative_sampling
        Sampled negatives per positive, and how; see `hornbeam.facts.negatives`.
    seed
        Of everything random: folds of the internal validation, sampled negatives.
    """
    learner, language = _learner(method, seed), language or Language()
    together = _collective_method(collective)
    two_steps, recursive = together is CollectiveMethod.TWO_STEP, together in RECURSIVE
    semantics = Semantics(
        relaxation=_relaxation(learner, relaxation, two_steps),
        collective=together if recursive else None,
        max_fanout=language.max_fanout,
        distinct_variables=language.distinct_variables,
        cross_evidence=cross_evidence and labels is not None,
    )
    ways = _ways_of_counting(learner, counts, recursive)
    semantics = replace(semantics, counts=model_counts(ways))
    language = replace(
        language,
        bodies=(Kind.PATH,) if recursive else language.bodies or learner.bodies,
        shares=Counts.SHARE in ways,
    )
    began, folds, second = time.perf_counter(), None, None
    sampled, evidence = labels is None, as_evidence(facts)
    labels = _labels(evidence, labels, target, negatives, negative_sampling, seed)
    search = _Search(evidence, labels, language, engine, threads, progress)
    if two_steps:
        two_step_facts(evidence, engine)
    if recursive:
        found, problem = search.collectively(semantics, sampled)
    elif sampled or cross_evidence:
        origin = None
        if sampled:
            origin = origins(labels, negative_sampling, np.random.default_rng([seed, 1]))
        folds = search.deal(origin, np.random.default_rng([seed, 2]))
        found = search.by_folds(folds)
    else:
        found = search.plainly()
    _check_candidates(found, labels, language)
    warn_of_leaks(found.candidates, labels)
    searched = time.perf_counter()
    with announced(progress):
        if found.histograms is not None:
            learned = learn_from_histograms(
                found.histograms, labels, learner, ways, semantics, refit, search.count, progress
            )
        else:
            if not recursive:
                assert found.statistics is not None
                problem = problem_of(
                    found.statistics, labels, ways, semantics.relaxation,
                    search.symmetric, learner.ties_mirrors,
                )  # fmt: skip
            learned = learn_rules(problem, learner, semantics, refit, progress)
            if two_steps:
                first = search.first_step(learner, learned, problem, found, ways, folds, sampled)
                learned, second = learn_second_step(
                    first, seed=seed, asked_only=collective == ASKED_ONLY, refit=refit,
                    progress=progress,
                )  # fmt: skip
    trace = Trace(
        method=learner.name,
        counts=", ".join(ways),
        targets=len(labels),
        positives=int(labels.positive.sum()),
        found=found.found,
        candidates=candidate_outcomes(found.candidates, found.statistics, learned.model, learner),
        seconds={"generate": searched - began, "learn": time.perf_counter() - searched},
        seed=seed,
        language=language,
        sampled_negatives=negative_sampling if sampled else None,
        fit=learned.fit,
        model=fingerprint(model_text(learned.model)),
        second_step=second,
    )
    made = learned.model
    return Model(made.rules, made.semantics, made.beliefs, trace)


def check_labels(labels: Targets) -> None:
    """Refuse labels from which nothing can be learned."""
    positives = int(labels.positive.sum())
    if positives in (0, len(labels)):
        kind = "false" if positives == 0 else "true"
        raise InputError(
            f"all {len(labels):,} labels are {kind}; learning needs both true and false targets "
            "(leave out `labels` and give `target` to sample negatives)"
        )


def _learner(method: str | Learner, seed: int) -> Learner:
    """The learner of that name, with the seed where it takes one; a learner is taken as it is."""
    if not isinstance(method, str):
        return method
    return make_learner(method, seed)


def _collective_method(collective: bool | str) -> CollectiveMethod | None:
    """The method that is meant; True is the default one."""
    if isinstance(collective, bool):
        return CollectiveMethod.TWO_STEP if collective else None
    if collective == ASKED_ONLY:
        return CollectiveMethod.TWO_STEP
    if collective not in list(CollectiveMethod):
        names = ", ".join(CollectiveMethod)
        raise InputError(f"unknown `collective` {collective!r}; expected True, False or {names}")
    return CollectiveMethod(collective)


def _relaxation(
    learner: Learner, relaxation: Relaxation | str | None, two_steps: bool
) -> Relaxation:
    """What values a target may take: beliefs are soft facts, which Boolean targets add up."""
    given = None if relaxation is None else Relaxation(relaxation)
    if not two_steps:
        return given or learner.relaxation
    if given not in (None, Relaxation.BOOLEAN):
        raise InputError(
            f"a collective model of two steps has Boolean targets, not {given}: leave out "
            '`relaxation`, or use `collective="map"`'
        )
    return Relaxation.BOOLEAN


def _ways_of_counting(learner: Learner, counts: Counts | str, recursive: bool) -> Sequence[Counts]:
    """The ways of counting that the learner may choose among."""
    if counts == "auto":
        return (Counts.RAW,) if recursive else learner.counts
    way = Counts(counts)
    if recursive and way is not Counts.RAW:
        raise InputError(
            f"counts {way.value} are those of a head alone, and recursive rules have "
            'ground clauses that speak of several targets: use `counts="raw"`'
        )
    return (way,)


def _labels(
    facts: Evidence,
    labels: Input | None,
    target: str | Sequence[str] | None,
    negatives: float,
    sampling: Sampling,
    seed: int,
) -> Targets:
    """Choose the labels to learn from, or sample them from the facts."""
    if labels is not None:
        known = as_labels(labels, target if isinstance(target, str) else None)
        chosen = select_target(known, target)
        # in one order, whatever that of the rows was: sums over them are then the same to the bit
        chosen = chosen.select(np.lexsort((chosen.object, chosen.predicate, chosen.subject)))
    elif not target:
        raise InputError("without labels, name the predicate to learn: `target=PREDICATE`")
    else:
        in_memory = facts_in_memory(
            facts,
            "this engine leaves the facts where they are and samples no negatives: give `labels`",
        )
        rng = np.random.default_rng(seed)
        names = [target] if isinstance(target, str) else target
        chosen = with_negatives_of_each(in_memory, names, negatives, sampling, rng=rng)
    check_labels(chosen)
    return chosen


@dataclass(frozen=True, eq=False)
class _Search:
    """Finds and counts candidates for labelled targets, by one way of seeing the evidence."""

    facts: Evidence
    labels: Targets
    language: Language
    engine: str
    threads: int | None
    progress: Progress

    @cached_property
    def symmetric(self) -> bool:
        """Whether a pair of the target says the same as its mirror image."""
        return isinstance(self.facts, Facts) and is_symmetric(self.facts, self.labels)

    @cached_property
    def _opened(self) -> Engine:
        return open_engine(self.facts, self.engine, self.threads)

    def plainly(self) -> Discovery:
        """Over the facts as they are."""
        found = discover(self._opened, self.labels, self.language, progress=self.progress)
        return self._with_mirrors(found, self._opened)

    def deal(self, origin: Ints | None, rng: np.random.Generator) -> EvidenceFolds:
        """Hide the true pairs by folds."""
        facts = facts_in_memory(
            self.facts, "cross-evidence hides facts by folds and needs them in memory"
        )
        if origin is None:
            facts = with_known(facts, self.labels)
        return deal_evidence(facts, self.labels, rng, origin, self.symmetric)

    def by_folds(self, folds: EvidenceFolds) -> Discovery:
        """Over the facts and the true pairs, each fold over those that it sees."""
        folded = FoldedEvidence(folds, self.engine, self.threads)
        found = folded.discover(self.language, progress=self.progress)
        return self._with_mirrors(found, folded)

    def collectively(self, semantics: Semantics, sampled: bool) -> tuple[Discovery, Problem]:
        """Over facts and labelled targets together, and laid out."""
        found = discover_collective(
            self.facts, self.labels, self.language, engine=self.engine, threads=self.threads,
            progress=self.progress, own_facts_expected=sampled,
        )  # fmt: skip
        heads_only = semantics.collective is CollectiveMethod.MAP_HEADS
        problem = collective_problem(
            found.statistics, self.labels, semantics.relaxation, heads_only
        )
        return found.search, problem

    def first_step(
        self,
        learner: Learner,
        learned: LearnedRules,
        problem: Problem,
        found: Discovery,
        ways: Sequence[Counts],
        folds: EvidenceFolds | None,
        sampled: bool,
    ) -> FirstStep:
        """The plain model as the first of two steps."""
        assert found.statistics is not None
        facts = two_step_facts(self.facts) if folds is None else folds.facts
        every = np.arange(len(self.labels))
        views = [(every, facts)] if folds is None else list(folds.views())
        return FirstStep(
            learner, learned, problem, found.statistics, self.labels, views, facts,
            pair_groups(facts, self.labels, drawn=sampled), ways, self.language, self.symmetric,
            self.threads,
        )  # fmt: skip

    def _with_mirrors(self, found: Discovery, counter: PathCounter) -> Discovery:
        if not self.symmetric:
            return found
        return with_mirrors(found, counter, self.labels, self.language, self.progress)

    def count(self, bodies: Sequence[Body]) -> Statistics:
        """Count some bodies for all targets."""
        return self._opened.count(self.labels, bodies, self.language, progress=self.progress)


def _check_candidates(found: Discovery, labels: Targets, language: Language) -> None:
    if not len(found.candidates):
        raise InputError(
            f"no relation sequence up to length {language.max_length} connects "
            f"{language.min_coverage} or more targets of {', '.join(labels.predicates)}: "
            "try a lower `min_coverage`, a larger `max_length`, or more facts"
        )
