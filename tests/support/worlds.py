"""Small random worlds, and the tables that engines read them from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts, Targets
from hornbeam.rules.body import Kind
from hornbeam.rules.candidates import RuleLimits
from tests.support.brute_force import ONE, Labels, Triple, Unary, WideWorld
from tests.support.brute_force import World as Values

#: Predicates of the facts; "t" is a target that no fact has.
PREDICATES = ("p", "pq", "q")
TARGETS = (*PREDICATES, "t")
#: Predicates of unary facts; their texts stand between those of the others.
CLASSES = ("o", "pp")

CRISP = st.just(ONE)
SOFT = st.sampled_from([ONE, 499_999, 500_000, 1, 250_000, 750_000, 999_999]) | st.integers(1, ONE)
LABELS = st.sampled_from([0, ONE]) | st.integers(0, ONE)
SIZES = st.integers(1, 6)


@dataclass(frozen=True)
class World:
    """Facts and labelled targets."""

    values: Values
    labels: Labels
    unary: Unary = field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        """As a table of facts."""
        return facts_of(self.values, self.unary)

    @property
    def targets(self) -> Targets:
        """As a table of targets."""
        return targets_of(self.labels)


def facts_of(values: Values, unary: Unary | None = None) -> Facts:
    """Table of facts, sorted as readers sort it."""
    unary = unary or {}
    entities = Names.of([name for s, _, o in values for name in (s, o)] + [e for e, _ in unary])
    predicates = Names.of([p for _, p, _ in values] + [p for _, p in unary])
    entity_ids, predicate_ids = (
        {name: i for i, name in enumerate(t)} for t in (entities, predicates)
    )
    rows = [
        (entity_ids[s], predicate_ids[p], entity_ids[o], value)
        for (s, p, o), value in values.items()
    ]
    classes = [(entity_ids[e], predicate_ids[p], value) for (e, p), value in unary.items()]
    narrow = np.uint16 if len(predicates) < 1 << 16 else np.int32

    def atoms(listed: Sequence[tuple[int, ...]], arity: int) -> Atoms:
        columns = np.array(sorted(listed), dtype=np.int32).reshape(-1, arity + 2).T.copy()
        first, predicate, *others, value = columns
        crisp = bool((value == ONE).all())
        return Atoms(predicate.astype(narrow), (first, *others), None if crisp else value)

    found = {1: atoms(classes, 1), 2: atoms(rows, 2)}
    return Facts(entities, predicates, {n: table for n, table in found.items() if len(table)})


def targets_of(labels: Labels) -> Targets:
    """Table of targets in their order."""
    entities = Names.of(name for (s, _, o), _ in labels for name in (s, o))
    predicates = Names.of(p for (_, p, _), _ in labels)
    return Targets(
        entities,
        predicates,
        predicates.find(p for (_, p, _), _ in labels),
        entities.find(s for (s, _, _), _ in labels),
        entities.find(o for (_, _, o), _ in labels),
        np.array([label for _, label in labels], dtype=np.int32),
    )


@cache
def _parts(
    size: int, value: st.SearchStrategy[int], max_facts: int, classes: tuple[str, ...]
) -> tuple[st.SearchStrategy[Values], st.SearchStrategy[Any], st.SearchStrategy[Unary]]:
    """Facts, labels (of triples, or of facts by number) and unary facts of so many entities.

    Made once: to make strategies in every example takes longer than to draw from them.
    """
    names = [f"e{i}" for i in range(size)]
    entity, maybe_unseen = st.sampled_from(names), st.sampled_from([*names, "unseen"])
    triple = st.tuples(entity, st.sampled_from(PREDICATES), entity)
    target = st.tuples(maybe_unseen, st.sampled_from(TARGETS), maybe_unseen)
    unary: st.SearchStrategy[Unary] = st.just({})
    if classes:
        # an entity may have no other facts
        known = st.sampled_from([*names, "alone"])
        unary = st.dictionaries(st.tuples(known, st.sampled_from(classes)), value, max_size=5)
    return (
        st.dictionaries(triple, value, min_size=1, max_size=max_facts),
        st.dictionaries(target | st.integers(0, max_facts - 1), LABELS, min_size=1, max_size=8),
        unary,
    )


@st.composite
def worlds(
    draw: st.DrawFn,
    value: st.SearchStrategy[int] = CRISP,
    max_facts: int = 14,
    classes: tuple[str, ...] = (),
) -> World:
    """Multigraphs of 1 to 6 entities with self-loops, and targets of which some are facts.

    With the names of `classes`, some entities have unary facts.
    """
    facts, labels, unary = _parts(draw(SIZES), value, max_facts, classes)
    values = draw(facts)
    listed = sorted(values)
    labelled = {
        listed[one % len(listed)] if isinstance(one, int) else one: label
        for one, label in draw(labels).items()
    }
    return World(values, list(labelled.items()), draw(unary))


def many_worlds(number: int, soft: bool, seed: int, classes: tuple[str, ...] = ()) -> World:
    """Disjoint random worlds like the above, in one: a database searches all at the cost of one."""
    rng = np.random.default_rng(seed)
    values, labels, unary = {}, {}, {}
    for w in range(number):
        size = int(rng.integers(1, 7))

        def draw(names: tuple[str, ...], w: int = w, size: int = size) -> tuple[str, str, str]:
            s, o = rng.integers(size, size=2)
            return f"w{w}e{s}", str(rng.choice(names)), f"w{w}e{o}"

        mine = [draw(PREDICATES) for _ in range(int(rng.integers(1, 14)))]
        for fact in mine:
            values[fact] = int(rng.integers(1, ONE + 1)) if soft and rng.random() < 0.7 else ONE
        for _ in range(int(rng.integers(1, 6))):
            target = mine[rng.integers(len(mine))] if rng.random() < 0.4 else draw(TARGETS)
            labels[target] = int(rng.integers(2)) * ONE
        labels["unseen", "t", f"w{w}e0"] = 0
        for name in classes:
            value = int(rng.integers(1, ONE + 1)) if soft and rng.random() < 0.7 else ONE
            unary[f"w{w}e{rng.integers(size)}", name] = value
    return World(values, list(labels.items()), unary)


def languages(max_length: int = 4) -> st.SearchStrategy[RuleLimits]:
    """Every kind of search; nothing is pruned but what connects no target."""
    return st.builds(
        RuleLimits,
        max_length=st.integers(1, max_length),
        min_coverage=st.just(1),
        distinct_variables=st.booleans(),
        max_fanout=st.none() | st.integers(1, 3),
    )


def rich_languages(max_length: int = 3) -> st.SearchStrategy[RuleLimits]:
    """Searches for paths alone, and for bodies of any kinds, with shares of paths or without."""
    by_facts = st.sampled_from([kind for kind in Kind if kind is not Kind.NUMBERS])
    kinds = st.lists(by_facts, min_size=1, unique=True).map(tuple)
    rich = st.builds(replace, languages(max_length), bodies=kinds, shares=st.booleans())
    return languages() | rich


def renamed(world: World, names: Mapping[str, str]) -> World:
    """The same world under other names of entities."""

    def rename(triple: Triple) -> Triple:
        return names[triple[0]], triple[1], names[triple[2]]

    return World(
        {rename(fact): value for fact, value in world.values.items()},
        [(rename(target), label) for target, label in world.labels],
        {(names[entity], name): value for (entity, name), value in world.unary.items()},
    )


def mirrored(world: World) -> World:
    """The same world with the arguments of every fact and target swapped."""

    def swap(triple: Triple) -> Triple:
        return triple[2], triple[1], triple[0]

    return World(
        {swap(fact): value for fact, value in world.values.items()},
        [(swap(target), label) for target, label in world.labels],
        world.unary,
    )


def entities_of(world: World) -> list[str]:
    """Every entity that a fact or a target names."""
    triples: Iterable[Triple] = [*world.values, *(target for target, _ in world.labels)]
    return sorted({name for s, _, o in triples for name in (s, o)} | {e for e, _ in world.unary})


def wide_facts(values: Values, atoms: WideWorld) -> Facts:
    """Table of binary facts and of atoms of other numbers of arguments, as readers make it."""
    listed = {(p, (s, o)): value for (s, p, o), value in values.items()} | dict(atoms)
    entities = Names.of(name for _, arguments in listed for name in arguments)
    predicates = Names.of(predicate for predicate, _ in listed)
    narrow = np.uint16 if len(predicates) < 1 << 16 else np.int32
    tables = {}
    for arity in sorted({len(arguments) for _, arguments in listed}):
        rows = sorted(
            (entities.index(x[0]), predicates.index(p), *map(entities.index, x[1:]), value)
            for (p, x), value in listed.items()
            if len(x) == arity
        )
        first, predicate, *others, value = np.array(rows, dtype=np.int32).T.copy()
        crisp = bool((value == ONE).all())
        tables[arity] = Atoms(predicate.astype(narrow), (first, *others), None if crisp else value)
    return Facts(entities, predicates, tables)


@st.composite
def wide_atoms(
    draw: st.DrawFn, names: list[str], value: st.SearchStrategy[int] = CRISP
) -> WideWorld:
    """Atoms of one, three and four arguments over some entities; many share two arguments."""
    entity = st.sampled_from(names)
    atom = st.one_of(
        st.tuples(st.sampled_from(["u", "v"]), st.tuples(entity)),
        st.tuples(st.sampled_from(["ta", "p\u00e9"]), st.tuples(entity, entity, entity)),
        st.tuples(st.just("r"), st.tuples(entity, entity, entity, entity)),
    )
    return draw(st.dictionaries(atom, value, min_size=1, max_size=5))
