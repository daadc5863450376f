"""Delimited text: TSV and CSV, plain or gzipped, with a header or without."""

from __future__ import annotations

import codecs
import glob
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from mmap import ACCESS_READ, mmap
from operator import eq
from os import SEEK_END
from pathlib import Path

from hornbeam.base.texts import NUMBER, WHOLE, quote
from hornbeam.errors import DataError, HornbeamNote, InputError, warn
from hornbeam.facts.reading.headers import BY_ITSELF, Header, TableLayout
from hornbeam.facts.reading.sources import (
    POSITIONS,
    Role,
    Row,
    RowShape,
    Source,
    argument_columns,
    fields_found,
    literal,
)
from hornbeam.facts.reading.times import TimeColumn, check_has_times, time_place, unit_of
from hornbeam.facts.reading.workspace import BLOCK, File

#: Lines that a first line is compared with before it is called a header, in 0.3 s.
MAX_COMPARED = 100_000

#: Longest line the reader accepts, in bytes.
MAX_LINE_BYTES = 1 << 24

#: A text that marks a missing field; nothing a user writes is NULL by itself. It is SQL, because
#: DuckDB before 2.0 reads no statement that holds a NUL.
NO_FIELD = "chr(0) || 'missing'"

#: One CSV field as RFC 4180 has it; a space may be before and after the quotes.
CSV_FIELD = re.compile(r' ?"((?:[^"]|"")*)" ?(?=,|\Z)|((?! *")[^,]*)(?=,|\Z)')
#: Separators of files with another format, and what to do about them.
OTHER_SEPARATORS = {
    "\t": "TABs: call it .tsv",
    ";": "semicolons, as some spreadsheets write: save it with commas or TABs",
    ",": "commas: call it .csv",
}
#: Bytes that are blanks before and after a line of PSL's data, and the signs of such lines.
BLANKS = b" \t\r"
BLANKS_AT_ENDS = (b" \n", b"\t\n", b"\n ", b"\n\t", b"\r")
#: First bytes of UTF-16, which some spreadsheets call Unicode.
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: Texts in the first line of a model that no fact has.
MODEL_MARKS = ("# hornbeam", " -> ", " <- ")
#: A whole line of such fields.
CSV_LINE = re.compile(rb'(?:(?: ?"(?:[^"]|"")*+" ?|(?! *")[^,]*+)(?:,|\Z))++')


def text_source(file: File, delimiter: str, layout: TableLayout = BY_ITSELF) -> Source:
    """Read a TSV or CSV file of `subject, predicate, object[, value]`, with or without a header.

    Facts of two fields are unary; they may be anywhere among those of three, or of four. The
    layout may also say that the file is a table of the arguments of one predicate.
    """
    role, csv = layout.role, delimiter == ","
    timed = _time_column(file, delimiter, layout)
    if timed is not None:
        layout = replace(layout, header=timed.header)
    lines = _other_fields(file, delimiter, timed)
    number, fields = next(lines, (0, []))
    if not number:
        raise DataError(file.name, "holds no facts; expected at least one line")
    if any("\r" in field for field in fields):
        problem = "a carriage return inside the line; expected lines that end with LF or CR LF"
        raise DataError(file.name, problem, line=number)
    if layout.arguments_of is not None:
        check_has_times(file.name, layout.time)
        arguments = argument_columns(file.name, len(fields), number)
        return delimited(file, RowShape(arguments, layout.arguments_of), delimiter)
    header = Header(file.name, fields, layout, number, csv or layout.header is True)
    columns = None
    if layout.header is not False and _is_header(file, header, delimiter, timed):
        columns = header.columns()
        if columns is None and layout.header:
            raise header.error(
                f"unknown header; expected {role.expected}, or names by {header.advice}"
            )
    if columns is not None:
        if next(lines, None) is None:
            raise header.error("holds a header and no facts; expected at least one")
        unary = role is Role.FACTS and columns in (POSITIONS[:3], POSITIONS)
        shape = RowShape(columns, unary=unary, value_kind=role.value_kind)
        return delimited(file, _with_time(shape, file, delimiter, timed, number), delimiter, number)
    if layout.header is None and csv:
        _warn_of_header(file, header, timed)
    if role is Role.FACTS and len(fields) == 2 and timed is None:
        wider = ((at, others) for at, others in lines if len(others) != 2)
        number, fields = next(wider, (number, fields))
    if len(fields) not in role.widths:
        if any(mark in fields[0] for mark in MODEL_MARKS):
            problem = f"looks like a model, not like a table; expected {role.expected}"
            raise DataError(file.name, problem, line=number)
        between = "TABs" if delimiter == "\t" else "commas"
        problem = f"expected {role.expected} separated by {between}, {fields_found(fields)}"
        if len(fields) == 1:
            others = [at for at in OTHER_SEPARATORS if at != delimiter and at in fields[0]]
            problem += f"; it has {OTHER_SEPARATORS[others[0]]}" if others else ""
        raise DataError(file.name, problem, line=number)
    shape = RowShape.of_row(file.name, fields, role, number)
    return delimited(file, _with_time(shape, file, delimiter, timed), delimiter)


