"""What rankers by a model of a graph share, without or with times: probabilities, other answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hornbeam.base.arrays import Floats, Ids, part_numbers
from hornbeam.base.progress import SILENT, Progress
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.softmax import probabilities, softmax_log_odds
from hornbeam.ranking.fact_ranker import FactRanker
from hornbeam.ranking.queries import Answers, Queries

#: How far further candidates score below the pool: their softmax shares are practically 0, so that
#: probabilities do not depend on how many answers are listed.
BELOW_POOL = 40.0


@dataclass(frozen=True, eq=False)
class SoftmaxRanker(FactRanker):
    """Answers queries by a `RankingModel`, whose answers share the probability of a softmax.

    Parameters
    ----------
    model
        The learned model.
    threads
        Threads to use; one per core by default.
    """

    model: RankingModel
    threads: int | None = field(default=None, kw_only=True)

    proposes_facts: ClassVar[bool] = False

    @property
    def relations(self) -> set[str]:
        """Relations that the model has rules for."""
        return {part.relation for part in self.model.relations}

    def probabilities(self, answers: Answers) -> Floats:
        """Probability that an answer is right, by the model's calibration."""
        z = softmax_log_odds(np.asarray(answers.offsets, dtype=np.int64), answers.scores)
        return probabilities(z, self.model.calibration)

    def order_of(self, queries: Queries, answers: Ids) -> Floats:
        """Numbers that order an answer per query among those that are not proposed."""
        return np.zeros(len(queries))

    def scores_of(self, queries: Queries, found: Answers, answers: Ids) -> tuple[Floats, Floats]:
        """Scores and probabilities of an answer per query, whether it is proposed or not.

        `found` are the answers of the queries by a ranker that lists all of them. An answer that is
        a fact must not be asked for.
        """
        lowest = _lowest_scores(found)
        score = _scores_below(lowest, self.order_of(queries, answers))
        total = np.bincount(
            found.query, np.exp(found.scores - lowest[found.query]), minlength=len(found)
        )
        odds = score - lowest - np.log(np.maximum(total, 1.0))  # their shares are nearly 0
        likely = probabilities(odds, self.model.calibration)
        listed = np.flatnonzero(found.entities == answers[found.query])
        score[found.query[listed]] = found.scores[listed]
        likely[found.query[listed]] = self.probabilities(found)[listed]
        return score, likely

    def every_score(self, queries: Queries, progress: Progress = SILENT) -> Floats:
        """Scores of all entities as answers, one row per query; see `FactRanker.scores`."""
        found = self.listing(None).answers(queries, progress)
        lowest, n = _lowest_scores(found), len(self.facts.entities)
        values = np.empty((len(queries), n))
        for row, (step, source) in enumerate(zip(queries.step, queries.known, strict=True)):
            order = self.others(int(step), int(source))
            order = np.full(n, -np.inf) if order is None else order
            values[row] = _scores_below(np.full(n, lowest[row]), order)
        values[found.query, found.entities] = found.scores
        return values


def best_first(pool: Pool, score: Floats) -> Answers:
    """The candidates of every query of a pool, best first."""
    order = np.lexsort((pool.entity, -score, part_numbers(pool.offsets)))
    return Answers(pool.offsets, pool.entity[order], score[order])


def _lowest_scores(found: Answers) -> Floats:
    """The score of the last answer of every query, 0 for queries without answers."""
    lowest = np.zeros(len(found))
    some = np.flatnonzero(found.sizes)
    lowest[some] = found.scores[found.offsets[1:][some] - 1]
    return lowest


def _scores_below(lowest: Floats, order: Floats) -> Floats:
    """Scores of entities that are not proposed, below the `lowest` of those that are.

    The values of `order` decide; entities of -inf are no candidates, and tie below all others.
    """
    ordered = lowest - 2 * BELOW_POOL + np.clip(order, -BELOW_POOL / 4, BELOW_POOL / 4)
    return np.where(order == -np.inf, lowest - 3 * BELOW_POOL, ordered)
