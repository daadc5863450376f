"""One pair with its rules and their counts: what-if questions, answered by scoring again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from hornbeam.choices import Score
from hornbeam.counting.columns import Columns
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.body import AnyBody, Body
from hornbeam.rules.rule_model import Relaxation, Rule, RuleModel
from hornbeam.rules.weighing import Counts, Weighing
from hornbeam.scoring.independent_scorer import score_targets, strengths

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
        """The share of a condition's paths; 0 where nobody asked for shares."""
        return self._figures.get(body, NO_GROUNDINGS)[1]

    def groundings_of(self, body: AnyBody) -> int:
        """How many groundings a whole body has: those of its conditions multiplied.

        A condition with a threshold counts once where it holds; the empty body has one grounding.
        """
        if isinstance(body, Body):
            return self.count_of(body) if len(body) else 1
        if not len(self._columns.of(body, Weighing(Counts.EXISTS))[0]):
            return 0
        return prod(self.count_of(part.body) for part in body.parts if part.threshold is None)

    @cached_property
    def _columns(self) -> Columns:
        # whether a body holds does not depend on the relaxation
        return Columns(self.counted, Relaxation.BOOLEAN)

    @cached_property
    def _figures(self) -> dict[Body, tuple[int, float]]:
        """Groundings of every condition that has some, and their share."""
        counted, figures = self.counted, dict[Body, tuple[int, float]]()
        for k in np.flatnonzero(np.diff(counted.indptr)).tolist():
            part = counted.column(k)
            share = 0.0 if counted.share is None else float(counted.share[part].sum())
            figures[counted.bodies[k]] = int(counted.count[part].sum()), share
        return figures

    @cached_property
    def grounded_rules(self) -> dict[int, Rule]:
        """The rules that have a grounding, by their places: no score depends on the others."""
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
    def grounded_bodies(self) -> list[Body]:
        """The conditions of the grounded rules."""
        return self.grounded_model.bodies

    @cached_property
    def deciding_bodies(self) -> list[Body]:
        """Conditions of grounded rules that are all on the side of the decision."""
        against = {not self.decision}
        return [body for body in self.grounded_bodies if self._heads[body] == against]

    @cached_property
    def monotone(self) -> bool:
        """Whether losing a grounding never moves the score towards the side of its rules.

        It may where one condition has rules on both sides, and where soft groundings share
        log2(1 + n) or 1: there a weak one can take from a strong one. Shares are taken to be lost
        with their groundings, all else being equal; whoever asks must not trust that.
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
        for rule in self.grounded_rules.values():
            for part in rule.clause.body.parts if rule.weight > 0 else ():
                heads[part.body].add(rule.clause.negated)
        return heads

    @cached_property
    def mean(self) -> float:
        """The pair's score."""
        return self.score(self.grounded_rules.values())

    @cached_property
    def map(self) -> float:
        """Its MAP state."""
        return self.score(self.grounded_rules.values(), Score.MAP)

    @property
    def decision(self) -> bool:
        """Whether the model calls the pair true."""
        return self.mean >= self.model.semantics.threshold

    def flips(self, score: float) -> bool:
        """Whether a score stands for the other decision."""
        return (score >= self.model.semantics.threshold) != self.decision

    def score(self, rules: Iterable[Rule], kind: Score = Score.MEAN) -> float:
        """Score by some of the grounded rules; a half where there is none."""
        some = self.model.with_rules(rules)
        if not some.rules:
            return 0.5
        return float(score_targets(some, self._grounded, self.pair, kind)[0])

    @cached_property
    def _grounded(self) -> Statistics:
        """The counts without the bodies that have none."""
        return self.counted.only(np.flatnonzero(np.diff(self.counted.indptr)))

    def pull(self, place: int) -> float:
        """How far the score moves when a rule is taken away, above 0 where it is for the pair."""
        return self.mean - self.score(r for k, r in self.grounded_rules.items() if k != place)

    def log_odds(self, place: int) -> float | None:
        """What a rule adds to the log-odds of the score, None where these are no sum."""
        if self.model.semantics.relaxation is not Relaxation.BOOLEAN:
            return None
        alone = self.model.with_rules([self.grounded_rules[place]])
        up, down = strengths(alone, self._grounded, self.pair)
        return float(up[0] - down[0])

    def without_bodies(self, gone: Sequence[Body]) -> float:
        """Score by the rules that have none of these conditions."""
        return self.score(
            rule
            for rule in self.grounded_rules.values()
            if not any(part.body in gone for part in rule.clause.body.parts)
        )


def one_pair(subject: str, target: str, object_: str) -> Targets:
    """Table of one pair."""
    names, zero = Names.of([subject, object_]), np.zeros(1, dtype=np.int32)
    return Targets(names, Names.of([target]), zero, names.find([subject]), names.find([object_]))
