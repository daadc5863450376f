"""A Spark session for tests, and an engine over facts that are in memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pyspark.sql import SparkSession

from hornbeam.counting.projections import walked
from hornbeam.counting.sql.spark_engine import Spark
from hornbeam.counting.sql.spark_session import spark_session
from hornbeam.counting.sql.sql_engine import SqlEngine, fact_columns, unary_columns
from hornbeam.counting.sql.step_queries import DEGREES
from hornbeam.facts.table import Facts
from hornbeam.files import working_folder
from hornbeam.progress import SILENT

#: Beside what `spark/spark-defaults.conf` says: few tasks, against our own default.
SMALL = {"spark.sql.shuffle.partitions": "2"}


@contextmanager
def small_session() -> Iterator[SparkSession]:
    """Start Spark on two threads."""
    with spark_session("local[2]", SMALL, SILENT) as session:
        yield session


def spark_engine(session: SparkSession, facts: Facts) -> SqlEngine:
    """Search facts that are in memory already on a session."""
    stack = ExitStack()
    database = Spark(session.newSession(), str(stack.enter_context(working_folder())))
    weakref.finalize(database, stack.close)
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
