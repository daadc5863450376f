"""Options that several commands share, each with the help a newcomer needs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.choices import EngineName, Score
from hornbeam.cli.console import TerminalProgress, progress_shown
from hornbeam.cli.option_groups import OneOf, Options
from hornbeam.rules.body import MAX_LENGTH
from hornbeam.rules.rule_model import Counts

if TYPE_CHECKING:
    from hornbeam.rules.candidates import Language

#: Rows of a table on the screen; `--json` has them all.
SHOWN = 25

#: Headings of groups of options in the help.
RULES = "Which rules"
LEARNER = "How to learn"
RUNNING = "Running"


FactFiles = Annotated[
    list[str],
    typer.Option(
        "--facts",
        metavar="FILE",
        help="Facts: subject TAB predicate TAB object [TAB truth value]. TSV, CSV, Parquet, "
        "N-Triples, Turtle or a PSL program; gzip is fine. Give it again for more files.",
    ),
]
OptionalFactFiles = Annotated[
    list[str] | None, typer.Option("--facts", metavar="FILE", help="Facts, as for learn.")
]
LabelFiles = Annotated[
    list[str],
    typer.Option("--labels", metavar="FILE", help="Labelled targets: as facts, with 0 or 1 last."),
]
OptionalLabelFiles = Annotated[
    list[str] | None,
    typer.Option("--labels", metavar="FILE", help="Labelled targets: as facts, with 0 or 1 last."),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that learn wrote.")]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="PREDICATE", help="Use the labels of this predicate only."),
]
MaxLength = Annotated[
    int,
    typer.Option(
        "--max-length",
        min=1,
        max=MAX_LENGTH,
        metavar="N",
        help="Longest body of a rule, in atoms.",
        rich_help_panel=RULES,
    ),
]
MinCoverage = Annotated[
    int,
    typer.Option(
        "--min-coverage",
        min=1,
        metavar="N",
        help="Fewest targets that a rule must connect.",
        rich_help_panel=RULES,
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        min=1,
        metavar="N",
        help="Keep the N sequences of widest coverage.",
        rich_help_panel=RULES,
    ),
]
CountsOption = Annotated[
    str,
    typer.Option(
        "--counts",
        help="n groundings of a rule weigh n (raw, as in PSL), log2(1+n) (log) or 1 (exists); auto "
        "lets joint choose by internal validation and is raw for the others.",
        rich_help_panel=LEARNER,
    ),
    OneOf(lambda: ["auto", *Counts]),
]
Collective = Annotated[
    bool,
    typer.Option(
        "--collective",
        help="Rules may have targets in their bodies, too, and all pairs are scored together.",
    ),
]
ScoreOption = Annotated[
    Score, typer.Option("--score", help="The conditional mean of the link, or its MAP state.")
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, metavar="N", help="Same seed, same answer.", rich_help_panel=RUNNING
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="Worker threads (default: all cores).",
        rich_help_panel=RUNNING,
    ),
]


@dataclass(frozen=True)
class LanguageOptions(Options):
    """Which rules are looked for."""

    max_length: MaxLength = 3
    min_coverage: MinCoverage = 10
    top: Top = None
    distinct_variables: Annotated[
        bool,
        typer.Option(
            "--distinct-variables",
            help="No two variables of a rule on one entity.",
            rich_help_panel=RULES,
        ),
    ] = False
    max_fanout: Annotated[
        int | None,
        typer.Option(
            "--max-fanout",
            min=1,
            metavar="N",
            help="Approximation for hubs: do not walk a relation from a node that has more than N "
            "edges of it. Off by default.",
            rich_help_panel=RULES,
        ),
    ] = None

    def language(self) -> Language:
        """Describe the rules for the library."""
        from hornbeam.rules.candidates import Language

        return Language(
            self.max_length, self.min_coverage, self.top, self.distinct_variables, self.max_fanout
        )


@dataclass(frozen=True)
class EngineOptions(Options):
    """Where paths are counted, and by what means."""

    engine: Annotated[
        EngineName,
        typer.Option(
            "--engine",
            help="Where paths are counted: memory (fastest), duckdb (facts larger than memory), "
            "spark (larger than one machine). The results are the same.",
            rich_help_panel=RUNNING,
        ),
    ] = EngineName.MEMORY
    threads: Threads = None
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="duckdb: what it may hold in memory, such as 2GB (default: 80 % of the "
            "machine's).",
            rich_help_panel=RUNNING,
        ),
    ] = None
    spill_dir: Annotated[
        str | None,
        typer.Option(
            "--spill-dir",
            metavar="FOLDER",
            help="duckdb, spark: where the rest goes (default: the system's temporary folder; on a "
            "cluster one that every worker can write to).",
            rich_help_panel=RUNNING,
        ),
    ] = None
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help="spark: the cluster, such as spark://host:7077 (default: this machine).",
            rich_help_panel=RUNNING,
        ),
    ] = None
    spark_conf: Annotated[
        list[str] | None,
        typer.Option(
            "--spark-conf",
            metavar="KEY=VALUE",
            help="spark: a setting, such as spark.executor.memory=8g. Give it again for more.",
            rich_help_panel=RUNNING,
        ),
    ] = None


@dataclass(frozen=True)
class ConsoleOptions(Options):
    """How much a command prints, and in which form."""

    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object instead of a table.", rich_help_panel=RUNNING
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No progress and no messages.", rich_help_panel=RUNNING),
    ] = False
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="What was read, every stage with its rate, time and memory.",
            rich_help_panel=RUNNING,
        ),
    ] = False

    def progress(self) -> AbstractContextManager[TerminalProgress]:
        """Show how far the work is, unless quiet."""
        return progress_shown(self.quiet, self.verbose)
