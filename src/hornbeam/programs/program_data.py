"""The atoms of a PSL program as tables of ids, ready for grounding.

DuckDB reads, checks and sorts the atoms of all predicates in one pass. Truth values stay floats;
only learning rounds them to millionths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb
import numpy as np

from hornbeam.base.arrays import Floats, Ids, Ints, begin_runs, row_numbers
from hornbeam.errors import DataError, InputError, warn
from hornbeam.facts.names import Names
from hornbeam.facts.reading.interning import (
    MALFORMED,
    fetch_names,
    padded_number,
    reading_error,
    sort_names,
)
from hornbeam.facts.reading.psl_data import AtomList
from hornbeam.facts.reading.sources import Source, atom_text, first_mistake
from hornbeam.facts.reading.workspace import Workspace, is_empty, workspace
from hornbeam.programs.program_declarations import ProgramPredicate


@dataclass(frozen=True, eq=False)
class AtomTable:
    """Atoms of one predicate: one column of ids per argument; `value` is None if all are 1."""

    arguments: tuple[Ids, ...]
    value: Floats | None = None

    def __len__(self) -> int:
        return len(self.arguments[0])

    @property
    def values(self) -> Floats:
        """Truth value of every atom."""
        return np.ones(len(self)) if self.value is None else self.value


@dataclass(frozen=True, eq=False)
class PredicateTables:
    """Observed atoms, targets (with the values that they are given) and truth of one predicate."""

    arity: int
    observed: AtomTable
    targets: AtomTable
    truth: AtomTable

    def truth_of(self, atoms: AtomTable) -> Floats:
        """Truth of some atoms; NaN where none is stated."""
        return np.append(self.truth.values, np.nan)[atom_places(atoms, self.truth)]


@dataclass(frozen=True, eq=False)
class ProgramData:
    """The atoms of every predicate; their ids are positions in one table of names."""

    names: Names
    predicates: Mapping[str, PredicateTables]

    @cached_property
    def first_variable(self) -> dict[str, int]:
        """The random variable of the first target of every predicate."""
        sizes = [len(tables.targets) for tables in self.predicates.values()]
        return dict(zip(self.predicates, np.cumsum([0, *sizes]).tolist(), strict=False))

    @cached_property
    def truth(self) -> Floats:
        """Truth of every target, in the order of random variables; NaN where none is stated."""
        parts = (tables.truth_of(tables.targets) for tables in self.predicates.values())
        return np.concatenate([np.empty(0), *parts])

    def target(self, variable: int) -> tuple[str, list[int]]:
        """The predicate and the ids of a random variable's target."""
        first = self.first_variable
        predicate = next(name for name in reversed(first) if first[name] <= variable)
        columns = self.predicates[predicate].targets.arguments
        return predicate, [int(column[variable - first[predicate]]) for column in columns]


def atom_places(wanted: AtomTable, listed: AtomTable) -> Ints:
    """Position of each wanted atom in the listed atoms; -1 if it is not listed."""
    both = zip(wanted.arguments, listed.arguments, strict=True)
    keys = row_numbers(len(wanted) + len(listed), *map(np.concatenate, both))
    order = np.argsort(keys[len(wanted) :], kind="stable")
    ranked = keys[len(wanted) :][order]
    if not len(ranked):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(ranked, keys[: len(wanted)]), len(ranked) - 1)
    return np.where(ranked[at] == keys[: len(wanted)], order[at], -1)


# Reading ------------------------------------------------------------------------------------------

PARTITIONS = ("observations", "targets", "truth")
OBSERVED, TARGET, TRUTH = range(3)


@dataclass(frozen=True)
class _Listed:
    """A source of atoms, the number of its predicate, and its partition."""

    source: Source
    predicate: int
    partition: int


