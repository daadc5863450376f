"""Pairs that are asked together, as soft facts of what is believed of them.

A pair t(a, b) that is asked and no fact is an atom believed_t(a, b), as true as a first step scores
it. So bodies about other pairs are counted like all others, over facts and beliefs: a path
`cites(A, X) & believed_t(X, B)` adds up what is believed of the pairs it leads over, and the open
condition `believed_t(A, X)` what is believed of the subject's other pairs, its rivals.

No pair is evidence for itself: an asked pair has its own atom among the beliefs, a stated one among
the facts, and no pair has both. So each is counted as a target of that predicate whose atom it has,
which engines leave out. Where the target is symmetric, a pair's mirror image is the pair itself: of
the two, where both are asked, one is an atom, and both are counted as that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.arrays import Bools, Floats, Integers, Ints, part_numbers
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.folds import among_facts
from hornbeam.facts.known import rows_of_targets, with_targets
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.beliefs import believed
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Language
from hornbeam.rules.rule_model import PairDensity

#: Most groundings that link pairs to each other.
MAX_GROUNDINGS = 20_000_000


@dataclass(frozen=True, eq=False)
class BelievedPairs:
    """Facts, and pairs that are asked together with what is believed of them.

    Pairs among the facts are known and not asked, whatever is believed of them. If `symmetric`, a
    pair says the same as its mirror image.
    """

    engine: MemoryEngine  #: over the facts
    pairs: Targets
    belief: Floats
    symmetric: bool = False

    @property
    def facts(self) -> Facts:
        """The facts, without beliefs."""
        return self.engine.facts

    @cached_property
    def stated(self) -> Bools:
        """Which pairs stand among the facts."""
        return among_facts(self.facts, self.pairs)

    @cached_property
    def asked(self) -> Bools:
        """Which pairs are atoms: those that are no facts, each once."""
        asked = ~self.stated
        if self.symmetric:
            here, there = self._keys(self.pairs)
            asked &= (here <= there) | ~contained(there, np.sort(here[asked]))
        return asked

    def _keys(self, targets: Targets) -> tuple[Ints, Ints]:
        """Pairs, and their mirror images, as integers below 0 where an entity is not asked."""
        n = len(self.pairs.entities)
        node = targets.entities.translate(self.pairs.entities).astype(np.int64)
        subject, object_ = node[targets.subject], node[targets.object]
        unknown = (subject < 0) | (object_ < 0)
        keys = (pair_keys(*ends, n) for ends in ((subject, object_), (object_, subject)))
        here, there = (np.where(unknown, -1, key) for key in keys)
        return here, there

    @cached_property
    def _atoms(self) -> Ints:
        """Keys of the pairs that are atoms, sorted."""
        return np.sort(self._keys(self.pairs)[0][self.asked])

    def in_scored_direction(self, targets: Targets) -> Targets:
        """Targets as they are asked: those of which only the mirror image is, exchanged."""
        if not self.symmetric:
            return targets
        here, there = self._keys(targets)
        inverse_code = contained(there, self._atoms) & ~contained(here, self._atoms)
        return replace(
            targets,
            subject=np.where(inverse_code, targets.object, targets.subject),
            object=np.where(inverse_code, targets.subject, targets.object),
        )

    @cached_property
    def present(self) -> Facts:
        """Facts, and every asked pair as a fact of its believed predicate."""
        asked = self.pairs.select(self.asked)
        for name in asked.predicates:
            if self.facts.predicates.index(believed(name)) >= 0:
                raise InputError(
                    f"the facts have a predicate {believed(name)!r}, which is what a collective "
                    f"model of two steps calls its beliefs in {name!r}: rename it, or use "
                    '`collective="map"`'
                )
        return with_targets(self.facts, as_beliefs(asked))

    @cached_property
    def world(self) -> Facts:
        """Facts and beliefs; a belief is above 0, and never quite a fact."""
        united, asked = self.present, as_beliefs(self.pairs.select(self.asked))
        values = united.binary.all_millionths.copy()
        belief = np.clip(np.rint(self.belief[self.asked] * ONE), 1, ONE - 1)
        values[rows_of_targets(united, asked)] = belief
        edges = replace(united.binary, millionths=values)
        return replace(united, atoms={**united.atoms, 2: edges})

    @cached_property
    def over_beliefs(self) -> MemoryEngine:
        """Counts over facts and beliefs; which atom is a pair's own it does not know."""
        return self.engine.over(self.world)

    @cached_property
    def _over_present(self) -> MemoryEngine:
        return self.engine.over(self.present)

    def own_predicate(self, subject: str, target: str, object_: str) -> str:
        """The predicate that a pair's own atom has: its target if a fact, else its belief."""
        known = self.facts
        ends = known.entities.index(subject), known.entities.index(object_)
        table, p = known.binary, known.predicates.index(target)
        mine = (table.arguments[0] == ends[0]) & (table.arguments[1] == ends[1])
        return target if bool(np.any(mine & (table.predicate == p))) else believed(target)

    def belief_of(self, subject: str, target: str, object_: str) -> float | None:
        """What is believed of a pair; None where it is not among the pairs."""
        row = self.pairs.row_of(subject, target, object_)
        return None if row is None else float(self.belief[row])

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count bodies over facts alone and over beliefs, in the order of the bodies."""
        linked = np.array([is_linked(body, self.pairs.predicates) for body in bodies], np.bool_)
        plain = [body for body, other in zip(bodies, linked, strict=True) if not other]
        others = [body for body, other in zip(bodies, linked, strict=True) if other]
        targets = self.in_scored_direction(targets)
        counted = self.engine.count(targets, plain, language, progress=progress)
        if not others:
            return counted
        self.groundings(targets, others, language, progress)
        counted = counted.followed_by(self.count_linked(targets, others, language, progress))
        order = np.argsort(np.argsort(linked, kind="stable"))
        return counted.only(order)

    def count_linked(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count bodies with beliefs in them."""
        language = replace(language, shares=False)
        return self._count(self.over_beliefs, targets, bodies, language, progress)

    def groundings(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count bodies as if every asked pair were a fact, which needs no room per grounding.

        More of them than there is room for are refused.
        """
        language = replace(language, shares=False)
        counted = self._count(self._over_present, targets, bodies, language, progress)
        if int(counted.count.sum()) > MAX_GROUNDINGS:
            raise InputError(
                f"more than {MAX_GROUNDINGS:,} groundings would link the pairs to each other: "
                "score fewer pairs at a time, or learn with a higher `min_coverage` or a smaller "
                "`max_length`"
            )
        return counted

    def _count(
        self,
        engine: MemoryEngine,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        progress: Progress,
    ) -> Statistics:
        """Count every target as one of the predicate that its own atom has."""
        targets = self.in_scored_direction(targets)
        stated = among_facts(self.facts, targets)
        renamed = [body.with_target(believed(body.target)) for body in bodies]
        if not stated.any():
            counted = engine.count(as_beliefs(targets), renamed, language, progress=progress)
            return replace(counted, bodies=bodies)
        both = engine.count(
            as_beliefs(targets, ~stated), [*bodies, *renamed], language, progress=progress
        )
        body = part_numbers(both.indptr) % len(bodies)
        rows = (body, both.target, both.all_truths, both.count)
        return Statistics.of(bodies, len(targets), *rows)


def is_linked(body: Body, targets: Names) -> bool:
    """Whether a body has beliefs in one of the targets."""
    return any(believed(target) in body.predicates for target in targets)


def pair_density(pairs: Targets, request: Integers | None = None) -> PairDensity:
    """How the pairs of a request are spread, or of several that are numbered."""
    n, request = len(pairs.entities), pairs.predicate if request is None else request
    figures, alone = list[float](), np.ones(len(pairs), dtype=np.bool_)
    for end in (pairs.subject, pairs.object):
        keys = pair_keys(request, end, n)
        distinct, place, size = np.unique(keys, return_inverse=True, return_counts=True)
        figures.append(round(len(pairs) / max(len(distinct), 1), 3))
        alone &= size[place] == 1
    per_subject, per_object = figures
    share = float(alone.mean()) if len(pairs) else 0.0
    return PairDensity(per_subject, per_object, round(share, 3))


def as_beliefs(targets: Targets, rows: Bools | None = None) -> Targets:
    """Targets, or some of them, as targets of belief."""
    names = [believed(name) for name in targets.predicates]
    predicates = Names.of([*names, *targets.predicates])
    number = predicates.find(names)[targets.predicate]
    if rows is not None:
        same = targets.predicates.translate(predicates)[targets.predicate]
        number = np.where(rows, number, same)
    return replace(targets, predicates=predicates, predicate=number.astype(np.int32))
