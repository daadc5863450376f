"""`hornbeam learn`: from facts and labels to a rule model."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornbeam.cli import options
from hornbeam.cli.console import print_json, print_table, progress_shown, read_files, screen
from hornbeam.cli.evidence import open_evidence

if TYPE_CHECKING:
    from hornbeam.learning.learner import Learner
    from hornbeam.model import Model


class SolverName(StrEnum):
    """How ppll finds its weights."""

    NEWTON = "newton"
    GRADIENT = "gradient"


class SamplingName(StrEnum):
    """How negatives are drawn when there are no labels."""

    UNIFORM = "uniform"
    FREQUENCY = "frequency"
    TYPED = "typed"


def learn(
    facts: options.FactFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes.")
    ],
    labels: options.OptionalLabelFiles = None,
    target: options.Target = None,
    method: options.MethodOption = options.MethodName.JOINT,
    max_length: options.MaxLength = 3,
    min_coverage: options.MinCoverage = 10,
    top: options.Top = None,
    distinct_variables: options.DistinctVariables = False,
    max_fanout: options.MaxFanout = None,
    counts: options.CountsOption = options.CountsName.AUTO,
    relaxation: options.RelaxationOption = None,
    collective: options.Collective = False,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            help="Fit the surviving rules once more, together.",
            rich_help_panel=options.LEARNER,
        ),
    ] = False,
    negatives: Annotated[
        float,
        typer.Option(
            "--negatives",
            min=0.01,
            metavar="X",
            help="Without labels: sampled negatives a positive.",
            rich_help_panel=options.LEARNER,
        ),
    ] = 1.0,
    negative_sampling: Annotated[
        SamplingName,
        typer.Option(
            help="Without labels: replace an end of a known link by any entity (uniform), by how "
            "often the relation has it there (frequency), or by one it has been seen with (typed).",
            rich_help_panel=options.LEARNER,
        ),
    ] = SamplingName.UNIFORM,
    max_rules: Annotated[
        int,
        typer.Option(
            "--max-rules",
            min=1,
            metavar="N",
            help="greedy: most rules besides the prior.",
            rich_help_panel=options.LEARNER,
        ),
    ] = 15,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            min=0.0,
            metavar="X",
            help="greedy: least gain of one more rule.",
            rich_help_panel=options.LEARNER,
        ),
    ] = 1e-3,
    solver: Annotated[
        SolverName,
        typer.Option(
            help="ppll: exact Newton steps, or the paper's projected gradient.",
            rich_help_panel=options.LEARNER,
        ),
    ] = SolverName.NEWTON,
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            min=1,
            metavar="N",
            help="ppll gradient: 150; greedy: inner steps, 15.",
            rich_help_panel=options.LEARNER,
        ),
    ] = None,
    step_size: Annotated[
        float,
        typer.Option(
            "--step-size",
            min=0.0,
            metavar="X",
            help="ppll gradient: step size.",
            rich_help_panel=options.LEARNER,
        ),
    ] = 0.01,
    weight_variance: Annotated[
        float,
        typer.Option(
            "--weight-variance",
            metavar="X",
            help="Variance of the Gaussian prior on weights.",
            rich_help_panel=options.LEARNER,
        ),
    ] = 100.0,
    length_penalty: Annotated[
        float,
        typer.Option(
            "--length-penalty",
            min=0.0,
            metavar="X",
            help="Exponential prior on clause length.",
            rich_help_panel=options.LEARNER,
        ),
    ] = 0.0,
    seed: options.Seed = 0,
    engine: options.EngineOption = options.EngineName.MEMORY,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
    spill_dir: options.SpillDir = None,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Learn a weighted rule model and write it as PSL text that you can read and edit.

    With [bold]--labels[/bold] it learns to tell the true from the false pairs. Without, the facts
    of [bold]--target[/bold] are the true ones and false ones are sampled.

    [dim]Examples:[/dim]

      hornbeam learn --facts observed.tsv --labels train.tsv -o model.psl

      hornbeam learn --facts graph.tsv --target works_for -o model.psl
    """
    import hornbeam as hb

    check_output(output)
    if trace_path(output).is_dir():
        raise hb.errors.InputError(
            f"{trace_path(output)}: is a folder; the model's trace would go there"
        )
    learner = _learner(
        method, seed, max_rules, tolerance, solver, iterations, step_size, weight_variance,
        length_penalty,
    )  # fmt: skip
    with progress_shown(quiet, verbose) as progress, ExitStack() as stack:
        clock = time.perf_counter()
        evidence = stack.enter_context(
            open_evidence(
                facts, engine, progress, threads=threads, memory_limit=memory_limit,
                spill_dir=spill_dir, master=master, spark_conf=spark_conf,
            )
        )  # fmt: skip
        labelled = read_files(hb.read_labels, labels, progress) if labels else None
        load = time.perf_counter() - clock
        model = hb.learn(
            evidence,
            labelled,
            target=target,
            method=learner,
            language=hb.Language(max_length, min_coverage, top, distinct_variables, max_fanout),
            counts=counts.value,
            relaxation=relaxation.value if relaxation else None,
            collective=collective,
            refit=refit,
            negatives=negatives,
            negative_sampling=negative_sampling.value,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    model.trace["seconds"] = {"load": load, **model.trace["seconds"]}
    model.save(output)
    if output.is_file():
        trace = json.dumps(model.trace, indent=1, ensure_ascii=False, allow_nan=False)
        hb.save_text(trace_path(output), trace + "\n")
    if as_json:
        print_json(_as_dict(model))
    else:
        _show(model, output)


def trace_path(model: Path) -> Path:
    """Where the trace of a model goes: model.psl -> model.trace.json."""
    return model.with_name(f"{model.stem}.trace.json")


def check_output(output: Path) -> None:
    """Refuse before any work what could not be written after it."""
    from hornbeam.errors import InputError

    if not output.parent.is_dir():
        raise InputError(f"{output}: the folder {output.parent} does not exist; make it first")
    if output.is_dir():
        raise InputError(f"{output}: is a folder; name a file in it")


def _learner(
    method: options.MethodName,
    seed: int,
    max_rules: int,
    tolerance: float,
    solver: SolverName,
    iterations: int | None,
    step_size: float,
    weight_variance: float,
    length_penalty: float,
) -> Learner:
    from hornbeam.learning.greedy import Greedy
    from hornbeam.learning.joint import Joint
    from hornbeam.learning.newton import Newton
    from hornbeam.learning.ppll import Ppll

    match method:
        case options.MethodName.JOINT:
            return Joint(seed=seed, weight_variance=weight_variance, length_penalty=length_penalty)
        case options.MethodName.PPLL:
            return Ppll(
                solver=solver.value,
                iterations=iterations or 150,
                step_size=step_size,
                weight_variance=weight_variance,
                length_penalty=length_penalty,
            )
        case options.MethodName.GREEDY:
            return Greedy(
                max_rules=max_rules,
                tolerance=tolerance,
                weight_variance=weight_variance,
                length_penalty=length_penalty,
                newton=Newton(iterations=iterations or 15, tolerance=1e-6),
            )


def _as_dict(model: Model) -> dict[str, Any]:
    return {
        "rules": [
            {"rule": text, "weight": rule.weight}
            for rule, text in zip(model.rules, model.clause_texts, strict=True)
        ],
        "predicates": {spelt: name for name, spelt in model.identifiers.items() if spelt != name},
        "candidates": len(model.trace["candidates"]),
        "targets": model.trace["targets"],
        "positives": model.trace["positives"],
        "counts": model.semantics.counts.value,
        "relaxation": model.semantics.relaxation.value,
        "collective": model.semantics.collective,
        "seconds": {name: round(value, 4) for name, value in model.trace["seconds"].items()},
    }


def _show(model: Model, output: Path) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("rule", overflow="fold", ratio=1)
    shown = model.rules[: options.SHOWN]
    for rule, text in zip(shown, model.clause_texts, strict=False):
        table.add_row(f"{rule.weight:.3f}", escape(text))
    out = screen()
    print_table(out, table)
    if len(model.rules) > options.SHOWN:
        out.print(
            f"... and {len(model.rules) - options.SHOWN} more, all in {escape(str(output))}",
            soft_wrap=True,
        )
    seconds = model.trace["seconds"]
    out.print(
        f"{len(model.rules)} rules of {len(model.trace['candidates']):,} candidate sequences, "
        f"counts {model.semantics.counts.value}; load {seconds['load']:.2f} s, generate "
        f"{seconds['generate']:.2f} s, learn {seconds['learn']:.2f} s. "
        f"Wrote {escape(str(output))}.",
        soft_wrap=True,
    )
