"""Killed before any of its file operations, a command leaves the old result or the new one.

Nothing of both, nothing half-written, nothing of the user's gone; and the next run works and
leaves no temporary file. `make fuzz` kills at every operation and says how many there were, the
tests at a few of those that prepare and write, and at all that put results in their place.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from hornbeam.base.files import TEMPORARY, fingerprint
from hornbeam.cli.commands import COMMANDS, load
from hornbeam.learning.trace import Trace, trace_path
from tests.support.commands import hornbeam_
from tests.support.crash_points import run_in_fork
from tests.support.small_inputs import FILES

FACTS = ("--facts", "facts.tsv")
#: Kill at every operation, also those that only prepare.
EVERY = os.environ.get("HORNBEAM_EVERY_CRASH_POINT") == "1"


@dataclass(frozen=True)
class Case:
    """A command that writes: its words, and the outputs that an older run left behind."""

    words: tuple[str, ...]
    older: tuple[str, ...]
    outputs: tuple[str, ...]


MODEL, OTHER, GRAPH = "model.psl", "other.psl", "graph.hornbeam"
FOLDS = "folds.tsv"
COLLECTIVE = ("--method", "ppll", "--collective", "--collective-method", "map")
RARE = ("--min-coverage", "1")  # the world is small
CROSSVAL = ("--methods", "ppll", *RARE)
EXPLAINED = ("a0", "c0")
LABELS, PAIRS = ("--labels", "labels.tsv"), ("--pairs", "labels.tsv")
CASES = {
    "learn": Case(
        ("learn", *FACTS, *LABELS, *RARE, "--method", "ppll", "-o", "new.psl"),
        ("learn", *FACTS, *LABELS, *RARE, "--method", "ppll", "--counts", "log", "-o", "new.psl"),
        ("new.psl", "new.trace.json"),
    ),
    "learn collective": Case(
        ("learn", *FACTS, *LABELS, *RARE, *COLLECTIVE, "-o", "new.psl"),
        ("learn", *FACTS, *LABELS, *RARE, "--method", "ppll", "-o", "new.psl"),
        ("new.psl", "new.trace.json"),
    ),
    "learn graph": Case(
        ("learn", *FACTS, "--all-relations", "--max-length", "1", "-o", "new.hornbeam"),
        ("predict", MODEL, *FACTS, *PAIRS, "-o", "new.hornbeam"),
        ("new.hornbeam",),
    ),
    "candidates": Case(
        ("candidates", *FACTS, *LABELS, *RARE, "-o", "out.csv"),
        ("candidates", *FACTS, *LABELS, *RARE, "--max-length", "1", "-o", "out.csv"),
        ("out.csv",),
    ),
    "evaluate": Case(
        ("evaluate", MODEL, *FACTS, *LABELS, "-o", "out.jsonl"),
        ("evaluate", OTHER, *FACTS, *LABELS, "-o", "out.jsonl"),
        ("out.jsonl",),
    ),
    "diff": Case(
        ("diff", MODEL, OTHER, "-o", "out.jsonl"),
        ("diff", OTHER, MODEL, "-o", "out.jsonl"),
        ("out.jsonl",),
    ),
    "crossval": Case(
        ("crossval", *FACTS, *LABELS, *CROSSVAL, "--folds", "2", "-o", FOLDS),
        ("crossval", *FACTS, *LABELS, *CROSSVAL, "--folds", "3", "-o", FOLDS),
        (FOLDS,),
    ),
    "predict": Case(
        ("predict", MODEL, *FACTS, *PAIRS, "-o", "out.tsv"),
        ("predict", OTHER, *FACTS, *PAIRS, "-o", "out.tsv"),
        ("out.tsv",),
    ),
    "explain": Case(
        ("explain", MODEL, *FACTS, *EXPLAINED, "-o", "out.tsv"),
        ("explain", OTHER, *FACTS, *EXPLAINED, "-o", "out.tsv"),
        ("out.tsv",),
    ),
    "predict parquet": Case(
        ("predict", MODEL, *FACTS, *PAIRS, "-o", "out.parquet"),
        ("predict", OTHER, *FACTS, *PAIRS, "-o", "out.parquet"),
        ("out.parquet",),
    ),
    "predict duckdb": Case(
        ("predict", MODEL, *FACTS, *PAIRS, "--engine", "duckdb", "-o", "out.parquet"),
        ("predict", OTHER, *FACTS, *PAIRS, "-o", "out.parquet"),
        ("out.parquet",),
    ),
    "report": Case(
        ("report", MODEL, *FACTS, *LABELS, "-o", "out.html"),
        ("report", OTHER, *FACTS, *LABELS, "-o", "out.html"),
        ("out.html",),
    ),
    "export": Case(
        ("export", MODEL, *FACTS, *PAIRS, "-o", "program"),
        ("export", OTHER, *FACTS, *PAIRS, "-o", "program"),
        ("program",),
    ),
    "export rules": Case(
        ("export", GRAPH, "-o", "rules.csv"),
        ("predict", MODEL, *FACTS, *PAIRS, "-o", "rules.csv"),
        ("rules.csv",),
    ),
    "infer": Case(
        ("infer", "program.json", "-o", "inferred"),
        ("infer", "other.json", "-o", "inferred"),
        ("inferred",),
    ),
    "weights": Case(
        ("weights", "program.json", "-o", "learned.psl"),
        ("weights", "program.json", "--method", "ppll", "-o", "learned.psl"),
        ("learned.psl",),
    ),
}  # fmt: skip


def _world(folder: Path) -> None:
    """Inputs, and files of the user's own beside them."""
    (folder / "tmp").mkdir()
    rules = ["1.0: P(A) -> Q(A)", "0.5: P(A) -> R(A)", "0.2: !Q(A)", "0.2: !R(A)"]
    program = {
        "rules": rules,
        "predicates": {
            "P/1": {"observations": [["a"], ["b", "0.5"]]},
            "Q/1": {"targets": [["a"], ["b"]], "truth": [["a"], ["b", "0.2"]]},
            "R/1": {"targets": [["a"], ["b"]], "truth": [["a"], ["b", "0.7"]]},
        },
    }
    texts = {
        **FILES,
        OTHER: "2.0: p(A, X) & q(X, B) -> t(A, B)\n0.1: !t(A, B)\n",
        "program.json": json.dumps(program),
        "other.json": json.dumps({**program, "rules": rules[1:]}),
        "mine.txt": "mine",
        ".hornbeam-mine": "mine, too",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)


