"""Reading facts into Spark: names become ids on the executors, and nothing comes to the driver.

Ids are the ranks of names, as everywhere: names are partitioned by ranges and ranked within their
partition, and ids continue from partition to partition. So the work of a lost executor is repeated
with the same ids. Atoms of k arguments are `given_k` by their names, and `atoms_k` by ids.

Parquet and Spark's own tables stay where they are. TSV, CSV, N-Triples and all other files that
`read_facts` takes are read here by the same readers, with the same checks, and passed to Spark as
Parquet of names (`SparkInputs`), so that every engine reads the same facts from them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.base.texts import quote
from hornbeam.counting.sql.database import DEGREES, projected_edges
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.errors import DataError, InputError
from hornbeam.facts.names import Names
from hornbeam.facts.reading.headers import BY_ITSELF, Header, TableLayout
from hornbeam.facts.reading.interning import by_kind, intern_facts
from hornbeam.facts.reading.psl_data import split_of
from hornbeam.facts.reading.readers import Input, evidence_sources, named_table
from hornbeam.facts.reading.sources import arity_of, literal
from hornbeam.facts.reading.storing import atom_table, named_atoms, store_facts
from hornbeam.facts.reading.workspace import workspace
from hornbeam.facts.table import ONE, Facts
from hornbeam.graph.adjacency import walked_predicates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hornbeam.counting.sql.spark_engine import Spark

#: Suffixes of the names of Parquet files.
PARQUET = (".parquet", ".pq")
#: Spark's types of columns of names, and of truth values.
NAME_TYPES = ("string", "int", "bigint", "smallint", "tinyint")
VALUE_TYPES = ("double", "float", "decimal", "boolean", *NAME_TYPES[1:])
#: Malformed names (empty, or with TAB, CR, LF or NUL) in `names` and `predicates`.
BAD_NAMES = (
    "SELECT name FROM (SELECT name FROM names UNION ALL SELECT predicate FROM predicates) AS n "
    "WHERE name IS NULL OR name = '' OR name RLIKE '[\\\\x00\\\\t\\\\r\\\\n]' LIMIT 1"
)
#: Names with their rank within their partition; partitions are ranges, in their order.
RANKED = (
    "SELECT name, part, row_number() OVER (PARTITION BY part ORDER BY name) AS place "
    "FROM (SELECT name, spark_partition_id() AS part FROM "
    "(SELECT /*+ REPARTITION_BY_RANGE(name) */ name FROM names) AS r) AS n"
)
#: Ids continue from partition to partition.
ENTITY_IDS = (
    "SELECT r.name, CAST(b.before + r.place - 1 AS INT) AS id FROM ranked AS r JOIN "
    "(SELECT part, sum(size) OVER (ORDER BY part) - size AS before FROM "
    "(SELECT part, count(*) AS size FROM ranked GROUP BY part) AS s) AS b "
    "ON b.part = r.part"
)


@dataclass(frozen=True)
class PreparedInputs:
    """What was read on this machine for Spark: atoms by names, and numbers."""

    atoms: Mapping[int, str] = field(default_factory=dict)  #: files of Parquet by arity
    numbered: Facts | None = None  #: facts that have numbers only


def spark_engine_over(
    database: Spark,
    inputs: Sequence[str],
    prepared: PreparedInputs | None = None,
    layout: TableLayout = BY_ITSELF,
) -> SqlEngine:
    """An engine over facts from Parquet, tables and the output of `SparkInputs.to_parquet`.

    See `SqlEngine` for the tables that it creates.
    """
    prepared = prepared or PreparedInputs()
    if not (inputs or prepared.atoms):
        raise InputError("no facts given; expected at least one file or table")
    arities = _create_given_views(database, inputs, prepared.atoms, layout)
    listed = ", ".join(inputs)
    arguments = {n: ", ".join(f"a{k}" for k in range(1, n + 1)) for n in arities}
    names = [f"SELECT explode(array({a})) AS name FROM given_{n}" for n, a in arguments.items()]
    numbered = prepared.numbered
    if numbered is not None:
        database.upload("numbered", {"name": np.array(list(numbered.entities), dtype=object)})
        names.append("SELECT name FROM numbered")
    database.create("names", f"SELECT DISTINCT name FROM ({' UNION ALL '.join(names)}) AS n")
    used = (f"SELECT DISTINCT predicate, {n} AS arity FROM given_{n}" for n in arities)
    database.create("predicates", " UNION ALL ".join(used))
    bad = database.fetch(BAD_NAMES)["name"]
    if len(bad):
        found = "nothing" if bad[0] is None else quote(bad[0])
        raise DataError(listed, f"found {found} as a name; expected text without TAB or newline")
    known = _one_arity(database, listed)
    not_binary = {name: arity for name, arity in known.items() if arity != 2}
    predicates = walked_predicates(Names.of(known), not_binary)
    numbered_predicates = {
        "name": np.array(list(predicates), dtype=object),
        "id": np.arange(len(predicates), dtype=np.int32),
    }
    database.upload("predicate_ids", numbered_predicates)
    database.create("ranked", RANKED)
    database.create("entity_ids", ENTITY_IDS)
    soft = False
    for arity in arities:
        database.create(f"atoms_{arity}", _by_ids(arity))
        soft |= _checked_values(database, arity, listed)
    for arity in (1, 2):
        database.view(atom_table(arity)[0], _facts(arity, arities, predicates, not_binary))
    database.create("degrees", DEGREES)
    engine = SqlEngine(
        database,
        predicates,
        soft,
        not_binary=not_binary,
        broadcast_rows=database.broadcast_rows,
    )
    if numbered is None:
        return engine
    # ids follow sorted names here, too
    return replace(engine, numbers=numbered.numbers.moved(engine.locate(numbered.entities)))


def _create_given_views(
    database: Spark, inputs: Sequence[str], prepared: Mapping[int, str], layout: TableLayout
) -> list[int]:
    """Create the views `given_k` of the atoms in the inputs; returns the arities."""
    read = database.session.read
    frames: dict[int, DataFrame] = {k: read.parquet(path) for k, path in prepared.items()}
    for item in inputs:
        frame, arity = _input_frame(database.session, item, layout)
        frames[arity] = frames[arity].unionByName(frame) if arity in frames else frame
    for arity, frame in frames.items():
        frame.createOrReplaceTempView(f"given_{arity}")
    return sorted(frames)


def _input_frame(session: SparkSession, item: str, layout: TableLayout) -> tuple[DataFrame, int]:
    """The atoms of an input (names as text, value in millionths, -1 if invalid), and the arity."""
    from pyspark.sql import functions as f

    predicate, place = predicate_and_place(item)
    try:
        if os.path.exists(place) or "/" in place or place.lower().endswith(PARQUET):
            table = session.read.parquet(place)
        else:
            table = session.table(place)
    except Exception as error:
        # missing files raise a Python class, broken ones a Java exception
        raise DataError(item, f"cannot be read: {_reason(error)}") from None
    layout = replace(layout, arguments_of=predicate)
    columns = Header(item, table.columns, layout).table_columns()
    _check_types(item, columns, [kind for _, kind in table.dtypes])
    # columns are renamed by position: nothing of the file's header gets into SQL
    facts = table.toDF(*columns)
    value: Any = f.lit(ONE)
    if "value" in columns:
        number = f.col("value").cast("double")
        millionths = f.round(number * ONE).cast("int")
        value = f.when((number >= 0) & (number <= 1), millionths).otherwise(-1)
    name = f.col("predicate") if predicate is None else f.lit(predicate)
    arity = arity_of(columns)
    arguments = [f.col(f"a{k}").cast("string").alias(f"a{k}") for k in range(1, arity + 1)]
    selected = facts.select(
        name.cast("string").alias("predicate"), *arguments, value.cast("int").alias("value")
    )
    return selected, arity


def _check_types(item: str, columns: Sequence[str], kinds: Sequence[str]) -> None:
    for column, kind in zip(columns, kinds, strict=True):
        allowed = VALUE_TYPES if column == "value" else NAME_TYPES
        if column and kind.partition("(")[0] not in allowed:
            expected = "numbers" if column == "value" else "text or integers"
            raise DataError(item, f"column {column!r} is of type {kind}; expected {expected}")


def _one_arity(database: Spark, listed: str) -> Mapping[str, int]:
    """The arity of every predicate; several are refused."""
    found = database.fetch("SELECT predicate, arity FROM predicates ORDER BY predicate, arity")
    known: dict[str, int] = {}
    for name, arity in zip(found["predicate"].tolist(), found["arity"].tolist(), strict=True):
        if known.setdefault(name, arity) != arity:
            problem = (
                f"{quote(name)} has {known[name]} arguments in some facts and {arity} in others"
            )
            raise DataError(listed, f"{problem}; expected the same number")
    if not known:
        raise DataError(listed, "no facts found; expected at least one")
    return known


def _by_ids(arity: int) -> str:
    """Atoms by ids; `other` is a second value where an atom has two."""
    columns = dict(enumerate(atom_table(arity)[1], start=1))
    ids = ", ".join(f"e{k}.id AS {column}" for k, column in columns.items())
    joins = " ".join(f"JOIN entity_ids AS e{k} ON e{k}.name = f.a{k}" for k in columns)
    group = ", ".join(["p.id", *(f"e{k}.id" for k in columns)])
    return (
        f"SELECT p.id AS predicate, {ids}, min(f.value) AS value, max(f.value) AS other "
        f"FROM given_{arity} AS f JOIN predicate_ids AS p ON p.name = f.predicate {joins} "
        f"GROUP BY {group}"
    )


def _checked_values(database: Spark, arity: int, listed: str) -> bool:
    """Refuse wrong and contradicting values; returns whether some value is between 0 and 1."""
    found = database.fetch(
        "SELECT count_if(value < 0 OR other > 1000000) AS wrong, "
        "count_if(value <> other) AS clashes, count_if(value > 0 AND value < 1000000) AS soft "
        f"FROM atoms_{arity}"
    )
    wrong, clashes, soft = (int(found[name][0]) for name in ("wrong", "clashes", "soft"))
    if wrong:
        raise DataError(listed, "a truth value lies outside [0, 1]; expected numbers from 0 to 1")
    if clashes:
        raise DataError(listed, "a fact has two truth values; expected one value for each fact")
    return soft > 0


def _facts(
    arity: int, arities: Sequence[int], predicates: Names, not_binary: Mapping[str, int]
) -> str:
    """Select of the unary facts, or of all edges: binary facts, and projections of wider ones."""
    columns = [*atom_table(arity)[1], "predicate", "value"]
    parts = []
    if arity in arities:
        parts.append(f"SELECT {', '.join(columns)} FROM atoms_{arity} WHERE value > 0")
    if arity == 2:
        parts += projected_edges(not_binary, predicates, predicates, "atoms")
    zeros = ", ".join(f"0 AS {column}" for column in columns)
    return " UNION ALL ".join(parts) or f"SELECT {zeros} WHERE 1 = 0"


def _reason(error: Exception) -> str:
    """Spark's own sentence: after the class and the code in brackets."""
    lines = [line.strip() for line in str(error).splitlines() if "[" in line and "] " in line]
    return (lines[0].split("] ", 1)[1] if lines else str(error).splitlines()[0])[:300]


