"""Outputs must not overwrite inputs: they are compared before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornbeam.base.files import cannot_be_written, refuse_inputs
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from typer.core import TyperCommand

#: Metavars of options and arguments that name inputs.
INPUT_KINDS = ("FILE", "MODEL", "PROGRAM", "TASK_DIR")
#: Metavar of outputs that may be a folder (Spark writes Parquet so), which is replaced as a whole.
FOLDER_KIND, FOLDER_SUFFIX = "PATH", ".parquet"


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
    # older Typers pass str here
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
    """Refuse before any work an output that could not be written after it."""
    if str(output) == "-":
        raise InputError("-: is not a file name; expected one (tables are printed without -o)")
    with cannot_be_written(output):
        if not output.parent.is_dir():
            raise InputError(f"{output}: the folder {output.parent} does not exist; make it first")
        if output.is_dir():
            raise InputError(f"{output}: is a folder; name a file in it")
