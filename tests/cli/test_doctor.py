"""`hornbeam doctor`: true figures, problems marked, exit 0 whatever is found."""

from __future__ import annotations

import os
import shutil
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from hornbeam.base.compiled import TEMPORARY, Kernel
from hornbeam.cli import doctor
from tests.support.commands import hornbeam_, process

COMPILE = """
import numpy as np
from hornbeam.facts.names import translated
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
    assert told["extras"]["rdf"] == {"pyoxigraph": metadata.version("pyoxigraph")}
    assert not {"dev", "docs"} & set(told["extras"])
    assert (told["java"] is None) == (shutil.which("java") is None)
    assert 0 < told["memory_available"] <= told["memory_total"]


def test_it_is_readable_at_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    ended = hornbeam_("doctor")
    assert ended.code == 0
    assert ended.stderr == ""
    for name in ("Hornbeam", "Python", "Libraries", "Threads", "Memory", "Java", "Kernels"):
        assert f"\n{name}" in f"\n{ended.stdout}"


@pytest.mark.slow
def test_compiled_code_is_kept_where_numba_keeps_it(tmp_path: Path) -> None:
    told = process("doctor", "--json", env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}).json
    assert told["kernels"].startswith(str(tmp_path))
    assert not any("NUMBA_CACHE_DIR" in problem for problem in told["problems"])


def test_a_missing_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = metadata.version

    def without_oxigraph(name: str) -> str:
        if name == "pyoxigraph":
            raise metadata.PackageNotFoundError(name)
        return versions(name)

    monkeypatch.setattr(metadata, "version", without_oxigraph)
    assert hornbeam_("doctor", "--json").json["extras"]["rdf"] == {"pyoxigraph": None}
    shown = hornbeam_("doctor").stdout
    assert "pip install 'hornbeam[rdf]'" in shown
    assert "No problems found." in shown


def test_problems_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LITTLE_MEMORY", 1 << 60)
    monkeypatch.setattr(Kernel, "folder", f"/tmp/{TEMPORARY}0")
    problems = hornbeam_("doctor", "--json").json["problems"]
    assert len(problems) == 2
    for word in ("NUMBA_CACHE_DIR", "memory"):
        assert sum(word in problem for problem in problems) == 1
    ended = hornbeam_("doctor")
    assert ended.code == 0
    assert ended.stdout.count("problem: ") == 2
    monkeypatch.setattr(Kernel, "folder", None)
    assert "compiled kernels are kept nowhere" in hornbeam_("doctor").stdout


def test_a_broken_java_is_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hornbeam_("doctor", "--json").json["java"] is None
