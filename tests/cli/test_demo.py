"""`hornbeam demo`: the whole flow on the bundled data, leaving nothing behind."""

from __future__ import annotations

from pathlib import Path

from .running import listing, process


def test_the_demo_runs_and_leaves_nothing_behind(tmp_path: Path, scratch: Path) -> None:
    ended = process("demo", cwd=tmp_path)
    assert ended.code == 0, ended.stderr
    commands = [line for line in ended.stdout.splitlines() if line.startswith("$ hornbeam ")]
    assert [line.split()[2] for line in commands] == ["candidates", "learn", "evaluate", "predict"]
    assert "neighbour(A, B) & located_in(B, C) -> located_in(A, C)" in ended.stdout
    assert "AUC-ROC    0.9" in ended.stdout
    assert "\tlocated_in\t" in ended.stdout
    assert "Traceback" not in ended.stderr
    assert listing(tmp_path) == []
    assert listing(scratch) == []
