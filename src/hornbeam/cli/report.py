"""`hornbeam report`: one HTML file about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli import options
from hornbeam.cli.console import print_json, screen, screen_text
from hornbeam.cli.evidence import entity_names, facts_with_known
from hornbeam.cli.graph_commands import warn_of_another_graph
from hornbeam.cli.outputs import check_output
from hornbeam.errors import InputError
from hornbeam.files import refuse_inputs, save_text


def report(
    *,
    model: options.ModelFile,
    facts: options.FactFiles,
    known: options.KnownFiles = None,
    labels: options.OptionalLabelFiles = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="For a model of a whole graph: true triples, instead of labels."
        ),
    ] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="FILE", help="With --test: further true triples."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")
    ],
    names: options.NameFiles = None,
    threads: options.Threads = None,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> None:
    """Write a page about a model: what was learned, how good it is, how it was learned, its errors.

    The page is one HTML file that needs no network, for any browser, a phone or paper. Give it
    labelled pairs that the model has not learned from, for a model of a whole graph true triples.
    Without them it says what was learned and how, with the figures of the internal validation, and
    nothing of errors. How a rule model was learned is read from the trace beside it
    (model.trace.json), where there is one of this very model.

    [dim]Example:[/dim]

      hornbeam report model.psl --facts observed.tsv --labels test.tsv -o report.html

      hornbeam report graph.hornbeam --facts train.tsv --test test.tsv -o report.html
    """
    import hornbeam as hb
    from hornbeam.learning.trace import trace_of, trace_path
    from hornbeam.opened_model import is_graph_model, open_model

    check_output(output)
    if is_graph_model(model):
        if labels:
            raise InputError(f"{model}: a model of a whole graph ranks answers: give --test")
        if filter_ and not test:
            raise InputError("--filter names further true triples beside those of --test")
        page = _graph_page(model, facts, test, filter_, names, threads, reading, console)
        _tell(page, output, console, {})
        return
    if test or filter_:
        raise InputError("a rule model is judged by labelled pairs: give --labels")
    refuse_inputs(output, [str(trace_path(Path(model)))])
    with console.progress() as progress:
        loaded = open_model(model)
        trace = trace_of(Path(model))
        evidence = facts_with_known(facts, loaded, known, reading, progress)
        if loaded.semantics.collective and not labels:
            raise InputError("a collective model scores labelled pairs together: give --labels")
        labelled = reading.read(hb.read_labels, labels, progress) if labels else None
        page = loaded.report(
            evidence, labelled, trace=trace, names=entity_names(names, evidence, progress),
            threads=threads, progress=progress,
        )  # fmt: skip
    _tell(page, output, console, {"trace": trace is not None})


def _graph_page(
    model: str,
    facts: list[str],
    test: list[str] | None,
    filters: list[str] | None,
    names: list[str] | None,
    threads: int | None,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> str:
    import hornbeam as hb
    from hornbeam.reporting.graph_report import graph_report

    with console.progress() as progress:
        evidence = reading.read(hb.read_facts, facts, progress)
        loaded = hb.GraphModel.load(model)
        warn_of_another_graph(loaded, evidence.predicates)
        return graph_report(
            loaded,
            evidence,
            reading.read(hb.read_facts, test, progress) if test else None,
            (reading.read(hb.read_facts, filters, progress),) if filters else (),
            names=entity_names(names, evidence, progress),
            threads=threads,
            progress=progress,
        )


def _tell(
    page: str, output: Path, console: options.ConsoleOptions, further: dict[str, bool]
) -> None:
    """Write the page and say so."""
    save_text(output, page)
    if console.as_json:
        print_json({"output": str(output), "bytes": len(page.encode()), **further})
    else:
        screen().print(
            f"Wrote {screen_text(output)}. Open it in a browser; it needs no network.",
            soft_wrap=True,
        )
