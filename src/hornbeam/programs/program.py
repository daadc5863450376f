"""PSL programs: rules, predicates and options, from a 2.4 program or a 2.x pair of files.

A program is one JSON or YAML file, or a `.psl` file of rules next to a `.data` file:

    {"rules": ["1.0: Knows(A, B) & Likes(B, C) -> Likes(A, C) ^2", "0.1: !Likes(A, B) ^2"],
     "predicates": {"Knows/2": {"observations": ["knows.txt"]},
                    "Likes/2": {"observations": ["likes.txt"], "targets": ["targets.txt"]}},
     "options": {"runtime.inference": "true"}}
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from hornbeam.base.files import working_folder
from hornbeam.errors import DataError, InputError
from hornbeam.facts.reading.psl_data import (
    SPLITS,
    TextLoader,
    document_text,
    is_json,
    is_outside,
    kind_of,
    program_document,
)
from hornbeam.facts.reading.sources import NOT_SHOWN
from hornbeam.facts.reading.workspace import File, find_file, is_empty
from hornbeam.language.arithmetic_rules import PslRule, atoms_of, constants_of
from hornbeam.language.rule_texts import parse_rules
from hornbeam.programs.evaluators import EVALUATION_OPTIONS, Evaluator
from hornbeam.programs.program_data import PARTITIONS, ProgramData, load_partitions
from hornbeam.programs.program_declarations import (
    ProgramPredicate,
    program_predicates,
    text_options,
)
from hornbeam.programs.program_options import InferenceOptions, inference_options
from hornbeam.programs.program_rules import (
    SourcedRule,
    check_rules,
    normal_rules,
    without_repetitions,
)
from hornbeam.programs.similarities import AtomFunction

SUFFIXES = (".json", ".yaml", ".yml")
#: Keys of a 2.4 program.
SECTIONS = ("rules", "predicates", "options", *SPLITS)
#: What the error about an empty program file says was expected.
PROGRAM_NEEDS = "predicates with their files, and rules (here, or in a .psl file beside a .data)"
#: How the names of 2.x data files end for each split.
ENDINGS = {
    "infer": ("", "-eval", "-infer"),
    "learn": ("", "-learn"),
    "validation": ("-validation",),
}


@dataclass(frozen=True)
class Program:
    """A program whose rules have been checked against its predicates."""

    name: str  #: the file, as the user names it
    #: Rules in the order of the text, in PSL's normal form (see `hornbeam.programs.program_rules`),
    #: with predicates spelt as declared.
    rules: tuple[PslRule, ...]
    sources: tuple[str, ...]  #: the file of each rule
    predicates: tuple[ProgramPredicate, ...]
    options: Mapping[str, str]  #: options by their names in lower case
    files: tuple[str, ...] = ()  #: all files of the program, including those of its atoms
    data_file: str = ""  #: the file that declares the predicates

    @property
    def closed(self) -> frozenset[str]:
        """Names of the closed predicates."""
        return frozenset(predicate.name for predicate in self.predicates if predicate.closed)

    @property
    def functions(self) -> dict[str, AtomFunction]:
        """The functions of the functional predicates, by their names."""
        called = ((predicate.name, predicate.function) for predicate in self.predicates)
        return {name: function for name, function in called if function is not None}

    @property
    def inference_options(self) -> InferenceOptions:
        """The program's options of inference."""
        own = [f"{name} of {one.name}" for one in self.predicates for name in one.options]
        return inference_options(self.name, self.options, own, EVALUATION_OPTIONS)

    @property
    def primary_evaluator(self) -> tuple[str, Evaluator] | None:
        """The program's primary evaluator and its predicate, else the first that it lists."""
        listed = [
            (one.name, way) for one in self.predicates for way in one.evaluators if way.listed
        ]
        for name, way in sorted(listed, key=lambda entry: not entry[1].primary):
            return name, way.evaluator
        return None

    def reweighted_rules(self, weights: Sequence[float]) -> tuple[PslRule, ...]:
        """The rules with other weights, one for each; hard rules have none."""
        return tuple(
            rule if rule.weight is None else replace(rule, weight=weight)
            for rule, weight in zip(self.rules, weights, strict=True)
        )

    def with_functions(self, functions: Mapping[str, AtomFunction]) -> Program:
        """The program whose predicates without atoms have functions; see `read_program`."""
        if not functions:
            return self
        given = {name.lower(): function for name, function in functions.items()}
        predicates = [
            one.with_function(given[one.name.lower()], self.name)
            if one.name.lower() in given
            else one
            for one in self.predicates
        ]
        known = {one.name.lower() for one in predicates}
        for name in (name for name in functions if name.lower() not in known):
            raise InputError(f"`functions` has {name!r}, which is no predicate of {self.name}")
        check_rules(zip(self.rules, self.sources, strict=True), predicates)
        return replace(self, predicates=tuple(predicates))

    def load(self) -> ProgramData:
        """Read the atoms of all predicates; the names include the constants of the rules."""
        names = {name for rule in self.rules for name in constants_of(rule)}
        return load_partitions(self.predicates, self.name, names)


