"""A PSL program for the explorer: atoms of one to three arguments, hostile names, a constraint."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.commands import HOSTILE
from tests.support.servers import SCRIPT

PEOPLE = ("ann", "bob", "cy", SCRIPT, *HOSTILE)
PROGRAM = {
    "rules": [
        "2: Knows(A, B) -> Trusts(A, B) ^2",
        "1: Trusts(A, B) & Trusts(B, C) & (A != C) -> Trusts(A, C)",
        "0.5: !Trusts(A, B)",
        "Trusts(A, +B) <= 3 .",
        "1: Wise(A) & Lent(A, B, C) -> Trusts(B, A)",
    ],
    "predicates": {
        "Knows/2": {"observations": [["ann", name] for name in PEOPLE[1:]]},
        "Wise/1": {"observations": [["cy", "0.7"]], "targets": [["ann"], [SCRIPT]]},
        "Lent/3": {"observations": [["cy", "bob", SCRIPT]]},
        "Trusts/2": {
            "targets": [[a, b] for a in PEOPLE for b in PEOPLE],
            "truth": [["ann", "bob", "1"], ["bob", "cy", "0"], ["ann", SCRIPT, "1"]],
        },
    },
}


def write_program(folder: Path) -> Path:
    """Write the program to a folder."""
    path = folder / "program.json"
    path.write_text(json.dumps(PROGRAM))
    return path
