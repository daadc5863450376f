"""Facts into Spark: names become ids where the facts are.

Ids are the ranks of names within hashed buckets, so a lost executor's share is computed again to
the same ids. Tables of three columns are edges, those of two are unary facts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.counting.sql.database import Database
from hornbeam.errors import DataError, InputError
from hornbeam.facts.names import Names
from hornbeam.facts.reading.diagnosis import quote
from hornbeam.facts.reading.sources import Role
from hornbeam.facts.reading.storing import Stored
from hornbeam.facts.reading.tables import columns_by_name
from hornbeam.facts.table import ONE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Groups of names that are numbered side by side.
BUCKETS = 4096

#: Columns of `given`, the edges, and of `given_unary`.
EDGES, UNARY = ("a1", "predicate", "a2"), ("a1", "predicate")

#: Every name once.
NAMES = (
    "SELECT DISTINCT name FROM (SELECT explode(array(a1, a2)) AS name FROM given "
    "UNION ALL SELECT a1 AS name FROM given_unary) AS n"
)
#: Predicates, of edges and of unary facts.
PREDICATES = (
    "SELECT name, max(edge) AS edge, min(edge) AS least FROM "
    "(SELECT DISTINCT predicate AS name, 1 AS edge FROM given "
    "UNION ALL SELECT DISTINCT predicate AS name, 0 AS edge FROM given_unary) AS p GROUP BY name"
)
#: Names that no file of ours could hold.
BAD_NAMES = (
    "SELECT name FROM (SELECT name FROM names UNION ALL SELECT predicate FROM given "
    "UNION ALL SELECT predicate FROM given_unary) AS n "
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
UNARY_FACTS = (
    "SELECT s.id AS entity, p.id AS predicate, min(f.value) AS value, max(f.value) AS other "
    "FROM given_unary AS f JOIN predicate_ids AS p ON p.name = f.predicate "
    "JOIN entity_ids AS s ON s.name = f.a1 GROUP BY s.id, p.id"
)


def read_facts(database: Database, session: SparkSession, inputs: Sequence[str]) -> Stored:
    """Read Parquet or tables into `facts`, `unary_facts` and `entity_ids`."""
    if not inputs:
        raise InputError("no facts given; expected at least one Parquet file or table")
    frames = [_given(session, item) for item in inputs]
    for view, columns in (("given", EDGES), ("given_unary", UNARY)):
        mine = [frame for frame in frames if frame.columns == [*columns, "value"]]
        none = session.createDataFrame(
            [], ", ".join(f"{c} string" for c in columns) + ", value int"
        )
        reduce(lambda one, other: one.unionByName(other), mine, none).createOrReplaceTempView(view)
    listed = ", ".join(inputs)
    database.create("names", NAMES)
    bad = database.fetch(BAD_NAMES)["name"]
    if len(bad):
        found = "nothing" if bad[0] is None else quote(bad[0])
        raise DataError(listed, f"found {found} as a name; expected text without TAB or newline")
    predicates, not_binary = _number_predicates(database, listed)
    database.create("ranked", RANKED)
    database.create("entity_ids", ENTITY_IDS)
    database.create("all_facts", FACTS)
    database.create("all_unary", UNARY_FACTS)
    soft = [_checked_values(database, table, listed) for table in ("all_facts", "all_unary")]
    for name, table, ids in (
        ("facts", "all_facts", "subject, predicate, object"),
        ("unary_facts", "all_unary", "entity, predicate"),
    ):
        database.view(name, f"SELECT {ids}, value FROM {table} WHERE value > 0")  # noqa: S608
    return Stored(predicates, any(soft), not_binary)


def _number_predicates(database: Database, listed: str) -> tuple[Names, dict[str, int]]:
    """Make `predicate_ids`; the names, and the arity of those that are no edges."""
    found = database.fetch(PREDICATES)
    if not len(found["name"]):
        raise DataError(listed, "no facts found; expected at least one")
    both = found["name"][found["edge"] != found["least"]]
    if len(both):
        raise DataError(
            listed, f"{quote(min(both))} has one argument and two; expected the same number"
        )
    predicates = Names.of(found["name"])
    names = np.array(list(predicates), dtype=object)
    database.upload("predicate_ids", {"name": names, "id": np.arange(len(names), dtype=np.int32)})
    return predicates, dict.fromkeys(found["name"][found["edge"] == 0].tolist(), 1)


def _checked_values(database: Database, table: str, listed: str) -> bool:
    """Refuse wrong and contradicting values; whether some value is below 1."""
    (wrong,), (clashes,), (soft,) = database.fetch(
        "SELECT count_if(value < 0 OR other > 1000000) AS wrong, "  # noqa: S608
        f"count_if(value <> other) AS clashes, count_if(value > 0 AND value < {ONE}) AS soft "
        f"FROM {table}"
    ).values()
    if wrong:
        raise DataError(listed, "a truth value lies outside [0, 1]; expected numbers from 0 to 1")
    if clashes:
        raise DataError(listed, "a fact has two truth values; expected one value for each fact")
    return bool(soft)


def _given(session: SparkSession, item: str) -> DataFrame:
    """Columns `EDGES` or `UNARY` as text, and value in millionths, -1 where it is no truth."""
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
    wanted = EDGES if "a2" in columns else UNARY
    names = [f.col(name).cast("string").alias(name) for name in wanted]
    return named.select(*names, value.cast("int").alias("value"))


def _reason(error: Exception) -> str:
    """Spark's own sentence: after the class and the code in brackets."""
    lines = [line.strip() for line in str(error).splitlines() if "[" in line and "] " in line]
    return (lines[0].split("] ", 1)[1] if lines else str(error).splitlines()[0])[:300]
