"""Data of PSL programs: the partitions that PSL 2.4 programs and 2.x `.data` files name.

A 2.4 program (JSON or YAML) lists files or rows under each predicate; a `.data` file (YAML) lists
files under each partition. A program with several splits is read as `program.json#learn`.

Every scalar of a document is text, so that names such as `yes` and 1.0 stay. JSON is read as PSL's
runtime reads it: comments, single quotes, `+1`, `01` and commas before a closing bracket are
tolerated.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from hornbeam.errors import DataError
from hornbeam.facts.reading.sources import FORBIDDEN, MAX_ARITY, Role, Row, RowShape, Source
from hornbeam.facts.reading.tables import tuple_source
from hornbeam.facts.reading.text import delimited, field_lines, trimmed
from hornbeam.facts.reading.workspace import File, Workspace, find_file

PARTITION_OF = {Role.FACTS: "observations", Role.LABELS: "truth", Role.PAIRS: "targets"}
#: How the names of programs and data files end.
PROGRAM_SUFFIXES = (".json", ".yaml", ".yml", ".data")
#: Splits of a partition; "all" belongs to each of them.
SPLITS = ("learn", "validation", "infer")
#: What PSL's JSON has in addition: comments, text in single quotes, numbers with a plus or zeros
#: before them; text in double quotes and other numbers are matched, too.
_TOLERATED = re.compile(
    r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|//[^\n]*|#[^\n]*|/\*.*?\*/|[+-]?\d[\w.+-]*""", re.S
)
#: Parts of a text in JSON that differ between single and double quotes; PSL knows the escape \\'.
_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.S)
#: A comma after a value and before a closing bracket; string literals are skipped.
_LAST_COMMA = re.compile(
    r'''((?:"(?:[^"\\]|\\.)*"|[\w\]}])\s*),(?=\s*[\]}])|"(?:[^"\\]|\\.)*"''', re.S
)


@dataclass(frozen=True)
class PredicateDeclaration:
    """The declaration of a predicate in a program."""

    name: str
    arity: int
    about: dict[str, Any]
    flags: list[str]


@dataclass(frozen=True)
class Partition:
    """What one predicate has in one partition: files and rows by split."""

    predicate: str
    arity: int
    splits: dict[str, list[str | list[str]]]


def is_outside(file: str, program: str) -> bool:
    """Whether a file is neither in the program's folder nor in a folder below it."""
    folder = Path(os.path.realpath(program))
    folder = folder if os.path.isdir(folder) else folder.parent
    return not Path(os.path.realpath(file)).is_relative_to(folder)


def split_of(item: str) -> tuple[str, str | None]:
    """Split `program.json#learn` into file and split.

    Examples
    --------
    >>> split_of("program.json#learn"), split_of("a#b.tsv")
    (('program.json', 'learn'), ('a#b.tsv', None))
    """
    match = re.fullmatch(rf"(.+\.(?:json|ya?ml))#({'|'.join(SPLITS)})", item, re.I | re.S)
    return (match[1], match[2].lower()) if match and not os.path.exists(item) else (item, None)


def psl_sources(space: Workspace, file: File, role: Role, split: str | None = None) -> list[Source]:
    """Read the sources that a PSL program or `.data` file has for a role.

    Facts come from its observations, labels from its truth, pairs from its targets.
    """
    wanted = PARTITION_OF[role]
    document, _ = program_document(file)
    by_partition = partitions(file, document, declared(file, document))
    splits = _chosen_splits(file, by_partition, split)
    sources: list[Source] = []
    for partition in by_partition[wanted]:
        atoms = AtomList.of(file, partition, splits)
        name, arity = partition.predicate, partition.arity
        expected = f"at most {MAX_ARITY} arguments" if arity > MAX_ARITY else None
        if arity > 2 and role is not Role.FACTS:
            expected = "one or two: targets of three and more arguments are not offered"
        if atoms and expected is not None:
            raise DataError(file.name, f"{wanted} of {name}/{arity}; expected {expected}")
        sources += atoms.sources(space, file.name, name, arity, wanted)
    if not sources:
        problem = f"no predicate has {wanted}; expected files under {wanted!r} to read {role} from"
        raise DataError(file.name, problem)
    return sources


