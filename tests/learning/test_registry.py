"""Learners by name, those of other packages too."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hornbeam.errors import InputError
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.registry import learner_class, learner_names
from tests.support.other_package import register_learner

MINE = "from dataclasses import dataclass\n@dataclass\nclass Mine: pass\n"


def test_the_bundled_learners_have_names() -> None:
    assert learner_names() == ["joint", "boost", "ppll", "greedy"]
    assert learner_class("greedy") is Greedy
    with pytest.raises(InputError, match="unknown `method` 'jiont'; expected one of: joint, boost"):
        learner_class("jiont")


def test_names_are_known_without_importing_learners() -> None:
    code = (
        "import sys; from hornbeam.learning.registry import learner_names; learner_names(); "
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_learners_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register_learner(tmp_path, monkeypatch, MINE, {"mine": "Mine", "joint": "Mine"})
    assert learner_names() == ["joint", "boost", "ppll", "greedy", "mine"]
    assert learner_class("mine").__name__ == "Mine"
    assert learner_class("joint").__name__ == "Joint", "no package takes a name away"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import no_such_module\n", "cannot be imported (ModuleNotFoundError: "),
        ("class Mine:\n", "cannot be imported (IndentationError: "),
        ("Other = 1\n", "cannot be imported (AttributeError: "),
        ("1 / 0\n", "cannot be imported (ZeroDivisionError: "),
        ("class Mine: pass\n", "is not a dataclass of settings"),
    ],
)
def test_a_broken_package_is_named(
    code: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_learner(tmp_path, monkeypatch, code, {"mine": "Mine"})
    said = f"the learner 'mine' of the package other_learners_package {problem}"
    with pytest.raises(InputError, match=re.escape(said)):
        learner_class("mine")
