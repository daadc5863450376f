"""Candidates and counts for labelled targets, by each way of seeing the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.arrays import Ints
from hornbeam.choices import CollectiveMethod
from hornbeam.counting.collective.collective_statistics import discover_collective
from hornbeam.counting.cross_evidence import FoldedEvidence
from hornbeam.counting.engine import Discovery, Engine, PathCounter
from hornbeam.counting.mirrors import with_mirrors
from hornbeam.counting.opening import Evidence, discover, facts_in_memory, open_engine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.evidence_folds import EvidenceFolds, deal_evidence, pair_groups
from hornbeam.facts.symmetry import is_symmetric, with_known
from hornbeam.facts.table import Facts, Targets
from hornbeam.learning.collective_problem import collective_problem
from hornbeam.learning.problem import Problem
from hornbeam.learning.rule_learning import LearnedRules, problem_of
from hornbeam.learning_plan import LearningPlan
from hornbeam.progress import Progress
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Language
from hornbeam.rules.rule_model import Semantics
from hornbeam.scoring.two_step_scorer import two_step_facts
from hornbeam.two_step import FirstStep


@dataclass(frozen=True, eq=False)
class LabelledSearch:
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

    def laid_out(self, found: Discovery, plan: LearningPlan) -> Problem:
        """What was found as a problem for the learner."""
        assert found.statistics is not None
        return problem_of(
            found.statistics, self.labels, plan.ways, plan.semantics.relaxation,
            self.symmetric, plan.learner.ties_mirrors,
        )  # fmt: skip

    def first_step(
        self,
        plan: LearningPlan,
        learned: LearnedRules,
        problem: Problem,
        found: Discovery,
        folds: EvidenceFolds | None,
        sampled: bool,
    ) -> FirstStep:
        """The plain model as the first of two steps."""
        assert found.statistics is not None
        facts = two_step_facts(self.facts) if folds is None else folds.facts
        every = np.arange(len(self.labels))
        views = [(every, facts)] if folds is None else list(folds.views())
        return FirstStep(
            plan.learner, learned, problem, found.statistics, self.labels, views, facts,
            pair_groups(facts, self.labels, drawn=sampled), plan.ways, self.language,
            self.symmetric, self.threads,
        )  # fmt: skip

    def _with_mirrors(self, found: Discovery, counter: PathCounter) -> Discovery:
        if not self.symmetric:
            return found
        return with_mirrors(found, counter, self.labels, self.language, self.progress)

    def count(self, bodies: Sequence[Body]) -> Statistics:
        """Count some bodies for all targets."""
        return self._opened.count(self.labels, bodies, self.language, progress=self.progress)
