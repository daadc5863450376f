"""A Spark session for tests, and an engine over facts that are in memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import SparkSession

from hornbeam.base.files import working_folder
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.sql.spark_engine import Spark
from hornbeam.counting.sql.spark_session import spark_session
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.facts.table import Facts

#: Beside what `spark/spark-defaults.conf` says: few tasks, against our own default.
SMALL = {"spark.sql.shuffle.partitions": "2"}


@contextmanager
def small_session(warehouse: Path) -> Iterator[SparkSession]:
    """Start Spark on two threads; tables that are looked for by name would be in a folder."""
    settings = SMALL | {"spark.sql.warehouse.dir": str(warehouse)}
    with spark_session("local[2]", settings, SILENT) as session:
        yield session


@contextmanager
def given_for_started(session: SparkSession) -> Iterator[list[tuple[str, Mapping[str, str]]]]:
    """Give a session that runs to whoever starts Spark; lists masters and settings asked for."""
    asked = []

    @contextmanager
    def started(master: str, conf: Mapping[str, str], progress: Progress) -> Iterator[SparkSession]:
        asked.append((master, conf))
        # Spark's own process runs elsewhere, and relative names of files begin here
        java = session._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
        files = java.FileSystem.get(session._jsc.hadoopConfiguration())
        files.setWorkingDirectory(java.Path(str(Path.cwd())))
        yield session

    with patch("hornbeam.counting.sql.spark_engine.spark_session", started):
        yield asked


def spark_engine(session: SparkSession, facts: Facts) -> SqlEngine:
    """Search facts that are in memory already on a session."""
    stack = ExitStack()
    database = Spark(session.newSession(), str(stack.enter_context(working_folder())))
    weakref.finalize(database, stack.close)
    return SqlEngine.of(database, facts, database.broadcast_rows)
