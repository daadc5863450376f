"""The Spark engine: facts larger than one machine, by the same SQL as `duckdb`.

The driver sees targets, candidates and counts; facts and names stay with the executors.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornbeam.base.arrays import Array
from hornbeam.base.files import save_folder, working_folder
from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.counting.sql.database import TableColumns
from hornbeam.counting.sql.spark_reading import SparkInputs, spark_engine_over
from hornbeam.counting.sql.spark_session import check_ready, spark_session
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.errors import DataError, InputError
from hornbeam.facts.reading.headers import TableLayout
from hornbeam.facts.reading.readers import Input

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Bytes of one row in a table that every worker holds, and the fraction of its memory for it.
BROADCAST_BYTES = 64
BROADCAST_SHARE = 8

#: Names of the files that Spark writes into a folder of Parquet.
PARQUET_PART = re.compile(r"\.?(part-.+\.parquet|_SUCCESS)(\.crc)?")


@dataclass(frozen=True, eq=False)
class Spark:
    """A Spark session in which searches run, with a folder that every worker reaches.

    Tables are Parquet files in that folder. Spark's own cache would do as well for one table, but a
    search makes a dozen from one another, and plans that contain their ancestors' plans grow
    without bound; files also outlive an executor.
    """

    session: SparkSession
    folder: str
    _numbers: Iterator[int] = field(default_factory=count)

    distributed = True

    @property
    def broadcast_rows(self) -> int:
        """Largest table (rows) that the driver can build and every worker can hold."""
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
        """Drop the tables that exist."""
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

        def write(place: object) -> None:
            for columns in batches:
                self._frame(columns).write.mode("append").parquet(str(place))

        if "://" in path:
            write(path)
        else:
            save_folder(path, write, not_parquet)


def not_parquet(folder: Path) -> str | None:
    """Name of something in a folder that Spark did not write as Parquet, if any."""
    names = sorted(path.name for path in folder.iterdir())
    return next((repr(name) for name in names if not PARQUET_PART.fullmatch(name)), None)


def broadcast_rows(settings: Mapping[str, str], to_bytes: Callable[[str], int]) -> int:
    """Rows of a table that driver and executors can hold; in one process the driver does all."""

    def size(setting: str) -> int:
        return to_bytes(settings.get(setting, "1g"))  # Spark's default for all of them

    memory = size("spark.driver.memory")
    if not settings["spark.master"].startswith("local["):
        memory = min(memory, size("spark.executor.memory"))
    # the most that the driver may receive at once; 0 is no limit
    result = size("spark.driver.maxResultSize") or memory
    return min(memory // BROADCAST_SHARE, result) // BROADCAST_BYTES


@contextmanager
def _explained() -> Iterator[None]:
    """Turn the error of a full disk into advice."""
    try:
        yield
    except Exception as error:
        # PySpark has Python classes for some Java exceptions only
        if "No space left on device" not in str(error):
            raise
        raise DataError(
            "the spill directory", "is full; name one on a larger disk with `spill_dir`"
        ) from None


@contextmanager
def open_spark(
    *inputs: Input,
    columns: Mapping[str, str] | None = None,
    header: bool | None = None,
    numbers: Input | None = None,
    dates: Input | None = None,
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    progress: Progress | bool = SILENT,
) -> Iterator[SqlEngine]:
    """Open facts on a Spark cluster, without moving them.

    Parameters
    ----------
    *inputs
        Parquet files or folders on any store that Spark reads, or names of its tables; "ta=ta.pq"
        is a table of the predicate `ta` with one column per argument. Whatever else
        `hornbeam.read_facts` takes is read on this machine and passed to Spark as Parquet.
    columns, header, numbers, dates
        As in `hornbeam.read_facts`; numbers are read on this machine and held by the driver.
    master
        Where the cluster is: "local[*]", "spark://host:7077", "yarn", "k8s://https://host:443".
    conf
        Further settings of Spark, such as {"spark.executor.memory": "8g"}.
    spill_dir
        A folder that every worker can write to, on any store that Spark knows. On this machine the
        system's temporary folder by default.
    """
    if spill_dir is None and not master.startswith("local"):
        check_ready(master)  # before anything is started
        raise InputError(
            "on a cluster give `spill_dir` a folder that every worker can write to, such as "
            "hdfs:///tmp or s3a://bucket/tmp"
        )
    folder = os.fspath(spill_dir or tempfile.gettempdir())
    given = SparkInputs.of(inputs, folder)
    layout = TableLayout.of(columns, header)
    with _own_folder(folder) as place:
        prepared = given.to_parquet(place, layout, numbers, dates)
        # on one machine, shuffle files go there too
        scratch = {"spark.local.dir": place} if master.startswith("local") else {}
        with (
            as_progress(progress) as shown,
            spark_session(master, scratch | dict(conf or {}), shown) as session,
            # a session of its own has its own tables, on the same cluster
            closing(Spark(session.newSession(), place)) as database,
        ):
            shown.message("Storing the facts in Spark ...")
            yield spark_engine_over(database, given.own, prepared, layout)


@contextmanager
def _own_folder(parent: str) -> Iterator[str]:
    """A folder for the tables of one search; on other stores Spark makes and removes it."""
    if "://" in parent:
        yield f"{parent.rstrip('/')}/hornbeam-{secrets.token_hex(8)}"
    else:
        # workers may run as another user
        with working_folder(parent, mode=0o755) as folder:
            yield str(folder)
