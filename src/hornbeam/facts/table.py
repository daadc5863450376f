"""Facts and labelled targets: the tables that everything else reads.

A fact is a ground atom with a truth value in [0, 1]; an absent atom is 0. Truth values are carried
as integer millionths, so that every engine adds up the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from hornbeam.base.arrays import (
    Array,
    Bools,
    Floats,
    Ids,
    Integers,
    Ints,
    Millionths,
    Positions,
    lower_bounds,
)
from hornbeam.base.dates import TimeUnit
from hornbeam.base.result_table import ResultTable, html_table
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import atom_keys, contained
from hornbeam.facts.entity_types import EntityTypes
from hornbeam.facts.events import Events
from hornbeam.facts.names import NamedIds, Names, unknown_entity
from hornbeam.facts.numbers import Numbers, no_numbers

if TYPE_CHECKING:
    from hornbeam.facts.growth import Growth

#: Truth values are integers in units of one millionth.
ONE = 1_000_000
#: At or above this a soft value counts as true when candidates are generated.
HALF = ONE // 2


def narrow_type(n_predicates: int) -> type[np.uint16] | type[np.int32]:
    """Choose the type of predicate ids: two bytes where they are enough."""
    return np.uint16 if n_predicates <= np.iinfo(np.uint16).max else np.int32


@dataclass(frozen=True, eq=False)
class Atoms:
    """Ground atoms of one arity, sorted by arguments[0], predicate, further arguments; distinct.

    `predicate` holds predicate ids, `arguments` one array of entity ids per position,
    `millionths` the truth values, or None where every one of them is 1.
    """

    predicate: Array
    arguments: tuple[Ids, ...]
    millionths: Millionths | None = None

    def __len__(self) -> int:
        return len(self.predicate)

    @property
    def arity(self) -> int:
        """Number of arguments of each atom."""
        return len(self.arguments)

    @property
    def values(self) -> Floats:
        """Truth values in [0, 1]."""
        if self.millionths is None:
            return np.ones(len(self))
        return self.millionths / ONE

    @property
    def all_millionths(self) -> Millionths:
        """Truth values in millionths, also where every one of them is 1."""
        if self.millionths is None:
            return np.full(len(self), ONE, dtype=np.int32)
        return self.millionths

    @property
    def true(self) -> Bools:
        """Which atoms are true rather than false."""
        return self.all_millionths >= HALF

    def places_of(self, predicate: Integers, *arguments: Integers) -> tuple[Ints, Bools]:
        """The row of every other atom, or of the first atom after it, and which are among these."""
        columns = self.arguments[0], self.predicate, *self.arguments[1:]
        wanted, n = (arguments[0], predicate, *arguments[1:]), len(predicate)
        place = lower_bounds(columns, wanted, np.zeros(n, np.intp), np.full(n, len(self)))
        known = place < len(self)
        for column, values in zip(columns, wanted, strict=True):
            known[known] = column[place[known]] == values[known]
        return place, known

    def select(self, rows: Bools | Positions) -> Atoms:
        """The atoms at these rows, in their order."""
        values = None if self.millionths is None else self.millionths[rows]
        crisp = values is None or bool(np.all(values == ONE))
        arguments = tuple(column[rows] for column in self.arguments)
        return Atoms(self.predicate[rows], arguments, None if crisp else values)


class Prepared(Protocol):
    """What was computed from facts alone, and can follow them when they grow."""

    def grown(self, growth: Growth) -> Prepared:
        """The same, computed from the facts after a growth."""


@dataclass(frozen=True, eq=False)
class Facts:
    """Observed atoms of any arity over one table of entities.

    Path search walks the binary atoms, and those of more arguments between any two of their places
    (`hornbeam.graph.adjacency`); unary atoms are conditions. `numbers` are attributes of the
    entities, for comparisons in bodies; `types` are given ones (`with_types`), or those of tables.
    `events` say when the atoms were true, if times were read; `atoms` are what was ever true.
    `denied` are atoms of one or two arguments that were read with the truth value 0. They are no
    evidence; they are the false targets if a model is learned from the facts alone.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts
    >>> facts = read_facts([("paper1", "cites", "paper2"), ("paper2", "mentions", "gene")])
    >>> facts
    Facts(2 facts, 3 entities, 2 predicates)
    >>> list(facts[:1]), len(facts)
    ([('paper1', 'cites', 'paper2')], 2)
    """

    entities: Names
    predicates: Names
    atoms: Mapping[int, Atoms] = field(default_factory=dict)
    numbers: Numbers = field(default_factory=no_numbers)
    types: EntityTypes = field(default_factory=EntityTypes)
    events: Events | None = None
    denied: Mapping[int, Atoms] = field(default_factory=dict)
    #: What was prepared from these facts, by its name; it lives as long as they do.
    kept: dict[str, Prepared] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return sum(len(table) for table in self.atoms.values())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Facts as tuples that `read_facts` takes: those of one argument come first."""
        for row in self.to_table():
            yield row[:2] if len(row) == 3 and row[2] is None else row

    @overload
    def __getitem__(self, rows: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, rows: slice | Bools | Integers) -> Facts: ...
    def __getitem__(self, rows: int | slice | Bools | Integers) -> Facts | tuple[Any, ...]:
        """One fact as a tuple, or some in their order; entities and predicates keep their ids."""
        if isinstance(rows, (int, np.integer)):
            return next(iter(self[_row_slice(rows, len(self))]))
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[rows] = True
        ends = np.cumsum([len(table) for table in self.atoms.values()])[:-1]
        parts = zip(self.atoms.items(), np.split(chosen, ends), strict=True)
        atoms = {arity: table.select(chosen) for (arity, table), chosen in parts if chosen.any()}
        return self.with_atoms(atoms)

    def __add__(self, new: Facts) -> Facts:
        """These facts and new ones, equal to facts that were read together.

        What was prepared from these facts is carried along (see `kept`).

        Examples
        --------
        >>> from hornbeam import read_facts
        >>> read_facts([("a", "knows", "b")]) + read_facts([("b", "knows", "c")])
        Facts(2 facts, 3 entities, 1 predicates)
        """
        from hornbeam.facts.growth import grow

        if not isinstance(new, Facts):
            return NotImplemented
        growth = grow(self, new)
        for key, prepared in self.kept.items():
            growth.facts.kept[key] = prepared.grown(growth)
        return growth.facts

    def with_atoms(self, atoms: Mapping[int, Atoms]) -> Facts:
        """Some of these atoms, over the same names; events are those of the atoms."""
        events = self.events
        if events is not None:
            events = events.select(replace(self, atoms=atoms).event_rows >= 0)
        return replace(self, atoms=atoms, events=events)

    @cached_property
    def event_rows(self) -> Positions:
        """The row of every event's atom among all atoms, those of one argument first; -1 of none.

        Facts without times have no events.
        """
        sizes, start = (len(self.entities), len(self.predicates)), 0
        if self.events is None:
            return np.empty(0, dtype=np.intp)
        predicate, subject, object_, _ = self.events.columns
        rows = np.full(len(self.events), -1, dtype=np.intp)
        for arity, table in self.atoms.items():
            ends = table.arguments[0], table.arguments[-1]
            keys = atom_keys(ends[0], table.predicate, ends[1], *sizes)
            some = np.flatnonzero((object_ < 0) == (arity == 1))
            last = subject[some] if arity == 1 else object_[some]
            wanted = atom_keys(subject[some], predicate[some], last, *sizes)
            held = contained(wanted, keys)
            rows[some[held]] = start + np.searchsorted(keys, wanted[held])
            start += len(table)
        return rows

    def before(self, time: int) -> Facts:
        """The facts as they were known at a time: those with an event before it, strictly.

        Facts without any times are returned unchanged.

        Examples
        --------
        >>> from hornbeam import read_facts
        >>> facts = read_facts([("a", "knows", "b", 1), ("a", "knows", "c", 2)], time=4)
        >>> list(facts.before(2))
        [('a', 'knows', 'b')]
        """
        if self.events is None:
            return self
        events = self.events.before(time)
        rows = self.event_rows[: len(events)]
        atoms, start = {}, 0
        for arity, table in self.atoms.items():
            seen = np.zeros(len(table), dtype=np.bool_)
            seen[rows[(rows >= start) & (rows < start + len(table))] - start] = True
            start += len(table)
            if seen.any():
                atoms[arity] = table.select(seen)
        return replace(self, atoms=atoms, events=events)

    def __getstate__(self) -> dict[str, Any]:
        """All but what was prepared, which another process prepares for itself."""
        return {**vars(self), "kept": {}}

    def __deepcopy__(self, memo: object) -> Facts:
        """Itself: facts do not change, and are large."""
        return self

    def to_table(self, arity: int | None = None, *, values: bool = False) -> ResultTable:
        """The facts of one arity, or all, as columns subject, predicate, object, argument_3, ...

        Where there are soft facts, or with `values`, the truth value comes last. A fact of
        one argument among others has no object.
        """
        tables = [self.atoms[n] for n in self.atoms if arity in (None, n)]
        width = max([len(table.arguments) for table in tables], default=2)
        none = [np.empty(0, dtype=np.int32)]
        ids = [table.predicate.astype(np.int32) for table in tables]
        predicate = NamedIds(self.predicates, np.concatenate([*none, *ids]))
        columns: dict[str, Sequence[Any] | Array] = {}
        for k in range(width):
            ids = [
                table.arguments[k] if k < table.arity else np.full(len(table), -1, dtype=np.int32)
                for table in tables
            ]
            name = ("subject", "object")[k] if k < 2 else f"argument_{k + 1}"
            columns[name] = NamedIds(self.entities, np.concatenate([*none, *ids]))
            if k == 0:
                columns["predicate"] = predicate
        if values or self.soft:
            columns["value"] = np.concatenate([np.empty(0), *(table.values for table in tables)])
        return ResultTable(columns)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:  # noqa: ANN401
        """The table as an Arrow stream, for `polars.DataFrame`, `pyarrow.table` and others."""
        return self.to_table().__arrow_c_stream__(requested_schema)

    @cached_property
    def binary(self) -> Atoms:
        """The atoms of two arguments: the edges of the graph."""
        return self.of_arity(2)

    def of_arity(self, arity: int) -> Atoms:
        """The atoms of a number of arguments, perhaps none."""
        empty = np.empty(0, dtype=np.int32)
        return self.atoms.get(arity) or Atoms(empty, (empty,) * arity)

    def joined(self, entities: Names, numbers: Numbers) -> Facts:
        """The facts with further numbers of entities, which have the names of another table."""
        return self + Facts(entities, Names.of(()), numbers=numbers)

    def over(self, more: Names) -> Facts:
        """The same facts over their entities and more, which get the ids of their sorted names."""
        entities, to_entity = self.entities.joined(more)
        return self if entities is self.entities else self.moved(entities, to_entity)

    def moved(self, entities: Names, to_entity: Ids) -> Facts:
        """The same facts over entities that have other ids in the same order."""
        atoms, denied = (
            {
                arity: replace(table, arguments=tuple(to_entity[ids] for ids in table.arguments))
                for arity, table in tables.items()
            }
            for tables in (self.atoms, self.denied)
        )
        numbers, types = self.numbers.moved(to_entity), self.types.moved(to_entity)
        events = None if self.events is None else self.events.moved(to_entity)
        return replace(
            self, entities=entities, atoms=atoms, numbers=numbers, types=types, events=events,
            denied=denied,
        )  # fmt: skip

    def with_types(
        self,
        types: Mapping[str, str] | None = None,
        arguments: Mapping[str, Sequence[str]] | None = None,
    ) -> Facts:
        """The facts with types of entities by name, and of the arguments of relations.

        They limit which entities are negatives and which links are proposed. Facts and labels that
        contradict the types of arguments are refused, so that they limit bodies, too. Without them
        types come from the facts: from tables, RDF, or prefixes such as `Gene::` of all names.

        Examples
        --------
        >>> from hornbeam.facts.reading.readers import read_facts
        >>> facts = read_facts([("ann", "visits", "rome"), ("bob", "visits", "oslo")])
        >>> people = {"ann": "person", "bob": "person", "rome": "city", "oslo": "city"}
        >>> facts.with_types(people, {"visits": ("person", "city")}).types.named()
        {'city': 2, 'person': 2}
        """
        given = EntityTypes.of(self.entities, types or {})
        known = {name: tuple(kinds) for name, kinds in (arguments or {}).items()}
        return replace(self, types=replace(given, arguments=known).joined(self.types))

    def links(self, predicate: str) -> tuple[Ids, Ids]:
        """Subjects and objects of a predicate; none of an unknown one.

        A unary fact about an entity is a link from the entity to itself.
        """
        atoms = self.atoms_of(predicate)
        return atoms.arguments[0], atoms.arguments[-1]

    def atoms_of(self, predicate: str) -> Atoms:
        """The atoms of a predicate of one argument or two; none of an unknown one."""
        table = self.of_arity(1) if self.not_binary.get(predicate) == 1 else self.binary
        return table.select(np.flatnonzero(table.predicate == self.predicates.index(predicate)))

    def denied_of(self, predicate: str) -> Atoms | None:
        """The denied atoms of a predicate of one argument or two; None without any."""
        number = self.predicates.index(predicate)
        for table in self.denied.values():
            if (table.predicate == number).any():
                return table.select(table.predicate == number)
        return None

    @cached_property
    def arity(self) -> Mapping[str, int]:
        """Arity of every predicate that has facts."""
        binary = np.unique(self.binary.predicate)
        return {self.predicates[int(p)]: 2 for p in binary} | dict(self.not_binary)

    @cached_property
    def not_binary(self) -> Mapping[str, int]:
        """Arity of every predicate that has facts, or denied ones, of other than two arguments."""
        return {
            self.predicates[int(p)]: arity
            for tables in (self.denied, self.atoms)
            for arity, table in tables.items()
            if arity != 2
            for p in np.unique(table.predicate)
        }

    @property
    def unary(self) -> frozenset[str]:
        """The predicates of unary facts."""
        return frozenset(name for name, arity in self.not_binary.items() if arity == 1)

    def entity(self, name: str) -> int:
        """The id of an entity.

        Raises
        ------
        hornbeam.errors.InputError
            Where no fact has it.
        """
        found = self.entities.index(name)
        if found < 0:
            raise unknown_entity(name, self.entities)
        return found

    def has(self, subject: str, predicate: str, object_: str) -> bool:
        """Whether a link between two entities is among the facts; see `links` for unary facts."""
        ends = (np.array([self.entities.index(name)]) for name in (subject, object_))
        return bool(self.have(predicate, *ends)[0])

    def have(self, predicate: str, subject: Integers, object_: Integers) -> Bools:
        """Which links of a predicate are among the facts, whatever their truth; see `links`."""
        table = self.of_arity(1) if predicate in self.unary else self.binary
        ids = np.full(len(subject), self.predicates.index(predicate))
        if table.arity == 1:
            known: Bools = table.places_of(ids, subject)[1] & (subject == object_)
            return known
        return table.places_of(ids, subject, object_)[1]

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""
        return names.translate(self.entities)

    @property
    def soft(self) -> bool:
        """Whether some truth value lies strictly between 0 and 1."""
        return any(table.millionths is not None for table in self.atoms.values())

    def __repr__(self) -> str:
        return (
            f"Facts({len(self):,} facts"
            f"{'' if self.events is None else f' at {len(np.unique(self.events.time)):,} times'}, "
            f"{len(self.entities):,} entities, {len(self.predicates):,} predicates"
            f"{f', {len(self.numbers):,} numbers' if len(self.numbers) else ''})"
        )

    def _repr_html_(self) -> str:
        rows = [
            (self.predicates[int(p)], str(arity), f"{int(n):,}")
            for arity, table in self.atoms.items()
            for p, n in zip(*np.unique(table.predicate, return_counts=True), strict=True)
        ]
        return html_table("Facts", ["predicate", "arity", "facts"], rows)