def data_files(name: str) -> list[str]:
    """Files that a program or `.data` file names; none where it is neither."""
    if Path(name).suffix.lower() not in PROGRAM_SUFFIXES or not os.path.isfile(name):
        return []
    file = File(Path(name), name)
    try:
        document, _ = program_document(file)
        by_partition = partitions(file, document, declared(file, document))
    except DataError:  # its reader reports the error
        return []
    return [
        name
        for listed in by_partition.values()
        for partition in listed
        for name in AtomList.of(file, partition, partition.splits).files
    ]


@dataclass(frozen=True)
class AtomList:
    """Atoms of a predicate in one partition: files (as found from here), and rows."""

    files: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, file: File, partition: Partition, splits: Iterable[str]) -> AtomList:
        """Atoms of some splits; names of files are relative to the program."""
        items = [item for name in splits for item in partition.splits.get(name, [])]
        return cls(
            tuple(str(Path(file.name).parent / item) for item in items if isinstance(item, str)),
            tuple(tuple(item) for item in items if not isinstance(item, str)),
        )

    def __bool__(self) -> bool:
        return bool(self.files or self.rows)

    def sources(
        self, space: Workspace, program: str, predicate: str, arity: int, partition: str
    ) -> Iterator[Source]:
        """One source per file, and one for all rows in the program itself.

        As in PSL, a file's rows all have truth values or none has, which its first row decides.
        A file without rows is left out.
        """
        arguments = tuple(f"a{k}" for k in range(1, arity + 1))
        valued = RowShape((*arguments, "value"), predicate, optional_last=True)
        where = f"{partition} of {predicate}"
        for name in self.files:
            try:
                file = trimmed(find_file(name, space.folder), space.folder)
            except DataError as error:
                raise DataError(program, f"{where}: {error}") from None
            _, fields = next(field_lines(file, "\t"), (0, []))
            if fields:
                columns = valued.columns if len(fields) > arity else arguments
                source = delimited(file, RowShape(columns, predicate), "\t")
                rows, private = partial(_rows_alike, source), is_outside(name, program)
                yield replace(source, rows=rows, private=private)
        if self.rows:
            yield tuple_source(space, f"{program}, {where}", self.rows, valued)


def _rows_alike(source: Source) -> Iterator[Row]:
    """Rows of a file; a row with a truth value is refused if others have none, and vice versa."""
    for at, fields in source.rows():
        if {len(fields), len(source.columns)} == {source.arity, source.arity + 1}:
            here = "lacks a truth value" if source.valued else "has a truth value"
            problem = f"the row {here}, unlike the first row; expected one in every row, or in none"
            raise source.error(problem, at)
        yield at, fields


def _chosen_splits(
    file: File, partitions: dict[str, list[Partition]], split: str | None
) -> list[str]:
    """Choose the splits to read: "all" and the one that the program has or the user named."""
    found = {
        name
        for listed in partitions.values()
        for partition in listed
        for name in partition.splits
        if name != "all"
    }
    if split is not None and split not in found:
        expected = _either(found) if found else "the name of the program alone: it has no splits"
        raise DataError(file.name, f"has no split {split!r}; expected {expected}")
    if split is None and len(found) > 1:
        problem = f"has the splits {_either(found, 'and')}; expected one of them to be named, as in"
        raise DataError(file.name, f"{problem} '{file.name}#{min(found)}'")
    return ["all", split] if split is not None else ["all", *found]


def _either(names: set[str], word: str = "or") -> str:
    return f" {word} ".join(name for name in SPLITS if name in names)


def program_document(file: File) -> tuple[dict[str, Any], str]:
    """Read a program or `.data` file; also returns its text, for positions of errors."""
    document, text = _parsed(file, document_text(file))
    if not isinstance(document, dict) or "predicates" not in document:
        problem = "not a PSL program; expected a mapping with the key 'predicates'"
        raise DataError(file.name, problem)
    return document, text


