"""`hornbeam report`: one HTML file about a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.base.files import refuse_inputs, save_text
from hornbeam.cli import options
from hornbeam.cli.console import print_json, screen, screen_text
from hornbeam.cli.evidence import entity_names, facts_for
from hornbeam.cli.graph_commands import warn_of_another_graph
from hornbeam.cli.outputs import check_output
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model


def report(
    *,
    given: options.ModelOptions,
    truth: options.TruthOptions,
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
    nothing of errors. How a rule model was learned is read from the trace next to it
    (model.trace.json), where there is one of this very model.

    [dim]Example:[/dim]

      hornbeam report model.psl --facts observed.tsv --labels test.tsv -o report.html

      hornbeam report graph.hornbeam --facts train.tsv --test test.tsv -o report.html
    """
    import hornbeam as hb
    from hornbeam.opened_model import with_model, with_trace

    check_output(output)

    def of_rules(model: Model) -> None:
        from hornbeam.learning.trace import trace_path

        if truth.test or truth.filter_:
            raise InputError("a rule model is judged by labelled pairs: give --labels")
        refuse_inputs(output, [str(trace_path(Path(given.model)))])
        with console.progress() as progress:
            model = with_trace(model, given.model)
            evidence = facts_for(model, given, reading, progress)
            if model.semantics.collective and not truth.labels:
                raise InputError("a collective model scores labelled pairs together: give --labels")
            page = model.report(
                evidence,
                reading.read_given(hb.read_labels, truth.labels, progress),
                names=entity_names(names, evidence, progress),
                threads=threads,
                progress=progress,
            )
        _write(page, output, console, {"trace": model.trace is not None})

    def of_graph(model: GraphModel) -> None:
        from hornbeam.reporting.graph_report import graph_report

        if truth.labels:
            raise InputError(f"{given.model}: a model of a whole graph ranks answers: give --test")
        if truth.filter_ and not truth.test:
            raise InputError("--filter needs --test: it names further true triples")
        with console.progress() as progress:
            evidence = reading.read(hb.read_facts, given.facts, progress)
            warn_of_another_graph(model, evidence.predicates)
            further = reading.read_given(hb.read_facts, truth.filter_, progress)
            page = graph_report(
                model,
                evidence,
                reading.read_given(hb.read_facts, truth.test, progress),
                () if further is None else (further,),
                names=entity_names(names, evidence, progress),
                threads=threads,
                progress=progress,
            )
        _write(page, output, console, {})

    with_model(given.model, of_rules, of_graph)


def _write(
    page: str, output: Path, console: options.ConsoleOptions, further: dict[str, bool]
) -> None:
    """Write the page and report its path."""
    save_text(output, page)
    if console.as_json:
        print_json({"output": str(output), "bytes": len(page.encode()), **further})
    else:
        screen().print(
            f"Wrote {screen_text(output)}. Open it in a browser; it needs no network.",
            soft_wrap=True,
        )
