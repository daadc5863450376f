"""How commands read files: facts in memory or in an engine's database, labels, pairs, names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from hornbeam.base.choices import EngineName
from hornbeam.base.machine import worker_threads
from hornbeam.base.terminal_progress import TerminalProgress, WholeProgress
from hornbeam.cli.option_groups import Options, option
from hornbeam.cli.options import ConsoleOptions, EngineOptions, FactOptions, ModelOptions
from hornbeam.errors import InputError, warn

if TYPE_CHECKING:
    from hornbeam.counting.engine import Engine
    from hornbeam.facts.entity_names import EntityNames
    from hornbeam.facts.table import Facts
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model

T = TypeVar("T")

#: The engines to which an option applies.
BELONGS = {
    "memory_limit": (EngineName.DUCKDB,),
    "spill_dir": (EngineName.DUCKDB, EngineName.SPARK),
    "master": (EngineName.SPARK,),
    "spark_conf": (EngineName.SPARK,),
}

#: Total size in bytes from which on a message announces the reading of files.
LARGE = 10_000_000

_reading_option = partial(option, panel="Reading files")


@dataclass(frozen=True)
class ReadingOptions(Options):
    """How files are read."""

    columns: str | None = _reading_option(
        "Which column is which in tables whose header is not understood: "
        "subject=gene,predicate=relation,object=disease, and value=... if there is one.",
        metavar="PLACE=NAME,...",
    )
    header: bool | None = _reading_option(
        "Whether the first line of TSV and CSV is a header or a fact (default: a header "
        "if it names the columns and none of its fields occurs again below it).",
        "--header/--no-header",
    )
    time: str | None = _reading_option(
        "The column that says when a fact was true, by name or by number from 1 on, in all files: "
        "dates (2014-11-30), timestamps or whole numbers. A label or query at a time sees the "
        "facts before it.",
        metavar="COLUMN",
    )
    language: str = _reading_option(
        "The language of labels where RDF has several.", metavar="LANGUAGE", default="en"
    )

    @property
    def by_place(self) -> dict[str, str] | None:
        """Names of columns by their meaning, as a parameter of the library's readers."""
        return None if self.columns is None else named_columns(self.columns)


def named_columns(text: str) -> dict[str, str]:
    """Names of columns by meaning, from comma-separated PLACE=NAME.

    Examples
    --------
    >>> named_columns("subject=gene, predicate=relation,object=disease")
    {'subject': 'gene', 'predicate': 'relation', 'object': 'disease'}
    """
    named = dict[str, str]()
    for part in text.split(","):
        place, equals, name = part.partition("=")
        if not equals or not name.strip() or place.strip() in named:
            raise InputError(
                f"`columns` {text!r}: expected PLACE=NAME with commas between, each place once, "
                "such as subject=gene,predicate=relation,object=disease"
            )
        named[place.strip()] = name.strip()
    return named


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """How a command reads files, and what it prints."""

    reading: ReadingOptions
    console: ConsoleOptions

    @contextmanager
    def started(self, whole: WholeProgress | None = None) -> Iterator[Inputs]:
        """Open the inputs and show progress in this block; stages of a `whole` share one line."""
        with self.console.progress(whole) as progress:
            yield Inputs(self.reading, progress)


