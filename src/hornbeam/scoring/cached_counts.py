"""Cached counts of pairs that are scored repeatedly under different weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.counting.columns import Columns, strengths_add_up
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.integrals import score_mean
from hornbeam.facts.table import Targets
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.scoring.independent_scorer import score_targets
from hornbeam.scoring.rule_columns import RuleColumns, RuleLayout, added, weights_of


@dataclass(frozen=True, eq=False)
class CachedCounts:
    """Pairs and their counts; what the model's rules add to them is computed once.

    Parameters
    ----------
    model, layout
        The rules, and where their columns are.
    statistics, pairs
        The counts, and what was counted.
    """

    model: RuleModel
    layout: RuleLayout
    statistics: Statistics
    pairs: Targets

    @property
    def size(self) -> int:
        """How much it holds: rows."""
        return len(self.pairs) + len(self.statistics.count) + sum(len(c.x) for c in self._columns)

    @cached_property
    def _columns(self) -> Sequence[RuleColumns]:
        return list(self.layout.over(Columns(self.statistics), self.pairs))

    def scores(self, rules: Sequence[Rule]) -> Floats:
        """Scores by the model's rules with other weights, the bytes of `score_targets`."""
        relaxation = self.model.semantics.relaxation
        if not strengths_add_up(self.statistics, relaxation):
            # every grounding has its own hinge: there are no columns to add
            return score_targets(self.model.with_rules(rules), self.statistics, self.pairs)
        return score_mean(*added(self._columns, weights_of(rules), len(self.pairs)), relaxation)

    def grounded(self, rules: Bools) -> Bools:
        """Which pairs have a grounding of one of these rules, all of them with a body."""
        found = np.zeros(len(self.pairs), dtype=np.bool_)
        for part in self._columns:
            found[part.cell[np.repeat(rules[part.rules], part.sizes)]] = True
        return found
