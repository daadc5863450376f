"""New links: follow the rules from one argument instead of scoring every pair.

Which pairs may be proposed is defined by `proposable`, and every search is held to it. `Margins`
finds a superset of these pairs, with upper bounds of their scores. The best of all subjects, or of
each, are found without scoring all of them (`hornbeam.scoring.best_links`): what is scored is
counted exactly like any other pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.columns import Columns
from hornbeam.counting.engine import Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.densities.integrals import closed_form_score
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import AnyBody, free_argument
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts, Weighing
from hornbeam.scoring.best_links import BestPairs, ScoreBounds, ScoredPairs
from hornbeam.scoring.independent_scores import score_targets, strengths
from hornbeam.scoring.margin_kernels import PairBounds
from hornbeam.scoring.margin_terms import only_argument, positive_bodies
from hornbeam.scoring.margins import Margins, bounding_model, is_plain

#: Maximum number of subjects walked from at once for the best of all, which begins with one and
#: doubles each time; for the best of each; and of starts for all links. The last two are fewer
#: where conditions alone may give them more than about `MAX_PAIRS` pairs.
MAX_SUBJECTS = 1024
SUBJECTS_OF_EACH = 128
MAX_STARTS = 256
MAX_PAIRS = 4_000_000
#: Maximum number of entities that are scored at once for a unary target.
MAX_ENTITIES = 100_000
#: Pairs that are counted first, in addition to `top`: of all, and of each subject.
FIRST_PAIRS = 64
FIRST_OF_EACH = 4

#: Which pairs have a grounding of some rule for the target, by the argument that the rule leaves
#: free (None where it has conditions on both).
GroundedPairs = Mapping[int | None, Bools]


def proposable(
    types: ArgumentTypes,
    target: str,
    subject: Integers,
    object_: Integers,
    grounded: GroundedPairs,
    *,
    unary: bool = False,
) -> Bools:
    """Which pairs may be proposed; whether they are facts already is for callers to look at.

    A pair may be proposed if it is not a fact, some rule for its relation has a grounding for it,
    an argument on which that rule has no condition occurs in its place in a known link, both
    arguments have types that known links have in their places, and they are the same entity only
    where a known link is such a loop.

    Without any known link an argument may be any entity, and so it may where types are not known. A
    rule against the relation never adds a pair. Known links are facts and, in the explorer, true
    labels. An entity may be proposed for a `unary` target if some rule has a grounding for it and
    it has a type that entities of known facts have.

    Subjects, objects and the masks of `grounded` are broadcast against each other.
    """
    may: Bools = np.zeros(1, dtype=np.bool_)
    for free, mask in grounded.items():
        standing = None if free is None else types.standing(target, free)
        may = may | (mask if standing is None else mask & standing[(object_ if free else subject)])
    return may & types.fits(target, subject, object_, unary=unary)


def grounded_pairs(counted: Statistics, bodies: Iterable[AnyBody]) -> GroundedPairs:
    """Which of the counted pairs have a grounding of one of the bodies, by their free argument."""
    columns, exists = Columns(counted), Weighing(Counts.EXISTS)
    grounded: dict[int | None, Bools] = {}
    for body in bodies:
        mask = grounded.setdefault(free_argument(body), np.zeros(counted.n_targets, dtype=np.bool_))
        mask[columns.of(body, exists)[0]] = True
    return grounded


@dataclass(frozen=True, eq=False)
class Proposer:
    """Proposes pairs of one target from their argument `near`: subjects (0) or objects (1).

    The rules are those of the target. The engine's graph is walked, and the pairs that are found
    are counted by the engine, or by `counter` over the same facts.
    """

    model: RuleModel
    engine: MemoryEngine
    target: str
    types: ArgumentTypes
    near: int = 0
    score: Score = Score.MEAN
    counter: Engine | None = None
    ends: Ids | None = None  #: the only ends of the best pairs

    @cached_property
    def unary(self) -> bool:
        """Whether the target is on one entity, which is both ends of its pair."""
        return self.model.target_arities.get(self.target) == 1

    @cached_property
    def margins(self) -> Margins:
        """Finds pairs, with bounds."""
        bounding = bounding_model(self.model, self.engine)
        return Margins(*bounding, self.target, self.types, self.near)

    def pairs(self, start: Ids, end: Ids) -> Targets:
        """Pairs from starts to ends as targets."""
        if self.unary:
            entities = self.engine.facts.entities
            return Targets.between(entities, self.target, start, end, unary=True)
        ends = self.margins.ordered(start, end)
        return Targets.between(self.engine.facts.entities, self.target, *ends)

    def scored(self, start: Ids, end: Ids) -> ScoredPairs:
        """Count and score pairs; those that may not be proposed are left out."""
        model, pairs = self.model, self.pairs(start, end)
        counted = (self.counter or self.engine).count(pairs, model.bodies, model.language)
        grounded = grounded_pairs(counted, positive_bodies(model))
        ends = pairs.subject, pairs.object
        may = proposable(self.types, self.target, *ends, grounded, unary=self.unary)
        scores = score_targets(model, counted, pairs, self.score)
        return ScoredPairs(start, end, scores).take(may)

    def best_of_all(self, starts: Ids, top: int, progress: Progress = SILENT) -> ScoredPairs:
        """Find the best `top` pairs that are not facts yet, ties by start and end.

        Starts are queued by the best score that any of their pairs could have, and dropped when
        they cannot enter the best any more. For a unary target the starts themselves are scored.
        """
        if self.unary:
            return self._best_entities(starts, top, progress)
        best, margin = BestPairs(top, per_subject=False), self.margins.most(starts)
        order = np.lexsort((starts, -margin))
        waiting, bound = starts[order], self._bounds.of(margin[order])
        most, size = float(np.abs(margin).max(initial=1.0)), 1
        while len(waiting):
            block, waiting, bound = waiting[:size], waiting[size:], bound[size:]
            floor = self._bounds.least_margins(best.least(block[:1]), most)
            pairs = self._above(np.sort(block), float(floor[0]))
            best = best.with_best_of(pairs, self.scored, self._bounds, FIRST_PAIRS)
            kept = best.may_include(bound, waiting)
            waiting, bound = waiting[kept], bound[kept]
            size = min(2 * size, MAX_SUBJECTS)
            progress.advance("Following rules", len(starts) - len(waiting), len(starts))
        return best.pairs

    def _best_entities(self, starts: Ids, top: int, progress: Progress) -> ScoredPairs:
        """Find the best `top` entities that are not facts of the unary target yet, ties by id."""
        starts = np.setdiff1d(starts, self.engine.facts.links(self.target)[0])
        best = ScoredPairs.concatenated([])
        for low in range(0, len(starts), MAX_ENTITIES):
            block = starts[low : low + MAX_ENTITIES]
            found = ScoredPairs.concatenated([best, self.scored(block, block)])
            best = found.take(np.lexsort((found.start, -found.score))[:top])
            progress.advance("Following rules", low + len(block), len(starts))
        return best

    def best_of_each(self, starts: Ids, top: int, progress: Progress = SILENT) -> ScoredPairs:
        """Find the best `top` pairs of every start, in the order of starts; see `best_of_all`."""
        none, blocks = BestPairs(top, per_subject=True), list[ScoredPairs]()
        for done, block in self._blocks(np.sort(starts), SUBJECTS_OF_EACH):
            pairs = self._above(block, -np.inf)
            best = none.with_best_of(pairs, self.scored, self._bounds, FIRST_OF_EACH)
            blocks.append(best.pairs)
            progress.advance("Following rules", done, len(starts))
        return ScoredPairs.concatenated(blocks)

    def _above(self, starts: Ids, floor: float) -> PairBounds:
        """Pairs to the wanted ends that are not facts and whose margin may reach `floor`."""
        found = self.margins.above(starts, floor)
        if self.ends is None:
            return found
        return found.take(np.isin(found.end, self.ends))

    def links_from(self, starts: Ids) -> Iterator[tuple[int, ScoredPairs]]:
        """All pairs that may be proposed, facts among them, a block of starts at a time.

        Comes with the number of starts done.
        """
        for done, block in self._blocks(starts, MAX_STARTS):
            yield done, self._links_from(block)

    def _blocks(self, starts: Ids, size: int) -> Iterator[tuple[int, Ids]]:
        """Blocks of at most `size` starts, each with the number of starts up to its end."""
        size = max(1, min(size, MAX_PAIRS // max(self.margins.ends_by_conditions, 1)))
        for low in range(0, len(starts), size):
            block = starts[low : low + size]
            yield low + len(block), block

    @cached_property
    def _bounds(self) -> ScoreBounds:
        return ScoreBounds(self.model.semantics.relaxation, self.score)

    def _links_from(self, starts: Ids) -> ScoredPairs:
        """All pairs of some starts."""
        pairs = self.margins.above(starts, -np.inf)
        plain = is_plain(self.model, self.engine.facts)
        new = self._by_columns(pairs) if plain else self.scored(pairs.start, pairs.end)
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
        relaxation = self.model.semantics.relaxation
        scores = closed_form_score(self.score, up[may], down[may], relaxation)
        return ScoredPairs(start[may], end[may], scores)

    @cached_property
    def _connecting(self) -> RuleModel:
        """The rules about both arguments."""
        return self.model.with_rules(r for r in self.model.rules if only_argument(r) is None)


def subjects_of(facts: Facts, target: str) -> Ids:
    """Entities to propose links for: the target's known subjects, or all if it has none.

    For a unary target they are all entities.
    """
    known = np.unique(facts.links(target)[0]) if target not in facts.unary else np.empty(0)
    return known.astype(np.int32) if len(known) else np.arange(len(facts.entities), dtype=np.int32)