def read_program(
    path: str | os.PathLike[str],
    split: str | None = None,
    functions: Mapping[str, AtomFunction] | None = None,
) -> Program:
    """Read and check a program.

    Parameters
    ----------
    path
        A JSON or YAML program, a `.psl` or `.data` file with the other next to it, a folder with
        one program (or with a program.json), or the path of a program without its suffix.
    split
        The split to read, in addition to the data of all splits; "infer" by default.
    functions
        Python functions by the names of their predicates, which the program may declare without
        atoms. A function gets the constants of an atom as texts, and returns its value from 0 to 1.

    Raises
    ------
    DataError
        Names file, line and column of a mistake, and what was expected.
    """
    split = split or "infer"
    if split not in SPLITS:
        raise InputError(f"unknown `split` {split!r}; expected {', '.join(SPLITS)}")
    try:
        rules_path, data_path = _located(Path(path), split)
    except OSError as error:
        raise DataError(os.fspath(path), f"cannot be read: {error.strerror}") from None
    with working_folder() as folder:
        file = find_file(str(data_path), folder, PROGRAM_NEEDS)
        document, text = program_document(file)
        if rules_path == data_path:
            _check_sections(file, document)
            written = _listed_rules(file, document, text, split, folder)
        else:
            written = _rule_file(str(rules_path), folder)
    functions = functions or {}
    options = _options(file, document, split)
    python_functions = set(map(str.lower, functions))
    predicates = program_predicates(file, document, split, options, python_functions)
    predicates += _undeclared(functions, predicates, written)
    names = {one.name.lower(): one.name for one in predicates}
    normal = [(list(normal_rules(rule, names)), source) for rule, source in written]
    if not normal:
        example = "'1.0: Knows(A, B) & Knows(B, C) -> Knows(A, C) ^2'"
        raise DataError(
            str(rules_path), f"holds no rules; expected at least one, such as {example}"
        )
    check_rules([(rule, source) for some, source in normal for rule in some], predicates)
    rules, sources = zip(*without_repetitions(normal), strict=True)
    atoms = [getattr(one, part) for one in predicates for part in PARTITIONS]
    files = dict.fromkeys([str(rules_path), str(data_path), *sources])
    files |= dict.fromkeys(name for listed in atoms for name in listed.files)
    program = Program(
        str(path), rules, sources, tuple(predicates), options, tuple(files), str(data_path)
    )
    return program.with_functions(functions)


