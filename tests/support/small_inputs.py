"""The inputs that robustness is tested with: one file of each kind, a few lines each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FACTS = "".join(f"a{i}\tp\tb{i}\nb{i}\tq\tc{i % 3}\n" for i in range(12))
LABELS = "".join(f"a{i}\tt\tc{(i + i % 2) % 3}\t{1 - i % 2}\n" for i in range(12))
MODEL = "1.0: p(A, X) & q(X, B) -> t(A, B)\n0.5: !t(A, B)\n"
PROGRAM = {
    "rules": ["1.0: P(A) -> Q(A)", "0.2: !Q(A)"],
    "predicates": {
        "P/1": {"observations": [["a"], ["b", "0.5"]]},
        "Q/1": {"targets": [["a"], ["b"]], "truth": [["a"], ["b", "0.2"]]},
    },
}
FILES = {
    "facts.tsv": FACTS,
    "labels.tsv": LABELS,
    "model.psl": MODEL,
    "program.json": json.dumps(PROGRAM),
}
LEARN = ("learn", "--facts", "facts.tsv", "--labels", "labels.tsv")
PREDICT = ("predict", "model.psl", "--facts", "facts.tsv", "--pairs", "labels.tsv")


@pytest.fixture
def small_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files, to work in."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
