"""The atoms of a PSL program as tables of ids, ready for grounding.

DuckDB reads, checks and sorts them, all in one pass. Truth values stay floats; rounding to
millionths is for learning only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from hornbeam.base.arrays import Floats, Ids, Ints, begin_runs
from hornbeam.errors import DataError, InputError
from hornbeam.facts.names import Names
from hornbeam.facts.reading.interning import MALFORMED, fetch_names, reading_error, sort_names
from hornbeam.facts.reading.psl_data import AtomList
from hornbeam.facts.reading.sources import Source, atom_text, first_mistake
from hornbeam.facts.reading.workspace import Workspace, is_empty, workspace
from hornbeam.programs.program_predicates import ProgramPredicate


@dataclass(frozen=True, eq=False)
class AtomTable:
    """Atoms of one predicate: one column of ids per argument; `value` is None where all are 1."""

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
    """Observed atoms, targets and truth of one predicate."""

    arity: int
    observed: AtomTable
    targets: AtomTable
    truth: AtomTable


@dataclass(frozen=True, eq=False)
class ProgramData:
    """Every predicate's atoms over one table of constants."""

    names: Names
    predicates: Mapping[str, PredicateTables]


def atom_places(wanted: AtomTable, listed: AtomTable) -> Ints:
    """Position of each wanted atom in a list of atoms, -1 where it is not there."""
    keys = np.zeros(len(wanted) + len(listed), dtype=np.int64)
    for wanted_ids, listed_ids in zip(wanted.arguments, listed.arguments, strict=True):
        column = np.concatenate([wanted_ids, listed_ids]).astype(np.int64)
        # numbers of distinct prefixes, so that any number of arguments fits
        keys = np.unique(keys * (column.max(initial=0) + 1) + column, return_inverse=True)[1]
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
    """A source, which predicate it belongs to, and in which partition."""

    source: Source
    predicate: int
    partition: int


def load_partitions(
    predicates: Sequence[ProgramPredicate], program: str, extra_names: Iterable[str] = ()
) -> ProgramData:
    """Read the atoms of every predicate: sorted by their arguments, each once.

    Observations and truth have values; one that is written without is 1. `extra_names` are
    constants of rules, which the table of names must also hold. Refused, with file
    and line, are bad values, wrong numbers of fields, atoms with two values in one partition, and
    targets that are also observed.
    """
    extra = sorted(set(extra_names))
    for name in extra:
        if "\0" in name:
            raise InputError(f"{program}: the constant {name!r} holds a NUL; expected text")
    with workspace() as space:
        listed = [
            _Listed(source, number, partition)
            for number, predicate in enumerate(predicates)
            for partition in range(3)
            for source in _sources(space, predicate, partition, program)
        ]
        try:
            return _loaded(space, predicates, listed, extra)
        except duckdb.Error as error:
            raise reading_error(error, [one.source for one in listed]) from None


def _sources(
    space: Workspace, predicate: ProgramPredicate, partition: int, program: str
) -> Iterator[Source]:
    """Sources of one partition. Empty files are allowed and mean no atoms, as in PSL."""
    name = PARTITIONS[partition]
    atoms: AtomList = getattr(predicate, name)
    files = tuple(file for file in atoms.files if not is_empty(file))
    return AtomList(files, atoms.rows).sources(
        space, program, predicate.name, predicate.arity, name
    )


def _loaded(
    space: Workspace,
    predicates: Sequence[ProgramPredicate],
    listed: Sequence[_Listed],
    extra: list[str],
) -> ProgramData:
    connection = space.connection
    connection.execute("SET preserve_insertion_order = false")
    arities = sorted({one.source.arity for one in listed})
    for arity in arities:
        _read_text(connection, [one for one in listed if one.source.arity == arity])
    names = _names(space, listed, arities, extra)
    tables: dict[int, list[AtomTable]] = {}
    for arity in arities:
        same_arity = [one for one in listed if one.source.arity == arity]
        tables |= _tables(connection, predicates, same_arity, names)
    nothing = {
        number: [_table(_AtomColumns.empty(predicate.arity), slice(0, 0), k) for k in range(3)]
        for number, predicate in enumerate(predicates)
    }
    found = nothing | tables
    return ProgramData(
        names,
        {
            predicate.name: PredicateTables(predicate.arity, *found[number])
            for number, predicate in enumerate(predicates)
        },
    )


def _read_text(connection: duckdb.DuckDBPyConnection, listed: Sequence[_Listed]) -> None:
    """Read all sources of one arity into one table of text; malformed rows have no number."""
    arity = listed[0].source.arity
    selects = [
        f"SELECT CASE WHEN predicate IS NOT NULL THEN {one.predicate} END AS predicate, "  # noqa: S608
        f"{one.partition} AS partition, {_columns(arity)}, value "
        f"FROM ({one.source.select}) AS s{i}"
        for i, one in enumerate(listed)
    ]
    connection.execute(f"CREATE TEMP TABLE text_{arity} AS {' UNION ALL '.join(selects)}")
    [(bad,)] = connection.execute(
        "SELECT count(*) FROM "  # noqa: S608
        f"text_{arity} WHERE predicate IS NULL OR NOT coalesce(value >= 0 AND value <= 1, false)"
    ).fetchall()
    if bad:
        sources = [one.source for one in listed]
        raise first_mistake(sources) or DataError(sources[0].name, "a row is malformed")


def _columns(arity: int) -> str:
    return ", ".join(f"a{k}" for k in range(1, arity + 1))


