"""Options that several commands share, each with the help a newcomer needs.

Typer names an option after its parameter; `flags` are given only where the name differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hornbeam.base.choices import EngineName, Score
from hornbeam.base.terminal_progress import TerminalProgress, WholeProgress
from hornbeam.base.texts import printable
from hornbeam.cli.console import print_json
from hornbeam.cli.option_groups import Options, argument, option
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.facts.entity_names import EntityNames
    from hornbeam.facts.reading.entity_tables import EntityTables
    from hornbeam.rules.body import Kind
    from hornbeam.rules.candidates import RuleLimits

# Options under a heading of their own in the help.
learner_option = partial(option, panel="How to learn")
rule_option = partial(option, panel="Which rules")
own_rule_option = partial(option, panel="Your own rules")
running_option = partial(option, panel="Running")
graph_option = partial(option, panel="Whole graphs")
table_option = partial(option, panel="Tables")


fact_files = partial(
    option,
    "Facts: subject TAB predicate TAB object [TAB truth value]; two columns are a unary "
    "fact. TSV, CSV, Parquet, N-Triples, Turtle, GraphML, Neo4j's CSV or a PSL program; gzip is "
    "fine. ta=ta.tsv has the predicate ta, a column per argument. Give it again for more files.",
    metavar="FILE",
)
label_files = partial(
    option,
    "Labelled targets: as facts, with 0 or 1 last (of a target on one entity: entity TAB "
    "predicate TAB 0 or 1).",
    metavar="FILE",
)
known_files = partial(
    option,
    "Labelled pairs whose true pairs are added to the facts; a model learned with "
    "--cross-evidence expects its training labels here.",
    metavar="FILE",
)
model_file = partial(argument, "A model that learn wrote.", metavar="MODEL", default=...)
name_files = partial(
    option,
    "Names to show for the ids of entities and relations, and to give in their place: id TAB name "
    "[TAB type], or RDF with labels; without it, the facts' own rdfs:label. Give it again for more "
    "files.",
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
class FactOptions(Options):
    """The files of facts, and of numbers of their entities."""

    facts: list[str] | None = fact_files()
    numbers: list[str] | None = option(
        "Numbers of entities, for comparisons in rules: entity TAB attribute TAB value; of RDF "
        "the literals that are numbers or dates by their type. Nothing else makes numbers of "
        "names. Give it again for more files.",
        metavar="FILE",
    )
    dates: list[str] | None = option(
        "Dates of entities: the same with dates such as 1931-05-04.", metavar="FILE"
    )
    arguments: list[str] | None = option(
        "Types of a relation's arguments, which limit its negatives and the links that are "
        "proposed; facts and labels that contradict them are refused. Types of entities are those "
        "of --names, tables, RDF or prefixes such as Gene::. Give it again for more.",
        metavar="RELATION=TYPE,TYPE",
    )
    table: list[str] | None = table_option(
        "A table with one row per entity (TSV or CSV with a header, Parquet), which --key names. "
        "Every other column becomes a relation called like it: text leads to an entity; numbers "
        "and dates are attributes; Booleans are unary. film=f.csv calls the table film. Give it "
        "again for more tables.",
        metavar="FILE",
    )
    key: list[str] | None = table_option(
        "The column of --table that names the entities; once for all tables, or once for each. A "
        "table without it that has two columns, both --link, is a relation called like its file.",
        metavar="COLUMN",
    )
    tables: list[str] | None = table_option(
        "All tables of a DuckDB or SQLite file, with the keys and foreign keys of its schema.",
        metavar="DATABASE",
    )
    link: list[str] | None = table_option(
        "A column that has keys of another table. Give it again for more.", metavar="COLUMN=TABLE"
    )
    type_: list[str] | None = table_option(
        "What a column is read as: name, number, date, boolean or ignore. Columns of TSV and CSV "
        "are names unless this says more; others have types of their own. Give it again for more.",
        "--type",
        metavar="COLUMN=KIND",
    )
    prefix: bool | None = table_option(
        "Call entities after their table, film:7 (default: if keys of a database are whole "
        "numbers, which repeat from table to table).",
        "--prefix/--no-prefix",
    )

    def __post_init__(self) -> None:
        if not (self.table or self.tables):
            for name in ("key", "link", "type_", "prefix"):
                if getattr(self, name) is not None:
                    raise InputError(f"`{name}` is for --table and --tables")
        if len(self.key or ()) not in {len(self.table or ()), min(len(self.table or ()), 1)}:
            raise InputError("give --key once for all tables, or once for each --table, in order")

    @property
    def files(self) -> list[str]:
        """All files that are given."""
        given = (self.facts, self.table, self.tables, self.numbers, self.dates)
        return [file for files in given for file in files or ()]

    @property
    def argument_types(self) -> dict[str, list[str]]:
        """Given types of the arguments of relations."""
        given = _by_column("arguments", self.arguments)
        types = {name: [kind.strip() for kind in text.split(",")] for name, text in given.items()}
        for name, kinds in types.items():
            if len(kinds) > 2 or not all(kinds):
                raise InputError(f"`arguments`: {name!r} has {len(kinds)} types; expected 1 or 2")
        return types

    @property
    def entity_tables(self) -> list[EntityTables]:
        """The tables, if any, as an input of the library's readers of facts."""
        if not (self.table or self.tables):
            return []
        from hornbeam.facts.reading.entity_tables import EntityTables, TableFile
        from hornbeam.facts.reading.readers import named_table

        keys = (self.key or []) * (len(self.table or ()) if len(self.key or ()) == 1 else 1)
        files = []
        for item, key in zip(self.table or (), keys, strict=True):
            name, file = named_table(item) or (None, item)
            files.append(TableFile.of(file, key, name))
        links, types = (_by_column(name, getattr(self, name)) for name in ("link", "type_"))
        return [EntityTables(tuple(files), tuple(self.tables or ()), links, types, self.prefix)]

    @property
    def further(self) -> dict[str, Any]:
        """What the readers of facts take besides the facts' files."""
        return {"numbers": self.numbers, "dates": self.dates}

    def check_given(self) -> None:
        """Refuse a command without any facts."""
        if not self.files:
            raise InputError("no facts given: give --facts FILE, --table FILE or --tables FILE")