def _undeclared(
    functions: Iterable[str], predicates: Sequence[ProgramPredicate], rules: Sequence[SourcedRule]
) -> Iterator[ProgramPredicate]:
    """The functional predicates that only rules name; their first atom in a rule has the arity."""
    known = {predicate.name.lower() for predicate in predicates}
    atoms = [atom for rule, _ in rules for atom in atoms_of(rule)]
    arities = {atom.predicate.lower(): len(atom.arguments) for atom in reversed(atoms)}
    for name in functions:
        if name.lower() not in known and name.lower() in arities:
            yield ProgramPredicate(name, arities[name.lower()], closed=True)


def _listed_rules(
    file: File, document: dict[str, Any], text: str, split: str, folder: Path
) -> list[SourcedRule]:
    """Rules of a 2.4 program for all splits, and rules of its split."""
    found: list[SourcedRule] = []
    for section in ((), (split,)):
        inside = document.get(split) or {} if section else document
        listed = inside.get("rules") or []
        if isinstance(listed, str):
            found += _named_rules(file, listed, folder)
            continue
        for entry in rule_entries(file, listed, text, (*section, "rules")):
            rules = parse_rules(entry.padded, file.name)
            if len(rules) != 1:
                problem = f"rule {entry.number} holds {len(rules) or 'no'} rules; expected one"
                raise DataError(file.name, problem, line=entry.line, column=entry.column)
            found.append((rules[0], file.name))
    return found


def _named_rules(program: File, listed: str, folder: Path) -> list[SourcedRule]:
    """Rules of the file that a program names in place of a list; any other text is an error."""
    name = str(Path(program.name).parent / listed)
    try:
        return _rule_file(name, folder)
    except DataError as error:
        if error.line is None:
            problem = f"'rules': {error}; expected a list of rules, or a file of them"
            raise DataError(program.name, problem) from None
        if not is_outside(name, program.name):
            raise
        raise DataError(name, f"expected a rule, found {NOT_SHOWN}", error.line) from None


def _rule_file(name: str, folder: Path) -> list[SourcedRule]:
    if is_empty(name):
        return []
    file = find_file(name, folder)
    return [(rule, file.name) for rule in parse_rules(document_text(file), file.name)]


def _check_sections(file: File, document: dict[str, Any]) -> None:
    for key in document:
        if key not in SECTIONS:
            problem = f"unknown key {key!r}; expected {', '.join(SECTIONS)}"
            raise DataError(file.name, problem)
    for split in SPLITS:
        inside = document.get(split)
        if inside is not None and not (
            isinstance(inside, dict) and set(inside) <= {"rules", "options"}
        ):
            raise DataError(file.name, f"{split!r}: expected a mapping of rules and options")


def _options(file: File, document: dict[str, Any], split: str) -> dict[str, str]:
    general = text_options(file, document.get("options"), "'options'")
    inside = document.get(split)
    special = inside.get("options") if isinstance(inside, dict) else None
    return general | text_options(file, special, f"options of {split!r}")


# Which files make the program ---------------------------------------------------------------------


def _located(path: Path, split: str) -> tuple[Path, Path]:
    """The file of the rules and the file of the data; the same file for a 2.4 program."""
    if path.is_dir():
        return _located(_only_program(path), split)
    suffix = path.suffix.lower()
    if suffix == ".psl":
        return path, _data_beside(path, split)
    if suffix == ".data":
        return _rules_beside(path), path
    if suffix in SUFFIXES or path.exists():
        return path, path
    for candidate in [Path(f"{path}{ending}") for ending in (*SUFFIXES, ".psl")]:
        if candidate.is_file():
            return _located(candidate, split)
    raise DataError(str(path), "no such file; expected a PSL program (.json, .yaml or .psl)")


def _only_program(folder: Path) -> Path:
    found = sorted(one for one in folder.iterdir() if one.suffix.lower() in (*SUFFIXES, ".psl"))
    # `hornbeam export` writes names.json next to its program.json
    named = [one for one in found if one.name == "program.json"]
    if len(named or found) == 1:
        return (named or found)[0]
    names = ", ".join(one.name for one in found[:10]) or "none"
    raise DataError(str(folder), f"expected one program in the folder, found {names}")


