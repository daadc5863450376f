"""Pairs that are scored together, as soft facts.

A pair t(a, b) to be scored that is not a fact becomes an atom believed_t(a, b), whose truth value
is the score of the first step. So bodies about other pairs are counted like all others, over facts
and beliefs: a path `cites(A, X) & believed_t(X, B)` adds up the beliefs in the pairs on it, and the
open condition `believed_t(A, X)` those in the subject's other pairs, its rivals.

No pair is evidence for itself: the atom of a scored pair is among the beliefs, that of a known pair
among the facts, and no pair has both. So each is counted as a target of the predicate of its atom,
which engines leave out. Where the target is symmetric, a pair's mirror image is the pair itself: if
both are scored, one of them is an atom, and both are counted as that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Integers, Ints, part_numbers
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.known import among_facts, rows_of_targets, with_targets
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.rule_model import PairDensity, believed

#: Maximum number of groundings that link pairs to each other.
MAX_GROUNDINGS = 20_000_000


@dataclass(frozen=True, eq=False)
class BelievedPairs:
    """Facts, and pairs that are scored together with the beliefs in them.

    Pairs among the facts are known and not atoms of belief, whatever their `belief`. If
    `symmetric`, a pair and its mirror image are one.
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
        """Which pairs are among the facts."""
        return among_facts(self.facts, self.pairs)

    @cached_property
    def is_belief_atom(self) -> Bools:
        """Which pairs are atoms of belief: those that are not facts, each once."""
        is_atom = ~self.stated
        if self.symmetric:
            key, mirrored = self._keys(self.pairs)
            is_atom &= (key <= mirrored) | ~contained(mirrored, np.sort(key[is_atom]))
        return is_atom

    def _keys(self, targets: Targets) -> tuple[Ints, Ints]:
        """Keys of pairs and of their mirror images; -1 where an entity is in no scored pair."""
        n = len(self.pairs.entities)
        node = targets.entities.translate(self.pairs.entities).astype(np.int64)
        subject, object_ = node[targets.subject], node[targets.object]
        unknown = (subject < 0) | (object_ < 0)
        keys = (pair_keys(*ends, n) for ends in ((subject, object_), (object_, subject)))
        key, mirrored = (np.where(unknown, -1, key) for key in keys)
        return key, mirrored

    @cached_property
    def _atoms(self) -> Ints:
        """Keys of the pairs that are atoms, sorted."""
        return np.sort(self._keys(self.pairs)[0][self.is_belief_atom])

    def in_scored_direction(self, targets: Targets) -> Targets:
        """Targets with subject and object swapped where only their mirror image is scored."""
        if not self.symmetric:
            return targets
        key, mirrored = self._keys(targets)
        swapped = contained(mirrored, self._atoms) & ~contained(key, self._atoms)
        return replace(
            targets,
            subject=np.where(swapped, targets.object, targets.subject),
            object=np.where(swapped, targets.subject, targets.object),
        )

    @cached_property
    def with_pairs_as_facts(self) -> Facts:
        """Facts, and every scored pair as a fact of its believed predicate."""
        atoms = self.pairs.select(self.is_belief_atom)
        for name in atoms.predicates:
            if self.facts.predicates.index(believed(name)) >= 0:
                raise InputError(
                    f"the facts have a predicate {believed(name)!r}, which is what a collective "
                    f"model of two steps calls its beliefs in {name!r}: rename it, or use "
                    '`collective="map"`'
                )
        return with_targets(self.facts, as_beliefs(atoms))

    @cached_property
    def with_beliefs(self) -> Facts:
        """Facts and beliefs, which are clipped to truth values strictly between 0 and 1."""
        united, atoms = self.with_pairs_as_facts, as_beliefs(self.pairs.select(self.is_belief_atom))
        belief = np.clip(np.rint(self.belief[self.is_belief_atom] * ONE), 1, ONE - 1)
        tables = dict(united.atoms)
        for arity, some in atoms.by_arity.items():
            values = tables[arity].all_millionths.copy()
            values[rows_of_targets(united, atoms, arity)[some]] = belief[some]
            tables[arity] = replace(tables[arity], millionths=values)
        return replace(united, atoms=tables)

    @cached_property
    def over_beliefs(self) -> MemoryEngine:
        """The engine over facts and beliefs; callers must exclude each pair's own atom."""
        return self.engine.over(self.with_beliefs)

    @cached_property
    def _over_pairs_as_facts(self) -> MemoryEngine:
        return self.engine.over(self.with_pairs_as_facts)

    def own_predicate(self, subject: str, target: str, object_: str) -> str:
        """The predicate that a pair's own atom has: its target if a fact, else its belief."""
        return target if self.facts.has(subject, target, object_) else believed(target)

    def belief_of(self, subject: str, target: str, object_: str) -> float | None:
        """The belief in a pair; None where it is not among the pairs."""
        row = self.pairs.row_of(subject, target, object_)
        return None if row is None else float(self.belief[row])

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
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
        self.count_linked(targets, others, language, progress, as_facts=True)
        counted = counted.followed_by(self.count_linked(targets, others, language, progress))
        order = np.argsort(np.argsort(linked, kind="stable"))
        return counted.only(order)

    def count_linked(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        progress: Progress = SILENT,
        *,
        as_facts: bool = False,
    ) -> Statistics:
        """Count bodies with beliefs in them; `as_facts` counts every scored pair as a true fact.

        Counts `as_facts` take no memory per grounding, and are refused above `MAX_GROUNDINGS`.
        Every target is counted as one of the predicate of its own atom.
        """
        engine = self._over_pairs_as_facts if as_facts else self.over_beliefs
        language, targets = replace(language, shares=False), self.in_scored_direction(targets)
        stated = among_facts(self.facts, targets)
        renamed = [body.with_target(believed(body.target)) for body in bodies]
        if stated.any():
            of_own_atoms = as_beliefs(targets, ~stated)
            both = engine.count(of_own_atoms, [*bodies, *renamed], language, progress=progress)
            body = part_numbers(both.indptr) % len(bodies)
            rows = (body, both.target, both.all_truths, both.count)
            counted = Statistics.of(bodies, len(targets), *rows)
        else:
            counted = engine.count(as_beliefs(targets), renamed, language, progress=progress)
            counted = replace(counted, bodies=bodies)
        if as_facts and int(counted.count.sum()) > MAX_GROUNDINGS:
            raise InputError(
                f"more than {MAX_GROUNDINGS:,} groundings would link the pairs to each other: "
                "score fewer pairs at a time, or learn with a higher `min_coverage` or a smaller "
                "`max_length`"
            )
        return counted


def is_linked(body: Body, targets: Names) -> bool:
    """Whether a body has beliefs in one of the targets."""
    return any(believed(target) in body.predicates for target in targets)


def pair_density(pairs: Targets, request: Integers | None = None) -> PairDensity:
    """Pairs per subject and object of one request, or averaged over several numbered requests."""
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
    unary = targets.unary.union(map(believed, targets.unary))
    return replace(targets, predicates=predicates, predicate=number.astype(np.int32), unary=unary)
