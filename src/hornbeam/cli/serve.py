"""`hornbeam serve`: look at a model in a browser."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli import options
from hornbeam.cli.console import print_json, say
from hornbeam.cli.evidence import entity_names, facts_with_known
from hornbeam.cli.interrupts import left_to_others
from hornbeam.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hornbeam.cli.console import TerminalProgress
    from hornbeam.serve.access import Access
    from hornbeam.serve.graph_state import GraphExplorer
    from hornbeam.serve.state import Explorer

    #: Reads the facts and makes an explorer.
    Preparing = Callable[[TerminalProgress], Explorer | GraphExplorer]


def serve(
    *,
    model: options.ModelFile,
    facts: options.FactFiles,
    known: options.KnownFiles = None,
    labels: options.OptionalLabelFiles = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Further pairs to list. A collective model needs them, and scores all listed "
            "pairs together.",
        ),
    ] = None,
    compare: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A second model, shown side by side.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 finds a free one.")
    ] = 8765,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Let others connect: an address of this machine, 0.0.0.0 for all of them. They "
            "need a token.",
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Ask for this token; made up if needed.")
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the browser when it is ready.")
    ] = False,
    names: options.NameFiles = None,
    threads: options.Threads = None,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> None:
    """Explore a model in the browser: search entities, see reasons, edit rules, compare models.

    Listens on this machine only, until Ctrl-C. Rules can be switched off and weighted anew, with
    scores and AUC following at once; edits belong to the browser that makes them, and the edited
    model can be downloaded. Of a model of a whole graph it shows the missing facts of entities,
    the answers of queries, and why.

    [dim]Examples:[/dim]

      hornbeam serve model.psl --facts observed.tsv --labels test.tsv --open

      hornbeam serve model.psl --facts observed.tsv --labels test.tsv --compare other.psl

      hornbeam serve collective.psl --facts observed.tsv --pairs test.tsv --labels test.tsv

      hornbeam serve graph.hornbeam --facts train.tsv --names names.tsv
    """
    try:
        from hornbeam.serve.access import access_for
        from hornbeam.serve.app import make_app
        from hornbeam.serve.server import listen, run
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in ("starlette", "uvicorn", "h11", "anyio"):
            raise
        raise MissingExtraError("hornbeam serve", "serve") from None
    from hornbeam.opened_model import is_graph_model

    if is_graph_model(model):
        _refuse_for_graphs(model, known=known, labels=labels, pairs=pairs, compare=compare)
        prepared = _graph_explorer(model, facts, names, threads, reading)
    else:
        prepared = _rule_explorer(
            model, facts, known, labels, pairs, compare, names, threads, reading
        )
    # before the facts are read: a port that is taken should not cost a minute
    with listen(host, port) as opened, console.progress() as progress:
        access = access_for(host, opened.getsockname()[1], token)
        explorer = prepared(progress)
        progress.close()

        told = partial(_tell, access, console.as_json, open_browser)
        try:
            with left_to_others():
                run(make_app(explorer, access), opened, told, progress)
        except KeyboardInterrupt:
            progress.message("Stopped.")


def _refuse_for_graphs(model: str, **given: object) -> None:
    """Refuse what a model of a whole graph has no use for."""
    for name, value in given.items():
        if value:
            raise InputError(
                f"{model}: is a model of a whole graph; `{name}` is for models of one target"
            )


def _graph_explorer(
    model: str,
    facts: list[str],
    names: list[str] | None,
    threads: int | None,
    reading: options.ReadingOptions,
) -> Preparing:
    """Load a model of a whole graph, and say how its explorer is made."""
    import hornbeam as hb
    from hornbeam.serve.graph_state import GraphExplorer

    loaded = hb.GraphModel.load(model)

    def prepared(progress: TerminalProgress) -> GraphExplorer:
        evidence = reading.read(hb.read_facts, facts, progress)
        return GraphExplorer(
            evidence,
            loaded,
            Path(model).name,
            entity_names=entity_names(names, evidence, progress),
            threads=threads,
            progress=progress,
        )

    return prepared


def _rule_explorer(
    model: str,
    facts: list[str],
    known: list[str] | None,
    labels: list[str] | None,
    pairs: list[str] | None,
    compare: str | None,
    names: list[str] | None,
    threads: int | None,
    reading: options.ReadingOptions,
) -> Preparing:
    """Load models of rules, and say how their explorer is made."""
    import hornbeam as hb
    from hornbeam.learning.trace import trace_of
    from hornbeam.opened_model import open_model
    from hornbeam.serve.state import Explorer, refuse_without_pairs

    loaded, other = open_model(model), open_model(compare) if compare else None
    loaded = replace(loaded, trace=trace_of(Path(model)))
    refuse_without_pairs([(loaded, model), (other, compare or "")], bool(pairs))
    name, other_name = _names(model, compare or "")

    def prepared(progress: TerminalProgress) -> Explorer:
        evidence = facts_with_known(facts, loaded, known, reading, progress)
        return Explorer(
            evidence,
            loaded,
            name,
            other=other,
            other_name=other_name,
            labels=reading.read(hb.read_labels, labels, progress) if labels else None,
            pairs=reading.read(hb.read_pairs, pairs, progress) if pairs else None,
            entity_names=entity_names(names, evidence, progress),
            threads=threads,
            progress=progress,
        )

    return prepared


def _tell(access: Access, as_json: bool, open_browser: bool) -> None:
    """Say where to look."""
    if as_json:
        print_json(
            {"url": access.url, "host": access.host, "port": access.port, "token": access.token}
        )
    else:
        print(f"Hornbeam is at {access.url}")
        say("Ctrl-C stops it.")
    sys.stdout.flush()
    if open_browser:
        import webbrowser

        Thread(target=webbrowser.open, args=[access.url], daemon=True).start()


def _names(model: str, other: str) -> tuple[str, str]:
    """File names, or the whole paths where the names are the same."""
    short = Path(model).name, Path(other).name
    return short if short[0] != short[1] else (model, other)
