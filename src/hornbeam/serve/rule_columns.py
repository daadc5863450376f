"""Rules that have a column of counts each: added up at once instead of rule by rule.

A page scores a few hundred pairs by some dozen rules. To look up every rule's counts takes longer
than to add them, so that is done once for all pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.arrays import Bools, Floats, Positions
from hornbeam.counting.columns import transformed
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.integrals import score_mean
from hornbeam.rules.body import Body
from hornbeam.rules.rule_model import Relaxation, RuleModel
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.reach import leads


@dataclass(frozen=True, eq=False)
class RuleColumns:
    """Rules of one target: the k-th has the k-th body for its own, and priors stand behind them.

    Parameters
    ----------
    relaxation
        What the target's truth may be.
    counts
        How the groundings of all of them weigh.
    negated
        Which rules are against the target, priors included.
    leading
        Which rules are for the target and lead to objects, and which to subjects.
    """

    relaxation: Relaxation
    counts: Counts
    negated: Bools
    leading: tuple[Bools, Bools]

    @classmethod
    def of(cls, model: RuleModel, bodies: Sequence[Body]) -> RuleColumns | None:
        """Lay out the rules of a model; None where they are not of that form."""
        clauses = [rule.clause for rule in model.rules]
        ways = {model.counts_of(one).counts for one in clauses if not one.is_prior}
        own, behind = clauses[: len(bodies)], clauses[len(bodies) :]
        if (
            [one.body for one in own] != list(bodies)
            or not all(one.is_prior for one in behind)
            or len(model.targets) != 1
            or len(ways) != 1
            or Counts.SHARE in ways
        ):
            return None
        to_object, to_subject = (
            np.array([not one.negated and leads(one.body, near) for one in own], dtype=np.bool_)
            for near in (0, 1)
        )
        negated = np.array([one.negated for one in clauses], dtype=np.bool_)
        relaxation = model.semantics.relaxation
        return cls(relaxation, ways.pop(), negated, (to_object, to_subject))

    def scores(self, counted: Statistics, weights: Floats) -> Floats:
        """Scores of the targets that were counted, all of the rules' predicate; facts are 0/1.

        Strengths add up in the order of the rules, so the scores are those of `score_targets`.
        """
        n, n_columns = counted.n_targets, len(counted.bodies)
        sizes = np.diff(counted.indptr)
        added = np.repeat(weights[:n_columns], sizes) * transformed(counted.count, self.counts)
        against = np.repeat(self.negated[:n_columns], sizes)
        # of nothing it counts in integers
        sides = [
            np.bincount(counted.target[mine], added[mine], n).astype(np.float64)
            for mine in (~against, against)
        ]
        for weight, negated in zip(weights[n_columns:], self.negated[n_columns:], strict=True):
            sides[int(negated)] += weight
        return score_mean(sides[0], sides[1], self.relaxation)

    def grounded(self, counted: Statistics, weights: Floats, near: int) -> Positions:
        """Targets for which a rule for them has a grounding, among rules that lead anywhere.

        Where no rule with some weight leads from the subject (`near` 0) or object, all of them are.
        """
        n_columns = len(counted.bodies)
        pulling = ~self.negated[:n_columns] & (weights[:n_columns] > 0)
        chosen = pulling & self.leading[near]
        rows = np.repeat(chosen if chosen.any() else pulling, np.diff(counted.indptr))
        return np.flatnonzero(np.bincount(counted.target[rows], minlength=counted.n_targets))
