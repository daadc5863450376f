"""One pair with its rules and their counts: what-if questions, answered by scoring again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints
from hornbeam.base.choices import Relaxation, Score
from hornbeam.counting.columns import Columns, strengths_add_up
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.integrals import closed_form_score
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.body import AnyBody, Body
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.independent_scores import RuleLayout, score_targets, weights_of

#: Groundings of a condition that has none, and their share.
NO_GROUNDINGS = (0, 0.0)


@dataclass(frozen=True, eq=False)
class ScoredPair:
    """A pair, the rules of its target, and how many groundings their conditions have for it."""

    model: RuleModel
    pair: Targets
    counted: Statistics

    @property
    def names(self) -> tuple[str, str]:
        """Subject and object."""
        subject, _, object_ = self.pair.names_at(0)
        return subject, object_

    def count_of(self, body: Body) -> int:
        """How many groundings a condition has for the pair."""
        return self._figures.get(body, NO_GROUNDINGS)[0]

    def share_of(self, body: Body) -> float:
        """The share of a condition's paths; 0 where shares were not counted."""
        return self._figures.get(body, NO_GROUNDINGS)[1]

    def groundings_of(self, body: AnyBody) -> int:
        """Number of groundings of a whole body, one of each condition, of a truth above 0.

        A condition with a threshold counts once where it holds; the empty body has one grounding.
        """
        parts = body.parts
        if not parts:
            return 1
        if len(parts) == 1 and parts[0].threshold is None:  # far faster
            return self.count_of(parts[0].body)
        return int(self._columns.ground_clauses(body).number.sum())

    @cached_property
    def _columns(self) -> Columns:
        # how many groundings a body has does not depend on the relaxation
        return Columns(self.counted, Relaxation.BOOLEAN)

    @cached_property
    def _figures(self) -> dict[Body, tuple[int, float]]:
        """Number of groundings, and share, of every condition that has some."""
        counted, figures = self.counted, dict[Body, tuple[int, float]]()
        for k in np.flatnonzero(np.diff(counted.indptr)).tolist():
            part = counted.column(k)
            share = 0.0 if counted.share is None else float(counted.share[part].sum())
            figures[counted.bodies[k]] = int(counted.count[part].sum()), share
        return figures

    @cached_property
    def grounded_rules(self) -> dict[int, Rule]:
        """The rules that have a grounding, by index: no score depends on the others."""
        return {
            place: rule
            for place, rule in enumerate(self.model.rules)
            if self.groundings_of(rule.clause.body)
        }

    @cached_property
    def grounded_model(self) -> RuleModel:
        """The model of the grounded rules."""
        return self.model.with_rules(self.grounded_rules.values())

    @property
    def grounded_bodies(self) -> Sequence[Body]:
        """The conditions of the grounded rules."""
        return self.grounded_model.bodies

    @cached_property
    def deciding_bodies(self) -> list[Body]:
        """Conditions whose grounded rules are all on the side of the decision."""
        against = {not self.decision}
        return [body for body in self.grounded_bodies if self._heads[body] == against]

    @cached_property
    def monotone(self) -> bool:
        """Whether losing a grounding never moves the score towards the side of its rules.

        It may where one condition has rules on both sides, and where soft groundings share
        log2(1 + n) or 1: there a weak one can take from a strong one. For shares this assumes that
        other shares stay the same, which is not exact: callers must score again.
        """
        rules, soft = self.grounded_rules.values(), self.counted.body_truth is not None
        shared = soft and any(
            self.model.counts_of(rule.clause).counts is not Counts.RAW for rule in rules
        )
        if shared and self.model.semantics.relaxation is not Relaxation.BOOLEAN:
            return False
        return all(len(self._heads[body]) < 2 for body in self.grounded_bodies)

    @cached_property
    def _heads(self) -> dict[Body, set[bool]]:
        """Heads (negated or not) of the grounded rules with weight, by condition."""
        heads: dict[Body, set[bool]] = {body: set() for body in self.counted.bodies}
        for k, rule in enumerate(self.grounded_rules.values()):
            negated = rule.clause.negated if self._strengths is None else bool(self._negated[k])
            for part in rule.clause.body.parts if rule.weight > 0 else ():
                heads[part.body].add(negated)
        return heads

    @cached_property
    def mean(self) -> float:
        """The pair's score."""
        return float(self._scores(self._all_rules)[0])

    @cached_property
    def map(self) -> float:
        """Its MAP state."""
        return float(self._scores(self._all_rules, Score.MAP)[0])

    @cached_property
    def _all_rules(self) -> Bools:
        return np.ones((1, len(self.grounded_rules)), dtype=np.bool_)

    @property
    def decision(self) -> bool:
        """Whether the model calls the pair true."""
        return self.mean >= self.model.semantics.threshold

    def flips(self, score: float) -> bool:
        """Whether a score means the other decision."""
        return (score >= self.model.semantics.threshold) != self.decision

    def _scores(self, rules: Bools, kind: Score = Score.MEAN) -> Floats:
        """Scores by subsets of the grounded rules, one row per subset; 0.5 for an empty one.

        Rules are added up in their order, so that the scores are those of `score_targets`.
        """
        if self._strengths is None:
            return self._scores_one_by_one(rules, kind)
        # a leading 0, so that the cumulative sum is never empty
        strengths = np.insert(np.where(rules, self._strengths, 0.0), 0, 0.0, axis=1)
        against = np.insert(self._negated, 0, False)
        up, down = (
            np.cumsum(np.where(side, strengths, 0.0), axis=1)[:, -1] for side in (~against, against)
        )
        scores = closed_form_score(kind, up, down, self.model.semantics.relaxation)
        return np.where(rules.any(axis=1), scores, 0.5)

    def _scores_one_by_one(self, rules: Bools, kind: Score) -> Floats:
        """As `_scores`, for soft groundings, where each is a hinge of its own."""
        grounded = list(self.grounded_rules.values())
        chosen = [[grounded[k] for k in np.flatnonzero(row).tolist()] for row in rules]
        return np.array(
            [
                score_targets(self.model.with_rules(some), self._grounded, self.pair, kind)[0]
                if some
                else 0.5
                for some in chosen
            ]
        )

    @cached_property
    def _negated(self) -> Bools:
        """Which of the grounded rules are against the pair, as a number below its mean may be."""
        return np.asarray(self._sides_and_entries[0] > 0)

    @cached_property
    def _strengths(self) -> Floats | None:
        """What every grounded rule adds for or against the pair; None where they do not add up."""
        if not strengths_add_up(self.counted, self.model.semantics.relaxation):
            return None
        return np.asarray(weights_of(self.grounded_model.rules) * self._sides_and_entries[1])

    @cached_property
    def _sides_and_entries(self) -> tuple[Ints, Floats]:
        """The side of the pair (0 for, 1 against) that every rule adds to, and what it adds.

        There is one pair, so every rule has one entry.
        """
        layout = RuleLayout.of(self.grounded_model, self._grounded.bodies)
        columns = Columns(self._grounded, self.model.semantics.relaxation)
        parts = list(layout.over(columns, self.pair))
        side = np.concatenate([np.empty(0, dtype=np.int64), *(part.cell for part in parts)])
        return side, np.concatenate([np.empty(0), *(part.x for part in parts)])

    @cached_property
    def _grounded(self) -> Statistics:
        """The counts without the bodies that have none."""
        return self.counted.only(np.flatnonzero(np.diff(self.counted.indptr)))

    def pull(self, place: int) -> float:
        """The score minus the score without a rule; above 0 if the rule is for the pair."""
        return self._pulls[place]

    @cached_property
    def _pulls(self) -> dict[int, float]:
        """The score minus the score without each of the grounded rules."""
        without = self._scores(~np.eye(len(self.grounded_rules), dtype=np.bool_))
        return dict(zip(self.grounded_rules, (self.mean - without).tolist(), strict=True))

    def log_odds(self, place: int) -> float | None:
        """What a rule adds to the log-odds of the score; None where these are not a sum."""
        if self.model.semantics.relaxation is not Relaxation.BOOLEAN or self._strengths is None:
            return None
        at = list(self.grounded_rules).index(place)
        strength = float(self._strengths[at])
        return -strength if self._negated[at] else strength

    def without_bodies(self, removed: Sequence[Body]) -> float:
        """Score by the rules that have none of these conditions."""
        kept = [
            not any(part.body in removed for part in rule.clause.body.parts)
            for rule in self.grounded_rules.values()
        ]
        return float(self._scores(np.array([kept], dtype=np.bool_))[0])


def one_pair(subject: str, target: str, object_: str, *, unary: bool = False) -> Targets:
    """Table of one pair, whose target is `unary` or binary."""
    names = Names.of([subject, object_])
    ends = names.find([subject]), names.find([object_])
    return Targets.between(names, target, *ends, unary=unary)
