"""Places of the rules in a JSON or YAML program, so that mistakes are reported there.

The parser counts lines and columns of the text it is given. A rule of a program is therefore padded
with line ends and blanks up to its position in the file. (Escapes of JSON before a mistake shift
its column.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from hornbeam.errors import DataError
from hornbeam.facts.reading.psl_data import TextLoader, is_json, kind_of
from hornbeam.facts.reading.workspace import File

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:]|[^\s{}\[\]:,"]+')


@dataclass(frozen=True)
class LocatedRule:
    """A rule's text, its number in the list, and where it begins."""

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
    """The rules of the list that the keys `path` lead to in a document, with their places."""
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
    """Yield line and column of every item of the list at the path, inside its quotes."""
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
    """Yield line, column and indent of every text of the list at the path.

    Text that is folded over several lines is placed where it begins.
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