def declared(file: File, document: dict[str, Any]) -> dict[str, PredicateDeclaration]:
    """Predicates of a program by their names in lower case: PSL ignores case."""
    predicates: dict[str, PredicateDeclaration] = {}
    for key, value in _merged(file, document["predicates"], "'predicates'").items():
        parts = value if isinstance(value, list) else [value]
        about = _merged(file, [part for part in parts if isinstance(part, dict)] or {}, repr(key))
        # such as `open`, `closed` and `block`
        flags = [part.lower() for part in parts if isinstance(part, str)]
        name, arity = _signature(file, key, about)
        if name.casefold() in predicates:
            raise DataError(file.name, f"predicate {name!r} is declared twice (case is ignored)")
        predicates[name.casefold()] = PredicateDeclaration(name, arity, about, flags)
    return predicates


def partitions(
    file: File, document: dict[str, Any], predicates: dict[str, PredicateDeclaration]
) -> dict[str, list[Partition]]:
    """Every predicate's partitions, from either of the two layouts."""
    inside = not any(partition in document for partition in PARTITION_OF.values())
    listed: dict[str, list[Partition]] = {wanted: [] for wanted in PARTITION_OF.values()}
    for wanted, of_predicates in listed.items():
        if inside:
            data = {p.name: p.about[wanted] for p in predicates.values() if wanted in p.about}
        else:
            data = _merged(file, document.get(wanted) or {}, repr(wanted))
        for key, value in data.items():
            plain = key.split("/")[0].strip().casefold()
            if plain not in predicates:
                problem = f"{wanted} of {key!r}, which is not among the predicates"
                raise DataError(file.name, f"{problem}; expected it under 'predicates'")
            name, arity = predicates[plain].name, predicates[plain].arity
            splits = _splits(file, value, f"{wanted} of {name}")
            of_predicates.append(Partition(name, arity, splits))
    return listed


def _merged(file: File, value: object, where: str) -> dict[str, Any]:
    """Merge a list of mappings into one; one mapping stays as it is."""
    parts = value if isinstance(value, list) else [value]
    merged: dict[str, Any] = {}
    for part in parts:
        if not isinstance(part, dict):
            raise DataError(file.name, f"{where}: expected a mapping, found {kind_of(part)}")
        for key, inner in part.items():
            if key in merged:
                raise DataError(file.name, f"{where}: {key!r} occurs twice; expected it once")
            merged[str(key)] = inner
    return merged


def _signature(file: File, key: str, properties: dict[str, Any]) -> tuple[str, int]:
    """Name and arity of a predicate: `Name/2`, or the property `arity` or `types`."""
    name, slash, after = (part.strip() for part in key.partition("/"))
    if not name or any(character in name for character in FORBIDDEN):
        raise DataError(file.name, f"predicate {key!r} has no proper name; expected Name/arity")
    stated = {after} if slash else set()
    if "arity" in properties:
        stated.add(str(properties["arity"]))
    if isinstance(properties.get("types"), list):
        stated.add(str(len(properties["types"])))
    if len(stated) != 1:
        found = f"{' and '.join(sorted(stated))}" if stated else "none"
        problem = f"predicate {key!r}: expected one arity, as in '{name}/2', found {found}"
        raise DataError(file.name, problem)
    arity = stated.pop()
    if not re.fullmatch(r"[1-9][0-9]{0,2}", arity):
        problem = f"predicate {key!r}: expected an arity of 1 or more, found {arity!r}"
        raise DataError(file.name, problem)
    return name, int(arity)


def _splits(file: File, value: object, where: str) -> dict[str, list[str | list[str]]]:
    """Items of a partition by split; a plain list belongs to every split."""
    by_split = value if isinstance(value, dict) else {"all": value}
    for name in by_split:
        if name not in ("all", *SPLITS):
            problem = f"{where}: unknown split {name!r}; expected all, {', '.join(SPLITS)}"
            raise DataError(file.name, problem)
    return {name: list(_items(file, inner, where)) for name, inner in by_split.items()}


