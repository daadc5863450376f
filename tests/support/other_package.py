"""A package that is not Hornbeam and has learners: a module and its metadata in a folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hornbeam.learning.registry import GROUP

MODULE = "other_learners_package"


def register_learner(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, learners: Mapping[str, str]
) -> None:
    """Put a package on the path for one test: its code, and its learners by name."""
    (folder / f"{MODULE}.py").write_text(code, encoding="utf-8")
    about = folder / f"{MODULE}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n")
    lines = [f"{name} = {MODULE}:{kind}" for name, kind in learners.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
