"""What commands show: progress, messages and errors on stderr, tables and JSON on stdout."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hornbeam.base.texts import message_text, printable
from hornbeam.cli.remaining_time import StageProgress, WholeProgress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

#: Progress bars appear after this time: shorter work shows none.
BAR_AFTER_SECONDS = 0.5
#: Time between lines of progress where stderr is not a terminal (a log, a batch job).
LINE_EVERY_SECONDS = 10.0
#: Minimum width of the last column when a line is wrapped under it.
NARROWEST = 24
#: Width of a table where stdout is not a terminal and COLUMNS is not set.
PIPE_WIDTH = 160


class TerminalProgress:
    """Shows progress: a bar on a terminal, a line now and then elsewhere, nothing if `quiet`.

    The stages of a `whole` share one bar. `verbose` adds the time to every message, a line for
    every stage that ends, and the time and memory of the whole work.
    """

    def __init__(
        self, quiet: bool = False, verbose: bool = False, whole: WholeProgress | None = None
    ) -> None:
        self._whole = whole
        self.quiet = quiet
        self.verbose = verbose and not quiet
        self._began = self._last_line = self._bar_from = time.monotonic()
        self._stages: dict[str, StageProgress] = {}
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}

    def message(self, text: str) -> None:
        """Print a message."""
        if self.verbose:
            print_message(f"[{time.monotonic() - self._began:7.2f} s] {text}")
        elif not self.quiet:
            print_message(text)

    def detail(self, text: str) -> None:
        """Print a message if verbose."""
        if self.verbose:
            self.message(text)

    def advance(self, stage: str, done: int, total: int) -> None:
        """Show the progress of a stage."""
        if self.quiet:
            return
        now = time.monotonic()
        known = self._stages.setdefault(stage, StageProgress(now, done))
        known.report(now, done, total)
        if self._whole is not None:
            self._whole.report(stage, known)
        name = stage if self._whole is None else self._whole.name
        shown = self._whole or known
        # while a bar is shown, Rich < 15 replaces sys.stderr by a proxy whose isatty() is false
        if self._bar is not None or sys.stderr.isatty():
            self._draw(name, shown, now)
        elif now - max(self._last_line, known.began) >= LINE_EVERY_SECONDS and done < total:
            self._last_line = now
            self.message(f"{name}: {shown}.")
        if done >= total:
            del self._stages[stage]
            self.detail(f"{stage}: {known}.")

    def _draw(self, name: str, shown: StageProgress | WholeProgress, now: float) -> None:
        if self._bar is None:
            if now - self._bar_from < BAR_AFTER_SECONDS:
                return
            self._bar = _new_bar()
            self._bar.start()
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=1.0, line="")
        self._bar.update(self._tasks[name], completed=shown.fraction, line=str(shown))

    def close(self) -> None:
        """Remove the bars from the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks.clear()
        self._bar_from = time.monotonic()

    def print_cost(self) -> None:
        """If verbose, print the time and memory that the work took."""
        self.detail(f"Done. CPU {time.process_time():.2f} s{_peak_memory()}.")


def _new_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[line]}"),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )


def _peak_memory() -> str:
    if sys.platform == "win32":
        return ""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f", peak memory {peak * (1 if sys.platform == 'darwin' else 1024) / 2**20:,.0f} MiB"


def print_message(text: str) -> None:
    """Print a message to stderr, with control characters in quoted data escaped."""
    print(message_text(text), file=sys.stderr, flush=True)


def screen_lines(text: str) -> str:
    """Lines of tables for the screen, without control characters other than TABs."""
    lines = (line.split("\t") for line in text.split("\n"))
    return "\n".join("\t".join(map(printable, cells)) for cells in lines)


def screen_text(text: object) -> str:
    """Text from data for the screen: markup and control characters are escaped."""
    from rich.markup import escape

    return escape(printable(str(text)))


def print_json(result: Mapping[str, Any]) -> None:
    """Print the one JSON object of `--json`."""
    print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def screen() -> Console:
    """The console of tables: stdout, with colours on a terminal unless NO_COLOR is set."""
    from rich.console import Console

    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    # names from the data are shown unchanged: :smile: does not become an emoji
    return Console(
        highlight=False, emoji=False, width=None if known else PIPE_WIDTH, soft_wrap=False
    )


def print_line(out: Console, line: str, style: str = "") -> None:
    """Print a line unchanged; on a narrow terminal its last column is wrapped.

    Columns are separated by two spaces.
    """
    from rich.text import Text

    # as text, not as markup: names may contain anything
    text = Text(printable(line), style=style)
    if not out.is_terminal or text.cell_len <= out.width:
        out.print(text, soft_wrap=True)
        return
    indent = text.plain.rfind("  ") + 2 if "  " in text.plain else 0
    if indent > out.width - NARROWEST:
        indent = len(text.plain) - len(text.plain.lstrip())
    first, rest = text.divide([indent])
    for number, part in enumerate(rest.wrap(out, max(out.width - indent, NARROWEST))):
        part.rstrip()
        out.print(Text.assemble(first if not number else " " * indent, part), soft_wrap=True)


def print_sentence(text: str) -> None:
    """Print a text, which may quote data, to stdout; the terminal itself wraps its lines."""
    screen().print(screen_text(text), soft_wrap=True)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], text: str = "rule"
) -> None:
    """Print a table; if the screen is too narrow for it, print one line per cell.

    All columns except the column `text` have figures.
    """
    from rich.measure import Measurement
    from rich.table import Table

    out, cells = screen(), [[*map(screen_text, row)] for row in rows]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        if name == text:
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in cells:
        table.add_row(*row)
    needed = Measurement.get(out, out.options.update_width(10_000), table).minimum
    if needed <= out.width:
        out.print(table)
        return
    for row in cells:
        for name, cell in zip(columns, row, strict=True):
            out.print(f"[bold]{name}[/bold] {cell}")
        out.print()
