"""Facts that grow: new ones are put where they belong, without sorting the others again.

Ids follow sorted names, so a new name moves the ids above it. `Growth` says how, so that what was
computed from the facts before can move along (`hornbeam.facts.table.Facts.kept`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers, begin_runs, spliced
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import sort_atoms
from hornbeam.facts.events import joined_events
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts, narrow_type

#: Links are few if there are this many times as many before: each is then looked up by itself.
FEW = 50


@dataclass(frozen=True, eq=False)
class Growth:
    """Facts and new ones together, and how they came from the facts before."""

    facts: Facts
    #: The new ids of the entities and of the predicates before; both keep their order.
    to_entity: Ids
    to_predicate: Ids
    #: The links that were not there before, by new ids, sorted as `Atoms` are.
    new_links: Atoms
    #: Whether links are all that is new, and no fact has a truth value below 1.
    is_plain: bool


def grow(facts: Facts, new: Facts) -> Growth:
    """Facts and new ones, equal to facts that were read together.

    Raises
    ------
    hornbeam.errors.InputError
        Where a predicate has another number of arguments, an atom another truth value, or facts
        without a time are added to facts with one.
    """
    for predicate, arity in new.arity.items():
        known = facts.not_binary.get(predicate, 2)
        if known == 2 != arity and predicate not in facts.arity:  # to look at all links takes long
            known = arity
        if known != arity:
            raise InputError(
                f"{predicate!r} has {known} argument{'s' * (known != 1)} in the facts and {arity} "
                "in the new ones; expected the same number"
            )
    predicates, to_predicate = facts.predicates.joined(new.predicates)
    entities, to_entity = facts.entities.joined(new.entities)
    added = _renumbered(
        new, entities, new.entities.translate(entities), predicates,
        new.predicates.translate(predicates),
    )  # fmt: skip
    # few links are put between the others; what has to be sorted again is renumbered first
    few = 2 in facts.atoms and len(added.binary) * FEW <= len(facts.binary)
    others = {arity: table for arity, table in facts.atoms.items() if arity != 2 or not few}
    moved = replace(facts, atoms=others)
    before = _renumbered(moved, entities, to_entity, predicates, to_predicate)
    atoms, new_links = dict(before.atoms), added.binary
    if few:
        number: Integers = to_predicate.astype(narrow_type(len(predicates)))
        atoms[2], new_links = _with_few(facts.binary, new_links, to_entity, number, added)
    for arity, table in added.atoms.items():
        if arity in others:
            atoms[arity] = _sorted_again(before, arity, table)
        elif arity != 2 or not few:
            atoms[arity] = table
    numbers = before.numbers.joined(added.numbers)
    types = before.types.joined(added.types)
    events = joined_events(before.events, len(facts), added.events, len(added))
    whole = Facts(entities, predicates, dict(sorted(atoms.items())), numbers, types, events)
    whole = replace(whole, denied=_joined_denied(whole, before, added))
    is_plain = few and set(whole.atoms) == {2} and not whole.soft
    return Growth(whole, to_entity, to_predicate, new_links, is_plain)


def _renumbered(
    facts: Facts, entities: Names, to_entity: Ids, predicates: Names, to_predicate: Ids
) -> Facts:
    """The same facts by the ids of larger tables of names."""
    moved = facts if entities is facts.entities else facts.moved(entities, to_entity)
    if predicates is facts.predicates:
        return moved
    number = to_predicate.astype(narrow_type(len(predicates)))
    atoms, denied = (
        {arity: replace(table, predicate=number[table.predicate]) for arity, table in of.items()}
        for of in (moved.atoms, moved.denied)
    )
    events = moved.events
    if events is not None:
        events = replace(events, predicate=to_predicate[events.predicate])
    return replace(moved, predicates=predicates, atoms=atoms, events=events, denied=denied)


def numbers_before(
    columns: Sequence[Integers], renumberings: Sequence[Integers]
) -> tuple[list[Ids], Bools]:
    """Rows of new numbers as rows of the numbers before a growth, to find where rows belong.

    Every renumbering ascends. Columns after a number that is new are -1. Second, which rows have
    no new number.
    """
    known, numbers = np.ones(len(columns[0]), dtype=np.bool_), list[Ids]()
    for column, moved in zip(columns, renumberings, strict=True):
        number = np.searchsorted(moved, column)
        numbers.append(np.where(known, number, -1).astype(np.int32))
        known &= np.isin(column, moved[number[number < len(moved)]])
    return numbers, known


def _with_few(
    old: Atoms, new: Atoms, to_entity: Ids, to_predicate: Integers, facts: Facts
) -> tuple[Atoms, Atoms]:
    """Links, renumbered, with few new ones in their places, and the links that are really new.

    `facts` are the new ones, whose names errors show.
    """
    subject, object_ = new.arguments
    moved = (to_entity, to_predicate, to_entity)
    numbers, known = numbers_before((subject, new.predicate, object_), moved)
    place, there = old.places_of(numbers[1], numbers[0], numbers[2])
    known &= there
    clash = known.copy()
    clash[known] = old.all_millionths[place[known]] != new.all_millionths[known]
    _refuse_contradiction(facts, new, clash)
    fresh, place = new.select(~known), place[~known]
    values = None
    if old.millionths is not None or fresh.millionths is not None:
        values = spliced(old.all_millionths, place, fresh.all_millionths)
    pairs = zip(old.arguments, fresh.arguments, strict=True)
    arguments = tuple(spliced(ids, place, more, to_entity) for ids, more in pairs)
    predicate = spliced(old.predicate, place, fresh.predicate, to_predicate)
    return Atoms(predicate, arguments, values), fresh


def _sorted_again(facts: Facts, arity: int, new: Atoms) -> Atoms:
    """The atoms of one arity and new ones of the same ids, by one sort of all."""
    old = facts.atoms[arity]
    values = np.concatenate([old.all_millionths, new.all_millionths])
    predicate, arguments, sorted_values = sort_atoms(
        np.concatenate([old.predicate, new.predicate]),
        [np.concatenate(two) for two in zip(old.arguments, new.arguments, strict=True)],
        values,
    )
    assert sorted_values is not None
    union = Atoms(predicate, tuple(arguments), sorted_values)
    first = begin_runs(predicate, *arguments)
    _refuse_contradiction(facts, union, ~first & np.append(False, np.diff(sorted_values) != 0))
    return union.select(first)


def _joined_denied(whole: Facts, before: Facts, added: Facts) -> dict[int, Atoms]:
    """The denied atoms of both that are not among the facts."""
    denied = {}
    for arity in sorted({*before.denied, *added.denied}):
        parts = [facts.denied[arity] for facts in (before, added) if arity in facts.denied]
        table = united_atoms(parts)
        wanted = begin_runs(table.predicate, *table.arguments)
        if arity in whole.atoms:
            wanted &= ~whole.atoms[arity].places_of(table.predicate, *table.arguments)[1]
        if wanted.any():
            denied[arity] = table.select(wanted)
    return denied


def _refuse_contradiction(facts: Facts, atoms: Atoms, clash: Bools) -> None:
    """Refuse a new atom whose truth value is another one in the facts."""
    if clash.any():
        row = int(np.argmax(clash))
        names = ", ".join(facts.entities[int(ids[row])] for ids in atoms.arguments)
        raise InputError(
            f"{facts.predicates[int(atoms.predicate[row])]}({names}) has another truth value in "
            "the facts than in the new ones; expected one value"
        )


def united_atoms(parts: Sequence[Atoms]) -> Atoms:
    """The atoms of all parts, of one arity, sorted as `Atoms` are; parts without values are true.

    At least one part is required.
    """
    values = None
    if any(part.millionths is not None for part in parts):
        values = np.concatenate([part.all_millionths for part in parts])
    ends = [np.concatenate([part.arguments[k] for part in parts]) for k in range(parts[0].arity)]
    predicate = np.concatenate([part.predicate for part in parts])
    predicate, ends, values = sort_atoms(predicate, ends, values)
    return Atoms(predicate, tuple(ends), values)
