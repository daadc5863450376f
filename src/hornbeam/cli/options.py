"""Options that several commands share, each with the help a newcomer needs.

Typer names an option after its parameter; flags are spelt out only where they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hornbeam.choices import CollectiveMethod, EngineName, Score
from hornbeam.cli.console import TerminalProgress, progress_shown, read_files
from hornbeam.cli.option_groups import OneOf, Options
from hornbeam.cli.work_left import WholeWork
from hornbeam.errors import InputError
from hornbeam.rules.body import MAX_LENGTH, Kind
from hornbeam.rules.weighing import Counts

if TYPE_CHECKING:
    from hornbeam.rules.candidates import Language

T = TypeVar("T")

#: Rows of a table on the screen; `--json` has them all.
SHOWN = 25

# Options under a heading of their own in the help.
rule_option = partial(typer.Option, rich_help_panel="Which rules")
learner_option = partial(typer.Option, rich_help_panel="How to learn")
reading_option = partial(typer.Option, rich_help_panel="Reading files")
running_option = partial(typer.Option, rich_help_panel="Running")
graph_option = partial(typer.Option, rich_help_panel="Whole graphs")


FactFiles = Annotated[
    list[str],
    typer.Option(
        metavar="FILE",
        help="Facts: subject TAB predicate TAB object [TAB truth value]; two columns are a unary "
        "fact. TSV, CSV, Parquet, N-Triples, Turtle or a PSL program; gzip is fine. ta=ta.tsv has "
        "the predicate ta, a column per argument. Give it again for more files.",
    ),
]
OptionalFactFiles = Annotated[
    list[str] | None, typer.Option(metavar="FILE", help="Facts, as for learn.")
]
OptionalLabelFiles = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="Labelled targets: as facts, with 0 or 1 last."),
]
KnownFiles = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Labelled pairs whose true ones are facts besides; a model learned with "
        "--cross-evidence expects its training labels here.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that learn wrote.")]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="PREDICATE",
        help="Propose links of this predicate, where the model has several (of a whole graph: of "
        "this relation only).",
    ),
]
NameFiles = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Names to show for the entities' ids: id TAB name [TAB type], or RDF with labels; "
        "without it, the facts' own rdfs:label. Give it again for more files.",
    ),
]
TargetNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PREDICATE",
        help="What to learn rules for. With --labels: only the labels of this predicate. Without: "
        "its facts are the true pairs, each hidden from itself, and false ones are sampled. Give "
        "it again for more, all in one model.",
    ),
]
#: Beyond what one target allows: whole graphs have their own limit.
MaxLengthOrAuto = Annotated[
    int | None,
    rule_option(
        min=1,
        metavar="N",
        help="Longest body of a rule, in atoms (default: 3; with --all-relations by how dense the "
        "graph is).",
    ),
]
MinCoverage = Annotated[
    int, rule_option(min=1, metavar="N", help="Fewest targets a rule must have groundings for.")
]
Top = Annotated[
    int | None, rule_option(min=1, metavar="N", help="Keep the N bodies of widest coverage.")
]
Bodies = Annotated[
    str | None,
    rule_option(
        metavar="KINDS",
        help="What bodies may be, with commas between: paths from A to B; open, p(A, X) with any "
        "X; unary, student(A); anchored, p(A, 'c') and A == 'c'. Default: paths,open,unary for "
        "joint, paths for the others and for candidates.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    rule_option(
        metavar="PREDICATE",
        help="Never in a body: a relation that gives the target away, such as its inverse under "
        "another name. Give it again for more.",
    ),
]
CountsOption = Annotated[
    str,
    learner_option(
        help="n groundings of a rule weigh n (raw, as in PSL), log2(1+n) (log), 1 (exists) or "
        "their share of the hubs' many (share, paths only). auto: joint learns with log, exists "
        "and share side by side, the others with raw."
    ),
    OneOf(lambda: ["auto", *Counts]),
]
Collective = Annotated[
    bool,
    typer.Option(
        "--collective",
        help="Let what is believed of one pair count for others: all pairs are scored together.",
    ),
]
CollectiveMethodOption = Annotated[
    CollectiveMethod,
    learner_option(
        help="With --collective: a plain model, then rules about what it believes of other pairs, "
        "kept where they pay (two-step); recursive rules and their joint MAP state, as PSL means "
        "it (map); the same rules, each moving its head alone (map-heads)."
    ),
]


def collective_of(flag: bool, method: CollectiveMethod) -> bool | str:
    """What both options say together; a method without the flag is refused."""
    if not flag and method is not CollectiveMethod.TWO_STEP:
        raise InputError("--collective-method is for collective models: give --collective too")
    return method.value if flag else False


CrossEvidence = Annotated[
    bool,
    learner_option(
        "--cross-evidence",
        help="Let the true labelled pairs be evidence for each other, hidden by folds so that no "
        "pair sees its own label. Without labels this is always done.",
    ),
]
ScoreOption = Annotated[
    Score, typer.Option(help="The conditional mean of the link, or its MAP state.")
]
Seed = Annotated[int, running_option(min=0, metavar="N", help="Same seed, same answer.")]
Threads = Annotated[
    int | None, running_option(min=1, metavar="N", help="Worker threads (default: all cores).")
]


def body_kinds(text: str | None) -> tuple[Kind, ...] | None:
    """Kinds of bodies by their names with commas between; None leaves them to the learner.

    Examples
    --------
    >>> [kind.value for kind in body_kinds("open, paths") or ()]
    ['paths', 'open']
    """
    if text is None:
        return None
    named = [name.strip() for name in text.split(",")]
    known = [kind.value for kind in Kind]
    for name in named:
        if name not in known:
            raise InputError(f"unknown `bodies` {name!r}; expected some of: {', '.join(known)}")
    return tuple(kind for kind in Kind if kind.value in named)


@dataclass(frozen=True)
class LanguageOptions(Options):
    """Which rules are looked for."""

    max_length: MaxLengthOrAuto = None
    min_coverage: MinCoverage = 10
    top: Top = None
    bodies: Bodies = None
    exclude: Exclude = None
    distinct_variables: Annotated[
        bool, rule_option("--distinct-variables", help="No two variables of a rule on one entity.")
    ] = False
    max_fanout: Annotated[
        int | None,
        rule_option(
            min=1,
            metavar="N",
            help="Approximation for hubs: do not walk a relation from a node that has more than N "
            "edges of it. Off by default.",
        ),
    ] = None

    def __post_init__(self) -> None:
        body_kinds(self.bodies)

    def language(self) -> Language:
        """Describe the rules for the library."""
        from hornbeam.rules.candidates import Language

        if self.max_length is not None and self.max_length > MAX_LENGTH:
            raise InputError(f"`max_length` is {self.max_length}; expected 1 to {MAX_LENGTH}")
        given = {
            "max_length": self.max_length or 3,
            "bodies": body_kinds(self.bodies),
            "exclude": tuple(self.exclude or ()),
        }
        return Language(**asdict(self) | given)


@dataclass(frozen=True)
class ReadingOptions(Options):
    """What is said of the files that are read."""

    columns: Annotated[
        str | None,
        reading_option(
            metavar="PLACE=NAME,...",
            help="Which column is which in tables whose header is not understood: "
            "subject=gene,predicate=relation,object=disease, and value=... if there is one.",
        ),
    ] = None
    no_header: Annotated[
        bool,
        reading_option(
            "--no-header", help="The first line of TSV and CSV is a fact, whatever it says."
        ),
    ] = False

    @property
    def by_place(self) -> dict[str, str] | None:
        """Names of columns by what they stand for, as the library's readers take them."""
        return None if self.columns is None else named_columns(self.columns)

    def read(self, reader: Callable[..., T], files: Sequence[str], progress: TerminalProgress) -> T:
        """Read files of facts, labels, pairs or queries with one of the readers."""
        told = partial(reader, columns=self.by_place, header=not self.no_header)
        return read_files(told, files, progress)


