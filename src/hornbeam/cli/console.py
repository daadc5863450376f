"""What commands show on stdout: tables, sentences and JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from hornbeam.base.texts import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Maximum number of rows of a table on the screen; `--json` has all rows.
SHOWN = 25
#: Minimum width of the last column when a line is wrapped under it.
NARROWEST = 24
#: Width of a table where stdout is not a terminal and COLUMNS is not set.
PIPE_WIDTH = 160


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
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    text: str = "rule",
    *,
    total: int | None = None,
    rest: str = " (--json for all)",
) -> None:
    """Print a table; if the screen is too narrow for it, print one line per cell.

    All columns except the column `text` have figures. With a `total` of rows, at most `SHOWN` are
    printed, and a line below the table says how many are left out and where the `rest` is.
    """
    from rich.measure import Measurement
    from rich.table import Table

    shown = rows if total is None else islice(rows, SHOWN)
    out, cells = screen(), [[*map(screen_text, row)] for row in shown]
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
    else:
        for row in cells:
            for name, cell in zip(columns, row, strict=True):
                out.print(f"[bold]{name}[/bold] {cell}")
            out.print()
    if total is not None and total > SHOWN:
        print_sentence(f"... and {total - SHOWN:,} more{rest}")
