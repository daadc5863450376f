"""The Spark engine: facts larger than one machine, by the same SQL as `duckdb`.

The driver sees targets, candidates and counts; facts and names stay with the executors. Ids are the
ranks of names within hashed buckets, so a lost executor's share is computed again to the same ids.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.arrays import Array
from hornbeam.counting.projections import walked
from hornbeam.counting.sql.database import TableColumns
from hornbeam.counting.sql.spark_session import check_ready, spark_session
from hornbeam.counting.sql.sql_engine import SqlEngine, fact_columns, unary_columns
from hornbeam.counting.sql.step_queries import DEGREES
from hornbeam.errors import DataError, InputError
from hornbeam.facts.names import Names
from hornbeam.facts.reading.diagnosis import quote
from hornbeam.facts.reading.sources import Role
from hornbeam.facts.reading.tables import columns_by_name
from hornbeam.facts.table import ONE, Facts
from hornbeam.progress import SILENT, Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Bytes of one row in a table that every worker holds, and the share of a worker's memory for it.
BROADCAST_BYTES = 64
BROADCAST_SHARE = 8

#: Groups of names that are numbered side by side.
BUCKETS = 4096

#: Every name once.
NAMES = "SELECT DISTINCT name FROM (SELECT explode(array(a1, a2)) AS name FROM given) AS n"
#: Names that no file of ours could hold.
BAD_NAMES = (
    "SELECT name FROM (SELECT name FROM names UNION ALL SELECT predicate FROM given) AS n "
    "WHERE name IS NULL OR name = '' OR name RLIKE '[\\\\x00\\\\t\\\\r\\\\n]' LIMIT 1"
)
#: Names with their rank among those of the same bucket.
RANKED = (
    "SELECT name, bucket, row_number() OVER (PARTITION BY bucket ORDER BY name) AS place "  # noqa: S608
    f"FROM (SELECT name, pmod(xxhash64(name), {BUCKETS}) AS bucket FROM names) AS n"
)
#: Ids count on from bucket to bucket.
ENTITY_IDS = (
    "SELECT r.name, CAST(b.before + r.place - 1 AS INT) AS id FROM ranked AS r JOIN "
    "(SELECT bucket, sum(size) OVER (ORDER BY bucket) - size AS before FROM "
    "(SELECT bucket, count(*) AS size FROM ranked GROUP BY bucket) AS s) AS b "
    "ON b.bucket = r.bucket"
)
#: Facts by ids; `other` is a second value where a fact has two.
FACTS = (
    "SELECT s.id AS subject, p.id AS predicate, o.id AS object, min(f.value) AS value, "
    "max(f.value) AS other FROM given AS f JOIN predicate_ids AS p ON p.name = f.predicate "
    "JOIN entity_ids AS s ON s.name = f.a1 JOIN entity_ids AS o ON o.name = f.a2 "
    "GROUP BY s.id, p.id, o.id"
)
#: How many facts have a wrong value or two values, and the least value above 0.
VALUES = (
    "SELECT count_if(value < 0 OR other > 1000000) AS wrong, count_if(value <> other) AS clashes, "
    "min(CASE WHEN value > 0 THEN value END) AS least FROM all_facts"
)


@dataclass(frozen=True, eq=False)
class Spark:
    """A Spark session as the place of a search, with a folder that every worker reaches.

    Tables are Parquet files in that folder. Spark's own cache would do as well for one table, but a
    search makes a dozen from one another, and plans that hold their ancestors' plans grow without
    end; files also outlive an executor.
    """

    session: SparkSession
    folder: str
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def broadcast_rows(self) -> int:
        """Longest table that every worker can hold, and the driver, who makes it, as well."""
        context = self.session.sparkContext
        java: Any = context._jvm
        to_bytes = java.org.apache.spark.network.util.JavaUtils.byteStringAsBytes
        return broadcast_rows(dict(context.getConf().getAll()), to_bytes)

    def create(self, table: str, select: str) -> None:
        """Make (or replace) a table."""
        place = f"{self.folder}/{table}-{next(self._numbers)}"
        frame = self.session.sql(select)
        with _explained():
            frame.write.parquet(place)
            stored = self.session.read.schema(frame.schema).parquet(place)
        stored.createOrReplaceTempView(table)

    def view(self, name: str, select: str) -> None:
        """Make (or replace) a view."""
        self.session.sql(select).createOrReplaceTempView(name)

    def upload(self, table: str, columns: TableColumns) -> None:
        """Make (or replace) a table from arrays."""
        self._frame(columns).createOrReplaceTempView(table)

    def _frame(self, columns: TableColumns) -> DataFrame:
        import pyarrow

        return self.session.createDataFrame(pyarrow.table(dict(columns)))

    def fetch(self, select: str) -> dict[str, Array]:
        """Run a select and return its columns."""
        with _explained():
            found = self.session.sql(select).toArrow()
        return {name: found.column(name).to_numpy() for name in found.column_names}

    def drop(self, *tables: str) -> None:
        """Forget tables that are there."""
        for table in tables:
            self.session.catalog.dropTempView(table)

    def close(self) -> None:
        """Remove the folder, wherever it is."""
        context = self.session.sparkContext
        java: Any = context._jvm
        path = java.org.apache.hadoop.fs.Path(self.folder)
        path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)

    def write_parquet(self, path: str, batches: Iterable[TableColumns]) -> None:
        """Write batches of columns to a folder of Parquet files; all of them or nothing."""
        on_disk = "://" not in path
        unfinished = f"{os.path.realpath(path)}.{secrets.token_hex(8)}.tmp" if on_disk else path
        try:
            for columns in batches:
                self._frame(columns).write.mode("append").parquet(unfinished)
            if on_disk:
                if os.path.isdir(path):
                    shutil.rmtree(path)
                os.replace(unfinished, path)
        finally:
            if on_disk:
                shutil.rmtree(unfinished, ignore_errors=True)


def broadcast_rows(settings: Mapping[str, str], to_bytes: Callable[[str], int]) -> int:
    """Rows of a table that driver and executors can hold; in one process the driver does all."""

    def size(setting: str) -> int:
        return to_bytes(settings.get(setting, "1g"))  # Spark's default for all of them

    memory = size("spark.driver.memory")
    if not settings["spark.master"].startswith("local["):
        memory = min(memory, size("spark.executor.memory"))
    # what may come to the driver at once; 0 is no limit
    result = size("spark.driver.maxResultSize") or memory
    return min(memory // BROADCAST_SHARE, result) // BROADCAST_BYTES


@contextmanager
def _explained() -> Iterator[None]:
    """Say what a user can do about it where a disk is full."""
    try:
        yield
    except Exception as error:
        # of what the Java side throws, PySpark knows only some by a class of its own
        if "No space left on device" not in str(error):
            raise
        raise DataError(
            "the spill directory", "is full; name one on a larger disk with `spill_dir`"
        ) from None


def spark_engine(session: SparkSession, facts: Facts) -> SqlEngine:
    """Search facts that are in memory already on a session; for small ones, and tests."""
    database = _place(session, tempfile.gettempdir())
    weakref.finalize(database, shutil.rmtree, database.folder, ignore_errors=True)
    edges = walked(facts)
    database.upload("facts", fact_columns(edges))
    database.upload("unary_facts", unary_columns(edges))
    database.create("degrees", DEGREES)
    return SqlEngine(
        database,
        edges.predicates,
        edges.soft,
        facts.entities,
        not_binary=facts.not_binary,
        broadcast_rows=database.broadcast_rows,
    )


@contextmanager
def open_spark(
    *inputs: str | os.PathLike[str],
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    progress: Progress = SILENT,
) -> Iterator[SqlEngine]:
    """Open facts on a Spark cluster, without moving them.

    Parameters
    ----------
    *inputs
        Parquet files or folders on any store that Spark reads, or names of its tables.
    master
        Where the cluster is: "local[*]", "spark://host:7077", "yarn", "k8s://https://host:443".
    conf
        Further settings of Spark, such as {"spark.executor.memory": "8g"}.
    spill_dir
        A folder that every worker can write to, on any store that Spark knows. On this machine the
        system's temporary folder by default.
    """
    if spill_dir is None and not master.startswith("local"):
        check_ready(master)  # a master that is not there is the first thing to hear of
        raise InputError(
            "on a cluster give `spill_dir` a folder that every worker can write to, such as "
            "hdfs:///tmp or s3a://bucket/tmp"
        )
    folder = os.fspath(spill_dir or tempfile.gettempdir())
    # on one machine, what tasks write for one another goes there too
    scratch = {"spark.local.dir": folder} if master.startswith("local") else {}
    with spark_session(master, scratch | dict(conf or {}), progress) as session:
        progress.message("Storing the facts in Spark ...")
        database = _place(session, folder)
        try:
            yield read_facts(database, [os.fspath(item) for item in inputs])
        finally:
            database.close()


def _place(session: SparkSession, folder: str) -> Spark:
    """A place for one search; its session has its own tables, on the same cluster."""
    return Spark(session.newSession(), f"{folder.rstrip('/')}/hornbeam-{secrets.token_hex(8)}")


def read_facts(database: Spark, inputs: Sequence[str]) -> SqlEngine:
    """Read facts from Parquet or tables into `facts`, `degrees` and `entity_ids`."""
    if not inputs:
        raise InputError("no facts given; expected at least one Parquet file or table")
    session = database.session
    given = [_given(session, item) for item in inputs]
    union = given[0]
    for frame in given[1:]:
        union = union.unionByName(frame)
    union.createOrReplaceTempView("given")
    listed = ", ".join(inputs)
    database.create("names", NAMES)
    bad = database.fetch(BAD_NAMES)["name"]
    if len(bad):
        found = "nothing" if bad[0] is None else quote(bad[0])
        raise DataError(listed, f"found {found} as a name; expected text without TAB or newline")
    predicates = Names.of(database.fetch("SELECT DISTINCT predicate AS name FROM given")["name"])
    if not len(predicates):
        raise DataError(listed, "no facts found; expected at least one")
    names = np.array(list(predicates), dtype=object)
    database.upload("predicate_ids", {"name": names, "id": np.arange(len(names), dtype=np.int32)})
    database.create("ranked", RANKED)
    database.create("entity_ids", ENTITY_IDS)
    database.create("all_facts", FACTS)
    values = {name: column[0] for name, column in database.fetch(VALUES).items()}
    if values["wrong"]:
        raise DataError(listed, "a truth value lies outside [0, 1]; expected numbers from 0 to 1")
    if values["clashes"]:
        raise DataError(listed, "a fact has two truth values; expected one value for each fact")
    database.view(
        "facts", "SELECT subject, predicate, object, value FROM all_facts WHERE value > 0"
    )
    database.upload("unary_facts", unary_columns(Facts(predicates, predicates)))
    database.create("degrees", DEGREES)
    return SqlEngine(
        database, predicates, bool(values["least"] < ONE), broadcast_rows=database.broadcast_rows
    )


def _given(session: SparkSession, item: str) -> DataFrame:
    """Columns a1, predicate, a2 as text and value in millionths, -1 where it is no truth value."""
    from pyspark.sql import functions as f

    try:
        if os.path.exists(item) or "/" in item or item.endswith((".parquet", ".pq")):
            table = session.read.parquet(item)
        else:
            table = session.table(item)
    except Exception as error:
        # missing files have a class in Python, broken ones come as they are from Java
        raise DataError(item, f"cannot be read: {_reason(error)}") from None
    columns = columns_by_name(item, table.columns, Role.FACTS)
    kinds = dict(zip(columns, (kind for _, kind in table.dtypes), strict=True))
    for column, kind in kinds.items():
        numbers = ("int", "bigint", "smallint", "tinyint")
        allowed = ("double", "float", "boolean", *numbers) if column == "value" else (
            "string", *numbers)  # fmt: skip
        if kind not in allowed and not (column == "value" and kind.startswith("decimal")):
            expected = "numbers" if column == "value" else "text or integers"
            raise DataError(item, f"column {column!r} is of type {kind}; expected {expected}")
    # columns are renamed by place: nothing of the file's header gets into SQL
    named = table.toDF(*columns)
    value: Any = f.lit(ONE)
    if "value" in columns:
        number = f.col("value").cast("double")
        millionths = f.round(number * ONE).cast("int")
        value = f.when((number >= 0) & (number <= 1), millionths).otherwise(-1)
    names = [f.col(name).cast("string").alias(name) for name in ("a1", "predicate", "a2")]
    return named.select(*names, value.cast("int").alias("value"))


def _reason(error: Exception) -> str:
    """Spark's own sentence: after the class and the code in brackets."""
    lines = [line.strip() for line in str(error).splitlines() if "[" in line and "] " in line]
    return (lines[0].split("] ", 1)[1] if lines else str(error).splitlines()[0])[:300]