def load_partitions(
    predicates: Sequence[ProgramPredicate], program: str, extra_names: Iterable[str] = ()
) -> ProgramData:
    """Read the atoms of every predicate, sorted by their arguments and without repetitions.

    Atoms have values, 1 where none is written. `extra_names` are constants of rules, which the
    table of names has too. Bad values, wrong numbers of fields, atoms with two
    values in one partition, and targets that are also observed are refused, with file and line.
    """
    extra = sorted(set(extra_names))
    for name in extra:
        if "\0" in name:
            raise InputError(f"{program}: the constant {name!r} holds a NUL; expected text")
    with workspace() as space:
        listed = [
            _Listed(source, number, partition)
            for number, predicate in enumerate(predicates)
            for partition in range(len(PARTITIONS))
            for source in _sources(space, predicate, partition, program)
        ]
        width = max((predicate.arity for predicate in predicates), default=0)
        try:
            _read_text(space.connection, listed, width)
            names = _names(space, listed, width, extra)
            tables = _tables(space.connection, predicates, listed, width, names)
        except duckdb.Error as error:
            raise reading_error(error, [one.source for one in listed]) from None
    return ProgramData(names, tables)


def _sources(
    space: Workspace, predicate: ProgramPredicate, partition: int, program: str
) -> Iterator[Source]:
    """Sources of one partition; an empty file is allowed and has no atoms, as in PSL."""
    name = PARTITIONS[partition]
    atoms: AtomList = getattr(predicate, name)
    files = tuple(file for file in atoms.files if not is_empty(file))
    return AtomList(files, atoms.rows).sources(
        space, program, predicate.name, predicate.arity, name
    )


def _read_text(
    connection: duckdb.DuckDBPyConnection, listed: Sequence[_Listed], width: int
) -> None:
    """Read all sources into one table of text, and refuse malformed rows.

    A malformed row has the predicate number NULL. Arguments beyond a predicate's arity are NULL.
    """
    if not listed:
        return
    connection.execute("SET preserve_insertion_order = false")
    selects = []
    for i, one in enumerate(listed):
        own, lacking = _arguments(one.source.arity), _arguments(width)[one.source.arity :]
        columns = ", ".join([*own, *(f"CAST(NULL AS VARCHAR) AS {name}" for name in lacking)])
        whole = " AND ".join(f"{name} IS NOT NULL" for name in ["predicate", *own])
        selects.append(
            f"SELECT CASE WHEN {whole} THEN {one.predicate} END AS number, "  # noqa: S608
            f"{one.partition} AS partition, {columns}, value FROM ({one.source.select}) AS s{i}"
        )
    connection.execute(f"CREATE TEMP TABLE atoms AS {' UNION ALL '.join(selects)}")
    [(bad,)] = connection.execute(
        "SELECT count(*) FROM atoms "
        "WHERE number IS NULL OR NOT coalesce(value >= 0 AND value <= 1, false)"
    ).fetchall()
    if bad:
        sources = [one.source for one in listed]
        raise first_mistake(sources) or DataError(sources[0].name, "a row is malformed")


def _arguments(arity: int) -> list[str]:
    return [f"a{k}" for k in range(1, arity + 1)]


def _names(space: Workspace, listed: Sequence[_Listed], width: int, extra: list[str]) -> Names:
    """Names of all constants; also makes their table `constants` in the connection."""
    unnested = f"SELECT unnest([{', '.join(_arguments(width))}]) AS name FROM atoms"  # noqa: S608
    selects = [f"SELECT name FROM ({unnested}) WHERE name IS NOT NULL"] if listed else []  # noqa: S608
    if extra:
        view = space.fresh("extra")
        space.connection.register(view, {"name": np.array(extra, dtype=object)})
        selects.append(f"SELECT name FROM {view}")  # noqa: S608
    if not selects:
        return Names.of([])
    sort_names(space.connection, "constants", selects)
    _warn_of_zeros(space.connection)
    unusual = space.connection.execute(
        f"SELECT name FROM constants WHERE {MALFORMED}"  # noqa: S608
    ).fetchall()
    # A constant of a rule may be any text, so its name is not an error of the data.
    if unusual and not {name for (name,) in unusual} <= set(extra):
        sources = [one.source for one in listed]
        raise first_mistake(sources) or DataError(sources[0].name, "a name is empty or malformed")
    return fetch_names(space.connection, "constants")


