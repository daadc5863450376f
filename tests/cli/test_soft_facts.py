"""Rules over facts between 0 and 1 mean one thing to every command."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.commands import hornbeam_, write

RULES = ("2: p(A, X) & q(Y, B) -> t(A, B)", "0.1: !t(A, B)")


def rules_of(relaxation: str, rules: Iterable[str]) -> list[str]:
    """Rules as they are written for a relaxation."""
    return [f"{rule} ^2" if relaxation == "squared" else rule for rule in rules]


def write_model(relaxation: str, rules: Iterable[str]) -> None:
    header = f'# hornbeam: {{"relaxation": "{relaxation}"}}'
    Path("model.psl").write_text("\n".join([header, *rules_of(relaxation, rules), ""]))


def inferred(program: str) -> float:
    """The state of t(a, c) that `infer` finds."""
    [written] = hornbeam_("infer", program, "-o", "state", "--json").json["written"]
    rows = (line.split("\t") for line in Path(written).read_text().splitlines())
    [state] = [float(value) for *pair, value in rows if pair == ["a", "c"]]
    return state


@pytest.mark.parametrize(
    ("relaxation", "second", "state"),
    [
        # max(0, 0.5 + 0.5 - 1) = 0: no ground clause is left
        ("boolean", 0.5, 0.0),
        ("linear", 0.5, 0.0),
        ("squared", 0.5, 0.0),
        # truth 0.3: 2 x 0.3 against 0.1; the knee at 0.3; 2 (0.3 - y) = 0.1 y
        ("boolean", 0.8, 1.0),
        ("linear", 0.8, 0.3),
        ("squared", 0.8, 0.6 / 2.1),
    ],
)
def test_a_conjunction_is_as_true_as_its_atoms_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relaxation: str, second: float, state: float
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(relaxation, RULES)
    facts = "--facts", write(Path("facts.tsv"), [("a", "p", "x", 0.5), ("x", "q", "c", second)])
    pairs = "--pairs", write(Path("pairs.tsv"), [("a", "t", "c", 1)])
    for engine in ("memory", "duckdb"):
        ended = hornbeam_(
            "predict", "model.psl", *facts, *pairs, "--score", "map", "--engine", engine
        )
        assert float(ended.rows[0][3]) == pytest.approx(state, abs=1e-6)
    explained = hornbeam_("explain", "model.psl", *facts, "a", "c", "--json").json
    assert explained["map"] == pytest.approx(state, abs=1e-9)
    conjunction = [one for one in explained["reasons"] if not one["prior"]]
    assert [one["count"] for one in conjunction] == [1] * (second > 0.5)
    for reason in conjunction:
        assert [one["truth"] for one in reason["groundings"]] == [0.5, second]
    assert hornbeam_("export", "model.psl", *facts, *pairs, "-o", "program").code == 0
    assert inferred("program/program.json") == pytest.approx(state, abs=1e-4)
    if relaxation != "boolean":  # PSL's own meaning
        write(Path("p.txt"), [("a", "x", 0.5)])
        write(Path("q.txt"), [("x", "c", second)])
        write(Path("t.txt"), [("a", "c")])
        program = {
            "rules": rules_of(relaxation, RULES),
            "predicates": {
                "p/2": {"observations": ["p.txt"]},
                "q/2": {"observations": ["q.txt"]},
                "t/2": {"targets": ["t.txt"]},
            },
        }
        Path("own.json").write_text(json.dumps(program))
        assert inferred("own.json") == pytest.approx(state, abs=1e-4)


@pytest.mark.parametrize("relaxation", ["boolean", "linear", "squared"])
def test_every_command_takes_every_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relaxation: str
) -> None:
    """Shares, thresholds and other ways of counting, over soft facts, with any relaxation."""
    monkeypatch.chdir(tmp_path)
    rules = [
        "0.7: p(A, X) & q(X, B) -> t(A, B) [share / 0.5]",
        "0.9: (p(A, X) & q(X, B)) [n >= 2] & p(A, Y) -> t(A, B)",
        "0.4: p(A, X) & q(Y, B) -> !t(A, B) [log]",
        "0.3: p(A, X) & q(X, B) -> t(A, B) [exists]",
    ]
    write_model(relaxation, rules)
    rows = [("a", "p", "x", 0.9), ("a", "p", "y", 0.6), ("x", "q", "c", 0.7), ("y", "q", "c", 0.8)]
    facts = "--facts", write(Path("facts.tsv"), [*rows, ("b", "q", "c", 0.4)])
    labels = write(Path("labels.tsv"), [("a", "t", "c", 1), ("b", "t", "c", 0)])
    given = ("model.psl", *facts)
    scored = hornbeam_("predict", *given, "--pairs", labels).rows
    explained = hornbeam_("explain", *given, "a", "c", "--json").json
    assert explained["score"] == pytest.approx(float(scored[0][3]), abs=1e-6)
    assert {one["count"] for one in explained["reasons"]} == {2, 5}
    for words in (
        ("evaluate", *given, "--labels", labels),
        ("report", *given, "--labels", labels, "-o", "report.html"),
        ("export", *given, "--pairs", labels, "-o", "program"),
        ("predict", *given, "--target", "t", "--subject", "a"),
    ):
        ended = hornbeam_(*words)
        assert ended.code == 0, ended.stderr
    state = float(hornbeam_("predict", *given, "--pairs", labels, "--score", "map").rows[0][3])
    assert inferred("program/program.json") == pytest.approx(state, abs=1e-4)
