"""Files of inferred values: NAME.txt for every open predicate, all of one run or none of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from hornbeam.base.files import (
    cannot_be_written,
    check_folder,
    refuse_inputs,
    save_folder,
    save_text,
)
from hornbeam.programs.program import Program


def check_results(
    folder: str | os.PathLike[str], program: Program, predicates: Sequence[str] | None = None
) -> None:
    """Refuse a folder to which the values of open predicates cannot go.

    A single file is replaced in place. Several files are written as one folder, which is replaced
    as a whole and must not contain anything else. Input files of the program are never overwritten.
    Without `predicates`, all predicates with targets are checked.
    """
    if predicates is None:
        predicates = [one.name for one in program.predicates if one.targets]
    names = _names(predicates)
    for name in names.values():
        refuse_inputs(Path(folder) / name, program.files)
    if len(names) > 1:
        check_folder(folder, partial(_other_than, names.values()))


def save_results(folder: str | os.PathLike[str], texts: Mapping[str, str]) -> list[Path]:
    """Write the values of every open predicate; returns the files."""
    names = _names(texts)

    def write(place: Path) -> None:
        for predicate, name in names.items():
            (place / name).write_text(texts[predicate], encoding="utf-8", newline="\n")

    with cannot_be_written(folder):
        Path(folder).parent.mkdir(parents=True, exist_ok=True)
        if len(names) < 2:
            Path(folder).mkdir(exist_ok=True)
    if len(names) > 1:
        save_folder(folder, write, partial(_other_than, names.values()))
    else:
        for predicate, name in names.items():
            save_text(Path(folder) / name, texts[predicate])
    return [Path(folder) / name for name in names.values()]


def _names(predicates: Collection[str]) -> dict[str, str]:
    return {predicate: f"{predicate.upper()}.txt" for predicate in predicates}


def _other_than(names: Collection[str], folder: Path) -> str | None:
    """A description of what a folder holds other than these files, or None."""
    others = (path.name for path in sorted(folder.iterdir()))
    found = next((name for name in others if name not in names), None)
    if found is None:
        return None
    return f"{found!r}, and the values of several predicates replace a folder as a whole"
