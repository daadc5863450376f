"""`hornbeam serve`: look at a model in a browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from hornbeam.base.terminal_progress import print_message
from hornbeam.cli import options
from hornbeam.cli.console import print_json
from hornbeam.cli.evidence import Inputs, RunOptions
from hornbeam.cli.interrupts import interrupts_delegated
from hornbeam.cli.option_groups import Options, argument, option
from hornbeam.errors import DataError, InputError, MissingExtraError

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model
    from hornbeam.programs.program import Program
    from hornbeam.serve.explorer import Explorer
    from hornbeam.serve.guard import Access

#: Packages of the extra that the explorer needs.
OF_EXTRA = ("starlette", "uvicorn", "h11", "anyio", "jsonschema")


@dataclass(frozen=True)
class ServedOptions(options.ModelOptions):
    """A model with its facts, or a program, which has its own data."""

    model: str = argument(
        "A model that learn wrote, or a PSL program (.json, .yaml, or .psl with its .data).",
        metavar="MODEL",
        default=...,
    )

    def __post_init__(self) -> None:
        if not self.is_program:
            super().__post_init__()

    @property
    def is_program(self) -> bool:
        """Whether the file is a program: JSON, YAML, a folder, or rules next to their data."""
        path = Path(self.model)
        if path.suffix.lower() in (".json", ".yaml", ".yml", ".data") or path.is_dir():
            return True
        endings = ("", "-eval", "-infer")
        data = [path.with_name(f"{path.stem}{ending}.data") for ending in endings]
        rules = path.suffix.lower() == ".psl" and any(file.is_file() for file in data)
        return rules and not any(self.facts.changed())


@dataclass(frozen=True)
class ShownOptions(Options):
    """What the explorer of a rule model shows in addition to the model."""

    labels: list[str] | None = options.label_files()
    pairs: list[str] | None = option(
        "Further pairs to list. A collective model needs them, and scores all listed "
        "pairs together.",
        metavar="FILE",
    )
    compare: str | None = option("A second model, shown side by side.", metavar="MODEL")


@dataclass(frozen=True)
class ListeningOptions(Options):
    """The address at which the explorer listens, and the token for access."""

    port: int = option("Where to listen; 0 finds a free one.", min=0, max=65535, default=8765)
    host: str = option(
        "Let others connect: an address of this machine, 0.0.0.0 for all of them. They "
        "need a token.",
        metavar="ADDRESS",
        default="127.0.0.1",
    )
    token: str | None = option("Ask for this token; made up if needed.", metavar="TEXT")
    token_file: str | None = option(
        "A file whose first line is the token, which no list of processes then shows.",
        metavar="FILE",
    )
    open_browser: bool = option("Open the browser when it is ready.", "--open", default=False)

    @property
    def given_token(self) -> str | None:
        """The token that is given, by itself or in a file."""
        if self.token_file is None:
            return self.token
        if self.token is not None:
            raise InputError("`token` and `token_file` exclude each other")
        try:
            lines = Path(self.token_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "expected text"
            raise DataError(self.token_file, f"cannot be read: {reason}") from None
        return lines[0].strip() if lines else ""


def serve(
    *,
    given: ServedOptions,
    shown: ShownOptions,
    listening: ListeningOptions,
    names: list[str] | None = options.name_files(),
    threads: int | None = options.threads_option(),
    run: RunOptions,
) -> None:
    """Explore a model or a PSL program in the browser: see reasons, edit rules, compare models.

    Listens on this machine only, until Ctrl-C. Rules can be switched off or given other weights,
    with scores and AUC following at once; edits belong to the browser that makes them, and the
    edited model can be downloaded. Of a model of a whole graph it shows the missing facts of
    entities, the answers of queries, and why. Of a PSL program it shows the rules with their
    ground rules and how far these are from holding, predictions beside the truth, and what pulls
    an atom up and down.

    [dim]Examples:[/dim]

      hornbeam serve model.psl --facts observed.tsv --labels test.tsv --open

      hornbeam serve model.psl --facts observed.tsv --labels test.tsv --compare other.psl

      hornbeam serve collective.psl --facts observed.tsv --pairs test.tsv --labels test.tsv

      hornbeam serve graph.hornbeam --facts train.tsv --names names.tsv

      hornbeam serve program.json --open
    """
    try:
        from hornbeam.serve.guard import access_for
        from hornbeam.serve.server import listen
        from hornbeam.serve.server import run as serve_pages
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in OF_EXTRA:
            raise
        raise MissingExtraError("hornbeam serve", "serve") from None
    from hornbeam.serve.web_app import WebApp

    opened = _opened_program(given, shown) if given.is_program else _opened_models(given, shown)
    # before the facts are read: a port in use should be reported at once
    with (
        listen(listening.host, listening.port) as socket,
        run.started() as inputs,
        _explorer(opened, given, shown, names, threads, inputs) as explorer,
    ):
        access = access_for(listening.host, socket.getsockname()[1], listening.given_token)

        def reopen() -> Explorer:
            again = _opened_models(given, shown)
            return _model_explorer(again, given, shown, names, threads, inputs)

        app = WebApp(explorer, access, None if given.is_program else reopen)
        inputs.progress.close()

        announce = partial(_print_address, access, run.console.as_json, listening)
        try:
            with interrupts_delegated():
                serve_pages(app, socket, announce, inputs.progress)
        except KeyboardInterrupt:
            inputs.progress.message("Stopped.")


def _opened_program(given: ServedOptions, shown: ShownOptions) -> Program:
    """The program; refuses options that are for models."""
    from hornbeam.programs.program import read_program

    for name in [*given.facts.changed(), *["known"] * bool(given.known), *shown.changed()]:
        raise InputError(f"{given.model}: is a PSL program; `{name}` is for models")
    return read_program(given.model)


def _opened_models(
    given: ServedOptions, shown: ShownOptions
) -> tuple[Model | GraphModel, Model | None]:
    """The model, and the model to compare it with; refuses options that the model does not use."""
    import hornbeam as hb
    from hornbeam.opened_model import load_with_trace

    model = load_with_trace(given.model)
    if not isinstance(model, hb.Model):
        for name in ["known"] * bool(given.known) + list(shown.changed()):
            raise InputError(
                f"{given.model}: is a model of a whole graph; `{name}` is for models of one target"
            )
        return model, None
    from hornbeam.serve.pair_explorers import refuse_without_pairs

    other = load_with_trace(shown.compare) if shown.compare else None
    if not isinstance(other, hb.Model | None):
        raise InputError(f"{shown.compare}: is a model of a whole graph; expected a rule model")
    refuse_without_pairs([(model, given.model), (other, shown.compare or "")], bool(shown.pairs))
    return model, other


@contextmanager
def _explorer(
    opened: Program | tuple[Model | GraphModel, Model | None],
    given: ServedOptions,
    shown: ShownOptions,
    names: list[str] | None,
    threads: int | None,
    inputs: Inputs,
) -> Iterator[Explorer]:
    """Read the data and make the explorer."""
    import hornbeam as hb

    if not isinstance(opened, tuple):
        from hornbeam.serve.program_explorer import open_program_explorer

        inference = hb.infer(opened, threads=threads, progress=inputs.progress)
        with open_program_explorer(
            inference,
            Path(given.model).name,
            entity_names=inputs.names(names, None),
            threads=threads,
            progress=inputs.progress,
        ) as explorer:
            yield explorer
    else:
        yield _model_explorer(opened, given, shown, names, threads, inputs)


def _model_explorer(
    opened: tuple[Model | GraphModel, Model | None],
    given: ServedOptions,
    shown: ShownOptions,
    names: list[str] | None,
    threads: int | None,
    inputs: Inputs,
) -> Explorer:
    """Read the facts, and make the explorer of a model."""
    import hornbeam as hb

    model, other = opened
    evidence = inputs.facts_for(model, given)
    called = inputs.names(names, evidence)
    name, other_name = _names(given.model, shown.compare or "")
    if not isinstance(model, hb.Model):
        from hornbeam.serve.graph_explorer import GraphExplorer

        return GraphExplorer(evidence, model, name, entity_names=called, threads=threads)
    from hornbeam.serve.pair_explorers import open_rule_explorer

    return open_rule_explorer(
        evidence,
        model,
        name,
        other=other,
        other_name=other_name,
        labels=inputs.read_given(hb.read_labels, shown.labels),
        pairs=inputs.read_given(hb.read_pairs, shown.pairs),
        entity_names=called,
        threads=threads,
        progress=inputs.progress,
    )


def _print_address(access: Access, as_json: bool, listening: ListeningOptions) -> None:
    """Print the address of the explorer, and open it in a browser if requested.

    A token from a file stays there: what a service prints goes into a log.
    """
    if as_json:
        print_json(
            {"url": access.url, "host": access.host, "port": access.port, "token": access.token}
        )
    else:
        print(f"Hornbeam is at {access.address if listening.token_file else access.url}")
        print_message("Ctrl-C stops it.")
    sys.stdout.flush()
    if listening.open_browser:
        import webbrowser

        Thread(target=webbrowser.open, args=[access.url], daemon=True).start()


def _names(model: str, other: str) -> tuple[str, str]:
    """Names of two models: their file names, or their whole paths if the file names are equal."""
    short = Path(model).name, Path(other).name
    return short if short[0] != short[1] else (model, other)
