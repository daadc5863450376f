"""`hornbeam evaluate`: how good is a model on labelled pairs, or at ranking true answers?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hornbeam.base.choices import FilterTime, History, Score
from hornbeam.cli import options
from hornbeam.cli.console import print_sentence, print_table, screen
from hornbeam.cli.evidence import Inputs, RunOptions
from hornbeam.cli.option_groups import Options, option
from hornbeam.cli.outputs import TableOptions
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.base.result_table import ResultTable
    from hornbeam.counting.engine import Engine
    from hornbeam.facts.table import Targets
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model
    from hornbeam.ranking.rank_evaluation import GraphEvaluation, RankFigures, RelationRanks
    from hornbeam.scoring.evaluation import Evaluation


@dataclass(frozen=True)
class RankOptions(Options):
    """How answers are ranked and judged, and which of their figures are given."""

    hits: list[int] | None = option(
        "With --test, also the fraction of ranks up to this one. Give it again for more.",
        min=1,
        metavar="K",
    )
    each_query: bool = option(
        "With --test, the table (-o, --out-format) has one row per query, with its rank.",
        "--each-query",
        default=False,
    )
    leave_out_linked: bool = options.leave_out_linked_option()
    filter_time: FilterTime = option(
        "With --test and --time: which other true answers do not count as wrong, those of the same "
        "time or all.",
        "--filter-time",
        default=FilterTime.SAME,
    )
    history: History = option(
        "With --test and --time: what a test fact sees before its time. The facts, the filter and "
        "the test (a forecast one step ahead), or the facts alone.",
        default=History.STEP,
    )

    @property
    def is_about_time(self) -> bool:
        """Whether an option is given that only facts with a time have."""
        return not {"filter_time", "history"}.isdisjoint(self.changed())


def evaluate(
    *,
    given: options.ModelOptions,
    truth: options.TruthOptions,
    rules: bool = option(
        "With --labels, what every rule is worth: the figures without it, the others unchanged.",
        default=False,
    ),
    ranking: RankOptions,
    score: Score = options.score_option(),
    table: TableOptions,
    engine: options.EngineOptions,
    run: RunOptions,
) -> None:
    """Score labelled pairs and say how well the scores agree with the labels, or rank true answers.

    With [bold]--test[/bold], every triple asks two questions, (subject, relation, ?) and (?,
    relation, object). The rank of the true answer is filtered: other answers that the facts, the
    filter or the test know to be true are left out. Ties are averaged, and entities that no rule
    leads to tie below all others. With [bold]--rules[/bold], you see what every rule is worth on
    the labelled pairs: how good the model is without it.

    [dim]Examples:[/dim]

      hornbeam evaluate model.psl --facts observed.tsv --labels test.tsv

      hornbeam evaluate model.psl --facts observed.tsv --labels test.tsv --rules

      hornbeam evaluate graph.hornbeam --facts train.tsv --test test.tsv --filter valid.tsv

      hornbeam evaluate events.hornbeam --facts old.tsv --test new.tsv --time 4

      hornbeam evaluate graph.hornbeam --facts train.tsv --test test.tsv --each-query -o ranks.csv
    """
    import hornbeam as hb

    _check(truth, rules, ranking, table)
    table.check(run.console.as_json)
    model = hb.load(given.model)
    if rules and not isinstance(model, hb.Model):
        raise InputError("--rules is for rule models and --labels: leave it out")
    if not isinstance(model, hb.Model):
        engine.check_graph(ranking.leave_out_linked)
    with run.started() as inputs, ExitStack() as stack:
        labelled = inputs.read_given(hb.read_labels, truth.labels)
        evidence = stack.enter_context(inputs.engine_for(model, given, engine))
        if labelled is None:
            ranked, apart = _ranks(model, evidence, truth, score, ranking, engine, inputs)
        else:
            agreed = model.evaluate(
                evidence, labelled, score=score, threads=engine.threads, progress=inputs.progress
            )
            worth = None
            if rules and isinstance(model, hb.Model):
                worth = _worth_of_rules(model, evidence, labelled, engine, inputs)
    if labelled is not None:
        table.write_or_show(
            agreed.to_table if worth is None else lambda: worth,
            lambda: agreed.as_dict() | ({} if worth is None else {"rules": worth.dicts()}),
            lambda: _show_agreement(agreed, worth),
            run.console,
        )
        return
    further: dict[str, Any] = {"filtered_by": truth.filtered_by(given.facts.files)}
    if apart is not None:
        further["leave_out_linked"] = apart.as_dict()
    hits = ranking.hits or ()
    further |= {f"hits_{k}": ranked.hits(k) for k in hits}
    table.write_or_show(
        ranked.to_ranks_table if ranking.each_query else ranked.to_table,
        lambda: ranked.as_dict() | further,
        lambda: _show_ranks(ranked, further["filtered_by"], apart, hits),
        run.console,
    )


def _check(
    truth: options.TruthOptions, rules: bool, ranking: RankOptions, table: TableOptions
) -> None:
    """Refuse options that do not go together, before any file is read."""
    if bool(truth.labels) == bool(truth.test):
        raise InputError("give either --labels (pairs with 0 or 1) or --test (true triples)")
    if truth.filter_ and not truth.test:
        raise InputError("--filter is for --test: labels say themselves what is false")
    if (ranking.hits or ranking.each_query) and not truth.test:
        raise InputError("--hits and --each-query are about ranks: give --test")
    if ranking.each_query and not table.wanted:
        raise InputError("--each-query writes a table: give -o FILE or --out-format")
    if rules and not truth.labels:
        raise InputError("--rules is for rule models and --labels: leave it out")


def _worth_of_rules(
    model: Model,
    evidence: Engine,
    labelled: Targets,
    engine: options.EngineOptions,
    inputs: Inputs,
) -> ResultTable:
    """A table of the rules, with the figures of the model without each of them."""
    from hornbeam.counting.opening import facts_in_memory

    why = f"--engine {engine.engine} leaves out no rules: leave it out, or --rules"
    facts = facts_in_memory(evidence, why)
    return model.to_table(facts, labelled, worth=True, progress=inputs.progress)


def _ranks(
    model: Model | GraphModel,
    evidence: Engine,
    truth: options.TruthOptions,
    score: Score,
    ranking: RankOptions,
    engine: options.EngineOptions,
    inputs: Inputs,
) -> tuple[GraphEvaluation, GraphEvaluation | None]:
    """Filtered ranks of true triples; for a graph perhaps also ranks without linked candidates."""
    import hornbeam as hb
    from hornbeam.counting.opening import facts_in_memory

    triples = inputs.read(hb.read_facts, truth.test or ())
    others = inputs.read_given(hb.read_facts, truth.filter_)
    if isinstance(model, hb.Model):
        why = f"--engine {engine.engine} scores given pairs: give --labels, not --test"
        rules = model.ranker(facts_in_memory(evidence, why), score=score, threads=engine.threads)
        return rules.evaluate(triples, others, inputs.progress), None
    if model.time is not None or ranking.is_about_time:
        return model.evaluate_ranks(
            evidence, triples, filter=others, score=score, threads=engine.threads,
            progress=inputs.progress, leave_out_linked=ranking.leave_out_linked,
            filter_time=ranking.filter_time, history=ranking.history,
        ), None  # fmt: skip
    ranker = model.ranker(evidence, score=score, threads=engine.threads, test=triples)
    ranked = ranker.evaluate(triples, others, inputs.progress)
    if not ranking.leave_out_linked:
        return ranked, None
    apart = model.ranker(
        evidence, score=score, threads=engine.threads, leave_out_linked=True, test=triples
    )
    return ranked, apart.evaluate(triples, others, inputs.progress)


def _show_agreement(result: Evaluation, worth: ResultTable | None) -> None:
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
    if worth is None:
        return
    out.print("\nWithout each rule, that of the highest log-loss first:")
    rows = sorted(worth.dicts(), key=lambda row: -float(row["log_loss_without"]))
    columns = {"weight": "weight", "AUC-ROC": "auc_roc_without", "AUC-PR": "auc_pr_without",
               "log-loss": "log_loss_without", "Brier": "brier_without"}  # fmt: skip
    print_table(
        [*columns, "rule"],
        [
            [*("" if row[name] is None else f"{row[name]:.4f}" for name in columns.values()),
             row["rule"]]
            for row in rows
        ],
        total=len(rows),
    )  # fmt: skip


def _show_ranks(
    ranked: GraphEvaluation,
    files: list[str],
    without_linked: GraphEvaluation | None,
    hits: Sequence[int],
) -> None:
    """Show the comparable figures, then the figures without linked candidates, if any."""
    out = screen()
    further = {f"Hits@{k}": f"{ranked.hits(k):.4f}" for k in hits}
    further["mean rank"] = f"{ranked.mean_rank:.1f}"
    for name, value in (_rank_figures(ranked) | further).items():
        out.print(f"{name:10} {value}")
    macro = ranked.macro
    if len(ranked.relations) > 2:
        said = f"MRR {macro['mrr']:.4f}, Hits@10 {macro['hits_10']:.4f}"
        said += f", mean rank {macro['mean_rank']:.1f}"
        print_sentence(f"mean over relations and directions: {said}")
    print_sentence(
        f"{ranked.queries:,} queries, {ranked.candidates:,} candidates each, filtered by "
        f"{', '.join(files)}, in {ranked.seconds:.2f} s"
    )
    for name, part in (("earlier facts again", ranked.seen), ("new facts", ranked.new)):
        if part is not None:
            figures = ", ".join(" ".join(pair) for pair in _rank_figures(part).items())
            print_sentence(f"{part.queries:,} queries of {name}: {figures}")
    out.print()
    rows = (
        (part.relation, part.direction, f"{part.queries:,}", *_rank_figures(part).values())
        for part in ranked.relations
    )
    columns = ["relation", "asks for", "queries", *_rank_figures(ranked)]
    print_table(columns, rows, text=columns[0], total=len(ranked.relations))
    if without_linked is not None:
        figures = ", ".join(" ".join(pair) for pair in _rank_figures(without_linked).items())
        print_sentence(
            "Without candidates that are linked to the known entity, which knows how the split "
            f"was made: {figures}"
        )


def _rank_figures(ranked: GraphEvaluation | RelationRanks | RankFigures) -> dict[str, str]:
    figures = (ranked.mrr, ranked.hits_1, ranked.hits_3, ranked.hits_10)
    names = ("MRR", "Hits@1", "Hits@3", "Hits@10")
    return {name: f"{value:.4f}" for name, value in zip(names, figures, strict=True)}