def named_columns(text: str) -> dict[str, str]:
    """Names of columns by place, from PLACE=NAME with commas between.

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


@dataclass(frozen=True)
class EngineOptions(Options):
    """Where paths are counted, and by what means."""

    engine: Annotated[
        EngineName,
        running_option(
            help="Where paths are counted: memory (fastest), duckdb (facts larger than memory), "
            "spark (larger than one machine). The results are the same."
        ),
    ] = EngineName.MEMORY
    threads: Threads = None
    memory_limit: Annotated[
        str | None,
        running_option(
            metavar="SIZE",
            help="duckdb: what it may hold in memory, such as 2GB (default: 80 % of the "
            "machine's).",
        ),
    ] = None
    spill_dir: Annotated[
        str | None,
        running_option(
            metavar="FOLDER",
            help="duckdb, spark: where the rest goes (default: the system's temporary folder; on a "
            "cluster one that every worker can write to).",
        ),
    ] = None
    master: Annotated[
        str | None,
        running_option(
            metavar="URL",
            help="spark: the cluster, such as spark://host:7077 (default: this machine).",
        ),
    ] = None
    spark_conf: Annotated[
        list[str] | None,
        running_option(
            metavar="KEY=VALUE",
            help="spark: a setting, such as spark.executor.memory=8g. Give it again for more.",
        ),
    ] = None


@dataclass(frozen=True)
class ConsoleOptions(Options):
    """How much a command prints, and in which form."""

    as_json: Annotated[
        bool, running_option("--json", help="Print one JSON object instead of a table.")
    ] = False
    quiet: Annotated[bool, running_option("--quiet", "-q", help="No progress and no messages.")] = (
        False
    )
    verbose: Annotated[
        bool,
        running_option(
            "--verbose", "-v", help="What was read, every stage with its rate, time and memory."
        ),
    ] = False

    def progress(self, whole: WholeWork | None = None) -> AbstractContextManager[TerminalProgress]:
        """Show how far the work is, unless quiet; the stages of a `whole` in one line."""
        return progress_shown(self.quiet, self.verbose, whole)
