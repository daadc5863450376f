"""A program with its given rules and learned rules, written so that inference runs it.

`more.json` is one file; `more.psl` has the rules, and `more.data` beside it the predicates. Files
of atoms stay where they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hornbeam.base.files import cannot_be_written, save_text, working_folder
from hornbeam.errors import InputError
from hornbeam.facts.reading.psl_data import SPLITS, program_document
from hornbeam.facts.reading.workspace import find_file
from hornbeam.language.arithmetic_rules import PslRule, unweighted
from hornbeam.programs.program import Program
from hornbeam.programs.program_data import PARTITIONS

#: The option that refuses programs whose rules need open atoms that are no targets.
REQUIRE_TARGETS = "pam.throw"


@dataclass(frozen=True, eq=False)
class ExtendedProgram:
    """A program's given rules with their weights, and the rules that were learned beside them.

    `before` are the given rules as they were; `targets` is the number of targets with truth, and
    `candidates` that of the bodies that learning chose from. Learned rules that are not `guarded`
    also have groundings for pairs that are no targets: inference takes these for false.
    """

    program: Program
    given: tuple[PslRule, ...]
    before: tuple[PslRule, ...]
    learned: tuple[PslRule, ...]
    targets: int
    candidates: int
    seconds: Mapping[str, float]
    guarded: bool = False

    @property
    def rules(self) -> tuple[PslRule, ...]:
        """Given rules in their order, then learned rules by weight."""
        return (*self.given, *self.learned)

    @property
    def text(self) -> str:
        """The rules as a `.psl` file."""
        return "".join(f"{rule}\n" for rule in self.rules)

    def outputs(self, path: str | os.PathLike[str]) -> list[Path]:
        """The files that `save` writes."""
        output = Path(path)
        return [output] if output.suffix.lower() == ".json" else [output, data_path(output)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program: one `.json` file, or a file of rules with its `.data` beside it."""
        output = Path(path)
        document = self._document(output.parent)
        if output.suffix.lower() == ".json":
            if set(PARTITIONS) & document.keys():
                raise InputError(
                    f"{output}: {self.program.data_file} lists its data as PSL 2.x did, for a file "
                    "of rules: name a .psl file"
                )
            save_text(output, _json({"rules": list(map(str, self.rules)), **document}))
        else:
            save_text(data_path(output), _json(document))
            save_text(output, self.text)

    def as_dict(self) -> dict[str, Any]:
        """Rules, weights and figures, ready for JSON."""
        given = [
            {"rule": unweighted(rule), "weight": rule.weight, "own": True, "before": old.weight}
            for rule, old in zip(self.given, self.before, strict=True)
        ]
        learned = [
            {"rule": unweighted(rule), "weight": rule.weight, "own": False} for rule in self.learned
        ]
        return {
            "rules": given + learned,
            "candidates": self.candidates,
            "targets": self.targets,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
        }

    def _document(self, folder: Path) -> dict[str, Any]:
        """The program's document without rules, with names of files as seen from a folder."""
        with working_folder() as scratch:
            document, _ = program_document(find_file(self.program.data_file, scratch))
        source = Path(self.program.data_file).parent
        moved = {key: value for key, value in document.items() if key != "rules"}
        for split in SPLITS:
            if isinstance(moved.get(split), dict):
                moved[split] = {k: v for k, v in moved[split].items() if k != "rules"}
        names = set(PARTITIONS)
        for key in names & moved.keys():
            moved[key] = _moved(moved[key], source, folder)
        if self.learned and not self.guarded:
            moved["options"] = {REQUIRE_TARGETS: "false", **(moved.get("options") or {})}
        moved["predicates"] = _with_moved(moved["predicates"], names, source, folder)
        return moved


def data_path(rules: Path) -> Path:
    """The file of predicates beside a file of rules."""
    return rules.with_name(f"{rules.stem}.data")


def check_data_path(path: Path) -> None:
    """Refuse a path where predicates cannot be written: a file that is not of our making."""
    with cannot_be_written(path):
        if path.exists() and not path.read_bytes().startswith(b"{"):
            raise InputError(
                f"{path}: is not a file that `learn` wrote, and the program's predicates would go "
                "there; move it, or name another output"
            )


def _with_moved(declared: Any, names: set[str], source: Path, folder: Path) -> Any:  # noqa: ANN401
    """Declarations of predicates with the files of their partitions moved."""
    if isinstance(declared, list):
        return [_with_moved(one, names, source, folder) for one in declared]
    if not isinstance(declared, dict):
        return declared
    return {
        key: _moved(value, source, folder)
        if key in names
        else _with_moved(value, names, source, folder)
        for key, value in declared.items()
    }


def _moved(listed: Any, source: Path, folder: Path) -> Any:  # noqa: ANN401
    """Names of files as seen from another folder; lists of atoms stay."""
    if isinstance(listed, str):
        return listed if os.path.isabs(listed) else os.path.relpath(source / listed, folder)
    if isinstance(listed, dict):
        return {key: _moved(value, source, folder) for key, value in listed.items()}
    is_row = [isinstance(item, list) for item in listed]
    return [
        item if row else _moved(item, source, folder)
        for item, row in zip(listed, is_row, strict=True)
    ]


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
