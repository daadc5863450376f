"""Pairs of a collective model in the explorer: all listed ones, inferred again after every edit.

The labelled pairs and the others are one set, labels aside, as if `hornbeam predict` had been given
both. There are no new links, since further pairs would change the set; and no facts are searched
whose removal flips a decision, since it would change all pairs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.explaining.explainer import JointExplainer, open_joint_explainer
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.known_scores import KnownScores
from hornbeam.facts.known import joined
from hornbeam.facts.table import Targets
from hornbeam.model import Model
from hornbeam.rules.rule_model import Rule
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.explorer_scorer import PATHS_SHOWN, NewLinks

#: Cached states of all pairs, with what explaining them needs: some 50 bytes per fact each.
KEPT_STATES = 8


class CollectivePairs:
    """Scores all listed pairs at once; see `ExplorerScorer`."""

    collective = True

    def __init__(
        self,
        model: Model,
        engine: MemoryEngine,
        listings: Sequence[Targets],
        progress: Progress = SILENT,
    ) -> None:
        self.model = model
        self.facts = engine.facts
        self.pairs = joined(listings)
        self._ends = np.cumsum([len(listing) for listing in listings])[:-1]
        self._unedited = open_joint_explainer(model, engine, self.pairs)
        self._inferred: BoundedCache[JointExplainer] = BoundedCache(KEPT_STATES, lambda _: 1)
        progress.message(f"Scoring {len(self.pairs):,} pairs together ...")
        self.seconds = _infer(self._unedited)

    def warm_up(self, progress: Progress) -> None:
        """Explain one pair, which builds the arrays that all of them share."""
        progress.message("Finding what links the pairs, rule by rule ...")
        with announced(progress):
            self.explain(self.model.rules, *self.pairs.names_at(0))

    def is_ready(self, rules: Sequence[Rule]) -> bool:
        """Whether the pairs have been inferred under these weights."""
        weights = _weights(rules)
        return weights == _weights(self.model.rules) or weights in self._inferred

    def scores(self, rules: Sequence[Rule]) -> list[Floats]:
        """Scores of all pairs, listing by listing."""
        return np.split(self._explainer(rules).pair_scores, self._ends)

    def explain(
        self, rules: Sequence[Rule], subject: str, target: str, object_: str, *, flip: bool = False
    ) -> Explanation:
        """Why a listed pair scores as it does, the others held at their MAP values."""
        if flip:
            raise InputError(
                "The model is collective: without a fact the scores of all pairs change, so facts "
                "that flip one decision are not searched for."
            )
        return self._explainer(rules).explain(subject, target, object_, paths=PATHS_SHOWN)

    def known(self, rules: Sequence[Rule]) -> KnownScores:
        """Scores of known links, next to those of all listed pairs."""
        return self._explainer(rules).known

    def new_links(
        self, rules: Sequence[Rule], entity: int, target: str, forward: bool, top: int
    ) -> NewLinks:
        """None: only listed pairs are scored."""
        return NewLinks([], 0, 0)

    def examples(self, top: int) -> list[str]:
        """The entities with most listed pairs."""
        ends = np.concatenate([self.pairs.subject, self.pairs.object])
        return self.pairs.entities.take(np.argsort(-np.bincount(ends), kind="stable")[:top])

    def lacks(self, rule: int) -> bool:
        """Whether neither facts nor pairs have a predicate for some body atom of a rule."""
        known = (self.facts.predicates, self.pairs.predicates)
        walked = self.model.rules[rule].clause.body.predicates - set(self.model.believed)
        return any(max(names.index(predicate) for names in known) < 0 for predicate in walked)

    def _explainer(self, rules: Sequence[Rule]) -> JointExplainer:
        """The explainer of all pairs under these weights, with their state."""
        weights = _weights(rules)
        if weights == _weights(self.model.rules):
            return self._unedited
        return self._inferred.get(weights, lambda: self._reweighted(rules))

    def _reweighted(self, rules: Sequence[Rule]) -> JointExplainer:
        made = self._unedited.reweighted(self.model.with_rules(rules))
        self.seconds = _infer(made)  # infer here, in the slow queue, not when a score is read
        return made


def _infer(explainer: JointExplainer) -> float:
    """Find the state of all pairs; returns the seconds that it took."""
    began = time.perf_counter()
    _ = explainer.pair_scores
    return time.perf_counter() - began


def _weights(rules: Sequence[Rule]) -> tuple[float, ...]:
    return tuple(rule.weight for rule in rules)
