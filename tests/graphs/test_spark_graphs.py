"""Graphs on Spark: given rules are counted as in memory, and what is not offered is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pip install 'hornbeam[spark]'")

from pyspark.sql import SparkSession

import hornbeam as hb
from hornbeam.counting.sql.spark_engine import Spark
from hornbeam.counting.sql.spark_reading import spark_engine_over
from hornbeam.errors import InputError
from hornbeam.graph_learning import learn_graph
from hornbeam.graphs.graph_settings import Extent, GraphSettings

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("spark")]


def test_spark_counts_given_rules(spark: SparkSession, tmp_path: Path) -> None:
    """Of names in any order, drawn from more links than are counted."""
    rng = np.random.default_rng(0)
    drawn = rng.integers((30, 3, 30), size=(300, 3)).tolist()
    rows = sorted({(f"é{s}" if s % 3 else f"e{s}", f"r{p}", f"e{o}") for s, p, o in drawn})
    columns = zip(*(rows[i] for i in rng.permutation(len(rows))), strict=True)
    names = ("subject", "predicate", "object")
    table = pa.table(dict(zip(names, map(list, columns), strict=True)))
    pq.write_table(table, tmp_path / "facts.parquet")
    rules = tmp_path / "rules.txt"
    rules.write_text(
        "9\t3\t0.3\tr0(X,Y) <= r1(X,A), r2(A,Y)\n"
        "9\t3\t0.3\tr0(X,Y) <= r0(X,A), r0(Y,A)\n"
        "9\t3\t0.3\tr2(X,Y) <= r1(X,Y)\n"
    )
    chosen = GraphSettings(ridge=False, extent=Extent(counted=40, hidden=1))
    facts = hb.read_facts(tmp_path / "facts.parquet")
    expected = learn_graph(facts, rules=rules, settings=chosen, max_length=2)
    database = Spark(spark.newSession(), str(tmp_path / "tables"))
    engine = spark_engine_over(database, [str(tmp_path / "facts.parquet")])
    model = learn_graph(engine, rules=rules, settings=chosen, max_length=2)
    found = [[(r.clause, r.hits, r.predicted) for r in part.rules] for part in model.relations]
    assert found == [
        [(r.clause, r.hits, r.predicted) for r in part.rules] for part in expected.relations
    ]
    assert sum(hits for some in found for _, hits, _ in some) > 0
    assert (model.features, model.chosen["held_out"]) == (("best",), "none")
    with pytest.raises(InputError, match="give `rules`"):
        learn_graph(engine)
    with pytest.raises(InputError, match="`valid`"):
        learn_graph(engine, facts, rules=rules)
