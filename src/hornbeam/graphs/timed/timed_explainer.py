"""Explains the rank of an answer at a time: which earlier facts speak for it, and how old they are.

Every rule that fires is a reason, with its confidence at the age of the latest fact of its body,
and with these facts and their times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.errors import InputError
from hornbeam.explaining.explanation import ExplainedScore, HigherAnswer
from hornbeam.explaining.reason import (
    DatedFact,
    GroundedCondition,
    Grounding,
    Reason,
    ScorePart,
    largest_first,
)
from hornbeam.graphs.graph_explainer import ABOVE, RULES_ABOVE, AnswerExplainer, rank_among
from hornbeam.graphs.graph_text import graph_rule_words, rule_ends, rule_text
from hornbeam.graphs.model_parts import direction_of, step_of
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import known_argument
from hornbeam.graphs.timed.time_scale import duration
from hornbeam.graphs.timed.timed_features import TimedEvidence
from hornbeam.graphs.timed.timed_queries import QueryTimes
from hornbeam.graphs.timed.timed_ranker import TimedRanker
from hornbeam.graphs.timed.timed_rules import TimedRule
from hornbeam.ranking.queries import Answers
from hornbeam.rules.body import Kind, spelt
from hornbeam.rules.rule_words import Phrase


@dataclass(frozen=True, eq=False)
class TimedExplainer(AnswerExplainer[TimedRanker]):
    """Explains triples of facts with times; see `AnswerExplainer`.

    `at` is the time that triples are asked at: by default right after the last fact.
    """

    at: int | None = None

    @property
    def time(self) -> int:
        """The time that triples are asked at."""
        return self.ranker.now if self.at is None else self.at

    def asked_at(self, time: str | int | None) -> TimedExplainer:
        """The same explainer of triples at a time, as the facts write it."""
        if time is None:
            return self
        try:
            return replace(self, at=self.ranker.scale.unit.number(str(time)))
        except ValueError as error:
            raise InputError(f"`at`: {error}") from None

    def _ranked_parts(
        self, ranker: TimedRanker, step: int, known: int, answer: int, paths: int
    ) -> ExplainedScore:
        time = np.array([self.time], dtype=np.int64)
        pool, score = ranker.scored(step, QueryTimes(np.array([known], dtype=np.int32), time))
        chance = ranker.probabilities(Answers(pool.offsets, pool.entity, score))
        lifts = self._lifts(step, pool)
        [row] = np.flatnonzero(pool.entity == answer)[:1].tolist() or [-1]
        own = score[row] if row >= 0 else -np.inf
        above = tuple(
            HigherAnswer(
                self.facts.entities[int(pool.entity[i])],
                rank_among(score, score[i]),
                float(chance[i]),
                self.reasons_for(step, known, int(pool.entity[i]), 0)[:RULES_ABOVE],
            )
            for i in np.lexsort((pool.entity, -score))[:ABOVE].tolist()
            if score[i] > own
        )
        asks = direction_of(step)
        if row < 0:
            return ExplainedScore(0.0, (), asks, None, len(score), above)
        rules = self.reasons_for(step, known, answer, paths)[: self.reasons]
        parts = (
            ScorePart(kind.value, float(lifts[kind][row]),
                      rules if kind is TimedEvidence.RULE else ())
            for kind in TimedEvidence
        )  # fmt: skip
        rank = rank_among(score, score[row])
        return ExplainedScore(
            float(chance[row]), largest_first(parts), asks, rank, len(score), above
        )

    def _lifts(self, step: int, pool: Pool) -> dict[TimedEvidence, Floats]:
        """How far each kind of evidence lifts every candidate above the mean candidate."""
        weights = self.ranker.steps[step].weights
        lifts = {kind: np.zeros(len(pool.entity)) for kind in TimedEvidence}
        for k, name in enumerate(self.model.features):
            column = pool.feature[:, k].astype(np.float64)
            lifts[TimedEvidence.of_feature(name)] += weights[k] * (column - column.mean())
        return lifts

    def reasons_for(self, step: int, known: int, answer: int, paths: int) -> tuple[Reason, ...]:
        """The rules that fire for an answer, the most confident first."""
        timeline, rules = self.ranker.timed.timeline, self.ranker.steps[step].rules
        low, high = timeline.first[known : known + 2].tolist()
        high = low + int(np.searchsorted(timeline.time[low:high], self.time))
        low = max(low, high - self.ranker.scale.history)
        rows = low + np.flatnonzero(timeline.end[low:high] == answer)
        fired = []
        for code in np.unique(timeline.step[rows]).tolist():
            if code in rules:
                times = timeline.time[rows[timeline.step[rows] == code]][::-1].tolist()
                fired.append(self._reason(rules[code], step, code, (known, answer), times, paths))
        return tuple(sorted(fired, key=lambda reason: (-(reason.confidence or 0.0), reason.rule)))

    def _reason(
        self, rule: TimedRule, step: int, code: int, ends: tuple[int, int], times: list[int],
        paths: int,
    ) -> Reason:  # fmt: skip
        """A rule as a reason: its facts at `times`, the latest first."""
        scale, identifiers = self.ranker.scale, self.model.identifiers
        direction, taken = direction_of(step), step_of(self.facts.predicates, code)
        age = self.time - times[0]
        place = int(np.searchsorted(scale.ages, age))
        names = tuple(self.facts.entities[entity] for entity in ends)
        arguments = names[::-1] if taken.inverse else names
        facts = [
            DatedFact.of_time(taken.predicate, arguments, scale.unit.text(time)) for time in times
        ]
        before = f"{duration(age, scale.unit)} before"
        often = "here once," if len(times) == 1 else f"here {len(times):,} times, the last time"
        body, _ = rule.clause.atoms(*rule_ends(direction))
        condition = GroundedCondition(
            " & ".join(spelt(literal, identifiers) for literal in body),
            Kind.PATH,
            known_argument(direction),
            len(times),
            tuple(Grounding(names, (fact,)) for fact in facts[:paths]),
            values=(Phrase(f"{often} {before}"),),
        )
        hits, predicted = rule.by_age[place]
        if not predicted:  # the rule was never asked at this age: its confidence is that of all
            hits, predicted = rule.hits, rule.predicted
        return Reason(
            None,
            rule_text(rule.clause, direction, identifiers),
            None,
            len(times),
            conditions=(condition,),
            words=graph_rule_words(rule.clause, direction),
            confidence=rule.confidence_at(place),
            hits=hits,
            predicted=predicted,
        )
