"""`hornbeam predict`: score pairs, answer queries, or propose the best new links."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.base.choices import EngineName, Score, TableFormat
from hornbeam.cli import options
from hornbeam.cli.console import print_json
from hornbeam.cli.evidence import entity_names, evidence_for, open_evidence
from hornbeam.cli.graph_commands import (
    LeaveOutLinked,
    refuse_engine,
    warn_of_another_graph,
)
from hornbeam.cli.option_groups import Options
from hornbeam.cli.table_output import TableOptions
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.base.result_table import ResultTable
    from hornbeam.cli.console import TerminalProgress
    from hornbeam.counting.engine import Engine
    from hornbeam.facts.entity_names import EntityNames
    from hornbeam.facts.table import Targets
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model


@dataclass(frozen=True)
class WantedOptions(Options):
    """What is to be predicted."""

    pairs: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Pairs to score; without it, new links are proposed."),
    ] = None
    queries: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Queries to answer: subject TAB relation TAB ?, or ? TAB relation TAB object.",
        ),
    ] = None
    score: options.ScoreOption = Score.MEAN
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="How many new links to propose (default: 20), or answers per query (10).",
        ),
    ] = None
    per_subject: Annotated[
        bool, typer.Option("--per-subject", help="The best --top links of every subject.")
    ] = False
    subject: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Propose links of this subject only.")
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            metavar="PREDICATE",
            help="Propose links of this predicate, where the model has several (of a whole graph: "
            "of this relation only).",
        ),
    ] = None
    leave_out_linked: LeaveOutLinked = False

    def __post_init__(self) -> None:
        if self.pairs and self.queries:
            raise InputError("give either --pairs (to score) or --queries (to answer)")
        given = {
            "--subject": self.subject, "--per-subject": self.per_subject, "--target": self.target,
        }  # fmt: skip
        for name, value in given.items():
            if value and (self.pairs or self.queries):
                instead = "--pairs" if self.pairs else "--queries"
                raise InputError(f"{name} is for new links: leave it out, or leave out {instead}")
        if self.top is not None and self.pairs:
            raise InputError(
                "--top is for new links and for answers of queries: with --pairs every pair is "
                "scored, so leave it out"
            )


def predict(
    *,
    given: options.ModelOptions,
    wanted: WantedOptions,
    names: options.NameFiles = None,
    table: TableOptions,
    engine: options.EngineOptions,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> None:
    """Score pairs (their columns, then the score), answer queries, or propose the best new links.

    New links are found by following the rules forward from the known subjects of the target, so
    not every pair has to be scored; no entity is proposed for itself where no fact of the target
    is such a loop. Scores are conditional means, between 0 and 1. A query gets
    its best new answers, each with its score and its rank. With [bold]--names[/bold] the names of
    subject and object come last.

    [dim]Examples:[/dim]

      hornbeam predict model.psl --facts observed.tsv --pairs test.tsv -o scores.tsv

      hornbeam predict model.psl --facts observed.tsv --queries queries.tsv --top 5

      hornbeam predict model.psl --facts observed.tsv --top 10

      hornbeam predict graph.hornbeam --facts train.tsv --top 10
    """
    from hornbeam.opened_model import with_model

    found = with_model(
        given.model,
        lambda model: _of_rules(model, given, wanted, names, table, engine, reading, console),
        lambda model: _of_graph(model, given, wanted, names, table, engine, reading, console),
    )
    if found is None:  # the engine has written it
        return
    if table.output is not None or not console.as_json:
        table.write(found, header=False)
    if console.as_json:
        print_json({"predictions": found.dicts()})


def _of_rules(
    model: Model,
    given: options.ModelOptions,
    wanted: WantedOptions,
    names: list[str] | None,
    table: TableOptions,
    engine: options.EngineOptions,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> ResultTable | None:
    """Predictions of a rule model; None if the engine writes them block by block."""
    import hornbeam as hb

    _check_output(table, engine.engine, console.as_json)
    with console.progress() as progress, ExitStack() as stack:
        called = entity_names(names, None, progress) if names else None
        pairs = reading.read_given(hb.read_pairs, wanted.pairs, progress)
        opened = evidence_for(model, given, engine, reading, progress)
        evidence = stack.enter_context(opened)
        parquet = table.form is TableFormat.PARQUET
        if pairs is not None and parquet and engine.engine is not EngineName.MEMORY:
            if names:
                raise InputError(f"--engine {engine.engine} writes Parquet without --names")
            assert table.output is not None
            _write_parquet(model, evidence, pairs, table.output, wanted.score, progress)
            return None
        return _predicted(model, evidence, pairs, wanted, called, engine, reading, progress)


def _predicted(
    model: Model,
    evidence: Engine,
    pairs: Targets | None,
    wanted: WantedOptions,
    names: EntityNames | None,
    engine: options.EngineOptions,
    reading: options.ReadingOptions,
    progress: TerminalProgress,
) -> ResultTable:
    """Scores of pairs, answers of queries, or new links."""
    from hornbeam.counting.opening import facts_in_memory
    from hornbeam.ranking.named_queries import read_queries

    score, threads = wanted.score, engine.threads
    if pairs is not None:
        return model.predict(evidence, pairs, score=score, names=names, progress=progress)
    facts = facts_in_memory(evidence, f"--engine {engine.engine} scores given pairs: give --pairs")
    if wanted.queries:
        queries = reading.read(read_queries, wanted.queries, progress)
        return model.rank(
            facts,
            queries,
            top=wanted.top or 10,
            score=score,
            names=names,
            threads=threads,
            progress=progress,
        )
    found = model.propose(
        facts,
        target=wanted.target,
        top=wanted.top or 20,
        per_subject=wanted.per_subject,
        subjects=wanted.subject,
        score=score,
        names=names,
        threads=threads,
        progress=progress,
    )
    if not len(found):
        progress.message("No rule reaches a new link.")
    return found


def _of_graph(
    model: GraphModel,
    given: options.ModelOptions,
    wanted: WantedOptions,
    names: list[str] | None,
    table: TableOptions,
    engine: options.EngineOptions,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> ResultTable:
    """Answers of a model of a whole graph, or the most probable new facts of every relation."""
    from hornbeam.counting.opening import facts_of
    from hornbeam.graphs.memory_ranker import MemoryRanker
    from hornbeam.graphs.new_facts import new_facts
    from hornbeam.ranking.named_queries import read_queries

    table.check(console.as_json)
    if wanted.pairs:
        raise InputError(f"{given.model}: a model of a whole graph answers --queries, not --pairs")
    if wanted.per_subject:
        raise InputError("--per-subject is for single targets: ask --queries instead")
    refuse_engine(engine, wanted.leave_out_linked)
    if not wanted.queries and engine.engine is not EngineName.MEMORY:
        raise InputError(f"--engine {engine.engine} looks for no new facts: give --queries")
    with console.progress() as progress, ExitStack() as stack:
        called = entity_names(names, None, progress) if names else None
        known = stack.enter_context(open_evidence(given.facts, engine, reading, progress))
        apart = wanted.leave_out_linked
        top = wanted.top or 10
        if wanted.queries:
            answering = model.ranker(known, engine.threads, leave_out_linked=apart)
            queries = reading.read(read_queries, wanted.queries, progress)
            return answering.rank(queries, top=top, names=called, progress=progress)
        ranker = MemoryRanker.of(
            model, facts_of(known), threads=engine.threads, leave_out_linked=apart
        )
        warn_of_another_graph(model, ranker.facts.predicates)
        found = new_facts(
            ranker, relations=[wanted.target] if wanted.target else None,
            subjects=wanted.subject, top=top, names=called, progress=progress,
        )  # fmt: skip
        if not len(found):
            progress.message("No new fact is proposed.")
        return found


def _check_output(table: TableOptions, engine: EngineName, as_json: bool) -> None:
    """Refuse before any work an output that the engine cannot write; Spark writes folders."""
    output, parquet = table.output, table.form is TableFormat.PARQUET
    if parquet and "://" in str(output):
        return
    if parquet and output is not None and engine is EngineName.SPARK:
        from hornbeam.base.files import check_folder
        from hornbeam.counting.sql.spark_engine import not_parquet

        check_folder(output, not_parquet)
    else:
        table.check(as_json)


def _write_parquet(
    model: Model,
    evidence: Engine,
    pairs: Targets,
    output: Path,
    score: str,
    progress: TerminalProgress,
) -> None:
    """Let the engine write the scores, block by block."""
    from hornbeam.counting.opening import sql_engine
    from hornbeam.scoring.batches import write_scores

    writer = sql_engine(evidence, f"{output}: is written by --engine duckdb or spark")
    write_scores(writer, model, pairs, output, Score(score), progress)
