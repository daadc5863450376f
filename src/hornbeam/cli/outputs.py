"""Outputs of commands: checks before any work, and the table that most commands write."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornbeam.base.choices import TableFormat
from hornbeam.base.files import cannot_be_written, refuse_inputs
from hornbeam.cli.console import screen_lines
from hornbeam.cli.option_groups import Options, option
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from typer.core import TyperCommand

    from hornbeam.base.result_table import ResultTable
    from hornbeam.cli.options import ConsoleOptions

#: Metavars of options and arguments that name inputs.
INPUT_KINDS = ("FILE", "MODEL", "PROGRAM", "TASK_DIR", "DATABASE")
#: Metavar and suffix of outputs that may be folders, replaced as a whole: Spark's Parquet is one.
FOLDER_KIND, FOLDER_SUFFIX = "PATH", ".parquet"
#: Endings of formats that are refused; files with any other unknown ending are written as TSV.
OTHER_ENDINGS = (
    ".gz", ".bz2", ".xz", ".zst", ".zip", ".xlsx", ".xls", ".ods", ".arrow", ".feather", ".orc",
    ".avro", ".html", ".xml", ".yaml", ".yml", ".duckdb", ".db", ".sqlite", ".pkl",
)  # fmt: skip


def check_outputs(command: TyperCommand, given: Mapping[str, Any]) -> None:
    """Refuse an output that is one of the inputs, or a folder that inputs come from."""
    output = given.get("output")
    if output is None:
        return
    kinds = {option.name: option.metavar for option in command.params}
    items: list[str] = []
    for name, value in given.items():
        if name != "output" and kinds.get(name) in INPUT_KINDS and value is not None:
            items += [str(value)] if isinstance(value, str | Path) else value
    inputs = list(input_files(items))
    refuse_inputs(output, inputs)
    # older versions of Typer pass a str as `output`
    whole = kinds["output"] == FOLDER_KIND or Path(output).suffix.lower() == FOLDER_SUFFIX
    if whole and os.path.isdir(output):
        place = Path(os.path.realpath(output))
        for name in inputs:
            if Path(os.path.realpath(name)).is_relative_to(place):
                raise InputError(f"{output}: {name} is read from it; expected another output")


def input_files(items: Iterable[str]) -> Iterator[str]:
    """Input files in the values of options; for a program also its data files."""
    from hornbeam.facts.reading.psl_data import data_files, split_of
    from hornbeam.facts.reading.readers import named_table

    for item in map(os.fspath, items):
        table = named_table(item)
        name = table[1] if table is not None else split_of(item)[0]
        if os.path.exists(name):
            yield name
            yield from data_files(name)


def check_output(output: Path) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    if str(output) == "-":
        raise InputError("-: is not a file name; expected one (tables are printed without -o)")
    with cannot_be_written(output):
        if not output.parent.is_dir():
            raise InputError(f"{output}: the folder {output.parent} does not exist; make it first")
        if output.is_dir():
            raise InputError(f"{output}: is a folder; name a file in it")


@dataclass(frozen=True)
class TableOptions(Options):
    """The file of the table, and its format there or on stdout."""

    output: Path | None = option(
        "Write the table there: TSV, or what .csv, .json, .jsonl or .parquet says.",
        "--output",
        "-o",
        metavar="FILE",
    )
    out_format: TableFormat | None = option(
        "Form of the table, whatever the file's name; without -o on stdout."
    )

    def __post_init__(self) -> None:
        if self.out_format is TableFormat.PARQUET and self.output is None:
            raise InputError("--out-format parquet needs a file: give -o FILE")
        ending = "" if self.output is None else self.output.suffix.lower()
        if self.out_format is None and ending in OTHER_ENDINGS:
            known = ", ".join(f".{form}" for form in TableFormat)
            raise InputError(
                f"{self.output}: {ending} is not written; expected {known}, or --out-format"
            )

    @property
    def form(self) -> TableFormat:
        """The requested format, else the format of the file's ending, else TSV."""
        if self.out_format is not None:
            return self.out_format
        ending = "" if self.output is None else self.output.suffix.lower().removeprefix(".")
        return TableFormat(ending) if ending in list(TableFormat) else TableFormat.TSV

    @property
    def wanted(self) -> bool:
        """Whether to write the table to a file or to stdout, instead of showing the results."""
        return self.output is not None or self.out_format is not None

    def check(self, as_json: bool) -> None:
        """Refuse an output that cannot be written, before any work is done."""
        if self.output is not None:
            check_output(self.output)
        elif as_json and self.out_format is not None:
            raise InputError("--json and --out-format both print: give one of them, or -o FILE")

    def write_or_show(
        self,
        to_table: Callable[[], ResultTable],
        as_dict: Callable[[], dict[str, Any]],
        show: Callable[[], None],
        console: ConsoleOptions,
    ) -> None:
        """Write the table if requested; print JSON if requested; if neither, show the results."""
        if self.wanted:
            self.write(to_table())
        console.print(as_dict, (lambda: None) if self.wanted else show)

    def write(self, table: ResultTable, *, header: bool = True) -> None:
        """Write the table; TSV begins with a line of column names if `header`."""
        if self.output is not None:
            table.save(self.output, self.form, header=header)
        else:
            text = table.text(self.form, header=header)
            # on a terminal control characters are escaped; a pipe gets the text unchanged
            sys.stdout.write(screen_lines(text) if sys.stdout.isatty() else text)