@dataclass(frozen=True)
class SparkInputs:
    """Inputs by their reader."""

    own: tuple[str, ...]  #: Parquet files, folders and tables, which Spark reads where they are
    others: tuple[Input, ...]  #: what the readers of all engines read on this machine

    @classmethod
    def of(cls, inputs: Sequence[Input], place: str = "") -> SparkInputs:
        """Classify the inputs; unreadable ones are refused here, before Spark starts.

        So are files on this machine if `place` is a store that they cannot be written to.
        """
        items = [os.fspath(i) if isinstance(i, str | os.PathLike) else i for i in inputs]
        own = tuple(i for i in items if isinstance(i, str) and not _is_for_readers(i))
        others = tuple(i for i in items if not isinstance(i, str) or _is_for_readers(i))
        if others and "://" in place:
            problem = f"is read on this machine, and {place} is elsewhere"
            name = others[0] if isinstance(others[0], str) else "a table"
            raise DataError(name, f"{problem}; expected Parquet there")
        return cls(own, others)

    def to_parquet(
        self,
        folder: str,
        layout: TableLayout = BY_ITSELF,
        numbers: Input | None = None,
        dates: Input | None = None,
    ) -> PreparedInputs:
        """Write the atoms of `others` by arity: predicate, a1 .. ak, and value in millionths.

        Numbers come to memory.
        """
        written: dict[int, str] = {}
        if not self.others and numbers is None and dates is None:
            return PreparedInputs()
        with workspace() as space:
            sources = evidence_sources(space, self.others, layout, numbers, dates)
            of_atoms, of_numbers = by_kind(sources)
            numbered = intern_facts(space.connection, of_numbers) if of_numbers else None
            if of_atoms:
                store_facts(space.connection, of_atoms)
            for arity in sorted(set[int]().union(*(source.arities for source in of_atoms))):
                path = f"{folder}/given-{arity}.parquet"
                space.connection.execute(
                    f"COPY ({named_atoms(arity)}) TO {literal(path)} "
                    "(FORMAT parquet, USE_TMP_FILE false)"
                )
                written[arity] = path
        return PreparedInputs(written, numbered)


def predicate_and_place(item: str) -> tuple[str | None, str]:
    """Predicate (of `ta=ta.pq`, else None) and file, folder or table of an input."""
    # text before "=" is not a predicate where it is part of a folder: s3a://bucket/year=2020
    named = named_table(item) if "/" not in item.partition("=")[0] else None
    return named or (None, item)


def _is_for_readers(item: str) -> bool:
    _, place = predicate_and_place(item)
    if "://" in place or place.lower().endswith(PARQUET) or os.path.isdir(place):
        return False
    if item == "-" or os.path.exists(split_of(place)[0]):
        return True
    if "/" in place or Path(place).suffix in (".tsv", ".csv", ".nt", ".nq", ".ttl", ".gz"):
        raise DataError(item, "no such file")
    return False  # the name of a table
