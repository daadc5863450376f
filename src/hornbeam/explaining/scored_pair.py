"""One pair with its rules and their counts: what-if questions, answered by scoring again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.choices import Score
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body
from hornbeam.rules.rule_model import Relaxation, Rule, RuleModel
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.independent_scorer import score_targets


@dataclass(frozen=True, eq=False)
class ScoredPair:
    """A pair, the rules of its target, and the paths that they have between its entities."""

    model: RuleModel
    pair: Targets
    counted: Statistics

    @property
    def names(self) -> tuple[str, str]:
        """Subject and object."""
        subject, _, object_ = self.pair.names_at(0)
        return subject, object_

    @property
    def bodies(self) -> Sequence[Body]:
        """The rules' bodies."""
        return self.counted.bodies

    @cached_property
    def grounded_bodies(self) -> list[Body]:
        """Bodies that have a grounding for the pair."""
        return [body for body in self.bodies if self.groundings_of(body)]

    def groundings_of(self, body: Body) -> int:
        """How many groundings of a body the pair has; the empty one has one."""
        return self._counts[body] if body.steps else 1

    @cached_property
    def _counts(self) -> dict[Body, int]:
        counted = self.counted
        return {
            body: int(counted.count[counted.column(k)].sum()) for k, body in enumerate(self.bodies)
        }

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

    @cached_property
    def deciding_bodies(self) -> list[Body]:
        """Grounded bodies whose rules are all on the side of the decision."""
        against = {not self.decision}
        return [body for body in self.grounded_bodies if self._heads[body] == against]

    @cached_property
    def monotone(self) -> bool:
        """Whether losing a path never moves the score towards the side of its rules.

        It may where one body has rules on both sides, and where soft paths share log2(1 + n) or 1:
        there a weak path can take from a strong one.
        """
        semantics, soft = self.model.semantics, self.counted.body_truth is not None
        shared = soft and semantics.counts is not Counts.RAW
        if shared and semantics.relaxation is not Relaxation.BOOLEAN:
            return False
        return all(len(self._heads[body]) < 2 for body in self.grounded_bodies)

    @cached_property
    def _heads(self) -> dict[Body, set[bool]]:
        """Heads (negated or not) of the rules with weight, by body."""
        heads: dict[Body, set[bool]] = {body: set() for body in self.bodies}
        for rule in self.model.rules:
            if rule.weight > 0:
                heads.setdefault(rule.clause.body, set()).add(rule.clause.negated)
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
        some = np.flatnonzero(np.diff(self.counted.indptr))
        return replace(
            self.counted,
            bodies=[self.bodies[k] for k in some.tolist()],
            indptr=np.concatenate([[0], self.counted.indptr[1:][some]]),
        )

    def pull(self, place: int) -> float:
        """How far the score moves when a rule is taken away, above 0 where it is for the pair."""
        return self.mean - self.score(r for k, r in self.grounded_rules.items() if k != place)

    def without_bodies(self, gone: Sequence[Body]) -> float:
        """Score by the rules that have none of these bodies."""
        return self.score(r for r in self.grounded_rules.values() if r.clause.body not in gone)


def one_pair(subject: str, target: str, object_: str) -> Targets:
    """Table of one pair."""
    names, zero = Names.of([subject, object_]), np.zeros(1, dtype=np.int32)
    return Targets(names, Names.of([target]), zero, names.find([subject]), names.find([object_]))
