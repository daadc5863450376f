"""What tables of facts, labels, pairs and names say by their definition, in plain Python.

It shares nothing with the readers of the package, which are held to it. None stands for a mistake;
`UNSURE` for what is a matter of taste: other spellings of numbers than plain decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Rows = list[list[str]]
Atom = tuple[str, ...]
UNSURE = "unsure"
ASKED = "?"
MAX_ARGUMENTS = 8


def rows_of(data: bytes, delimiter: str) -> Rows | None:
    """Fields of the lines that are not blank; None where bytes, ends or quotes are malformed."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    lines = text.removeprefix("\ufeff").split("\n")
    ended = lines[:-1] if lines[-1] == "" else lines
    windows = {line.endswith("\r") for line in ended[: None if text.endswith("\n") else -1]}
    if len(windows) > 1:
        return None
    found = []
    for line in ended:
        plain = line.removesuffix("\r")
        if plain:
            cells = plain.split("\t") if delimiter == "\t" else _csv_cells(plain)
            if cells is None:
                return None
            found.append(cells)
    return found


def labels_in(rows: Rows | None) -> dict[Atom, float] | str | None:
    """Labelled pairs of rows of four fields, their first mentions."""
    if not rows or any(len(row) != 4 for row in rows):
        return None
    return _valued((row[:3], row[3]) for row in rows)


def facts_in(rows: Rows | None) -> dict[Atom, float] | str | None:
    """Facts: rows of three or of four fields, whichever comes first, and unary ones of two."""
    if not rows:
        return None
    width = next((len(row) for row in rows if len(row) != 2), 2)
    if not 2 <= width <= 4 or any(len(row) not in (2, width) for row in rows):
        return None
    arities: dict[str, int] = {}
    for row in rows:
        if arities.setdefault(row[1], len(row[:3])) != len(row[:3]):
            return None
    found = _valued((row[:3], row[3] if len(row) == 4 else "1") for row in rows)
    if not isinstance(found, dict):
        return found
    # what is not given is false: an atom of truth 0 says nothing
    return {atom: value for atom, value in found.items() if round(value * 1e6)}


def pairs_in(rows: Rows | None) -> list[Atom] | None:
    """Pairs in their order; a fourth field is ignored."""
    if not rows or any(len(row) not in (3, 4) for row in rows):
        return None
    return None if any(_misnamed(row[:3]) for row in rows) else [tuple(row[:3]) for row in rows]


def queries_in(rows: Rows | None) -> list[Atom] | None:
    """Pairs one of whose arguments, and not the relation, is a question mark."""
    pairs = pairs_in(rows)
    if pairs is None or any((a == ASKED) == (b == ASKED) or p == ASKED for a, p, b in pairs):
        return None
    return pairs


def arguments_in(rows: Rows | None) -> set[Atom] | None:
    """Atoms of one predicate, a field per argument, all with as many as the first."""
    if not rows or len(rows[0]) > MAX_ARGUMENTS:
        return None
    wrong = any(len(row) != len(rows[0]) or _misnamed(row) for row in rows)
    return None if wrong else {tuple(row) for row in rows}


def names_in(rows: Rows | None) -> dict[str, str] | None:
    """Names by id; a third field is a type, and may be empty."""
    found: dict[str, str] = {}
    for k, row in enumerate(rows or []):
        if (
            k == 0
            and [cell.strip().casefold() for cell in row] == ["id", "name", "type"][: len(row)]
        ):
            continue
        if len(row) not in (2, 3) or _misnamed(row[:2] + [cell for cell in row[2:] if cell]):
            return None
        if found.setdefault(row[0], row[1]) != row[1]:
            return None
    return None if rows is None else found


def _misnamed(cells: Sequence[str]) -> bool:
    return not all(cells) or any(c in cell for cell in cells for c in "\t\r\n\0")


def _valued(rows: Iterator[tuple[list[str], str]]) -> dict[Atom, float] | str | None:
    """Atoms with their values: of each one value only, up to a millionth."""
    found: dict[Atom, float] = {}
    unsure = False
    for names, value in rows:
        if _misnamed(names):
            return None
        if not re.fullmatch(r"\d{1,15}(\.\d{1,15})?", value, re.ASCII):
            if not value or re.search(r"[^\W\d_eE]|[^\x00-\x7f]", value):
                return None
            unsure = True
            continue
        number = float(value)
        if number > 1:
            return None
        before = found.setdefault(tuple(names), number)
        if abs(before - number) > 1e-6:
            return None
        # half a millionth may be rounded either way
        unsure |= before != number or abs(number * 1e6 % 1 - 0.5) < 1e-3
    return UNSURE if unsure else found


def _csv_cells(line: str) -> list[str] | None:
    """RFC 4180 by a small machine, one character at a time; a space may stand beside quotes."""
    cells, at = list[str](), 0
    while True:
        start = at + 1 if line[at : at + 2] == ' "' else at
        if line[start : start + 1] == '"':
            cell, at = "", start + 1
            while True:
                if at >= len(line):
                    return None
                if line[at] != '"':
                    cell, at = cell + line[at], at + 1
                elif line[at + 1 : at + 2] == '"':
                    cell, at = cell + '"', at + 2
                else:
                    at += 1
                    break
            at += line[at : at + 1] == " "
            if at < len(line) and line[at] != ",":
                return None
        else:
            end = line.find(",", at)
            end = len(line) if end < 0 else end
            cell = line[at:end]
            if cell.lstrip(" ").startswith('"'):
                return None
            at = end
        cells.append(cell)
        if at >= len(line):
            return cells
        at += 1
