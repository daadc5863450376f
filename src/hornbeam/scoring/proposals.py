"""New links: follow the rules from one argument instead of scoring every pair.

Which pairs may be proposed is defined in `hornbeam.scoring.proposable`; `Margins` finds a superset,
with upper bounds. The best of all subjects, or of each, are found without scoring all of these
(`hornbeam.scoring.best_links`); what is scored is counted exactly like any other pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats, Ids
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.names import unknown_entity
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.best_links import ScoredPairs, best_of_all, best_of_each
from hornbeam.scoring.independent_scores import score_targets, strengths
from hornbeam.scoring.margin_terms import only_argument
from hornbeam.scoring.margins import Margins, PairBounds, bounding_model, is_plain
from hornbeam.scoring.proposable import grounded_pairs, positive_bodies, proposable

#: Maximum number of starts followed at once, and roughly that of the pairs that conditions alone
#: may give them.
MAX_STARTS = 256
MAX_PAIRS = 4_000_000


def best_new_links(
    model: RuleModel,
    engine: MemoryEngine,
    counter: Engine,
    target: str,
    subjects: Ids,
    *,
    top: int,
    per_subject: bool = False,
    score: Score = Score.MEAN,
    types: ArgumentTypes,
    progress: Progress = SILENT,
) -> tuple[Targets, Floats]:
    """Find the best `top` pairs, overall or of every subject, that are not facts yet.

    The engine's graph is walked, and the pairs that are found are counted by `counter`. Only pairs
    that `proposable` allows come out, under the rules' own variables, thresholds and fan-out limit.
    Best first, ties by subject and object; by subject first where `per_subject`.
    """
    if model.semantics.collective:
        raise InputError("a collective model scores pairs together and proposes none: give `pairs`")
    proposer = Proposer(model.of_target(target), engine, target, types, score=score)
    search = best_of_each if per_subject else best_of_all

    def score_ids(subject: Ids, object_: Ids) -> ScoredPairs:
        return proposer.scored(subject, object_, counter)

    best = search(proposer.margins, score_ids, subjects, top, score, progress)
    return proposer.pairs(best.start, best.end), best.score


@dataclass(frozen=True, eq=False)
class Proposer:
    """Proposes pairs of one target from their argument `near`: subjects (0) or objects (1).

    The rules are those of the target.
    """

    model: RuleModel
    engine: MemoryEngine
    target: str
    types: ArgumentTypes
    near: int = 0
    score: Score = Score.MEAN

    @cached_property
    def margins(self) -> Margins:
        """Finds pairs, with bounds."""
        bounding = bounding_model(self.model, self.engine)
        return Margins(*bounding, self.target, self.types, self.near)

    def pairs(self, start: Ids, end: Ids) -> Targets:
        """Pairs from starts to ends as targets."""
        ends = self.margins.ordered(start, end)
        return Targets.between(self.engine.facts.entities, self.target, *ends)

    def scored(self, start: Ids, end: Ids, counter: Engine | None = None) -> ScoredPairs:
        """Count pairs, by the engine if there is no other `counter`, and score them.

        Those that may not be proposed are left out.
        """
        model, pairs = self.model, self.pairs(start, end)
        counted = (counter or self.engine).count(pairs, model.bodies, model.language)
        grounded = grounded_pairs(counted, positive_bodies(model))
        may = proposable(self.types, self.target, pairs.subject, pairs.object, grounded)
        scores = score_targets(model, counted, pairs, self.score)
        return ScoredPairs(start, end, scores).take(may)

    def links_from(self, starts: Ids) -> Iterator[tuple[int, ScoredPairs]]:
        """All pairs that may be proposed, facts among them, a block of starts at a time.

        Comes with the number of starts done.
        """
        wide = self.margins.ends_by_conditions
        size = max(1, min(MAX_STARTS, MAX_PAIRS // max(wide, 1)))
        for low in range(0, len(starts), size):
            block = starts[low : low + size]
            yield low + len(block), self._links_from(block)

    def _links_from(self, starts: Ids) -> ScoredPairs:
        """All pairs of some starts."""
        found = self.margins.above(starts, -np.inf)
        plain = is_plain(self.model, self.engine.facts)
        new = self._by_columns(found) if plain else self.scored(found.start, found.end)
        return ScoredPairs.concatenated([new, self.scored(*self.margins.facts_of(starts))])

    def _by_columns(self, found: PairBounds) -> ScoredPairs:
        """Score new pairs, rules about one argument alone by columns over entities.

        A rule such as `p(B, X)` proposes the same entities to many starts, most of which no other
        rule connects with them, so that counting it for every pair would take long.
        """
        start, end, rules = found.start, found.end, self._connecting
        up, down = self.margins.by_ends(start, end)
        connected = np.flatnonzero(found.connected)
        pairs = self.pairs(start[connected], end[connected])
        counted = self.engine.count(pairs, rules.bodies, self.model.language)
        more_up, more_down = strengths(rules, counted, pairs)
        up[connected] += more_up
        down[connected] += more_down
        by_both = np.zeros(len(start), dtype=np.bool_)
        by_both[connected] = grounded_pairs(counted, positive_bodies(rules)).get(None, False)
        grounded = {None: by_both, **self.margins.grounded_by_ends(start, end)}
        may = proposable(self.types, self.target, *self.margins.ordered(start, end), grounded)
        closed_form = score_map if self.score is Score.MAP else score_mean
        scores = closed_form(up[may], down[may], self.model.semantics.relaxation)
        return ScoredPairs(start[may], end[may], scores)

    @cached_property
    def _connecting(self) -> RuleModel:
        """The rules about both arguments."""
        return self.model.with_rules(r for r in self.model.rules if only_argument(r) is None)


def subjects_of(facts: Facts, target: str, names: Sequence[str] | None = None) -> Ids:
    """Entities to propose links for: those named, else the target's known subjects, else all."""
    if names is not None:
        found = facts.entities.find(names)
        if (found < 0).any():
            unknown = names[int(np.argmax(found < 0))]
            raise unknown_entity(unknown, facts.entities, "subject")
        return np.unique(found)
    known = np.unique(facts.links(target)[0])
    return known.astype(np.int32) if len(known) else np.arange(len(facts.entities), dtype=np.int32)
