"""Facts for a command: in memory, or in an engine's database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hornbeam.base.choices import EngineName
from hornbeam.base.machine import worker_threads
from hornbeam.cli.console import TerminalProgress, read_files
from hornbeam.cli.options import EngineOptions, ModelOptions, ReadingOptions
from hornbeam.errors import InputError, warn

if TYPE_CHECKING:
    from hornbeam.counting.engine import Engine
    from hornbeam.facts.entity_names import EntityNames
    from hornbeam.facts.table import Facts
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model

#: Which engines an option belongs to.
BELONGS = {
    "memory_limit": (EngineName.DUCKDB,),
    "spill_dir": (EngineName.DUCKDB, EngineName.SPARK),
    "master": (EngineName.SPARK,),
    "spark_conf": (EngineName.SPARK,),
}


@contextmanager
def open_evidence(
    facts: Sequence[str],
    options: EngineOptions,
    reading: ReadingOptions,
    progress: TerminalProgress,
) -> Iterator[Engine]:
    """Read or open the facts; temporary files of the engine are deleted at the end of the block."""
    for option, engines in BELONGS.items():
        if getattr(options, option) and options.engine not in engines:
            raise InputError(f"`{option}` is for --engine {' or '.join(engines)}")
    match options.engine:
        case EngineName.MEMORY:
            import hornbeam as hb
            from hornbeam.counting.opening import open_in_memory

            yield open_in_memory(reading.read(hb.read_facts, facts, progress), options.threads)
        case EngineName.DUCKDB:
            from hornbeam.counting.sql.duckdb_engine import open_duckdb

            with open_duckdb(
                *facts,
                columns=reading.by_place,
                header=reading.header,
                memory_limit=options.memory_limit,
                spill_dir=options.spill_dir,
                threads=options.threads,
                progress=progress,
            ) as opened:
                yield opened
        case EngineName.SPARK:
            from hornbeam.counting.sql.spark_engine import open_spark

            cores = "*" if options.threads is None else worker_threads(options.threads)
            with open_spark(
                *facts,
                columns=reading.by_place,
                header=reading.header,
                master=options.master or f"local[{cores}]",
                conf=dict(_setting(text) for text in options.spark_conf or ()),
                spill_dir=options.spill_dir,
                progress=progress,
            ) as started:
                yield started


@contextmanager
def evidence_for(
    model: Model | GraphModel,
    given: ModelOptions,
    engine: EngineOptions,
    reading: ReadingOptions,
    progress: TerminalProgress,
) -> Iterator[Engine]:
    """Open an engine for a model, over the facts and the true known pairs, if any."""
    with open_evidence(given.facts, engine, reading, progress) as opened:
        if opened.facts is not None:
            yield opened.over(with_known_pairs(opened.facts, model, given.known, reading, progress))
        elif given.known:
            raise InputError("`known` needs facts in memory: give the known pairs by --facts")
        else:
            yield opened


def facts_for(
    model: Model | GraphModel,
    given: ModelOptions,
    reading: ReadingOptions,
    progress: TerminalProgress,
) -> Facts:
    """Read the facts for a model, with the true known pairs, if any."""
    import hornbeam as hb

    facts = reading.read(hb.read_facts, given.facts, progress)
    return with_known_pairs(facts, model, given.known, reading, progress)


def entity_names(
    files: Sequence[str] | None, facts: Facts | None, progress: TerminalProgress
) -> EntityNames:
    """Read names to show for entities; without a file, those in the facts."""
    import hornbeam as hb
    from hornbeam.facts.entity_names import NO_NAMES

    if files:
        return read_files(hb.read_names, files, progress)
    return NO_NAMES if facts is None else hb.read_names(facts)


def with_known_pairs(
    facts: Facts,
    model: Model | GraphModel,
    known: Sequence[str] | None,
    reading: ReadingOptions,
    progress: TerminalProgress,
) -> Facts:
    """The facts, with the true known pairs added, if any."""
    import hornbeam as hb

    if known:
        return hb.with_known(facts, reading.read(hb.read_labels, known, progress))
    if isinstance(model, hb.Model) and model.semantics.cross_evidence:
        warn(
            "the model was learned with cross-evidence, from true pairs that were evidence for "
            "each other: give its training labels as `known`"
        )
    return facts


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise InputError(f"--spark-conf {text!r}: expected spark.KEY=VALUE")
    return key, value
