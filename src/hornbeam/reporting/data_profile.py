"""Figures of the data: predicates, degrees, and names that no fact has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Ints, Positions
from hornbeam.facts.known import without_targets
from hornbeam.facts.table import ONE, Atoms, Facts, Targets

#: Maximum number of missing names that are shown.
SHOWN = 20


@dataclass(frozen=True)
class PredicateProfile:
    """Figures of one predicate; only predicates of two arguments have subjects and objects."""

    name: str
    arity: int
    facts: int
    subjects: int | None
    objects: int | None
    widest: int | None  #: maximum number of objects of one subject
    used: bool  #: whether a rule of the model has the predicate in its body


@dataclass(frozen=True)
class DataProfile:
    """Figures of the facts and labels for a report."""

    facts: int
    entities: int
    soft: int  #: facts with a truth value strictly between 0 and 1
    predicates: tuple[PredicateProfile, ...]  #: predicates with most facts first
    #: (least degree, greatest degree, number of entities) per range between powers of two. The
    #: degree of an entity is the number of facts about it.
    degrees: tuple[tuple[int, int, int], ...]
    unseen: int  #: number of labelled pairs with an entity that no fact has
    unseen_names: tuple[str, ...]  #: entities without facts, at most `SHOWN`, in the order of names
    missing_predicates: tuple[str, ...]  #: predicates of rules that no fact has
    own_facts: int  #: number of facts that state a labelled pair: they are not evidence for it
    times: int  #: number of times that facts were true, 0 without times

    def in_names(self, shown: Callable[[str], str]) -> DataProfile:
        """The profile with names of entities and predicates instead of ids."""
        return replace(
            self,
            predicates=tuple(
                replace(predicate, name=shown(predicate.name)) for predicate in self.predicates
            ),
            unseen_names=tuple(map(shown, self.unseen_names)),
            missing_predicates=tuple(map(shown, self.missing_predicates)),
        )


def profile(facts: Facts, labels: Targets, walked: Iterable[str]) -> DataProfile:
    """Profile the facts, the labels, and the predicates in the bodies of rules."""
    walked = set(walked)
    to_entity = labels.entities.translate(facts.entities)
    unseen = (to_entity[labels.subject] < 0) | (to_entity[labels.object] < 0)
    named = np.unique(np.concatenate([labels.subject, labels.object]))
    missing = named[to_entity[named] < 0]
    soft = sum(
        int((table.millionths < ONE).sum())
        for table in facts.atoms.values()
        if table.millionths is not None
    )
    return DataProfile(
        len(facts),
        len(facts.entities),
        soft,
        tuple(_predicates(facts, walked)),
        _degrees(_facts_of_entities(facts)),
        int(unseen.sum()),
        tuple(labels.entities.take(missing[:SHOWN])),
        tuple(sorted(name for name in walked if facts.predicates.index(name) < 0)),
        len(facts) - len(without_targets(facts, labels)),
        0 if facts.events is None else len(facts.events),
    )


def _predicates(facts: Facts, walked: set[str]) -> list[PredicateProfile]:
    found = []
    for arity, atoms in facts.atoms.items():
        order = np.argsort(atoms.predicate, kind="stable")
        bounds = np.searchsorted(atoms.predicate[order], np.arange(len(facts.predicates) + 1))
        for p in np.unique(atoms.predicate).tolist():
            name, rows = facts.predicates[p], order[bounds[p] : bounds[p + 1]]
            found.append(
                PredicateProfile(name, arity, len(rows), *_sides(atoms, rows), name in walked)
            )
    return sorted(found, key=lambda row: (-row.facts, row.name))


def _sides(atoms: Atoms, rows: Positions) -> tuple[int | None, int | None, int | None]:
    """Numbers of subjects, of objects, and of objects per subject at most; None unless binary."""
    if atoms.arity != 2:
        return None, None, None
    subjects, fanout = np.unique(atoms.arguments[0][rows], return_counts=True)
    return len(subjects), len(np.unique(atoms.arguments[1][rows])), int(fanout.max())


def _facts_of_entities(facts: Facts) -> Ints:
    """Number of facts per entity; a fact counts once per argument that is the entity."""
    places = [ids for atoms in facts.atoms.values() for ids in atoms.arguments]
    return np.bincount(
        np.concatenate([*places, np.empty(0, dtype=np.int32)]), minlength=len(facts.entities)
    )


def _degrees(degree: Ints) -> tuple[tuple[int, int, int], ...]:
    """Numbers of entities by degree: 0, 1, 2-3, 4-7 and so on."""
    if not len(degree):
        return ()
    bins = np.where(degree > 0, np.floor(np.log2(np.maximum(degree, 1))) + 1, 0).astype(np.int64)
    counts = np.bincount(bins)
    rows = [(2**k // 2, 2**k - 1, n) for k, n in enumerate(counts.tolist())]
    return tuple(rows[1:] if not counts[0] else rows)
