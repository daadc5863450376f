"""Parts of commands for models of whole graphs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornbeam.base.choices import EngineName
from hornbeam.cli import options
from hornbeam.cli.console import print_json, print_table, screen, screen_text
from hornbeam.cli.evidence import open_evidence
from hornbeam.cli.option_groups import Options
from hornbeam.cli.remaining_time import StagePlan
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel

#: Name of the only progress stage of learning.
LEARNING = "Learning the graph"

LeaveOutLinked = Annotated[
    bool,
    typer.Option(
        "--leave-out-linked",
        help="For a model of a whole graph: never answer with what is linked to the known entity "
        "already. That is knowledge of how some data sets were split.",
    ),
]


@dataclass(frozen=True)
class GraphOptions(Options):
    """How a whole graph is learned."""

    all_relations: Annotated[
        bool,
        options.graph_option(
            "--all-relations",
            help="Learn to answer (a, relation, ?) and (?, relation, b) for every relation, or for "
            "those given by --target: a model of the whole graph.",
        ),
    ] = False
    valid: Annotated[
        list[str] | None,
        options.graph_option(
            metavar="FILE",
            help="Held-out facts, by which features and penalties are chosen; without them, by a "
            "part of the facts.",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        options.graph_option(
            min=1.0, metavar="SECONDS", help="Begin nothing new after this; use what there is."
        ),
    ] = None
    rules: Annotated[
        str | None,
        options.graph_option(
            metavar="FILE",
            help="Take the path rules of AnyBURL's or AMIE's file instead of looking for some; "
            "what they get right is counted again.",
        ),
    ] = None

    def __post_init__(self) -> None:
        given = {"valid": self.valid, "time_limit": self.time_limit, "rules": self.rules}
        for name, value in given.items():
            if value is not None and not self.all_relations:
                raise InputError(f"`{name}` is for --all-relations")


# --- learn ----------------------------------------------------------------------------------------


def learn_graph_model(
    training: options.TrainingOptions,
    output: Path,
    graph: GraphOptions,
    max_length: int | None,
    seed: int,
    engine: options.EngineOptions,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> None:
    """Learn a model of a whole graph, write it, and show a summary."""
    import hornbeam as hb
    from hornbeam.graph_learning import check_only_counted

    if engine.engine is EngineName.SPARK:
        check_only_counted(graph.rules, graph.valid)  # before it is started

    clock = time.perf_counter()
    whole = StagePlan(LEARNING, {LEARNING: 1.0})  # in percent: units of work mean little
    with (
        console.progress(whole) as progress,
        open_evidence(training.facts, engine, reading, progress) as known,
    ):
        valid = reading.read_given(hb.read_facts, graph.valid, progress)
        load = time.perf_counter() - clock
        model = hb.learn_graph(
            known,
            valid,
            relations=training.target,
            rules=graph.rules,
            max_length=max_length or "auto",
            time_limit=graph.time_limit,
            seed=seed,
            threads=engine.threads,
            progress=progress,
        )
    model.save(output)
    seconds = {"load": load, "learn": time.perf_counter() - clock - load}
    if console.as_json:
        print_json(_learned(model, seconds))
    else:
        _show_learned(model, output, seconds)


def _learned(model: GraphModel, seconds: dict[str, float]) -> dict[str, Any]:
    return {
        "rules": model.to_table().dicts(),
        "relations": len({part.relation for part in model.relations}),
        "features": list(model.features),
        "chosen": dict(model.chosen),
        "cautions": [model.linked.caution] if model.linked.caution else [],
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }


def _show_learned(model: GraphModel, output: Path, seconds: dict[str, float]) -> None:
    from hornbeam.graphs.graph_text import rule_text

    out = screen()
    best = [
        (rule, rule_text(rule.clause, part.direction, model.identifiers))
        for part in model.relations
        for rule in part.rules[:1]
    ]
    best.sort(key=lambda one: (-one[0].confidence, one[1]))
    rows = [
        (f"{rule.confidence:.3f}", f"{rule.hits:,}", f"{rule.predicted:,}", screen_text(text))
        for rule, text in best[: options.SHOWN]
    ]
    columns = ["confidence", "hits", "predicted", "best rule"]
    print_table(out, columns, rows, text=columns[-1])
    if model.linked.caution:
        out.print(model.linked.caution, soft_wrap=True)
    n_rules = sum(len(part.rules) for part in model.relations)
    chosen = model.chosen
    how = model.internal_validation or "the time limit left no time to measure the MRR"
    if chosen["held_out"] == "none":
        how = "counted, and ranked by best confidence: nothing was fitted"
    out.print(
        f"{len({part.relation for part in model.relations}):,} relations, {n_rules:,} path rules; "
        f"{how}; load {seconds['load']:.2f} s, learn {seconds['learn']:.2f} s. Wrote "
        f"{screen_text(output)}.",
        soft_wrap=True,
    )
    if chosen["stopped_early"] == "yes":
        out.print("The time limit was reached: the model is made of the results so far.")


# --- what other commands share --------------------------------------------------------------------


def refuse_engine(engine: options.EngineOptions, leave_out_linked: bool) -> None:
    """Refuse an engine that lacks a feature, before it is started."""
    if engine.engine is EngineName.SPARK:
        raise InputError("--engine spark answers no queries: leave it out")
    if leave_out_linked and engine.engine is not EngineName.MEMORY:
        raise InputError("`leave_out_linked` needs facts in memory: leave out --engine")
