"""Options that several commands share, each with the help a newcomer needs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hornbeam.rules.body import MAX_LENGTH

#: Rows of a table on the screen; `--json` has them all.
SHOWN = 25

#: Headings of groups of options in the help.
RULES = "Which rules"
LEARNER = "How to learn"
RUNNING = "Running"


class EngineName(StrEnum):
    """Engines by their name on the command line."""

    MEMORY = "memory"
    DUCKDB = "duckdb"
    SPARK = "spark"


class MethodName(StrEnum):
    """Learners by their name."""

    JOINT = "joint"
    PPLL = "ppll"
    GREEDY = "greedy"


class CountsName(StrEnum):
    """How much n groundings weigh."""

    AUTO = "auto"
    RAW = "raw"
    LOG = "log"
    EXISTS = "exists"


class RelaxationName(StrEnum):
    """What values targets take while learning."""

    BOOLEAN = "boolean"
    LINEAR = "linear"
    SQUARED = "squared"


class ScoreName(StrEnum):
    """What a score is."""

    MEAN = "mean"
    MAP = "map"


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
DistinctVariables = Annotated[
    bool,
    typer.Option(
        "--distinct-variables",
        help="No two variables of a rule on one entity.",
        rich_help_panel=RULES,
    ),
]
MaxFanout = Annotated[
    int | None,
    typer.Option(
        "--max-fanout",
        min=1,
        metavar="N",
        help="Approximation for hubs: do not walk a relation from a node that has more than N "
        "edges of it. Off by default.",
        rich_help_panel=RULES,
    ),
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        help="Where paths are counted: memory (fastest), duckdb (facts larger than memory), spark "
        "(larger than one machine). The results are the same.",
        rich_help_panel=RUNNING,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="duckdb: what it may hold in memory, such as 2GB (default: 80 % of the machine's).",
        rich_help_panel=RUNNING,
    ),
]
SpillDir = Annotated[
    str | None,
    typer.Option(
        "--spill-dir",
        metavar="FOLDER",
        help="duckdb, spark: where the rest goes (default: the system's temporary folder; on a "
        "cluster one that every worker can write to).",
        rich_help_panel=RUNNING,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="spark: the cluster, such as spark://host:7077 (default: this machine).",
        rich_help_panel=RUNNING,
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option(
        "--spark-conf",
        metavar="KEY=VALUE",
        help="spark: a setting, such as spark.executor.memory=8g. Give it again for more.",
        rich_help_panel=RUNNING,
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
MethodOption = Annotated[
    MethodName,
    typer.Option(
        "--method",
        help="joint: all rules at once with L1 (best). ppll: each rule alone (fastest). greedy: "
        "one rule after the other (fewest).",
        rich_help_panel=LEARNER,
    ),
]
CountsOption = Annotated[
    CountsName,
    typer.Option(
        "--counts",
        help="n groundings of a rule weigh n (raw, as in PSL), log2(1+n) (log) or 1 (exists); auto "
        "lets joint choose by internal validation and is raw for the others.",
        rich_help_panel=LEARNER,
    ),
]
Collective = Annotated[
    bool,
    typer.Option(
        "--collective",
        help="Let rules speak of the targets themselves: bodies hold labelled targets too, and "
        "pairs are scored all together.",
    ),
]
RelaxationOption = Annotated[
    RelaxationName | None,
    typer.Option(
        "--relaxation",
        help="Targets are 0 or 1 (boolean; joint's default), or lie between with hinges of power 1 "
        "(linear; ppll's and greedy's) or 2 (squared).",
        rich_help_panel=LEARNER,
    ),
]
ScoreOption = Annotated[
    ScoreName, typer.Option("--score", help="The conditional mean of the link, or its MAP state.")
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, metavar="N", help="Same seed, same answer.", rich_help_panel=RUNNING
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object instead of a table.", rich_help_panel=RUNNING
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress and no messages.", rich_help_panel=RUNNING),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="What was read, every stage with its rate, time and memory.",
        rich_help_panel=RUNNING,
    ),
]