def _warn_of_zeros(connection: duckdb.DuckDBPyConnection) -> None:
    """Warn of a number written with leading zeros and without: PSL's integer ids are one."""
    found = padded_number(connection, "constants")
    if found is not None:
        zeros, plain = found
        warn(
            f"the constants '{zeros}' and '{plain}' are different here, as all names are text; "
            "PSL's integer ids are equal"
        )


def _tables(
    connection: duckdb.DuckDBPyConnection,
    predicates: Sequence[ProgramPredicate],
    listed: Sequence[_Listed],
    width: int,
    names: Names,
) -> dict[str, PredicateTables]:
    """The tables of every predicate; refused are atoms with two values, or observed and targets."""
    none = np.empty(0, dtype=np.int32)
    number, *arguments, partition, value = (*[none] * (width + 2), np.empty(0))
    if listed:
        ids = [f"coalesce(e_{name}.id, -1) AS {name}" for name in _arguments(width)]
        joins = [f"LEFT JOIN constants AS e_{a} ON t.{a} = e_{a}.name" for a in _arguments(width)]
        fetched = connection.execute(
            f"SELECT number, {', '.join(ids)}, partition, value FROM atoms AS t "  # noqa: S608
            f"{' '.join(joins)} ORDER BY ALL"
        ).fetchnumpy()
        number, *arguments, partition, value = map(np.asarray, fetched.values())
    same = ~begin_runs(number, *arguments)[1:]
    before, after = partition[:-1], partition[1:]
    repeated = same & (before == after)
    clashing = same & (before == OBSERVED) & (after == TARGET)
    clashing |= repeated & (value[1:] != value[:-1])
    if clashing.any():
        at = int(np.argmax(clashing))
        of_atom = [one for one in listed if one.predicate == number[at]]
        ids_of_atom = (int(column[at]) for column in arguments if column[at] >= 0)
        raise _clash(of_atom, predicates[number[at]].name, [names[i] for i in ids_of_atom])
    keep = np.append(np.ones(min(len(value), 1), np.bool_), ~repeated)
    tables = {}
    for k, predicate in enumerate(predicates):
        own, parts = slice(*np.searchsorted(number, [k, k + 1])), []
        for role in range(len(PARTITIONS)):
            rows = keep[own] & (partition[own] == role)
            atoms = tuple(column[own][rows] for column in arguments[: predicate.arity])
            values = value[own][rows]
            plain = role == TARGET and bool(np.all(values == 1.0))
            parts.append(AtomTable(atoms, None if plain else values))
        tables[predicate.name] = PredicateTables(predicate.arity, *parts)
    return tables


def _clash(listed: Sequence[_Listed], predicate: str, names: list[str]) -> DataError:
    """The error about an atom that names the two places that contradict each other."""
    atom = dict(zip(_arguments(len(names)), names, strict=True))
    text = atom_text({"predicate": predicate} | atom)
    first: dict[int, tuple[str, float]] = {}
    for one in listed:
        for at, fields in one.source.rows():
            row = dict(zip(one.source.columns, fields, strict=False))
            if any(row.get(column) != name for column, name in atom.items()):
                continue
            value = float(str(row.get("value", 1)))
            if one.partition == TARGET and OBSERVED in first:
                problem = f"{text} is a target here and observed in {first[OBSERVED][0]}"
                return one.source.error(f"{problem}; expected one of both", at)
            place, other = first.setdefault(one.partition, (one.source.place(at), value))
            if value != other:
                problem = f"{text} has value {value:.9g} here and {other:.9g} in {place}"
                return one.source.error(f"{problem}; expected one value", at)
    return DataError(listed[0].source.name, f"{text} does not stand once; expected it once")