def _contents(folder: Path) -> dict[str, bytes | None]:
    """Every file with its bytes, folders as None; temporary names are left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if not any(TEMPORARY.fullmatch(part) for part in path.relative_to(folder).parts)
    }


def _of(contents: dict[str, bytes | None], output: str) -> dict[str, bytes | None]:
    found = {name: data for name, data in contents.items() if name.split("/")[0] == output}
    return {name: _timeless(name, data) for name, data in found.items()}


def _timeless(name: str, data: bytes | None) -> bytes | None:
    """A trace, or a table of folds, without its times."""
    if data is not None and name == FOLDS:
        return b"\n".join(line.rpartition(b"\t")[0] for line in data.split(b"\n"))
    if data is None or not name.endswith(".trace.json"):
        return data
    return json.dumps({**json.loads(data), "seconds": {}}).encode()


def _temporaries(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if TEMPORARY.fullmatch(path.name)]


def _points(operations: tuple[str, ...]) -> list[int]:
    """Every operation, or the last ones on results and one of those that prepare."""
    if EVERY:
        return list(range(len(operations)))
    on_results = [i for i, one in enumerate(operations) if "/tmp/" not in one]
    return [len(operations) // 3, *on_results[-6:]]


def _check_model(folder: Path) -> None:
    """A trace that says it is of this model is of this model."""
    model = folder / "new.psl"
    path = trace_path(model)
    if not path.exists():
        return
    trace = Trace.from_dict(json.loads(path.read_text()))
    kept = {candidate.clause for candidate in trace.kept}
    if trace.model == fingerprint(model.read_text()):
        assert all(clause in model.read_text() for clause in kept)


def test_every_command_that_writes_is_killed() -> None:
    commands = [name for group in COMMANDS.values() for name in group]
    writing = {name for name in commands if any(one.name == "output" for one in load(name).params)}
    assert {case.words[0] for case in CASES.values()} == writing


@pytest.mark.slow
@pytest.mark.parametrize("before", ["older", "nothing"] if EVERY else ["older"])
@pytest.mark.parametrize("name", CASES)
def test_old_or_new_and_nothing_lost(
    name: str, before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    start, work = tmp_path / "start", tmp_path / "work"
    start.mkdir()
    _world(start)
    # once in this process, so that its forks need not import what the command imports
    shutil.copytree(start, tmp_path / "first")
    monkeypatch.chdir(tmp_path / "first")
    if GRAPH in case.words:
        words = ("--all-relations", "--max-length", "1", "-o", start / GRAPH)
        assert hornbeam_("learn", *FACTS, *words).code == 0
        shutil.copy(start / GRAPH, GRAPH)
    assert hornbeam_(*case.words).code == 0
    if before == "older":
        assert run_in_fork(case.older, start).code == 0
    old = _contents(start)

    shutil.copytree(start, work)
    whole = run_in_fork(case.words, work)
    assert whole.code == 0
    assert _temporaries(work) == []
    new = _contents(work)
    inputs = {file: data for file, data in old.items() if file.split("/")[0] not in case.outputs}
    points = _points(whole.operations)
    assert len(points) >= 3
    for point in points:
        shutil.rmtree(work)
        shutil.copytree(start, work)
        assert run_in_fork(case.words, work, kill_before=point).code is None
        left = _contents(work)
        where = f"killed before {whole.operations[point]}"
        assert inputs.items() <= left.items(), where
        for output in case.outputs:
            assert _of(left, output) in (_of(old, output), _of(new, output)), where
        assert left.keys() <= old.keys() | new.keys(), where
        if "new.trace.json" in case.outputs:
            _check_model(work)
    # the last state is one of a killed run: the next run works, and tidies up
    assert run_in_fork(case.words, work).code == 0
    assert _temporaries(work) == []
    assert {output: _of(_contents(work), output) for output in case.outputs} == {
        output: _of(new, output) for output in case.outputs
    }
    print(f"{name}, {before} there before: killed at {len(points)} points")