@dataclass(frozen=True, eq=False)
class Targets:
    """Pairs t(subject, object) to learn from or to score, in the order they were given.

    `millionths` holds the labels, or is None for pairs without labels. The ids refer to this
    table's own `entities` and `predicates`: targets may name entities that the facts do not have.
    `unary` are the predicates of targets on one entity: t(a) is the pair (a, a). A target at a
    `time` sees the facts before it, strictly.
    """

    entities: Names
    predicates: Names
    predicate: Ids
    subject: Ids
    object: Ids
    millionths: Millionths | None = None
    unary: frozenset[str] = frozenset()
    time: Ints | None = None
    unit: TimeUnit = TimeUnit.STEP  #: of the times, where there are any

    def __len__(self) -> int:
        return len(self.subject)

    @property
    def truth(self) -> Floats:
        """Labels in [0, 1]."""
        if self.millionths is None:
            raise ValueError("these targets have no labels")
        return self.millionths / ONE

    @property
    def on_one(self) -> Bools:
        """Which targets are on one entity."""
        unary = np.array([name in self.unary for name in self.predicates], dtype=np.bool_)
        return unary[self.predicate]

    @property
    def arities(self) -> dict[str, int]:
        """The number of arguments of every predicate."""
        return {name: 1 if name in self.unary else 2 for name in self.predicates}

    @property
    def by_arity(self) -> dict[int, Ints]:
        """Rows of the targets of one argument and of two, where there are any."""
        on_one = self.on_one
        rows = {1: np.flatnonzero(on_one), 2: np.flatnonzero(~on_one)}
        return {arity: some for arity, some in rows.items() if len(some)}

    @property
    def positive(self) -> Bools:
        """Which labels round to true; all False where there are no labels."""
        if self.millionths is None:
            return np.zeros(len(self), dtype=np.bool_)
        return self.millionths >= HALF

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Subject, predicate, object and, where there is one, label of every pair."""
        return iter(self.to_table())

    @overload
    def __getitem__(self, rows: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, rows: slice | Bools | Integers) -> Targets: ...
    def __getitem__(self, rows: int | slice | Bools | Integers) -> Targets | tuple[Any, ...]:
        """One target as a tuple, or some of them."""
        if isinstance(rows, (int, np.integer)):
            return next(iter(self[_row_slice(rows, len(self))]))
        return self.select(np.arange(len(self), dtype=np.int32)[rows])

    def to_table(self) -> ResultTable:
        """Subject, predicate, object and, where there is one, label of every pair.

        A target on one entity has no object; without any pair there is no such column.
        """
        columns: dict[str, Sequence[Any] | Array] = {
            "subject": NamedIds(self.entities, self.subject),
            "predicate": NamedIds(self.predicates, self.predicate),
        }
        if not self.unary.issuperset(self.predicates):
            columns["object"] = NamedIds(self.entities, np.where(self.on_one, -1, self.object))
        if self.time is not None:
            columns["time"] = self.times
        return ResultTable(columns if self.millionths is None else columns | {"label": self.truth})

    @property
    def times(self) -> list[str]:
        """The times as texts, which the readers take; none of targets without times."""
        return [] if self.time is None else [self.unit.text(time) for time in self.time.tolist()]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:  # noqa: ANN401
        """The table as an Arrow stream, for `polars.DataFrame`, `pyarrow.table` and others."""
        return self.to_table().__arrow_c_stream__(requested_schema)

    @classmethod
    def between(
        cls, entities: Names, predicate: str, subject: Ids, object_: Ids, *, unary: bool = False
    ) -> Targets:
        """Pairs of one predicate by the ids of their ends, which is `unary` or binary."""
        zero, names = np.zeros(len(subject), dtype=np.int32), Names.of([predicate])
        of_one = frozenset(names if unary else ())
        return cls(entities, names, zero, subject, object_, unary=of_one)

    def names_at(self, row: int) -> tuple[str, str, str]:
        """Subject, predicate and object of the target at a row."""
        s, p, o = int(self.subject[row]), int(self.predicate[row]), int(self.object[row])
        return self.entities[s], self.predicates[p], self.entities[o]

    def row_of(self, subject: str, predicate: str, object_: str) -> int | None:
        """The first row of a pair; None where it is not among them."""
        found = np.flatnonzero(
            (self.subject == self.entities.index(subject))
            & (self.object == self.entities.index(object_))
            & (self.predicate == self.predicates.index(predicate))
        )
        return int(found[0]) if len(found) else None

    def select(self, rows: Integers | Bools) -> Targets:
        """Select the targets at `rows`, with the same tables of names."""
        ids = (self.predicate[rows], self.subject[rows], self.object[rows])
        labels = None if self.millionths is None else self.millionths[rows]
        time = None if self.time is None else self.time[rows]
        return Targets(self.entities, self.predicates, *ids, labels, self.unary, time, self.unit)

    def renamed(
        self, names: Mapping[str, str], relations: Mapping[str, str] | None = None
    ) -> Targets:
        """The same targets with other names for some entities and relations."""
        if relations:
            texts = [relations.get(text, text) for text in self.predicates]
            predicates = Names.of(texts)
            number = predicates.find(texts)[self.predicate]
            unary = frozenset(relations.get(name, name) for name in self.unary)
            found = replace(self, predicates=predicates, predicate=number, unary=unary)
            return found.renamed(names)
        if not names:
            return self
        texts = [names.get(text, text) for text in self.entities]
        entities = Names.of(texts)
        number = entities.find(texts)
        subject, object_ = number[self.subject], number[self.object]
        return replace(self, entities=entities, subject=subject, object=object_)

    def only(self, predicates: Iterable[str]) -> Targets:
        """Select the targets of some predicates, which are then all that their table has."""
        names = Names.of(predicates)
        number = self.predicates.translate(names)[self.predicate]
        chosen = self.select(number >= 0)
        return replace(chosen, predicates=names, predicate=number[number >= 0])

    def __repr__(self) -> str:
        labelled = f", {int(self.positive.sum()):,} true" if self.millionths is not None else ""
        kind = "entities" if self.unary.issuperset(self.predicates) else "pairs"
        return f"Targets({len(self):,} {kind} of {', '.join(self.predicates)}{labelled})"

    def _repr_html_(self) -> str:
        counts = zip(*np.unique(self.predicate, return_counts=True), strict=True)
        rows = [
            (
                self.predicates[int(p)],
                f"{int(n):,}",
                f"{int(self.positive[self.predicate == p].sum()):,}",
            )
            for p, n in counts
        ]
        return html_table("Targets", ["predicate", "pairs", "true"], rows)


def wrong_arity(predicate: str, among_facts: int, expected: int | None = None) -> InputError:
    """The error for a target whose facts have other than the expected number of arguments."""
    plural = "s" * (among_facts != 1)
    stated = f"predicate {predicate!r} has {among_facts} argument{plural} among the facts"
    if among_facts > 2:
        return InputError(
            f"{stated}; targets of three and more arguments are not offered: expected a target of "
            "one (an entity) or two (subject and object)"
        )
    asked = {1: "on one entity", 2: "a pair"}[expected or 3 - among_facts]
    return InputError(f"{stated}, and as a target it is {asked}; expected the same number")


def _row_slice(row: int, length: int) -> slice:
    """The slice of one row; negative rows count from the end."""
    if not -length <= row < length:
        raise IndexError(f"row {row} of {length:,}")
    return slice(row % length, row % length + 1)
