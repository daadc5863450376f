"""Counts one pair at a time for explanations, without starting threads.

The engine is made for many targets at once; what it sets up for a search costs more than the few
paths of one pair. Where facts are 0/1, variables may coincide and rules are paths, walks that meet
between the two entities count the same. Everything else goes to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import pointers
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import RuleLimits
from hornbeam.serve.entity_facts import is_edge
from hornbeam.serve.new_links import NewLinkFinder
from hornbeam.serve.walk import paths_between


@dataclass(frozen=True, eq=False)
class PairCounter:
    """Counts the bodies of a model's target for a single pair by walks, all else by the engine."""

    finder: NewLinkFinder

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given bodies for the targets; see `Engine.count`."""
        finder, pair = self.finder, self._plain_pair(targets)
        rules = finder.by_target.get(targets.predicates[int(targets.predicate[0])])
        if pair is None or rules is None or list(rules.paths) != list(bodies):
            return finder.engine.count(targets, bodies, language, progress=progress)
        counts, shares = paths_between(
            finder.graph, finder.weights, *pair, rules.forward, finder.arrays
        )
        some = counts > 0
        zeros = np.zeros(int(some.sum()), dtype=np.int32)
        share = shares[some] if language.shares else None
        return Statistics(bodies, 1, pointers(some), zeros, counts[some], share=share)

    def _plain_pair(self, targets: Targets) -> tuple[int, int] | None:
        """Ids of a single pair of known entities that is not a fact itself; None in other cases."""
        engine = self.finder.engine
        facts = engine.facts
        if len(targets) != 1 or not self.finder.walks_count:
            return None
        first, predicate, last = targets.names_at(0)
        subject, object_ = facts.entities.index(first), facts.entities.index(last)
        if min(subject, object_) < 0:
            return None
        return None if is_edge(engine, first, predicate, last) else (subject, object_)
