"""Learning from facts alone: the target's own facts are the positives, negatives are sampled.

A knowledge graph lists what is true, not what is false. A negative is made from a random true pair
t(s, o) by a coin flip: its subject or its object is replaced by another entity, and the result is
kept where it is not a known fact. With q the shares of the true pairs that a subject or an object
has, and r the distribution of replacements, an unknown pair is drawn in proportion to

    (q(s) r(o) + r(s) q(o)) / 2.

What r is decides how hard the negatives are, and with it what scores mean (see `with_negatives`).

A negative of a target on one entity is another entity: by default one like the true ones.

Where the facts state false pairs of a predicate (truth value 0), these are its negatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Integers, Ints, Millionths
from hornbeam.base.choices import Sampling
from hornbeam.errors import InputError, UnknownTargetError, warn
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets, wrong_arity

#: Draws per wanted negative before rejection gives up on a relation that is nearly complete.
DRAWS_PER_NEGATIVE = 50
#: Maximum number of pairs drawn at once, or listed where that is out of proportion to the facts.
BLOCK = 1 << 22


def with_negatives(
    facts: Facts,
    predicates: Sequence[str],
    ratio: float = 1.0,
    sampling: Sampling = "typed",
    *,
    rng: np.random.Generator,
) -> Targets:
    """Return the positives of each predicate, followed by sampled negatives with label 0.

    Predicates come in the order of their names. Positives are facts that count as true (value >=
    0.5); the targets share the facts' table of entities. No negative is a known fact of its
    predicate, of whatever value, and none comes twice. The same facts and the same state of `rng`
    give the same targets.

    `round(ratio * positives)` negatives are drawn; fewer where no more exist, with a warning that
    gives the number: somewhat unbalanced labels are of more use than none. `sampling` decides where
    replacements come from, and so how hard the negatives are:

    - "uniform": any entity, each as likely. Most negatives are easy, since they are not even
      of the right type. Rules learn the type of the arguments, the AUC is optimistic, and
      scores are too high for pairs of the right type.
    - "typed": any entity that a true fact of the predicate has in that place, each as likely.
      The type no longer helps, so the AUC is lower and closer to the task of finding missing
      links. That an entity is popular still does help. The default: on public graphs it ranks
      facts that were held out best (`benchmarks/bench_sampling.py`). Where a type is given for
      the argument (`Facts.with_types`), any entity of the type, also for "uniform".
    - "frequency": an entity of that place, by its frequency there. A popular object is
      then about as common among the negatives as among the positives, so that popularity no
      longer helps. These are the hardest, and the most likely to be true but unknown.

    Where facts state false pairs of a predicate, all of these are its negatives, and none is drawn.

    For a predicate on one entity, "typed" draws entities of a type that true ones have. Without
    types it draws from those that stand in the facts where most of the true ones do. "frequency" is
    refused.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts
    >>> facts = read_facts([("a", "knows", "b"), ("b", "knows", "c"), ("c", "is", "d")])
    >>> with_negatives(facts, ["knows"], 1.0, rng=np.random.default_rng(0))
    Targets(4 pairs of knows, 2 true)
    """
    if not (math.isfinite(ratio) and ratio >= 0.0):
        raise InputError(f"`negatives` is {ratio}; expected a number of at least 0")
    if sampling not in get_args(Sampling):
        choices = ", ".join(get_args(Sampling))
        raise InputError(f"unknown `negative_sampling` {sampling!r}; expected one of: {choices}")
    names = Names.of(predicates)
    parts = [_labelled(facts, name, ratio, sampling, rng) for name in names]
    ids = np.repeat(np.arange(len(names), dtype=np.int32), [len(labels) for _, _, labels in parts])
    subject, object_, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    unary = facts.unary.intersection(names)
    return Targets(facts.entities, names, ids, subject, object_, labels, unary)


def _labelled(
    facts: Facts, predicate: str, ratio: float, sampling: Sampling, rng: np.random.Generator
) -> tuple[Ids, Ids, Millionths]:
    """Subjects, objects and labels of one predicate."""
    subject, object_, true = _edges(facts, predicate)
    n_entities, denied = len(facts.entities), facts.denied_of(predicate)
    if denied is not None:
        ends = ((subject, denied.arguments[0]), (object_, denied.arguments[-1]))
        subjects, objects = (np.append(known[true], false) for known, false in ends)
        labels = np.repeat([ONE, 0], [int(true.sum()), len(denied)]).astype(np.int32)
        return subjects, objects, labels
    if predicate in facts.unary:
        return _labelled_entities(facts, predicate, subject, true, ratio, sampling, rng)
    known = np.sort(pair_keys(subject, object_, n_entities))
    subject, object_ = subject[true], object_[true]
    given = given_ends(facts, predicate)
    region = _Region.of(subject, object_, known, n_entities, sampling, given)
    wanted = round(ratio * len(subject))
    drawn = _drawn(region, wanted, rng)
    if len(drawn) < wanted:
        _warn_of_shortage(predicate, sampling, wanted, len(drawn))
    subjects = np.append(subject, drawn // n_entities).astype(np.int32)
    objects = np.append(object_, drawn % n_entities).astype(np.int32)
    return subjects, objects, np.repeat([ONE, 0], [len(subject), len(drawn)]).astype(np.int32)


def _labelled_entities(
    facts: Facts,
    predicate: str,
    known: Ids,
    is_true: Bools,
    ratio: float,
    sampling: Sampling,
    rng: np.random.Generator,
) -> tuple[Ids, Ids, Millionths]:
    """Entities of a unary predicate as subjects and as objects, and their labels."""
    if sampling == "frequency":
        raise InputError(
            f"`negative_sampling` 'frequency' draws ends of pairs, and {predicate!r} is on one "
            "entity; expected 'typed' or 'uniform'"
        )
    true = known[is_true]
    pool: Integers | None = given_ends(facts, predicate)[0]
    if pool is None:
        uniform = sampling == "uniform"
        pool = np.arange(len(facts.entities)) if uniform else _similar(facts, predicate, true)
    pool, wanted = np.setdiff1d(pool, known), round(ratio * len(true))
    drawn = rng.permutation(pool)[:wanted]
    if len(drawn) < wanted:
        _warn_of_shortage(predicate, sampling, wanted, len(drawn), "entity")
    entities = np.append(true, drawn).astype(np.int32)
    return entities, entities, np.repeat([ONE, 0], [len(true), len(drawn)]).astype(np.int32)


def _similar(facts: Facts, predicate: str, entities: Ids) -> Integers:
    """Entities of the types of some entities; without types, those in their commonest place.

    A place is an argument of any predicate but the given one. Where several are as common, the one
    with the fewest entities counts.
    """
    table, n = facts.of_arity(1), len(facts.entities)
    others = table.select(table.predicate != facts.predicates.index(predicate))
    atoms = {**facts.atoms, 1: others}
    kind = ArgumentTypes(replace(facts, atoms=atoms)).kind
    if (kind[entities] >= 0).any():
        return np.flatnonzero(np.isin(kind, kind[entities]))
    standing = [
        np.unique(pair_keys(some.predicate, column, n))
        for some in atoms.values()
        for column in some.arguments
    ]
    places = [
        place
        for keys in standing
        for place in np.split(keys % n, np.flatnonzero(np.diff(keys // n)) + 1)
    ]
    shared = [(-int(np.isin(entities, place).sum()), len(place)) for place in places]
    best = min(range(len(places)), key=shared.__getitem__)
    return places[best] if shared[best][0] else np.arange(n)


def given_ends(facts: Facts, predicate: str) -> tuple[Ids | None, Ids | None]:
    """Entities of the types that are given for the arguments of a predicate, None without."""
    if predicate not in facts.types.arguments:
        return None, None
    types = ArgumentTypes(facts)
    types.check()
    subjects, objects = (types.given(predicate, place) for place in (0, 1))
    assert subjects is not None
    assert objects is not None
    return np.flatnonzero(subjects).astype(np.int32), np.flatnonzero(objects).astype(np.int32)


def origins(
    pairs: Targets, sampling: Sampling, rng: np.random.Generator, facts: Facts | None = None
) -> Ints:
    """For every pair of `with_negatives` the row of a true pair that it may have been drawn from.

    A true pair is its own. A false pair (s, o) keeps its subject with a chance in proportion to
    q(s) r(o), else its object, in proportion to r(s) q(o); of the true pairs with that end each
    is as likely. That is how it was drawn, given what was drawn. Every predicate has its own. A
    false entity of a predicate on one entity has any true one, each of them as often. The pairs are
    those of `facts`, where types are given for arguments.
    """
    origin = np.arange(len(pairs))
    for predicate in range(len(pairs.predicates)):
        rows = np.flatnonzero(pairs.predicate == predicate)
        given = (None, None) if facts is None else given_ends(facts, pairs.predicates[predicate])
        origin[rows] = rows[_origins(pairs.select(rows), sampling, rng, given)]
    return origin


def _origins(
    pairs: Targets,
    sampling: Sampling,
    rng: np.random.Generator,
    given: tuple[Ids | None, Ids | None],
) -> Ints:
    """Origins of the pairs of one predicate."""
    n, true = len(pairs.entities), np.flatnonzero(pairs.positive)
    if pairs.on_one.all():
        origin, false = np.arange(len(pairs)), np.flatnonzero(~pairs.positive)
        origin[false] = true[rng.permutation(len(false)) % len(true)]
        return origin
    region = _Region.of(pairs.subject[true], pairs.object[true], true, n, sampling, given)
    false = np.flatnonzero(~pairs.positive)
    s, o = pairs.subject[false], pairs.object[false]
    keeps_subject, keeps_object = region.chances(s, o)
    by_subject = rng.random(len(false)) * (keeps_subject + keeps_object) < keeps_subject
    origin = np.arange(len(pairs))
    for ends, end, chosen in ((region.subject, s, by_subject), (region.object, o, ~by_subject)):
        order = np.argsort(ends, kind="stable")
        low, high = (
            np.searchsorted(ends[order], end[chosen], side=side) for side in ("left", "right")
        )
        origin[false[chosen]] = true[order[rng.integers(low, high)]]
    return origin


def _edges(facts: Facts, predicate: str) -> tuple[Ids, Ids, Bools]:
    """Subjects and objects of a predicate's facts, and which facts are true."""
    atoms = facts.atoms_of(predicate)
    if not len(atoms) and facts.denied_of(predicate) is None:
        if predicate in facts.arity:
            raise wrong_arity(predicate, facts.arity[predicate])
        raise UnknownTargetError(predicate, [name for name, n in facts.arity.items() if n <= 2])
    true = atoms.true
    if not true.any():
        raise InputError(f"no fact of {predicate!r} has a value of 0.5 or more; expected positives")
    return atoms.arguments[0], atoms.arguments[-1], true


