"""`hornbeam report`: one HTML file about a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hornbeam.base.files import refuse_inputs, save_text
from hornbeam.cli import options
from hornbeam.cli.console import print_sentence
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.option_groups import option
from hornbeam.cli.outputs import check_output
from hornbeam.errors import InputError


@dataclass(frozen=True)
class ReportedOptions(options.ModelOptions):
    """A model, and perhaps facts; without them the page has what the model file says."""

    def __post_init__(self) -> None:
        """No facts are needed."""


def report(
    *,
    given: ReportedOptions,
    truth: options.TruthOptions,
    output: Path = option("Where the page goes.", "--output", "-o", metavar="FILE", default=...),
    names: list[str] | None = options.name_files(),
    threads: int | None = options.threads_option(),
    run: RunOptions,
) -> None:
    """Write a page about a model: what was learned, how good it is, how it was learned, its errors.

    The page is one HTML file that needs no network, for any browser, a phone or paper. Give it
    labelled pairs that the model has not learned from, or true triples ([bold]--test[/bold]; those
    of a model of a whole graph always), whose answers are ranked.
    Without them it says what was learned and how, with the figures of the internal validation, and
    nothing of errors; without [bold]--facts[/bold] it has what the model file says. How a rule
    model was learned is read from the trace next to it (model.trace.json), where there is one of
    this very model.

    [dim]Examples:[/dim]

      hornbeam report model.psl -o report.html

      hornbeam report model.psl --facts observed.tsv --labels test.tsv -o report.html

      hornbeam report graph.hornbeam --facts train.tsv --test test.tsv --filter valid.tsv -o r.html
    """
    import hornbeam as hb
    from hornbeam.learning.trace import trace_path
    from hornbeam.opened_model import load_with_trace

    check_output(output)
    refuse_inputs(output, [str(trace_path(Path(given.model)))])
    model = load_with_trace(given.model)
    further = {}
    if isinstance(model, hb.Model):
        if truth.labels and truth.test:
            raise InputError("give either --labels (pairs with 0 or 1) or --test (true triples)")
        if model.is_collective and given.facts.files and not truth.labels:
            raise InputError("a collective model scores labelled pairs together: give --labels")
        further = {"trace": model.trace is not None}
    elif truth.labels:
        raise InputError(f"{given.model}: a model of a whole graph ranks answers: give --test")
    for name in ("labels", "test"):
        if getattr(truth, name) and not given.facts.files:
            raise InputError(f"`{name}` is compared with scores over facts: give --facts")
    with run.started() as inputs:
        evidence = inputs.facts_for(model, given) if given.facts.files else None
        files = ", ".join(truth.filtered_by(given.facts.files))
        page = model.report(
            evidence,
            inputs.read_given(hb.read_labels, truth.labels),
            test=inputs.read_given(hb.read_facts, truth.test),
            filter=inputs.read_given(hb.read_facts, truth.filter_),
            names=inputs.names(names, evidence),
            threads=threads,
            progress=inputs.progress,
            filtered_by=files,
        )
    save_text(output, page)
    run.console.print(
        lambda: {"output": str(output), "bytes": len(page.encode()), **further},
        lambda: print_sentence(f"Wrote {output}. Open it in a browser; it needs no network."),
    )
