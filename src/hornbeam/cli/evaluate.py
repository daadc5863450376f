"""`hornbeam evaluate`: how good is a model on labelled pairs, or at ranking true answers?"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.choices import Score
from hornbeam.cli import options
from hornbeam.cli.console import print_json, print_table, screen, screen_text
from hornbeam.cli.evidence import open_evidence, with_known_pairs
from hornbeam.cli.graph_commands import LeaveOutLinked, evaluate_graph_model
from hornbeam.cli.table_output import TableOptions
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.graphs.ranking import GraphEvaluation
    from hornbeam.reporting.evaluation import Evaluation


def evaluate(
    *,
    model: options.ModelFile,
    facts: options.FactFiles,
    labels: options.OptionalLabelFiles = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Instead of labels, true triples: how high do their answers rank among all "
            "entities?",
        ),
    ] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="FILE",
            help="With --test: further true triples, such as a validation set, which are no wrong "
            "answers.",
        ),
    ] = None,
    leave_out_linked: LeaveOutLinked = False,
    known: options.KnownFiles = None,
    score: options.ScoreOption = Score.MEAN,
    table: TableOptions,
    engine: options.EngineOptions,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> None:
    """Score labelled pairs and say how well the scores agree with the labels, or rank true answers.

    With [bold]--test[/bold], every triple asks two questions, (subject, relation, ?) and (?,
    relation, object). The rank of the true answer is filtered: other answers that the facts, the
    filter or the test know to be true are left out. Ties are averaged, and entities that no rule
    leads to tie below all others.

    [dim]Examples:[/dim]

      hornbeam evaluate model.psl --facts observed.tsv --labels test.tsv

      hornbeam evaluate graph.hornbeam --facts train.tsv --test test.tsv --filter valid.tsv
    """
    import hornbeam as hb
    from hornbeam.counting.opening import facts_in_memory
    from hornbeam.opened_model import is_graph_model, open_model

    if bool(labels) == bool(test):
        raise InputError("give either --labels (pairs with 0 or 1) or --test (true triples)")
    if filter_ and not test:
        raise InputError("--filter is for --test: labels say themselves what is false")
    table.check(console.as_json)
    if is_graph_model(model):
        found = evaluate_graph_model(
            model, facts, test, filter_, leave_out_linked, engine, reading, console
        )
        if table.wanted:
            table.write(found[0].to_table())
        if console.as_json or not table.wanted:
            _show_graph(found, console)
        return
    loaded = open_model(model)
    with console.progress() as progress, ExitStack() as stack:
        labelled = reading.read(hb.read_labels, labels, progress) if labels else None
        opened = stack.enter_context(open_evidence(facts, engine, reading, progress))
        evidence = with_known_pairs(opened, loaded, known, reading, progress)
        shown: Evaluation | GraphEvaluation
        if labelled is not None:
            shown = result = loaded.evaluate(evidence, labelled, score=score, progress=progress)
            show = partial(_show, result)
        else:
            why = f"--engine {engine.engine} scores given pairs: give --labels, not --test"
            shown = ranked = loaded.evaluate_ranks(
                facts_in_memory(evidence, why),
                reading.read(hb.read_facts, test or (), progress),
                filter=reading.read(hb.read_facts, filter_, progress) if filter_ else None,
                score=score,
                threads=engine.threads,
                progress=progress,
            )
            show = partial(_show_ranks, ranked)
    if table.wanted:
        table.write(shown.to_table())
    if console.as_json:
        print_json(shown.as_dict())
    elif not table.wanted:
        show()


def _show_graph(results: list[GraphEvaluation], console: options.ConsoleOptions) -> None:
    """The comparable figures, and behind them those without linked candidates."""
    comparable, *without_linked = results
    if console.as_json:
        more = [("leave_out_linked", one.as_dict()) for one in without_linked]
        print_json(comparable.as_dict() | dict(more))
        return
    _show_ranks(comparable)
    for one in without_linked:
        screen().print(
            f"Without candidates that are linked to the known entity, which knows how the split "
            f"was made: MRR {one.mrr:.4f}, Hits@1 {one.hits_1:.4f}, Hits@3 {one.hits_3:.4f}, "
            f"Hits@10 {one.hits_10:.4f}",
            soft_wrap=True,
        )


def _show(result: Evaluation) -> None:
    out = screen()
    for name, value in (
        ("AUC-ROC", result.auc_roc),
        ("AUC-PR", result.auc_pr),
        ("log-loss", result.log_loss),
        ("Brier", result.brier),
        ("best F1", result.best_f1),
    ):
        out.print(f"{name:10} {'undefined (one class only)' if value is None else f'{value:.4f}'}")
    out.print(f"{result.n:,} pairs, {result.positives:,} true")


def _show_ranks(result: GraphEvaluation) -> None:
    from hornbeam.printable import printable

    out = screen()
    for name, value in (
        ("MRR", result.mrr),
        ("Hits@1", result.hits_1),
        ("Hits@3", result.hits_3),
        ("Hits@10", result.hits_10),
    ):
        out.print(f"{name:10} {value:.4f}")
    out.print(
        f"{result.queries:,} queries, {result.candidates:,} candidates each, filtered, in "
        f"{result.seconds:.2f} s"
    )
    out.print()
    rows = [
        (
            screen_text(printable(one.relation)), one.direction, f"{one.queries:,}",
            *(f"{value:.4f}" for value in (one.mrr, one.hits_1, one.hits_3, one.hits_10)),
        )
        for one in result.relations[: options.SHOWN]
    ]  # fmt: skip
    columns = ["relation", "asks for", "queries", "MRR", "Hits@1", "Hits@3", "Hits@10"]
    print_table(out, columns, rows, text=columns[0])
    if len(result.relations) > options.SHOWN:
        more = len(result.relations) - options.SHOWN
        out.print(f"... and {more:,} more (--json for all)")
