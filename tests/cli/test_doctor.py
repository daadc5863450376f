"""`hornbeam doctor`: true figures, problems marked, exit 0 whatever is found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from hornbeam.cli import checkup
from tests.support.commands import hornbeam_, process

COMPILE = """
import numpy as np
from hornbeam.facts.name_kernels import translated
blob, ends = np.frombuffer(b"a\\0", dtype=np.uint8), np.array([1])
translated.compiled(blob, ends, blob, ends)
"""


def test_the_figures_are_true() -> None:
    told = hornbeam_("doctor", "--json").json
    assert told["hornbeam"] == metadata.version("hornbeam")
    assert told["libraries"]["numpy"] == np.__version__
    assert {"numba", "duckdb", "scipy", "typer"} <= set(told["libraries"])
    assert None not in told["libraries"].values()
    assert told["threads"] == os.cpu_count()
    assert told["extras"]["rdf"] == {
        "libraries": {"pyoxigraph": metadata.version("pyoxigraph")},
        "install": "pip install 'hornbeam[rdf]'",
        "installed": True,
    }
    assert not {"dev", "docs"} & set(told["extras"])
    assert (told["java"] is None) == (shutil.which("java") is None)
    assert 0 < told["memory_available"] <= told["memory_total"]
    assert told["temporary_free"] > 0


def test_it_is_readable_at_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    ended = hornbeam_("doctor")
    assert ended.code == 0
    assert ended.stderr == ""
    for name in ("Hornbeam", "Python", "Libraries", "Threads", "Kernels", "Memory", "Temporary"):
        assert f"\n{name}" in f"\n{ended.stdout}"


def test_kernels_count_as_compiled_once_they_have_run(tmp_path: Path) -> None:
    """A process with a fresh cache has none; after one has run compiled, it is there."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    before = json.loads(process("doctor", "--json", env=environment).stdout)["kernels"]
    assert before["compiled"] == 0
    assert before["total"] > 20
    assert all(folder.startswith(str(tmp_path)) for folder in before["folders"])
    subprocess.run([sys.executable, "-c", COMPILE], env=environment, check=True)
    after = json.loads(process("doctor", "--json", env=environment).stdout)["kernels"]
    assert 1 == after["compiled"] < after["total"] == before["total"]


def test_a_missing_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = metadata.version

    def without_oxigraph(name: str) -> str:
        if name == "pyoxigraph":
            raise metadata.PackageNotFoundError(name)
        return versions(name)

    monkeypatch.setattr(metadata, "version", without_oxigraph)
    assert hornbeam_("doctor", "--json").json["extras"]["rdf"]["installed"] is False
    shown = hornbeam_("doctor").stdout
    assert "pip install 'hornbeam[rdf]'" in shown
    assert "No problems found." in shown


def test_problems_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "LITTLE_MEMORY", 1 << 60)
    monkeypatch.setattr(checkup, "LITTLE_DISK", 1 << 60)
    monkeypatch.setattr(checkup, "_writable", lambda _: False)
    problems = hornbeam_("doctor", "--json").json["problems"]
    assert len(problems) == 3
    for word in ("NUMBA_CACHE_DIR", "memory", "TMPDIR"):
        assert sum(word in problem for problem in problems) == 1
    ended = hornbeam_("doctor")
    assert ended.code == 0
    assert ended.stdout.count("problem: ") == 3


def test_a_broken_java_is_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hornbeam_("doctor", "--json").json["java"] is None
