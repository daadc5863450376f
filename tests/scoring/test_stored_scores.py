"""Scores that the database writes to Parquet are those of the engine in memory."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import hornbeam as hb
from hornbeam.counting.sql.duckdb_engine import open_duckdb
from hornbeam.scoring import scored_links
from hornbeam.scoring.scored_links import write_scores


def test_scores_are_written_to_parquet_in_the_order_of_the_pairs(tmp_path: Path) -> None:
    facts = [("a", "p", "b"), ("b", "p", "c"), ("c", "p", "a")]
    pairs = [("b", "t", "c"), ("a", "t", "c"), ("b", "t", "c"), ("c", "t", "a")]
    model = hb.Model.parse("2: p(A, B) & p(B, C) -> t(A, C)\n0.5: !t(A, B)\n")
    path = tmp_path / "scores.parquet"
    with open_duckdb(facts) as engine:
        batches = scored_links.scored_batches(engine, model, hb.read_pairs(pairs), block=2)
        assert [len(batch["score"]) for batch in batches] == [2, 2]
        write_scores(engine, model, hb.read_pairs(pairs), path)
    rows = duckdb.execute("FROM read_parquet(?)", [str(path)]).fetchall()
    assert [row[:3] for row in rows] == pairs
    assert [row[3] for row in rows] == pytest.approx(list(model.predict(facts, pairs)["score"]))
