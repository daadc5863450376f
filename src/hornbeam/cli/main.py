"""The `hornbeam` command: its own options, and errors turned into exit codes."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from hornbeam import __version__
from hornbeam.base.terminal_progress import print_message
from hornbeam.cli.commands import LazyGroup
from hornbeam.cli.interrupts import INTERRUPTED, exit_interrupted, interrupts_handled
from hornbeam.errors import InputError

app = typer.Typer(
    name="hornbeam",
    cls=LazyGroup,
    help="Learn weighted first-order rules from relational facts; predict missing links, with "
    "reasons.\n\nStart with: [bold]hornbeam demo[/bold]",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: errno codes of exhausted or failing resources: disk space, open files, memory, I/O.
LACKING = (
    errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO,
)  # fmt: skip


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hornbeam {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn weighted first-order rules from relational facts; predict missing links."""


def run() -> None:
    """Entry point: 0 done, 2 wrong input or usage, 130 interrupted, 1 a bug."""
    code: str | int | None = 0
    # one thread, set before NumPy is loaded; `machine.blas_threads` gives large matrices more
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _provide_streams()
    try:
        with interrupts_handled():
            app()
    except InputError as error:
        print_message(f"hornbeam: {error}")
        code = 2
    except MemoryError:
        print_message(
            "hornbeam: not enough memory (ulimit -v?); give it more, or use --engine duckdb with "
            "--memory-limit and --spill-dir"
        )
        code = 2
    except OSError as error:
        # readers and writers report errors of files; other errors are bugs or lack of resources
        if error.errno not in LACKING:
            raise
        print_message(f"hornbeam: {error}")
        code = 2
    except SystemExit as ended:
        # the reader of our output (head, less) has ended: for Typer an error, not for us
        code = 0 if isinstance(ended.__context__, BrokenPipeError) else ended.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    _flush()
    if code == INTERRUPTED:
        exit_interrupted()
    sys.exit(code)


def _provide_streams() -> None:
    """Make sure that all three standard streams are open, and that any name can be printed.

    Otherwise the next opened file would get the descriptor of a closed stream, and messages would
    be written to that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """Flush stdout; ignore a closed pipe, about which Python would complain at exit."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()
