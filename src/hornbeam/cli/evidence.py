"""Facts for a command: in memory, or with an engine that leaves them where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hornbeam.cli.console import TerminalProgress, read_files
from hornbeam.cli.options import EngineName
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.counting.opening import Evidence

#: Which engines an option belongs to.
BELONGS = {
    "--memory-limit": [EngineName.DUCKDB],
    "--spill-dir": [EngineName.DUCKDB, EngineName.SPARK],
    "--master": [EngineName.SPARK],
    "--spark-conf": [EngineName.SPARK],
}


@contextmanager
def open_evidence(
    facts: Sequence[str],
    engine: EngineName,
    progress: TerminalProgress,
    *,
    threads: int | None,
    memory_limit: str | None,
    spill_dir: str | None,
    master: str | None,
    spark_conf: Sequence[str] | None,
) -> Iterator[Evidence]:
    """Read or open the facts; whatever the engine put on disk is gone afterwards."""
    given = {
        "--memory-limit": memory_limit,
        "--spill-dir": spill_dir,
        "--master": master,
        "--spark-conf": spark_conf,
    }
    for option, value in given.items():
        if value and engine not in BELONGS[option]:
            raise InputError(f"{option} is for --engine {' or '.join(BELONGS[option])}")
    match engine:
        case EngineName.MEMORY:
            import hornbeam as hb

            yield read_files(hb.read_facts, facts, progress)
        case EngineName.DUCKDB:
            from hornbeam.counting.sql.duckdb_engine import open_duckdb

            with open_duckdb(
                *facts,
                memory_limit=memory_limit,
                spill_dir=spill_dir,
                threads=threads,
                progress=progress,
            ) as opened:
                yield opened
        case EngineName.SPARK:
            from hornbeam.counting.sql.spark_engine import open_spark

            default = "local[*]" if threads is None else f"local[{threads}]"
            conf = dict(_setting(text) for text in spark_conf or ())
            with open_spark(
                *facts,
                master=master or default,
                conf=conf,
                spill_dir=spill_dir,
                progress=progress,
            ) as started:
                yield started


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise InputError(f"--spark-conf {text!r}: expected spark.KEY=VALUE")
    return key, value