def _time_column(file: File, delimiter: str, layout: TableLayout) -> TimeColumn | None:
    """Where the times are; by name they are in a header. None where no times are wanted."""
    if layout.time is None or layout.arguments_of is not None:
        return None
    number, fields = next(field_lines(file, delimiter), (1, []))
    by_name = WHOLE.fullmatch(layout.time) is None
    if by_name and layout.header is False:
        raise InputError("`time` names a column of a header: leave out `header=False`")
    return TimeColumn(time_place(file.name, layout.time, fields, number), by_name or layout.header)


def _other_fields(
    file: File, delimiter: str, timed: TimeColumn | None
) -> Iterator[tuple[int, list[str]]]:
    """Numbers and fields of the lines that are not blank, without their times."""
    for number, fields in field_lines(file, delimiter):
        yield number, fields if timed is None else timed.without(fields)


def _with_time(
    shape: RowShape, file: File, delimiter: str, timed: TimeColumn | None, skip: int = 0
) -> RowShape:
    """The shape with the time, whose unit is that of the first row."""
    if timed is None:
        return shape
    number, fields = next(row for row in field_lines(file, delimiter) if row[0] > skip)
    field = fields[timed.at] if timed.at < len(fields) else None
    unit = unit_of(file.name, field, line=number)
    return timed.added_to(shape, len(fields) - 1, unit)


def _is_header(file: File, header: Header, delimiter: str, timed: TimeColumn | None) -> bool:
    """Whether the first line is a header: stated by the user, or by its fields.

    Fields that are understood as names of columns are nevertheless a fact where one of them occurs
    again in its column. What was decided is said.
    """
    if header.layout.header or header.is_named:
        return True
    if not header.is_understood():
        return False
    line = f"{file.name}, line {header.line}: {quote(delimiter.join(header.fields))}"
    again = _occurring_again(header.fields, _other_fields(file, delimiter, timed))
    if again is None:
        said = "is read as a header. If it is one: `header=True`. If it is a fact: `header=False`"
        warn(f"{line} {said}", HornbeamNote)
    elif replace(header, letters=False).is_understood():
        warn(
            f"{line} is read as a fact, since {quote(again)} occurs again in its column. If it is "
            "one: `header=False`. If it is a header: `header=True`"
        )
    return again is None


def _occurring_again(fields: Sequence[str], lines: Iterator[tuple[int, list[str]]]) -> str | None:
    """The first field of a first line that a later line has in the same column, or None."""
    for _, others in islice(lines, 1, MAX_COMPARED):
        if any(map(eq, fields, others)):
            return next(a for a, b in zip(fields, others, strict=False) if a == b)
    return None


def _warn_of_header(file: File, header: Header, timed: TimeColumn | None) -> None:
    """Warn of a first line none of whose fields occurs again in its column: it may be a header."""
    fields = header.fields
    if not (2 <= len(fields) <= 4 and all(fields)) or NUMBER.fullmatch(fields[-1]):
        return
    later = False
    for _, others in islice(_other_fields(file, ",", timed), 1, MAX_COMPARED):
        if not all(others) or any(map(eq, fields, others)):
            return  # missing fields are reported elsewhere
        later = True
    if later:
        warn(
            f"{file.name}, line {header.line}: {quote(','.join(fields))} is read as a fact, but "
            "none of its fields occurs again in its column. If it is a header, say which column is "
            f"which: {header.advice}. If it is none: `header=False`"
        )


def text_scan(file: File, fields: Sequence[str], delimiter: str, skip: int = 0) -> str:
    """Scan a delimited text file after `skip` lines, its fields as text.

    Short lines are padded with NULL and one field too many lands in `rest`: DuckDB's own check of
    the number of fields lets an empty last field pass.
    """
    mark = ""
    _check_lengths(file)
    if delimiter == ",":
        mark = '"'
        _check_quotes(file)
    types = ", ".join(f"'{field}': 'VARCHAR'" for field in [*fields, "rest"])
    return (
        f"read_csv({literal(glob.escape(str(file.path)))}, columns={{{types}}}, "
        f"auto_detect=false, header=false, skip={skip}, delim={literal(delimiter)}, "
        f"quote={literal(mark)}, escape={literal(mark)}, null_padding=true, "
        f"nullstr={NO_FIELD}, max_line_size={MAX_LINE_BYTES}, hive_partitioning=false, "
        "compression='none')"
    )