def _by_column(name: str, items: Sequence[str] | None) -> dict[str, str]:
    """What is said of columns, from COLUMN=TEXT."""
    said = dict[str, str]()
    for item in items or ():
        column, equals, text = item.rpartition("=")
        if not (equals and column and text):
            raise InputError(f"`{name}` {item!r}: expected a column, = and what it is")
        if said.setdefault(column, text) != text:
            raise InputError(f"`{name}`: {column!r} is said to be {said[column]!r} and {text!r}")
    return said


@dataclass(frozen=True)
class ModelOptions(Options):
    """A model, and the facts that are its evidence."""

    facts: FactOptions
    model: str = model_file()
    known: list[str] | None = known_files()

    def __post_init__(self) -> None:
        self.facts.check_given()


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

    facts: FactOptions
    labels: list[str] | None = label_files()
    target: list[str] | None = option(
        "What to learn rules for. With --labels: only the labels of this predicate. "
        "Without: its facts are the true pairs, each hidden from itself, and false ones are "
        "sampled. Give it again for more, all in one model.",
        metavar="PREDICATE",
    )

    def __post_init__(self) -> None:
        self.facts.check_given()

    def targets_in(self, known: Iterable[str], names: EntityNames) -> list[str] | None:
        """The ids of the targets, which may be given by names."""
        there = set(known)
        return self.target and [names.relation(name, there) for name in self.target]


@dataclass(frozen=True)
class LanguageOptions(Options):
    """The language of rules: which clauses are candidates."""

    #: Larger than the limit for one target: whole graphs have their own limit.
    max_length: int | None = rule_option(
        "Longest body of a rule, in atoms (default: 3; with --all-relations by how dense "
        "the graph is, by how many walks it has, and by what --valid gains).",
        min=1,
        metavar="N",
    )
    min_coverage: int = rule_option(
        "Fewest targets a rule must have groundings for.", min=1, metavar="N", default=10
    )
    top: int | None = rule_option("Keep the N bodies of widest coverage.", min=1, metavar="N")
    bodies: str | None = rule_option(
        "What bodies may be, with commas between: paths from A to B; open, p(A, X) with "
        "any X; unary, student(A); anchored, p(A, 'c') and A == 'c'; chains, p(A, X) & "
        "q(X, 'c'), p(A, X) & student(X), p(A, X) & q(X, Y); numbers, (year(A) >= 1990) and "
        "(year(A) - year(B) < 3). Default: paths,open,unary for joint and boost, with numbers "
        "where the facts have some; paths for the others and for candidates.",
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

    def check_graph(self, leave_out_linked: bool = False) -> None:
        """Refuse an engine that lacks a feature of whole graphs, before the engine is started."""
        if self.engine is EngineName.SPARK:
            raise InputError("--engine spark takes no whole graphs: use --engine duckdb, or none")
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