@dataclass(frozen=True, eq=False)
class _Region:
    """The pairs that can be drawn: one argument of a true pair, the other a replacement.

    `subject` and `object` are those of the true pairs; `known` are the keys of all known facts
    of the predicate, sorted; replacements are drawn from the rows of the pools, so that one is as
    likely as it is frequent there. Every subject is in the pool of subjects, every object in that
    of objects.
    """

    subject: Ids
    object: Ids
    known: Ints
    n_entities: int
    subject_pool: Ids
    object_pool: Ids

    @classmethod
    def of(
        cls,
        subject: Ids,
        object_: Ids,
        known: Ints,
        n_entities: int,
        sampling: Sampling,
        given: tuple[Ids | None, Ids | None] = (None, None),
    ) -> _Region:
        """The region of a way of sampling; `given` are the entities of given types."""
        pools = subject, object_  # by frequency
        if sampling == "typed":
            pools = np.unique(subject), np.unique(object_)
        elif sampling == "uniform":
            pools = (np.arange(n_entities, dtype=np.int32),) * 2
        if sampling != "frequency":
            subjects, objects = (
                pool if typed is None else typed for pool, typed in zip(pools, given, strict=True)
            )
            pools = subjects, objects
        return cls(subject, object_, known, n_entities, *pools)

    @cached_property
    def shares(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Shares of every entity: q as subject and object of true pairs, r in both pools."""
        ends = (self.subject, self.object, self.subject_pool, self.object_pool)
        q_s, q_o, r_s, r_o = (np.bincount(e, minlength=self.n_entities) / len(e) for e in ends)
        return q_s, q_o, r_s, r_o

    def chances(self, subject: Integers, object_: Integers) -> tuple[Floats, Floats]:
        """Relative chances of pairs to be drawn with their subject kept, and with their object."""
        q_subject, q_object, r_subject, r_object = self.shares
        return q_subject[subject] * r_object[object_], r_subject[subject] * q_object[object_]

    @cached_property
    def size(self) -> int:
        """Number of pairs, known ones included."""
        subjects, objects, new_subjects, new_objects = map(np.count_nonzero, self.shares)
        return int(subjects * new_objects + new_subjects * objects - subjects * objects)

    @cached_property
    def available(self) -> int:
        """Number of negatives that can be drawn."""
        # A known fact that is not true (a soft one) may lie outside.
        kept = self.chances(self.known // self.n_entities, self.known % self.n_entities)
        return self.size - int(np.count_nonzero(sum(kept)))

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Pairs with one argument replaced, known and repeated ones among them."""
        row = rng.integers(len(self.subject), size=count)
        replace_subject = rng.random(count) < 0.5
        new_subject, new_object = (
            pool[rng.integers(len(pool), size=count)]
            for pool in (self.subject_pool, self.object_pool)
        )
        return pair_keys(
            np.where(replace_subject, new_subject, self.subject[row]),
            np.where(replace_subject, self.object[row], new_object),
            self.n_entities,
        )

    def listed(self) -> tuple[Ints, Floats]:
        """Every pair that is not known, with the (relative) chance that `draw` gives it."""
        n, (q_subject, q_object, r_subject, r_object) = self.n_entities, self.shares
        kinds = ((q_subject > 0, r_object > 0), ((q_subject == 0) & (r_subject > 0), q_object > 0))
        parts = [
            pair_keys(np.flatnonzero(subjects)[:, None], np.flatnonzero(objects)[None, :], n)
            for subjects, objects in kinds
        ]
        keys = np.concatenate([part.ravel() for part in parts])
        keys = keys[~contained(keys, self.known)]
        return keys, sum(self.chances(keys // n, keys % n), np.zeros(len(keys)))


def _drawn(region: _Region, wanted: int, rng: np.random.Generator) -> Ints:
    """Distinct unknown pairs in the order they were drawn; fewer where no more are found.

    Rejection is fast while most draws are new. Where it is not, because the relation is nearly
    complete or its popular pairs are all known, the unknown pairs are listed and drawn without
    replacement. Both draw one after the other in proportion to the same chances, so a switch in
    mid-course changes nothing about the distribution.
    """
    listable = region.size <= max(BLOCK, 4 * (len(region.known) + wanted))
    found = np.empty(0, dtype=np.int64)
    if not (listable and 2 * wanted >= region.available):
        found = _rejected(region, wanted, rng)
    if len(found) < wanted and listable:
        keys, chance = region.listed()
        new = ~contained(keys, np.sort(found))
        keys, chance = keys[new], chance[new]
        # Exponential waiting times with these rates arrive in the order of draws one by one.
        arrival = rng.exponential(size=len(keys)) / chance
        first = np.argsort(arrival, kind="stable")[: wanted - len(found)]
        found = np.concatenate([found, keys[first]])
    return found


def _rejected(region: _Region, wanted: int, rng: np.random.Generator) -> Ints:
    """Rejection sampling: draw until there are enough new pairs or no draws are left."""
    found = np.empty(0, dtype=np.int64)
    left = DRAWS_PER_NEGATIVE * wanted + 1000
    while len(found) < wanted and left > 0:
        count = min(2 * (wanted - len(found)) + 100, left, BLOCK)
        left -= count
        keys, first = np.unique(region.draw(count, rng), return_index=True)
        new = ~(contained(keys, region.known) | contained(keys, np.sort(found)))
        chosen = keys[new][np.argsort(first[new])]
        found = np.concatenate([found, chosen])[:wanted]
    return found


def _warn_of_shortage(
    predicate: str, sampling: str, wanted: int, found: int, kind: str = "pair"
) -> None:
    advice = (
        "" if sampling == "uniform" else '; `negative_sampling="uniform"` has more to draw from'
    )
    if not found:
        raise InputError(
            f"no negatives can be sampled for {predicate!r}: every {kind} that sampling "
            f"{sampling!r} draws is a known fact{advice}, or give `labels`"
        )
    warn(
        f"only {found:,} of {wanted:,} negatives for {predicate!r} could be sampled, since "
        f"nearly every {kind} that sampling {sampling!r} draws is a known fact{advice}"
    )