def _items(file: File, value: object, where: str) -> Iterator[str | list[str]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item:
            yield item
        elif isinstance(item, list) and all(isinstance(cell, str | bool) for cell in item):
            yield [cell if isinstance(cell, str) else str(cell).lower() for cell in item]
        else:
            problem = f"{where}: expected file names or rows of names, found {kind_of(item)}"
            raise DataError(file.name, problem)


def kind_of(value: object) -> str:
    """What was found where something else was expected, for messages."""
    kinds = {dict: "a mapping", list: "a list", str: f"{value!r}", type(None): "nothing"}
    return kinds.get(type(value), str(value))


def is_json(name: str) -> bool:
    """Tell JSON from YAML by the file's name, `.gz` aside."""
    return name.lower().removesuffix(".gz").endswith(".json")


def document_text(file: File) -> str:
    """Text of a document, as it is."""
    raw = b"".join(file.blocks())
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        raise DataError(file.name, "invalid UTF-8; expected UTF-8 text", line=line) from None


def _plain_json(text: str) -> str:
    """JSON without what PSL tolerates; all else stays at its place, but for quotes in texts."""

    def plain(found: re.Match[str]) -> str:
        token = found[0]
        if token[0] in "\"'":
            return f'"{re.sub(_ESCAPE_OR_QUOTE, inside, token[1:-1])}"'
        if token[0] in "/#":
            return re.sub(r"[^\n]", " ", token)
        return re.sub(r"^\+?(-?)0*(?=\d)", r"\1", token).rjust(len(token))

    def inside(part: re.Match[str]) -> str:
        return {'"': r"\"", r"\'": "'"}.get(part[0], part[0])

    def without_comma(found: re.Match[str]) -> str:
        return found[0] if found[1] is None else f"{found[1]} "

    return _LAST_COMMA.sub(without_comma, _TOLERATED.sub(plain, text))


def _parsed(file: File, text: str) -> tuple[object, str]:
    """Parse a PSL program's JSON or YAML; returns also the text without what PSL tolerates."""
    try:
        if not is_json(file.name):
            return yaml.load(text, TextLoader), text
        try:
            return _from_json(text), text
        except json.JSONDecodeError:  # most programs are plain JSON
            text = _plain_json(text)
            return _from_json(text), text
    except json.JSONDecodeError as error:
        problem = f"{error.msg}; expected a PSL program in JSON"
        raise DataError(file.name, problem, line=error.lineno) from None
    except yaml.YAMLError as error:
        raise _yaml_error(file, text, error) from None
    except (RecursionError, ValueError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DataError(file.name, f"{problem}; expected a PSL program") from None


def _from_json(text: str) -> object:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members: dict[str, object] = {}
        for key, value in pairs:
            if key in members:
                raise ValueError(f"the key {key!r} occurs twice in one object")
            members[key] = value
        return members

    return json.loads(
        text, object_pairs_hook=unique, parse_int=str, parse_float=str, parse_constant=str
    )


class TextLoader(yaml.BaseLoader):
    """YAML with text scalars only, and no key twice in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Make a dictionary of a mapping, whose keys are distinct texts."""
        seen: set[str] = set()
        for key, _ in node.value:
            problem = None
            if not isinstance(key, yaml.ScalarNode):
                problem = "a key is not plain text"
            elif key.value in seen:
                problem = f"the key {key.value!r} occurs twice in one mapping"
            if problem is not None:
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _yaml_error(file: File, text: str, error: yaml.YAMLError) -> DataError:
    line = None
    problem = str(error).splitlines()[0]
    if isinstance(error, yaml.MarkedYAMLError):
        problem = error.problem or problem
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
    elif isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
    return DataError(file.name, f"{problem}; expected a PSL program in YAML", line=line)
