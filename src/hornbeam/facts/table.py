"""Facts and labelled targets: the tables that everything else reads.

A fact is a ground atom with a truth value in [0, 1]; an absent atom is 0. Truth values are carried
as integer millionths, so that every engine adds up the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from hornbeam.base.arrays import Array, Bools, Floats, Ids, Integers, Millionths
from hornbeam.base.result_table import ResultTable, html_table
from hornbeam.facts.names import NamedIds, Names, unknown_entity

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

    def select(self, rows: Bools) -> Atoms:
        """The atoms at these rows, in their order."""
        values = None if self.millionths is None else self.millionths[rows]
        crisp = values is None or bool(np.all(values == ONE))
        arguments = tuple(column[rows] for column in self.arguments)
        return Atoms(self.predicate[rows], arguments, None if crisp else values)


@dataclass(frozen=True, eq=False)
class Facts:
    """Observed atoms of any arity over one table of entities.

    Path search walks the binary atoms, and those of more arguments between any two of their places
    (`hornbeam.graph.adjacency`); unary atoms are conditions.

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
        return Facts(self.entities, self.predicates, atoms)

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
        empty = np.empty(0, dtype=np.int32)
        return self.atoms.get(2) or Atoms(empty, (empty, empty))

    def links(self, predicate: str) -> tuple[Ids, Ids]:
        """Subjects and objects of a predicate of two arguments; none of an unknown one."""
        rows = self.binary.predicate == self.predicates.index(predicate)
        subject, object_ = (column[rows] for column in self.binary.arguments)
        return subject, object_

    @cached_property
    def arity(self) -> Mapping[str, int]:
        """Arity of every predicate that has facts."""
        binary = np.unique(self.binary.predicate)
        return {self.predicates[int(p)]: 2 for p in binary} | dict(self.not_binary)

    @cached_property
    def not_binary(self) -> Mapping[str, int]:
        """Arity of every predicate that has facts of other than two arguments."""
        return {
            self.predicates[int(p)]: arity
            for arity, table in self.atoms.items()
            if arity != 2
            for p in np.unique(table.predicate)
        }

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

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""
        return names.translate(self.entities)

    @property
    def soft(self) -> bool:
        """Whether some truth value lies strictly between 0 and 1."""
        return any(table.millionths is not None for table in self.atoms.values())

    def __repr__(self) -> str:
        return (
            f"Facts({len(self):,} facts, {len(self.entities):,} entities, "
            f"{len(self.predicates):,} predicates)"
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
    """

    entities: Names
    predicates: Names
    predicate: Ids
    subject: Ids
    object: Ids
    millionths: Millionths | None = None

    def __len__(self) -> int:
        return len(self.subject)

    @property
    def truth(self) -> Floats:
        """Labels in [0, 1]."""
        if self.millionths is None:
            raise ValueError("these targets have no labels")
        return self.millionths / ONE

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
        """Subject, predicate, object and, where there is one, label of every pair."""
        columns: dict[str, Sequence[Any] | Array] = {
            "subject": NamedIds(self.entities, self.subject),
            "predicate": NamedIds(self.predicates, self.predicate),
            "object": NamedIds(self.entities, self.object),
        }
        return ResultTable(columns if self.millionths is None else columns | {"label": self.truth})

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:  # noqa: ANN401
        """The table as an Arrow stream, for `polars.DataFrame`, `pyarrow.table` and others."""
        return self.to_table().__arrow_c_stream__(requested_schema)

    @classmethod
    def between(cls, entities: Names, predicate: str, subject: Ids, object_: Ids) -> Targets:
        """Pairs of one predicate by the ids of their ends."""
        zero = np.zeros(len(subject), dtype=np.int32)
        return cls(entities, Names.of([predicate]), zero, subject, object_)

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
        return Targets(self.entities, self.predicates, *ids, labels)

    def renamed(self, names: Mapping[str, str]) -> Targets:
        """The same targets with other names for some entities."""
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
        return f"Targets({len(self):,} pairs of {', '.join(self.predicates)}{labelled})"

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


def _row_slice(row: int, length: int) -> slice:
    """The slice of one row; negative rows count from the end."""
    if not -length <= row < length:
        raise IndexError(f"row {row} of {length:,}")
    return slice(row % length, row % length + 1)
