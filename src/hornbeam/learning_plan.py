"""The learning plan: settings checked for consistency before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hornbeam.base.choices import CollectiveMethod, Relaxation, Sampling
from hornbeam.errors import InputError
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Targets
from hornbeam.learning.body_clauses import model_counts
from hornbeam.learning.learner import Learner
from hornbeam.learning.registry import make_learner
from hornbeam.rules.body import Kind
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.own_rules import NO_OWN_RULES, OwnRules
from hornbeam.rules.rule_model import Semantics
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.model_checks import collective_path
from hornbeam.two_step import ASKED_ONLY

#: Methods whose rules have the targets themselves in their bodies.
RECURSIVE = (CollectiveMethod.MAP, CollectiveMethod.MAP_HEADS)


@dataclass(frozen=True)
class LearningPlan:
    """A learner, the clauses that it chooses from, and the meaning of the rules."""

    learner: Learner
    language: RuleLimits
    ways: Sequence[Counts]  #: the ways of counting that the learner may choose among
    semantics: Semantics  #: the meaning of the model's rules
    #: Whether a second step learns from the beliefs of a plain model.
    two_steps: bool
    asked_only: bool  #: whether the second step takes every pair to be true (asked-only)
    own: OwnRules = NO_OWN_RULES  #: a user's own rules, and the guard of learned rules
    chooses_bodies: bool = False  #: whether the learner chose the kinds of bodies
    chooses_counts: bool = False  #: whether the learner chose the ways of counting

    def for_labels(self, labels: Targets) -> LearningPlan:
        """The plan for these labels: targets on one entity have other default bodies."""
        plan = self if labels.time is None else self._over_time(labels)
        return plan._for_arities(labels)

    def _over_time(self, labels: Targets) -> LearningPlan:
        """The plan for labels with a time, each of which sees the facts before it."""
        if self.recursive or self.two_steps:
            raise InputError(
                "pairs with a time are scored alone: leave out `collective`, or the `time`"
            )
        if self.semantics.cross_evidence:
            raise InputError(
                "labels with a time see the true pairs before them if these are facts: leave out "
                "`cross_evidence`"
            )
        return replace(self, semantics=replace(self.semantics, time=labels.unit))

    def _for_arities(self, labels: Targets) -> LearningPlan:
        if not labels.unary:
            return self
        if self.recursive:
            raise InputError(
                f'`collective="{self.semantics.collective}"` is for targets that are pairs, and '
                f"{', '.join(sorted(labels.unary))} is on one entity: leave out `collective`, or "
                'use `collective="two-step"`'
            )
        if not self.chooses_bodies:
            return self
        return replace(self, language=self.language.for_one_entity())

    @property
    def recursive(self) -> bool:
        """Whether rules have the targets themselves in their bodies."""
        return self.semantics.collective is not None

    def over(self, numbers: Numbers) -> LearningPlan:
        """The plan for facts with these numbers, which are then compared, if the learner chooses.

        Values are standardised beside comparisons where targets are Boolean.
        """
        language, ways = self.language, self.ways
        bodies = language.bodies or ()
        if self.chooses_bodies and len(numbers) and Kind.OPEN in bodies:
            language = replace(language, bodies=(*bodies, Kind.NUMBERS))
        boolean = self.semantics.relaxation is Relaxation.BOOLEAN
        if language.compares_numbers and self.chooses_counts and Counts.LOG in ways and boolean:
            ways, language = (*ways, Counts.Z), replace(language, shares=True)
        return replace(self, language=language, ways=ways)


def learning_plan(
    method: str | Learner,
    language: RuleLimits,
    counts: Counts | str,
    relaxation: Relaxation | str | None,
    collective: bool | str,
    cross_evidence: bool,
    sampling: Sampling | None,
    seed: int,
) -> LearningPlan:
    """Choose settings that `hornbeam.learn` leaves to the learner; refuse conflicting settings."""
    learner = make_learner(method, seed) if isinstance(method, str) else method
    chosen = _collective_method(collective)
    two_steps, recursive = chosen is CollectiveMethod.TWO_STEP, chosen in RECURSIVE
    suited = _relaxation(learner, relaxation, two_steps)
    ways = _ways_of_counting(learner, counts, recursive)
    semantics = Semantics(
        counts=model_counts(ways),
        relaxation=suited,
        collective=chosen if recursive else None,
        max_fanout=language.max_fanout,
        distinct_variables=language.distinct_variables,
        cross_evidence=cross_evidence,
        sampled_negatives=sampling,
    )
    chooses_bodies = language.bodies is None and not recursive
    bodies = (Kind.PATH,) if recursive else language.bodies or learner.bodies
    language = replace(language, bodies=bodies, shares=Counts.SHARE in ways)
    asked_only = collective == ASKED_ONLY
    return LearningPlan(
        learner, language, ways, semantics, two_steps, asked_only,
        chooses_bodies=chooses_bodies, chooses_counts=counts == "auto",
    )  # fmt: skip


def with_own_rules(
    plan: LearningPlan, own: OwnRules, relaxation: Relaxation | str | None
) -> LearningPlan:
    """The plan with own rules and a guard; refuses a combination that a model cannot have.

    `relaxation` is the user's setting. Without it, own rules that say what values targets take are
    taken at their word.
    """
    language, semantics, ways = plan.language, plan.semantics, plan.ways
    if own.distinct is not None and own.distinct != language.distinct_variables:
        has, lack = ("have", "lack") if own.distinct else ("lack", "have")
        raise InputError(
            f"the own rules {has} != between their variables, and learned rules would {lack} it: "
            f"{'use' if own.distinct else 'leave out'} `distinct_variables`, or change the rules"
        )
    if own.relaxation is not None and relaxation is None:
        semantics = replace(semantics, relaxation=own.relaxation)
    elif own.relaxation not in (None, semantics.relaxation) and own.keep:
        raise InputError(
            f"weights to `keep` are those of {own.relaxation} targets, not {semantics.relaxation}: "
            f'use `relaxation="{own.relaxation}"`, or leave out `keep`'
        )
    valued = any(rule.clause.body.is_value for rule in own.rules)
    if valued and semantics.relaxation is not Relaxation.BOOLEAN:
        raise InputError(
            "an own rule with [z] is fitted where targets are true or false: use "
            '`relaxation="boolean"`, or leave out the rule'
        )
    if own.guard is not None:
        ways, language = _ways_with_guard(plan), language.without(own.guard)
        semantics = replace(semantics, counts=model_counts(ways))
    own = own.counted_as(semantics.counts)
    if plan.recursive:
        if own.guard is not None:
            raise InputError(
                "a collective model of recursive rules has no guard: leave out `guard`"
            )
        for rule in own.rules:
            collective_path(rule.clause)
    shares = Counts.SHARE in ways or own.shares
    return replace(
        plan, own=own, semantics=semantics, ways=ways, language=replace(language, shares=shares)
    )


def _ways_with_guard(plan: LearningPlan) -> Sequence[Counts]:
    """Ways of counting of a learned rule with a guard, which is a conjunction."""
    ways = [way for way in plan.ways if way not in (Counts.SHARE, Counts.Z)]
    if not ways:
        raise InputError(
            'a rule with a guard is a conjunction, which has no shares: use `counts="log"`'
        )
    return ways


def _collective_method(collective: bool | str) -> CollectiveMethod | None:
    """The collective method of a setting, None for False; True is the default method."""
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
    """What values a target may take; only Boolean targets fit beliefs, which are soft facts."""
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
    if way is Counts.Z:
        raise InputError(
            '`counts="z"` is for values of numbers alone: use `counts="auto"`, which has it'
        )
    if recursive and way is not Counts.RAW:
        raise InputError(
            f"counts {way.value} are those of a head alone, and recursive rules have "
            'ground clauses with several targets in them: use `counts="raw"`'
        )
    return (way,)
