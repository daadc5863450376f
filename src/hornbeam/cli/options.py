"""Options that several commands share, each with the help a newcomer needs.

Typer names an option after its parameter; `flags` are given only where the name differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hornbeam.base.choices import EngineName, Score
from hornbeam.base.texts import printable
from hornbeam.cli.console import TerminalProgress, print_json
from hornbeam.cli.option_groups import Options, argument, option
from hornbeam.cli.remaining_time import WholeProgress
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.rules.body import Kind
    from hornbeam.rules.candidates import RuleLimits

#: Maximum number of rows of a table on the screen; `--json` has all rows.
SHOWN = 25

# Options under a heading of their own in the help.
learner_option = partial(option, panel="How to learn")
rule_option = partial(option, panel="Which rules")
running_option = partial(option, panel="Running")
graph_option = partial(option, panel="Whole graphs")


fact_files = partial(
    option,
    "Facts: subject TAB predicate TAB object [TAB truth value]; two columns are a unary "
    "fact. TSV, CSV, Parquet, N-Triples, Turtle or a PSL program; gzip is fine. ta=ta.tsv has "
    "the predicate ta, a column per argument. Give it again for more files.",
    metavar="FILE",
    default=...,
)
optional_fact_files = partial(option, "Facts, as for learn.", metavar="FILE")
label_files = partial(option, "Labelled targets: as facts, with 0 or 1 last.", metavar="FILE")
known_files = partial(
    option,
    "Labelled pairs whose true pairs are added to the facts; a model learned with "
    "--cross-evidence expects its training labels here.",
    metavar="FILE",
)
model_file = partial(argument, "A model that learn wrote.", metavar="MODEL", default=...)
name_files = partial(
    option,
    "Names to show for the entities' ids: id TAB name [TAB type], or RDF with labels; "
    "without it, the facts' own rdfs:label. Give it again for more files.",
    metavar="FILE",
)
leave_out_linked_option = partial(
    option,
    "For a model of a whole graph: never answer with what is linked to the known entity "
    "already. That is knowledge of how some data sets were split.",
    "--leave-out-linked",
    default=False,
)
score_option = partial(
    option, "The conditional mean of the link, or its MAP state.", default=Score.MEAN
)
seed_option = partial(running_option, "Same seed, same answer.", min=0, metavar="N", default=0)
threads_option = partial(running_option, "Worker threads (default: all cores).", min=1, metavar="N")


@dataclass(frozen=True)
class ModelOptions(Options):
    """A model, and the facts that are its evidence."""

    model: str = model_file()
    facts: list[str] = fact_files()
    known: list[str] | None = known_files()


@dataclass(frozen=True)
class TruthOptions(Options):
    """The data by which a model is judged: labelled pairs or true triples."""

    labels: list[str] | None = label_files()
    test: list[str] | None = option(
        "Instead of labels, true triples: how high do their answers rank among all entities?",
        metavar="FILE",
    )
    filter_: list[str] | None = option(
        "With --test: further true triples, such as a validation set, which do not "
        "count as wrong answers.",
        "--filter",
        metavar="FILE",
    )

    def filtered_by(self, facts: Sequence[str]) -> list[str]:
        """Files whose triples do not count as wrong answers: facts, test and filter."""
        return [printable(file) for file in (*facts, *(self.test or ()), *(self.filter_ or ()))]


@dataclass(frozen=True)
class TrainingOptions(Options):
    """The data from which rules are learned."""

    facts: list[str] = fact_files()
    labels: list[str] | None = label_files()
    target: list[str] | None = option(
        "What to learn rules for. With --labels: only the labels of this predicate. "
        "Without: its facts are the true pairs, each hidden from itself, and false ones are "
        "sampled. Give it again for more, all in one model.",
        metavar="PREDICATE",
    )


@dataclass(frozen=True)
class LanguageOptions(Options):
    """The language of rules: which clauses are candidates."""

    #: Larger than the limit for one target: whole graphs have their own limit.
    max_length: int | None = rule_option(
        "Longest body of a rule, in atoms (default: 3; with --all-relations by how dense "
        "the graph is).",
        min=1,
        metavar="N",
    )
    min_coverage: int = rule_option(
        "Fewest targets a rule must have groundings for.", min=1, metavar="N", default=10
    )
    top: int | None = rule_option("Keep the N bodies of widest coverage.", min=1, metavar="N")
    bodies: str | None = rule_option(
        "What bodies may be, with commas between: paths from A to B; open, p(A, X) with "
        "any X; unary, student(A); anchored, p(A, 'c') and A == 'c'. Default: "
        "paths,open,unary for joint and boost, paths for the others and for candidates.",
        metavar="KINDS",
    )
    exclude: list[str] | None = rule_option(
        "Never in a body: a relation that gives the target away, such as its inverse "
        "under another name. Give it again for more.",
        metavar="PREDICATE",
    )
    distinct_variables: bool = rule_option(
        "No two variables of a rule on one entity.", "--distinct-variables", default=False
    )
    max_fanout: int | None = rule_option(
        "Approximation for hubs: do not walk a relation from a node that has more than N "
        "edges of it. Off by default.",
        min=1,
        metavar="N",
    )

    def __post_init__(self) -> None:
        body_kinds(self.bodies)

    def language(self) -> RuleLimits:
        """The language as an object of the library."""
        from hornbeam.rules.candidates import RuleLimits

        given = {
            "max_length": self.max_length or RuleLimits.max_length,
            "bodies": body_kinds(self.bodies),
            "exclude": tuple(self.exclude or ()),
        }
        return RuleLimits(**asdict(self) | given)


def body_kinds(text: str | None) -> tuple[Kind, ...] | None:
    """Kinds of bodies from comma-separated names; None leaves them to the learner.

    Examples
    --------
    >>> [kind.value for kind in body_kinds("open, paths") or ()]
    ['paths', 'open']
    """
    if text is None:
        return None
    from hornbeam.rules.body import Kind

    named = [name.strip() for name in text.split(",")]
    known = [kind.value for kind in Kind]
    for name in named:
        if name not in known:
            raise InputError(f"unknown `bodies` {name!r}; expected some of: {', '.join(known)}")
    return tuple(kind for kind in Kind if kind.value in named)


@dataclass(frozen=True)
class EngineOptions(Options):
    """The engine that counts paths, and its resources."""

    engine: EngineName = running_option(
        "Where paths are counted: memory (fastest), duckdb (facts larger than memory), "
        "spark (larger than one machine). The results are the same.",
        default=EngineName.MEMORY,
    )
    threads: int | None = threads_option()
    memory_limit: str | None = running_option(
        "duckdb: what it may hold in memory, such as 2GB (default: 80 % of the machine's).",
        metavar="SIZE",
    )
    spill_dir: str | None = running_option(
        "duckdb, spark: where the rest goes (default: the system's temporary folder; on a "
        "cluster one that every worker can write to).",
        metavar="FOLDER",
    )
    master: str | None = running_option(
        "spark: the cluster, such as spark://host:7077 (default: this machine).", metavar="URL"
    )
    spark_conf: list[str] | None = running_option(
        "spark: a setting, such as spark.executor.memory=8g. Give it again for more.",
        metavar="KEY=VALUE",
    )

    def check_graph(self, leave_out_linked: bool) -> None:
        """Refuse an engine that lacks a feature of whole graphs, before the engine is started."""
        if self.engine is EngineName.SPARK:
            raise InputError("--engine spark answers no queries: leave it out")
        if leave_out_linked and self.engine is not EngineName.MEMORY:
            raise InputError("`leave_out_linked` needs facts in memory: leave out --engine")


@dataclass(frozen=True)
class ConsoleOptions(Options):
    """How much a command prints, and in which form."""

    as_json: bool = running_option(
        "Print one JSON object instead of a table.", "--json", default=False
    )
    quiet: bool = running_option("No progress and no messages.", "--quiet", "-q", default=False)
    verbose: bool = running_option(
        "What was read, every stage with its rate, time and memory.",
        "--verbose",
        "-v",
        default=False,
    )

    @contextmanager
    def progress(self, whole: WholeProgress | None = None) -> Iterator[TerminalProgress]:
        """Show progress in the block unless quiet; the stages of a `whole` share one line.

        The bar is removed at the end of the block, also after an error.
        """
        from hornbeam.base.compiled import announced

        progress = TerminalProgress(self.quiet, self.verbose, whole)
        try:
            with announced(progress):
                yield progress
        finally:
            progress.close()
        progress.print_cost()

    def print(self, as_dict: Callable[[], dict[str, Any]], show: Callable[[], None]) -> None:
        """Print the results as JSON if that is requested, else show them."""
        if self.as_json:
            print_json(as_dict())
        else:
            show()
