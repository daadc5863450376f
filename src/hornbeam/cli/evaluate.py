"""`hornbeam evaluate`: how good is a model on labelled pairs, or at ranking true answers?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from hornbeam.base.choices import Score
from hornbeam.cli import options
from hornbeam.cli.console import print_table, screen, screen_text
from hornbeam.cli.evidence import evidence_for
from hornbeam.cli.outputs import TableOptions
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model
    from hornbeam.ranking.rank_evaluation import GraphEvaluation
    from hornbeam.reporting.evaluation import Evaluation


def evaluate(
    *,
    given: options.ModelOptions,
    truth: options.TruthOptions,
    leave_out_linked: bool = options.leave_out_linked_option(),
    score: Score = options.score_option(),
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

    if bool(truth.labels) == bool(truth.test):
        raise InputError("give either --labels (pairs with 0 or 1) or --test (true triples)")
    if truth.filter_ and not truth.test:
        raise InputError("--filter is for --test: labels say themselves what is false")
    table.check(console.as_json)
    model = hb.load(given.model)
    if not isinstance(model, hb.Model):
        engine.check_graph(leave_out_linked)
    found = _judged(model, given, truth, score, leave_out_linked, engine, reading, console)
    table.write_or_show(
        found.figures.to_table,
        lambda: found.figures.as_dict() | found.further,
        found.show,
        console.as_json,
    )


@dataclass(frozen=True)
class Judged:
    """The figures of a model, and how they are shown."""

    figures: Evaluation | GraphEvaluation
    show: Callable[[], None]
    further: dict[str, Any] = field(default_factory=dict)  #: in the JSON only


def _judged(
    model: Model | GraphModel,
    given: options.ModelOptions,
    truth: options.TruthOptions,
    score: Score,
    leave_out_linked: bool,
    engine: options.EngineOptions,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> Judged:
    """Scores of labelled pairs, or filtered ranks of true triples.

    With `leave_out_linked` a graph's triples are ranked a second time, without linked candidates.
    """
    import hornbeam as hb
    from hornbeam.counting.opening import facts_in_memory

    with console.progress() as progress, ExitStack() as stack:
        labelled = reading.read_given(hb.read_labels, truth.labels, progress)
        opened = evidence_for(model, given, engine, reading, progress)
        evidence = stack.enter_context(opened)
        if labelled is not None:
            result = model.evaluate(
                evidence, labelled, score=score, threads=engine.threads, progress=progress
            )
            return Judged(result, partial(_show, result))
        triples = reading.read(hb.read_facts, truth.test or (), progress)
        further = reading.read_given(hb.read_facts, truth.filter_, progress)
        files = truth.filtered_by(given.facts)
        if isinstance(model, hb.Model):
            why = f"--engine {engine.engine} scores given pairs: give --labels, not --test"
            facts = facts_in_memory(evidence, why)
            ranked = model.ranker(facts, score=score, threads=engine.threads).evaluate(
                triples, further, progress
            )
            return _judged_ranks(ranked, files)
        ranker = model.ranker(evidence, score=score, threads=engine.threads, test=triples)
        ranked = ranker.evaluate(triples, further, progress)
        if not leave_out_linked:
            return _judged_ranks(ranked, files)
        apart = ranker.without_linked().evaluate(triples, further, progress)
        return _judged_ranks(ranked, files, apart)


def _judged_ranks(
    ranked: GraphEvaluation, files: list[str], without_linked: GraphEvaluation | None = None
) -> Judged:
    """Ranks filtered by files, and perhaps those without linked candidates."""
    further: dict[str, Any] = {"filtered_by": files}
    if without_linked is not None:
        further["leave_out_linked"] = without_linked.as_dict()
    return Judged(ranked, partial(_show_all_ranks, ranked, files, without_linked), further)


def _show_all_ranks(
    comparable: GraphEvaluation, files: list[str], without_linked: GraphEvaluation | None
) -> None:
    """Show the comparable figures, then those without linked candidates."""
    _show_ranks(comparable, files)
    one = without_linked
    if one is None:
        return
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


def _show_ranks(result: GraphEvaluation, files: list[str]) -> None:
    from hornbeam.base.texts import printable

    out = screen()
    for name, value in (
        ("MRR", result.mrr),
        ("Hits@1", result.hits_1),
        ("Hits@3", result.hits_3),
        ("Hits@10", result.hits_10),
    ):
        out.print(f"{name:10} {value:.4f}")
    out.print(
        f"{result.queries:,} queries, {result.candidates:,} candidates each, filtered by "
        f"{screen_text(', '.join(files))}, in {result.seconds:.2f} s",
        soft_wrap=True,
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
