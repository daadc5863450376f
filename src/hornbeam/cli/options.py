"""Options that several commands share, each with the help a newcomer needs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class EngineName(StrEnum):
    """Engines by their name on the command line."""

    MEMORY = "memory"


FactFiles = Annotated[
    list[str],
    typer.Option(
        "--facts",
        metavar="FILE",
        help="Facts: subject TAB predicate TAB object [TAB truth value]. TSV, CSV, Parquet, "
        "N-Triples, Turtle or a PSL program; gzip is fine. Give it again for more files.",
    ),
]
LabelFiles = Annotated[
    list[str],
    typer.Option("--labels", metavar="FILE", help="Labelled targets: as facts, with 0 or 1 last."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="PREDICATE", help="Use the labels of this predicate only."),
]
MaxLength = Annotated[
    int, typer.Option("--max-length", min=1, max=4, help="Longest body of a rule, in atoms.")
]
MinCoverage = Annotated[
    int, typer.Option("--min-coverage", min=1, help="Fewest targets that a rule must connect.")
]
Top = Annotated[
    int | None,
    typer.Option("--top", min=1, metavar="N", help="Keep the N sequences of widest coverage."),
]
DistinctVariables = Annotated[
    bool,
    typer.Option("--distinct-variables", help="No two variables of a rule on one entity."),
]
MaxFanout = Annotated[
    int | None,
    typer.Option(
        "--max-fanout",
        min=1,
        metavar="N",
        help="Approximation for hubs: do not walk a relation from a node that has more than N "
        "edges of it. Off by default.",
    ),
]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="Where paths are counted.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Worker threads (default: all cores)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages.")]
