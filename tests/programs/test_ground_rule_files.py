"""`hornbeam infer --ground-rules`: the same table in every form, whatever the names."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import hornbeam as hb
from hornbeam.language.arithmetic_rules import constants_of
from hornbeam.language.rule_texts import parse_rules
from tests.support.commands import HOSTILE, hornbeam_, listing

COLUMNS = ["cost", "weight", "distance", "satisfaction", "rule", "ground_rule"]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Ann is forced to like what her friends like, against a prior and a limit."""
    path = tmp_path / "program.json"
    observed = [["ann", name] for name in HOSTILE]
    document = {
        "rules": [
            "2: Knows(A, B) -> Likes(A, B) ^2",
            "0.5: !Likes(A, B)",
            "Likes(A, +B) <= 3 .",
            "0: Likes(A, B) = 0.5",
        ],
        "predicates": {
            "Knows/2": {"observations": observed},
            "Likes/2": {"targets": [*observed, ["bob", "ann"]]},
        },
    }
    path.write_text(json.dumps(document))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a table in any form."""
    match path.suffix:
        case ".parquet":
            with duckdb.connect() as connection:
                found = connection.execute(f"FROM '{path}'").fetchall()
            return [dict(zip(COLUMNS, row, strict=True)) for row in found]
        case ".jsonl":
            return [json.loads(line) for line in path.read_text().split("\n")[:-1]]
        case ".json":
            return list(json.loads(path.read_text()))
        case ".csv":
            rows = list(csv.reader(io.StringIO(path.read_text(), newline="")))
        case _:
            rows = [line.split("\t") for line in path.read_text().split("\n")[:-1]]
    assert rows[0] == COLUMNS
    numbers = [[float(cell) if cell else None for cell in row[:4]] for row in rows[1:]]
    return [
        dict(zip(COLUMNS, [*some, int(row[4]), row[5]], strict=True))
        for some, row in zip(numbers, rows[1:], strict=True)
    ]


@pytest.mark.parametrize("ending", ["tsv", "csv", "json", "jsonl", "parquet"])
def test_every_form_has_the_same_rows(program: Path, ending: str) -> None:
    path = program.with_name(f"ground.{ending}")
    done = hornbeam_("infer", program, "--ground-rules", path, "--json").json
    assert done["written"] == [str(path)]
    rows = read(path)
    assert len(rows) == done["ground_rules"] == 13 + 14 + 2 + 2 * 14
    assert sum(row["cost"] or 0.0 for row in rows) == pytest.approx(done["objective"])
    costs = [row["cost"] or 0.0 for row in rows]
    assert costs == sorted(costs, reverse=True)
    hb.infer(program).save_ground_rules(program.with_name("again.parquet"))
    assert rows == pytest.approx(read(program.with_name("again.parquet")))
    texts = [row["ground_rule"] for row in rows if row["rule"] == 1]
    named = [constants_of(parse_rules(f"1: {text}", "test")[0]) - {"ann"} for text in texts]
    assert sorted(name for [name] in named) == sorted(HOSTILE)


def test_broken_constraints_come_first(tmp_path: Path) -> None:
    program = tmp_path / "broken.json"
    document = {
        "rules": ["5: P(A) -> Q(A)", "Q('a') + Q('b') <= 1 .", "Q(A) <= 1 ."],
        "predicates": {"P/1": {"observations": [["a"], ["b"]]}, "Q/1": {"targets": [["a"], ["b"]]}},
        "options": {"admmreasoner.maxiterations": "1", "admmreasoner.stepsize": "0.1"},
    }
    program.write_text(json.dumps(document))
    path = tmp_path / "ground.jsonl"
    found = hb.infer(program, solver="admm")
    assert len(found.found.violated)
    found.save_ground_rules(path)
    rows = read(path)
    assert rows[0]["ground_rule"] == "Q('a') + Q('b') <= 1.0"
    assert rows[0]["weight"] is None
    assert rows[0]["cost"] is None
    assert rows[0]["distance"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ground.xls", "unknown kind of file; expected one of: .tsv"),
        ("no/ground.tsv", "does not exist"),
        ("program.json", "is read from"),
        (".", "is a folder"),
    ],
)
def test_a_wrong_output_is_refused_before_any_work(program: Path, name: str, said: str) -> None:
    before = program.read_text()
    done = hornbeam_("infer", program, "--ground-rules", program.parent / name)
    assert done.code == 2
    assert said in done.stderr
    assert listing(program.parent) == ["program.json"]
    assert program.read_text() == before