def _data_beside(rules: Path, split: str) -> Path:
    names = [rules.with_name(f"{rules.stem}{ending}.data") for ending in ENDINGS[split]]
    return _first_beside(rules, names, "data file")


def _rules_beside(data: Path) -> Path:
    endings = sorted({ending for some in ENDINGS.values() for ending in some})
    stems = [data.stem.removesuffix(ending) for ending in endings if data.stem.endswith(ending)]
    names = [data.with_name(f"{stem}.psl") for stem in stems]
    return _first_beside(data, names, "file of rules")


def _first_beside(path: Path, names: Sequence[Path], what: str) -> Path:
    for name in names:
        if name.is_file():
            return name
    if not path.exists():
        raise DataError(str(path), "no such file")
    looked = " or ".join(name.name for name in names)
    raise DataError(str(path), f"has no {what} in its folder; expected {looked}")


# Places of rules ----------------------------------------------------------------------------------

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:]|[^\s{}\[\]:,"]+')


@dataclass(frozen=True)
class LocatedRule:
    """A rule of a JSON or YAML program: its text, its number in the list, and where it begins.

    The parser counts the lines and columns of the text that it reads. A rule is padded with line
    ends and blanks up to its position in the file, so that mistakes are reported at their places.
    (Escapes of JSON before a mistake shift its column.)
    """

    text: str
    number: int
    line: int
    column: int
    indent: int = 0

    @property
    def padded(self) -> str:
        """The rule, padded up to its position in the file."""
        lines = self.text.split("\n")
        behind = ["\n" * (self.line - 1) + " " * (self.column - 1) + lines[0], *lines[1:]]
        return ("\n" + " " * self.indent).join(behind)


def rule_entries(
    file: File, listed: object, text: str, path: tuple[str, ...]
) -> Iterator[LocatedRule]:
    """Yield the rules of a list with their places; the keys `path` lead to it in the document."""
    where = " of ".join(repr(key) for key in reversed(path))
    if not isinstance(listed, list):
        problem = f"{where}: expected a list of rules, found {kind_of(listed)}"
        raise DataError(file.name, problem)
    for number, item in enumerate(listed, start=1):
        if not isinstance(item, str):
            problem = f"{where}, rule {number}: expected text, found {kind_of(item)}"
            hint = "" if is_json(file.name) else " (in YAML a rule stands in quotes)"
            raise DataError(file.name, problem + hint)
    if not listed:
        return
    places = _json_places(text, path) if is_json(file.name) else _yaml_places(text, path)
    for number, (item, place) in enumerate(zip(listed, places, strict=True), start=1):
        yield LocatedRule(item, number, *place)


def _json_places(text: str, path: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield line, column (inside the quotes) and indent (0) of every item of the list at `path`."""
    wanted = ["", *path]
    stack = list[str]()
    key = latest = ""
    for token in _TOKEN.finditer(text):
        if token[0] in ("{", "["):
            stack.append(key)
            key = ""
        elif token[0] in ("}", "]"):
            if stack == wanted:
                return
            stack.pop()
        elif token[0] == ":":
            key = json.loads(latest)
        else:
            latest = token[0]
            if stack == wanted:
                start = token.start() + latest.startswith('"')
                yield text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), 0


def _yaml_places(text: str, path: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield line, column and indent of every item of the list at `path`.

    The place of a text that is folded over several lines is where it begins.
    """
    node: Any = yaml.compose(text, TextLoader)
    for wanted in path:
        [node] = [value for key, value in node.value if key.value == wanted]
    lines = text.split("\n")
    for item in node.value:
        line, column = item.start_mark.line + 1, item.start_mark.column + 1
        if item.style in ("|", ">"):
            indent = len(lines[line]) - len(lines[line].lstrip(" "))
            yield line + 1, indent + 1, indent
        else:
            yield line, column + (item.style is not None), 0
