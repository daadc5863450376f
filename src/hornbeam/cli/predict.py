"""`hornbeam predict`: score pairs, answer queries, or propose the best new links."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hornbeam.base.choices import EngineName, Score, TableFormat
from hornbeam.cli import options
from hornbeam.cli.console import print_json
from hornbeam.cli.evidence import Inputs, RunOptions
from hornbeam.cli.option_groups import Options, option
from hornbeam.cli.outputs import TableOptions
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.base.result_table import ResultTable
    from hornbeam.counting.engine import Engine
    from hornbeam.facts.entity_names import EntityNames
    from hornbeam.facts.table import Targets
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model


@dataclass(frozen=True)
class WantedOptions(Options):
    """What is to be predicted."""

    pairs: list[str] | None = option(
        "Pairs to score (of a target on one entity: entity TAB predicate); without it, new links "
        "or entities are proposed.",
        metavar="FILE",
    )
    queries: list[str] | None = option(
        "Queries to answer: subject TAB relation TAB ?, or ? TAB relation TAB object.",
        metavar="FILE",
    )
    score: Score = options.score_option()
    top: int | None = option(
        "How many new links to propose (default: 20), or answers per query (10).",
        min=1,
        metavar="N",
    )
    per_subject: bool = option(
        "The best --top links of every subject.", "--per-subject", default=False
    )
    subject: list[str] | None = option("Propose links of this subject only.", metavar="NAME")
    object_: list[str] | None = option(
        "Propose links to this object only.", "--object", metavar="NAME"
    )
    target: str | None = option(
        "Propose links of this predicate, where the model has several (of a whole graph: "
        "of this relation only).",
        metavar="PREDICATE",
    )
    leave_out_linked: bool = options.leave_out_linked_option()

    def __post_init__(self) -> None:
        if self.pairs and self.queries:
            raise InputError("give either --pairs (to score) or --queries (to answer)")
        given = {
            "--subject": self.subject, "--object": self.object_, "--target": self.target,
            "--per-subject": self.per_subject,
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
    names: list[str] | None = options.name_files(),
    table: TableOptions,
    engine: options.EngineOptions,
    run: RunOptions,
) -> None:
    """Score pairs (their columns, then the score), answer queries, or propose the best new links.

    New links are found by following the rules forward from the known subjects of the target (or
    backward from each [bold]--object[/bold]), so not every pair has to be scored. A pair may be
    proposed if a rule for the target has a grounding for it and its arguments fit those of known
    links. Scores are conditional means, between 0 and 1. A query gets its best new answers, each
    with its score and its rank. With [bold]--names[/bold] names may be given in place of ids, and
    those of subject and object come last.

    [dim]Examples:[/dim]

      hornbeam predict model.psl --facts observed.tsv --pairs test.tsv -o scores.tsv

      hornbeam predict model.psl --facts observed.tsv --queries queries.tsv --top 5

      hornbeam predict model.psl --facts observed.tsv --top 10

      hornbeam predict graph.hornbeam --facts train.tsv --top 10
    """
    import hornbeam as hb

    model = hb.load(given.model)
    _check_output(table, engine.engine, run.console.as_json)
    if not isinstance(model, hb.Model):
        engine.check_graph(wanted.leave_out_linked)
        if not (wanted.pairs or wanted.queries) and engine.engine is not EngineName.MEMORY:
            raise InputError(f"--engine {engine.engine} looks for no new facts: give --queries")
    with run.started() as inputs, ExitStack() as stack:
        called = inputs.names(names, None) if names else None
        pairs = inputs.read_given(hb.read_pairs, wanted.pairs)
        evidence = stack.enter_context(inputs.engine_for(model, given, engine))
        by_engine = table.form is TableFormat.PARQUET and engine.engine is not EngineName.MEMORY
        if pairs is not None and by_engine and isinstance(model, hb.Model):
            if names:
                raise InputError(f"--engine {engine.engine} writes Parquet without --names")
            from hornbeam.counting.opening import sql_engine
            from hornbeam.scoring.scored_links import write_scores

            # the engine itself writes the scores, block by block
            assert table.output is not None
            writer = sql_engine(evidence, f"{table.output}: is written by --engine duckdb or spark")
            write_scores(writer, model, pairs, table.output, wanted.score, inputs.progress)
            return
        predictions = _predicted(model, evidence, pairs, wanted, called, engine, inputs)
    if table.output is not None or not run.console.as_json:
        table.write(predictions, header=False)
    if run.console.as_json:
        print_json({"predictions": predictions.dicts()})


def _predicted(
    model: Model | GraphModel,
    evidence: Engine,
    pairs: Targets | None,
    wanted: WantedOptions,
    names: EntityNames | None,
    engine: options.EngineOptions,
    inputs: Inputs,
) -> ResultTable:
    """Scores of pairs, answers of queries, or new links, in the columns of the command line."""
    import hornbeam as hb
    from hornbeam.counting.opening import facts_in_memory

    score, threads, progress = wanted.score, engine.threads, inputs.progress
    of_rules = isinstance(model, hb.Model)
    of_graph: dict[str, Any] = {} if of_rules else {"leave_out_linked": wanted.leave_out_linked}
    if pairs is not None:
        predictions = model.predict(
            evidence, pairs, score=score, names=names, threads=threads, progress=progress
        )
        # the probability of a pair is its score
        return _columns(predictions, {"probability": None}) if of_rules else predictions
    if wanted.queries:
        queries = inputs.read(hb.read_queries, wanted.queries)
        known = facts_in_memory(evidence, _only_pairs(engine)) if of_rules else evidence
        ranker = model.ranker(known, score=score, threads=threads, **of_graph)
        return ranker.rank(queries, top=wanted.top or 10, names=names, progress=progress)
    predictions = model.propose(
        facts_in_memory(evidence, _only_pairs(engine)),
        target=wanted.target,
        top=wanted.top or (20 if of_rules else 10),
        per_subject=wanted.per_subject,
        subjects=wanted.subject,
        objects=wanted.object_,
        score=score,
        names=names,
        threads=threads,
        progress=progress,
        **of_graph,
    )
    if not len(predictions):
        progress.message("No rule reaches a link that is not a fact already.")
    return (
        predictions if of_rules else _columns(predictions, {"predicate": "relation", "score": None})
    )


def _only_pairs(engine: options.EngineOptions) -> str:
    return f"--engine {engine.engine} scores given pairs: give --pairs"


def _columns(table: ResultTable, changed: Mapping[str, str | None]) -> ResultTable:
    """The table with `changed` column names; a column whose new name is None is left out."""
    from hornbeam.base.result_table import ResultTable

    names = {name: changed.get(name, name) for name in table.names}
    return ResultTable({new: table.columns[old] for old, new in names.items() if new is not None})


def _check_output(table: TableOptions, engine: EngineName, as_json: bool) -> None:
    """Refuse an output that the engine cannot write, before any work; Spark writes folders."""
    output, parquet = table.output, table.form is TableFormat.PARQUET
    if parquet and "://" in str(output):
        return
    if parquet and output is not None and engine is EngineName.SPARK:
        from hornbeam.base.files import check_folder
        from hornbeam.counting.sql.spark_engine import not_parquet

        check_folder(output, not_parquet)
    else:
        table.check(as_json)
