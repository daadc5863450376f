"""A Spark session for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from hornbeam.counting.sql.spark_session import spark_session
from hornbeam.progress import SILENT

#: Beside what `spark/spark-defaults.conf` says: few tasks, against our own default.
SMALL = {"spark.sql.shuffle.partitions": "2"}


@contextmanager
def small_session() -> Iterator[SparkSession]:
    """Start Spark on two threads."""
    with spark_session("local[2]", SMALL, SILENT) as session:
        yield session