def delimited(file: File, shape: RowShape, delimiter: str, skip: int = 0) -> Source:
    """Read a delimited text file whose rows have a known shape, after `skip` lines.

    Unary facts among triples need the usual order of columns.
    """
    columns = shape.columns
    fields = [f"c{i}" for i in range(len(columns))]
    scan = text_scan(file, fields, delimiter, skip)
    # Every field is looked at, also an ignored one: DuckDB checks the encoding of no other. The
    # condition on ignored fields is always true, which DuckDB cannot know, so it reads them.
    ignored = [field for field, column in zip(fields, columns, strict=True) if not column]
    looked_at = "".join(f" AND {field} IS DISTINCT FROM {NO_FIELD}" for field in ignored)
    valid, valued = f"rest IS NULL{looked_at}", ""
    if shape.optional_last:
        valued = f"{fields[-1]} IS NOT NULL" if columns[-1] == "value" else ""
    elif shape.unary:
        valid += f" AND (c2 IS NULL OR {fields[-1]} IS NOT NULL)"
        valued = "c2 IS NOT NULL" if columns[-1] == "value" else ""
    else:
        valid += f" AND {fields[-1]} IS NOT NULL"
    select = shape.select_text(scan, fields, fields, valued, valid)

    def rows() -> Iterator[Row]:
        return (row for row in field_lines(file, delimiter) if row[0] > skip)

    return shape.source(file.name, select, rows, "line")


def trimmed(file: File, folder: Path) -> File:
    """The file, or a copy in `folder` without blanks before and after its lines, if it has any.

    TABs count as blanks there, and every kind of line end becomes LF.
    """
    last, has_blanks = b"\n", False
    for block in file.blocks():
        # the search for a few bytes is many times faster than a regular expression
        text, last = last + block, block[-1:]
        has_blanks = has_blanks or any(blank in text for blank in BLANKS_AT_ENDS)
    if not has_blanks and last not in (b" ", b"\t"):
        return file
    with tempfile.NamedTemporaryFile(dir=folder, prefix="trimmed-", delete=False) as copy:
        for line, _ in _byte_lines(file):
            parts = line.strip(BLANKS).split(b"\r")
            copy.writelines(part.strip(BLANKS) + b"\n" for part in parts)
    return replace(file, path=Path(copy.name))


def text_lines(file: File) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; faults of encoding and of line ends name their line."""
    windows: bool | None = None
    for number, (raw, ended) in enumerate(_byte_lines(file), start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as fault:
            rather = ", rather UTF-16" if number == 1 and raw.startswith(UTF16_MARKS) else ""
            problem = f"invalid UTF-8 (byte 0x{raw[fault.start]:02x}){rather}; expected UTF-8 text"
            raise DataError(file.name, problem, line=number) from None
        crlf = line.endswith("\r")
        windows = crlf if windows is None else windows
        if ended and crlf is not windows:
            ends = ("CR LF", "LF") if crlf else ("LF", "CR LF")
            problem = f"ends with {ends[0]}, the lines before it with {ends[1]}; expected one kind"
            raise DataError(file.name, problem, line=number)
        yield number, line.removesuffix("\r")


def field_lines(file: File, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Numbers and fields of the lines that are not blank."""
    for number, line in text_lines(file):
        if line:
            yield number, _split(file, number, line, delimiter)


def _byte_lines(file: File) -> Iterator[tuple[bytes, bool]]:
    """Lines split at LF only (a CR inside a line is an error), and whether LF ended them."""
    rest, number = b"", 1
    for block in file.blocks():
        *lines, rest = (rest + block).split(b"\n")
        yield from ((line, True) for line in lines)
        number += len(lines)
        if len(rest) > MAX_LINE_BYTES:
            raise _too_long(file, number)
    if rest:
        yield rest, False


def _check_lengths(file: File) -> None:
    """Refuse a line that is too long: DuckDB ignores a last line of hundreds of megabytes.

    Looks for the last line end within each stretch of the maximum length of a line.
    """
    with file.opened() as stream:
        size, start = stream.seek(0, SEEK_END), 0
        if size <= MAX_LINE_BYTES:
            return
        with mmap(stream.fileno(), 0, access=ACCESS_READ) as text:
            while size - start > MAX_LINE_BYTES:
                end = text.rfind(b"\n", start, start + MAX_LINE_BYTES + 1)
                if end < 0:
                    blocks = (text[at : min(at + BLOCK, start)] for at in range(0, start, BLOCK))
                    raise _too_long(file, 1 + sum(block.count(b"\n") for block in blocks))
                start = end + 1


def _too_long(file: File, line: int) -> DataError:
    problem = f"is longer than {MAX_LINE_BYTES >> 20} MB; expected one fact per line"
    return DataError(file.name, problem, line=line)


def _check_quotes(file: File) -> None:
    """Refuse quotes that RFC 4180 does not allow; DuckDB's reader accepts some."""
    for number, (raw, _) in enumerate(_byte_lines(file), start=1):
        if b'"' in raw and CSV_LINE.fullmatch(raw.removesuffix(b"\r")) is None:
            _split(file, number, raw.decode(errors="replace").removesuffix("\r"), ",")


def _split(file: File, number: int, line: str, delimiter: str) -> list[str]:
    """Fields of a line; quotes mean something in CSV only."""
    if delimiter == "\t":
        return line.split("\t")
    fields: list[str] = []
    at = 0
    while at <= len(line):
        match = CSV_FIELD.match(line, at)
        if match is None:
            problem = (
                "a quoted field goes on after its closing quote or over the end of the line; "
                'expected "..." with inner quotes doubled'
            )
            raise DataError(file.name, problem, line=number)
        quoted, plain = match.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        at = match.end() + 1
    return fields
