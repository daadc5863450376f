"""The learning plan: settings checked for consistency before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hornbeam.base.choices import CollectiveMethod, Relaxation, Sampling
from hornbeam.errors import InputError
from hornbeam.learning.body_clauses import model_counts
from hornbeam.learning.learner import Learner
from hornbeam.learning.registry import make_learner
from hornbeam.rules.body import Kind
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.rule_model import Semantics
from hornbeam.rules.weighing import Counts
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

    @property
    def recursive(self) -> bool:
        """Whether rules have the targets themselves in their bodies."""
        return self.semantics.collective is not None


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
    bodies = (Kind.PATH,) if recursive else language.bodies or learner.bodies
    language = replace(language, bodies=bodies, shares=Counts.SHARE in ways)
    asked_only = collective == ASKED_ONLY
    return LearningPlan(learner, language, ways, semantics, two_steps, asked_only)


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
    if recursive and way is not Counts.RAW:
        raise InputError(
            f"counts {way.value} are those of a head alone, and recursive rules have "
            'ground clauses with several targets in them: use `counts="raw"`'
        )
    return (way,)
