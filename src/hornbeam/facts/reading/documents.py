"""JSON and YAML documents with every scalar as text, so that names such as `yes` and 1.0 stay.

JSON is read as PSL's runtime reads it: comments and commas before a closing bracket are tolerated.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from hornbeam.errors import DataError
from hornbeam.facts.reading.input_files import File

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|#[^\n]*|/\*.*?\*/', re.S)
#: A comma after a value and before a closing bracket; string literals are skipped.
_LAST_COMMA = re.compile(
    r'''((?:"(?:[^"\\]|\\.)*"|[\w\]}])\s*),(?=\s*[\]}])|"(?:[^"\\]|\\.)*"''', re.S
)


def is_json(name: str) -> bool:
    """Tell JSON from YAML by the file's name, `.gz` aside."""
    return name.lower().removesuffix(".gz").endswith(".json")


def document_text(file: File) -> str:
    """Text of a document; comments of JSON become blanks, so that lines and columns stay."""
    raw = b"".join(file.blocks())
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        raise DataError(file.name, "invalid UTF-8; expected UTF-8 text", line=line) from None
    return _plain_json(text) if is_json(file.name) else text


def _plain_json(text: str) -> str:
    def blanks(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    def without_comma(found: re.Match[str]) -> str:
        return found[0] if found[1] is None else f"{found[1]} "

    # Most documents have neither.
    text = _COMMENT.sub(blanks, text) if re.search(r"#|//|/\*", text) else text
    return _LAST_COMMA.sub(without_comma, text) if re.search(r",\s*[\]}]", text) else text


def parse_document(file: File, text: str) -> object:
    """Parse a PSL program's JSON or YAML."""
    try:
        return _from_json(text) if is_json(file.name) else yaml.load(text, TextLoader)
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
