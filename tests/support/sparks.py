"""A Spark session for tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from hornbeam.counting.sql.spark_session import spark_session
from hornbeam.progress import SILENT

#: What small jobs want: few tasks, and code that is compiled once, soon.
SMALL = {
    "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
}


@contextmanager
def small_session() -> Iterator[SparkSession]:
    """Start Spark on two threads."""
    with spark_session("local[2]", SMALL, SILENT) as session:
        yield session