@dataclass(frozen=True)
class Inputs:
    """Reads the files of a command, and reports the reading as progress."""

    reading: ReadingOptions
    progress: TerminalProgress

    def read(self, reader: Callable[..., T], files: Sequence[str]) -> T:
        """Read files of facts, labels, pairs or queries with one of the library's readers."""
        configured = partial(
            reader,
            columns=self.reading.by_place,
            header=self.reading.header,
            time=self.reading.time,
        )
        return self._read(configured, files)

    def facts(self, given: FactOptions, names: Sequence[str] | None = None) -> Facts:
        """Read facts into memory, with numbers of their entities, and with given types."""
        import hornbeam as hb

        arguments = given.argument_types

        reader = partial(hb.read_facts, *given.entity_tables, **given.further)
        facts = self.read(reader, given.facts or ())
        types = self.names(names, None).types if names else None
        return facts.with_types(types, arguments) if types or arguments else facts

    def _read(self, reader: Callable[..., T], files: Sequence[str]) -> T:
        """Read files with a reader, after a message if the files are large."""
        # a table of one predicate is given as ta=ta.tsv: its file is after the "="
        named = [name if os.path.isfile(name) else name.partition("=")[2] for name in files]
        size = sum(os.path.getsize(name) for name in named if os.path.isfile(name))
        if size >= LARGE:
            self.progress.message(f"Reading {size / 1e6:,.0f} MB ...")
        contents = reader(*files)
        self.progress.detail(f"Read {contents!r}.")
        return contents

    def read_given(self, reader: Callable[..., T], files: Sequence[str] | None) -> T | None:
        """Read files; None if no files are given."""
        return self.read(reader, files) if files else None

    def names(self, files: Sequence[str] | None, facts: Facts | None) -> EntityNames:
        """Read names to show for entities; without a file, use the names in the facts."""
        import hornbeam as hb
        from hornbeam.facts.entity_names import NO_NAMES

        reader = partial(hb.read_names, language=self.reading.language)
        if files:
            return self._read(reader, files)
        return NO_NAMES if facts is None else reader(facts)

    def facts_for(self, model: Model | GraphModel, given: ModelOptions) -> Facts:
        """Read the facts for a model, with the true known pairs, if any."""
        return self.with_known(self.facts(given.facts), model, given.known)

    def with_known(
        self, facts: Facts, model: Model | GraphModel, known: Sequence[str] | None
    ) -> Facts:
        """The facts, with the true known pairs added, if any."""
        import hornbeam as hb

        if known:
            return hb.with_known(facts, self.read(hb.read_labels, known))
        if isinstance(model, hb.Model) and model.semantics.cross_evidence:
            warn(
                "the model was learned with cross-evidence, from true pairs that were evidence for "
                "each other: give its training labels as `known`"
            )
        return facts

    @contextmanager
    def engine_for(
        self, model: Model | GraphModel, given: ModelOptions, options: EngineOptions
    ) -> Iterator[Engine]:
        """Open an engine for a model, over the facts and the true known pairs, if any."""
        with self.engine(given.facts, options) as opened:
            if opened.facts is not None:
                yield opened.over(self.with_known(opened.facts, model, given.known))
            elif given.known:
                raise InputError("`known` needs facts in memory: give the known pairs by --facts")
            else:
                yield opened

    @contextmanager
    def engine(
        self, given: FactOptions, options: EngineOptions, names: Sequence[str] | None = None
    ) -> Iterator[Engine]:
        """Open an engine over the facts; its temporary files are deleted after the block."""
        if (given.arguments or names) and options.engine is not EngineName.MEMORY:
            raise InputError("types of entities need facts in memory: leave out --engine")
        for name, engines in BELONGS.items():
            if getattr(options, name) and options.engine not in engines:
                raise InputError(f"`{name}` is for --engine {' or '.join(engines)}")
        if self.reading.time is not None and options.engine is EngineName.SPARK:
            raise InputError("facts with a time need to be in memory: leave out --engine spark")
        if options.engine is EngineName.MEMORY or self.reading.time is not None:
            from hornbeam.counting.opening import open_engine

            # facts with a time come to memory, whatever counts them
            yield open_engine(self.facts(given, names), options.engine, options.threads)
            return
        inputs = (*(given.facts or ()), *given.entity_tables)
        shared: dict[str, Any] = {
            **given.further,
            "columns": self.reading.by_place,
            "header": self.reading.header,
            "spill_dir": options.spill_dir,
            "progress": self.progress,
        }
        if options.engine is EngineName.DUCKDB:
            from hornbeam.counting.sql.duckdb_engine import open_duckdb

            opened = open_duckdb(
                *inputs, **shared, memory_limit=options.memory_limit, threads=options.threads
            )
        else:
            from hornbeam.counting.sql.spark_engine import open_spark

            cores = "*" if options.threads is None else worker_threads(options.threads)
            conf = dict(_setting(text) for text in options.spark_conf or ())
            master = options.master or f"local[{cores}]"
            opened = open_spark(*inputs, **shared, master=master, conf=conf)
        with opened as engine:
            yield engine


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise InputError(f"--spark-conf {text!r}: expected spark.KEY=VALUE")
    return key, value