def _names(
    space: Workspace, listed: Sequence[_Listed], arities: Sequence[int], extra: list[str]
) -> Names:
    """Names of all constants, and their table `constants` in the connection."""
    selects = [
        f"SELECT unnest([{_columns(arity)}]) AS name FROM text_{arity}"  # noqa: S608
        for arity in arities
    ]
    if extra:
        view = space.fresh("extra")
        space.connection.register(view, {"name": np.array(extra, dtype=object)})
        selects.append(f"SELECT name FROM {view}")  # noqa: S608
    if not selects:
        return Names.of([])
    sort_names(space.connection, "constants", selects)
    unusual = space.connection.execute(
        f"SELECT name FROM constants WHERE {MALFORMED}"  # noqa: S608
    ).fetchall()
    # A constant of a rule may be any text, so such names are not errors of the data.
    if unusual and not {name for (name,) in unusual} <= set(extra):
        sources = [one.source for one in listed]
        raise first_mistake(sources) or DataError(sources[0].name, "a name is empty or malformed")
    return fetch_names(space.connection, "constants")


@dataclass(frozen=True)
class _AtomColumns:
    """Atoms of one arity, sorted by predicate, arguments, partition and value."""

    predicate: Ids
    arguments: tuple[Ids, ...]
    partition: Ids
    value: Floats

    @classmethod
    def empty(cls, arity: int) -> _AtomColumns:
        none = np.empty(0, dtype=np.int32)
        return cls(none, (none,) * arity, none, np.empty(0))


def _tables(
    connection: duckdb.DuckDBPyConnection,
    predicates: Sequence[ProgramPredicate],
    listed: Sequence[_Listed],
    names: Names,
) -> dict[int, list[AtomTable]]:
    """Tables of every predicate of one arity, by the predicate's number."""
    arity = listed[0].source.arity
    wanted = ", ".join(f"CAST(e{k}.id AS INTEGER) AS a{k}" for k in range(1, arity + 1))
    joins = " ".join(f"JOIN constants AS e{k} ON t.a{k} = e{k}.name" for k in range(1, arity + 1))
    fetched: dict[str, Any] = connection.execute(
        "SELECT CAST(predicate AS INTEGER) AS predicate, "  # noqa: S608
        f"CAST(partition AS INTEGER) AS partition, {wanted}, value FROM text_{arity} AS t {joins} "
        f"ORDER BY predicate, {', '.join(f'e{k}.id' for k in range(1, arity + 1))}, "
        "partition, value"
    ).fetchnumpy()
    arguments = tuple(np.asarray(fetched[f"a{k}"]) for k in range(1, arity + 1))
    rows = _AtomColumns(
        *(np.asarray(fetched["predicate"]), arguments),
        *(np.asarray(fetched["partition"]), np.asarray(fetched["value"])),
    )
    rows = _once(rows, predicates, listed, names)
    bounds = np.searchsorted(rows.predicate, np.arange(len(predicates) + 1))
    return {
        number: [_table(rows, slice(*bounds[number : number + 2]), k) for k in range(3)]
        for number in {one.predicate for one in listed}
    }


def _table(rows: _AtomColumns, where: slice, partition: int) -> AtomTable:
    chosen = rows.partition[where] == partition
    arguments = tuple(column[where][chosen] for column in rows.arguments)
    return AtomTable(arguments, None if partition == TARGET else rows.value[where][chosen])


def _once(
    rows: _AtomColumns,
    predicates: Sequence[ProgramPredicate],
    listed: Sequence[_Listed],
    names: Names,
) -> _AtomColumns:
    """Drop repeated rows; an atom with two values, or both observed and a target, is an error."""
    same = ~begin_runs(rows.predicate, *rows.arguments)[1:]
    before, after = rows.partition[:-1], rows.partition[1:]
    repeated = same & (before == after)
    clashing = same & (before == OBSERVED) & (after == TARGET)
    clashing |= repeated & (rows.value[1:] != rows.value[:-1])
    if clashing.any():
        at = int(np.argmax(clashing))
        number = int(rows.predicate[at])
        atom = {"predicate": predicates[number].name} | {
            f"a{k}": names[int(column[at])] for k, column in enumerate(rows.arguments, start=1)
        }
        raise _clash([one for one in listed if one.predicate == number], atom)
    if not repeated.any():
        return rows
    keep = np.concatenate([[True], ~repeated])
    arguments = tuple(column[keep] for column in rows.arguments)
    return _AtomColumns(rows.predicate[keep], arguments, rows.partition[keep], rows.value[keep])


def _clash(listed: Sequence[_Listed], atom: dict[str, str]) -> DataError:
    """Name two places that contradict each other."""
    first: dict[int, tuple[str, float]] = {}
    for one in listed:
        for at, fields in one.source.rows():
            row = dict(zip(one.source.columns, fields, strict=False))
            if any(row.get(column) != name for column, name in list(atom.items())[1:]):
                continue
            value = float(str(row.get("value", 1)))
            if one.partition == TARGET and OBSERVED in first:
                problem = f"{atom_text(atom)} is a target here and observed in {first[OBSERVED][0]}"
                return one.source.error(f"{problem}; expected one of both", at)
            place, other = first.setdefault(one.partition, (one.source.place(at), value))
            if value != other and one.partition != TARGET:
                problem = f"{atom_text(atom)} has value {value:.9g} here and {other:.9g} in {place}"
                return one.source.error(f"{problem}; expected one value", at)
    return DataError(
        listed[0].source.name, f"{atom_text(atom)} does not stand once; expected it once"
    )
