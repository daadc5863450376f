"""Explains the rank of an answer: the rules that fire for it, and the answers ranked above it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.texts import did_you_mean
from hornbeam.errors import InputError
from hornbeam.explaining.explanation import PATHS, ExplainedScore, Explanation, HigherAnswer
from hornbeam.explaining.reason import ScorePart, largest_first
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Facts
from hornbeam.graphs.features import EvidenceKind
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_reasons import as_reason, fired_rules
from hornbeam.graphs.model_parts import direction_of
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.softmax import fired_scores
from hornbeam.graphs.timed.timed_ranker import TimedRanker
from hornbeam.ranking.queries import Answers, Triples
from hornbeam.rules.codes import step_code

#: Default number of rules that are named per part of a score.
REASONS = 3
#: Number of answers shown above the explained answer, and number of rules shown for each.
ABOVE, RULES_ABOVE = 3, 1
#: A ranker that has the facts in memory, without or with times.
R = TypeVar("R", MemoryRanker, TimedRanker)


@dataclass(frozen=True, eq=False)
class AnswerExplainer(ABC, Generic[R]):
    """A model of a whole graph over facts, without or with times, ready to explain triples.

    `reasons` is the number of rules that are named per part of a score. Every part has its own best
    rules, so that no part hides another.
    """

    ranker: R
    reasons: int = REASONS

    @property
    def model(self) -> RankingModel:
        """The model, which has the rules."""
        return self.ranker.model

    @property
    def facts(self) -> Facts:
        """The facts, which are the evidence."""
        return self.ranker.facts

    def with_facts(self, new: Input) -> Self:
        """The same explainer over the facts and new ones."""
        return replace(self, ranker=self.ranker.with_facts(new))

    def explain(
        self,
        subject: str,
        target: str,
        object_: str,
        *,
        paths: int = PATHS,
        flip: bool = True,
        progress: Progress = SILENT,
    ) -> Explanation:
        """Explain a triple as the answer of two queries, without the triple itself as evidence.

        At most `paths` groundings are listed per rule, of facts with times the latest first. `flip`
        is ignored: a rank is no decision that facts could flip.

        Raises
        ------
        hornbeam.errors.InputError
            Where the facts lack an entity or the relation, or the model has no rules for the
            relation.
        """
        s, o = self.facts.entity(subject), self.facts.entity(object_)
        p = self.facts.predicates.index(target)
        known = sorted(self.ranker.relations)
        if p < 0 or target not in known:
            hint = did_you_mean(target, known) or f" It has {', '.join(known[:10])}."
            raise InputError(f"the model has no rules for the relation {target!r}.{hint}")
        triple = Triples(*(np.array([number], dtype=np.int32) for number in (p, s, o)))
        ranker = self.ranker.without_facts(triple)
        directions = tuple(
            self._ranked_parts(ranker, step_code(p, inverse), *ends, paths)
            for inverse, ends in ((False, (s, o)), (True, (o, s)))
            if step_code(p, inverse) in ranker.steps
        )
        return Explanation(subject, target, object_, directions, is_fact=ranker is not self.ranker)

    @abstractmethod
    def _ranked_parts(
        self, ranker: R, step: int, known: int, answer: int, paths: int
    ) -> ExplainedScore:
        """The explanation of a query's answer: its rank, parts, and the answers above it."""


class GraphExplainer(AnswerExplainer[MemoryRanker]):
    """Explains triples of facts without times; see `AnswerExplainer`."""

    def _ranked_parts(
        self, ranker: MemoryRanker, step: int, known: int, answer: int, paths: int
    ) -> ExplainedScore:
        pool, score = ranker.scored(step, np.array([known], dtype=np.int32))
        # the candidates that `rank` lists, and the explained answer: it has no rank unless it fits
        fits = ranker.fit(step, np.full_like(pool.entity, known), pool.entity)
        shown = fits | (pool.entity == answer)
        pool, score, fits = pool.where(shown), score[shown], fits[shown]
        proposed, chance = pool.where(fits), np.zeros(len(score))
        chance[fits] = ranker.probabilities(Answers(proposed.offsets, proposed.entity, score[fits]))
        lifts = _lifts(ranker, step, pool)
        [row] = np.flatnonzero(pool.entity == answer)[:1].tolist() or [-1]
        is_proposed = row >= 0 and bool(fits[row])
        own = score[row] if is_proposed else -np.inf
        above = tuple(
            HigherAnswer(
                ranker.facts.entities[int(pool.entity[i])],
                rank_among(score[fits], score[i]),
                float(chance[i]),
                tuple(
                    reason
                    for part in _parts(ranker, pool, i, lifts, RULES_ABOVE, 0)
                    for reason in part.reasons
                    if reason.side == "for"
                )[:RULES_ABOVE],
            )
            for i in np.lexsort((pool.entity, -score, ~fits))[:ABOVE].tolist()
            if fits[i] and score[i] > own
        )
        if row < 0:
            return ExplainedScore(0.0, (), direction_of(step), None, len(proposed.entity), above)
        return ExplainedScore(
            float(chance[row]),
            _parts(ranker, pool, row, lifts, self.reasons, paths),
            direction_of(step),
            rank_among(score[fits], score[row]) if is_proposed else None,
            len(proposed.entity),
            above,
        )


def rank_among(scores: Floats, own: float) -> float:
    """Rank of a candidate by its score, from 1; equal scores share the mean of their ranks."""
    better, equal = np.count_nonzero(scores > own), np.count_nonzero(scores == own)
    return float(better + (equal + 1) / 2)


def _lifts(ranker: MemoryRanker, step: int, pool: Pool) -> dict[EvidenceKind, Floats]:
    """How far each kind of evidence lifts every candidate of a pool above the mean candidate."""
    model = ranker.steps[step]
    lifts = {kind: np.zeros(len(pool.entity)) for kind in EvidenceKind}
    for k, name in enumerate(ranker.model.features):
        column = pool.feature[:, k].astype(np.float64)
        lifts[EvidenceKind.of_feature(name)] += model.weights[k] * (column - column.mean())
    if model.rule_weights.any():
        fired = fired_scores(ranker.firings(model.rules, pool), model.rule_weights)
        lifts[EvidenceKind.PATH] += fired - fired.mean()
    return lifts


def _parts(
    ranker: MemoryRanker,
    pool: Pool,
    row: int,
    lifts: dict[EvidenceKind, Floats],
    reasons: int,
    paths: int,
) -> tuple[ScorePart, ...]:
    """The parts of a candidate's score with the best reasons of each, the largest part first."""
    fired = fired_rules(ranker, pool, row)
    return largest_first(
        ScorePart(
            kind.value,
            float(lifts[kind][row]),
            tuple(as_reason(ranker, pool, rule, paths) for rule in fired.get(kind, [])[:reasons]),
        )
        for kind in EvidenceKind
        if kind in fired or lifts[kind][row] != 0.0
    )
