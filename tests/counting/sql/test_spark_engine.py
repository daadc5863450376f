"""What only Spark can get wrong; that it finds the same integers stands in the contract."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pip install 'hornbeam[spark]'")

from pyspark.sql import SparkSession

from hornbeam.base.arrays import Array
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.sql.spark_engine import Spark, broadcast_rows
from hornbeam.counting.sql.spark_reading import SparkInputs, spark_engine_over
from hornbeam.counting.sql.sql_engine import SqlEngine, fact_columns
from hornbeam.errors import DataError, InputError
from hornbeam.facts.names import Names
from hornbeam.facts.reading.entity_tables import EntityTables, TableFile
from hornbeam.facts.reading.readers import Input, read_facts
from hornbeam.facts.reading.sources import literal
from hornbeam.facts.table import Facts
from hornbeam.graph.adjacency import with_projections
from hornbeam.rules.candidates import RuleLimits
from tests.support.brute_force import ONE
from tests.support.worlds import CLASSES, World, many_worlds

pytestmark = pytest.mark.java


@pytest.mark.parametrize(
    ("settings", "gigabytes"),
    [
        ({"master": "local[2]"}, 1 / 8),
        ({"master": "local[2]", "driver.memory": "8g"}, 1),
        ({"master": "local[2]", "driver.memory": "16g"}, 1),  # what may be collected at once
        ({"master": "local[2]", "driver.memory": "16g", "driver.maxResultSize": "0g"}, 2),
        ({"master": "yarn", "driver.memory": "16g"}, 1 / 8),
        ({"master": "yarn", "executor.memory": "16g"}, 1 / 8),
        ({"master": "yarn", "driver.memory": "4g", "executor.memory": "16g"}, 1 / 2),
    ],
)
def test_the_poorest_says_what_everyone_gets(settings: dict[str, str], gigabytes: float) -> None:
    named = {f"spark.{name}": value for name, value in settings.items()}
    found = broadcast_rows(named, lambda text: int(text.removesuffix("g")) * 2**30)
    assert found == gigabytes * 2**30 / 64


def test_the_session_knows_its_memory(spark: SparkSession) -> None:
    assert Spark(spark, "nowhere").broadcast_rows == 2**30 // 8 // 64


def parquet(world: World, path: Path) -> str:
    """The facts in a Parquet file, each twice."""
    rows = [(*fact, value / ONE) for fact, value in world.values.items()]
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t (subject TEXT, predicate TEXT, object TEXT, value DOUBLE)"
        )
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows + rows)
        connection.execute(f"COPY t TO {literal(str(path))} (FORMAT parquet)")
    return str(path)


def unary_parquet(world: World, path: Path) -> str:
    """The unary facts in a Parquet file, all of them true."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (subject TEXT, predicate TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(world.unary))
        connection.execute(f"COPY t TO {literal(str(path))} (FORMAT parquet)")
    return str(path)


def check_tables(engine: SqlEngine, facts: Facts) -> None:
    """Hold the tables of an engine to facts that were read in memory: the same names, by ids."""
    edges = with_projections(facts)
    assert list(engine.predicates) == list(edges.predicates)
    assert engine.not_binary == facts.not_binary
    assert engine.soft == edges.soft
    named = engine.database.fetch("SELECT name, id FROM entity_ids ORDER BY id")
    assert named["name"].tolist() == list(facts.entities)
    assert named["id"].tolist() == list(range(len(facts.entities)))
    for table, arity in (("facts", 2), ("unary_facts", 1)):
        columns = fact_columns(edges, arity)
        found = engine.database.fetch(f"SELECT {', '.join(columns)} FROM {table}")
        assert sorted(rows(found)) == sorted(rows(columns))


def rows(columns: Mapping[str, Array]) -> Iterator[tuple[int, ...]]:
    """Rows of a table of integers."""
    return zip(*(column.tolist() for column in columns.values()), strict=True)


def test_facts_from_files_of_all_kinds(spark: SparkSession, tmp_path: Path) -> None:
    """Names become ids on the executors, the same as in memory, and what is stored goes again.

    Parquet files have some of the facts, TSV and gzipped CSV others, and N-Triples their own.
    """
    world = many_worlds(20, soft=True, seed=9, classes=CLASSES)
    facts = list(world.values.items())
    lines = [(*fact, str(value / ONE)) for fact, value in facts]
    texts = {
        "facts.tsv": "".join("\t".join(line) + "\n" for line in lines[1::3]).encode(),
        "facts.csv.gz": gzip.compress(
            "".join(",".join(line) + "\n" for line in lines[2::3]).encode()
        ),
        "facts.nt": "".join(f"<x:{a}> <x:{p}> <x:{b}> .\n" for a, p, b, _ in lines).encode(),
    }
    for name, data in texts.items():
        (tmp_path / name).write_bytes(data)
    files = [
        parquet(replace(world, values=dict(facts[::3])), tmp_path / "it's a file.parquet"),
        unary_parquet(world, tmp_path / "classes.parquet"),
        *(str(tmp_path / name) for name in texts),
    ]
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "t.csv").write_text("id,near,size\nu,v,1.5\nw,,2\n")
    table = EntityTables((TableFile.of(tmp_path / "t.csv", "id"),), types={"size": "number"})
    inputs: list[Input] = [*files, table]
    given = SparkInputs.of(inputs)
    database = Spark(spark.newSession(), str(work))
    numbers = [("nobody else", "year", 1990), (facts[0][0][0], "year", 1991), ("~", "size", 0.5)]
    engine = spark_engine_over(
        database, given.own, given.to_parquet(str(work), numbers=numbers, dates=None)
    )
    known = read_facts(*inputs, numbers=numbers)
    check_tables(engine, known)
    for name in ("attribute", "entity", "value"):
        assert np.array_equal(getattr(engine.numbers, name), getattr(known.numbers, name))
    asked = Names.of(["nobody", facts[0][0][0], facts[-1][0][2]])
    names, places = engine.named(engine.locate(asked))
    found = [names[i] if i >= 0 else "nobody" for i in places.tolist()]
    assert found == list(asked)
    assert any(work.iterdir())
    database.close()
    assert not work.exists()


@pytest.mark.parametrize(
    ("select", "problem"),
    [
        ("SELECT 'a' AS subject, 'p' AS predicate, 'b' AS object, 1.5 AS value", "outside"),
        ("SELECT 'a' AS subject, 'p' AS predicate, '' AS object", "as a name"),
        ("SELECT 'a' AS subject, NULL::TEXT AS predicate, 'b' AS object", "as a name"),
        ("SELECT 'a' AS subject, 'p' AS predicate, ['b'] AS object", "expected text or integers"),
        ("SELECT 'a' AS subject, 'b' AS object", "expected columns"),
        ("SELECT 'a' AS subject", "expected columns"),
        (
            "SELECT 'a' AS subject, 'p' AS predicate, 'b' AS object, v AS value "
            "FROM (VALUES (0.5), (1.0)) AS x(v)",
            "two truth values",
        ),
        ("SELECT 'a' AS subject, '' AS predicate", "as a name"),
    ],
)
def test_wrong_facts(spark: SparkSession, tmp_path: Path, select: str, problem: str) -> None:
    file = tmp_path / "facts.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{file}' (FORMAT parquet)")
    with pytest.raises(DataError, match=problem):
        spark_engine_over(Spark(spark.newSession(), str(tmp_path / "work")), [str(file)])


def test_facts_of_any_number_of_arguments(spark: SparkSession, tmp_path: Path) -> None:
    """Triples, unary facts and tables of one predicate, with the edges that rules walk."""
    rng = np.random.default_rng(3)

    def drawn(n: int, size: int) -> list[tuple[str, ...]]:
        return [tuple(f"e{i}" for i in row) for row in rng.integers(6, size=(n, size)).tolist()]

    tables: dict[str, list[tuple[object, ...]]] = {
        "triples": [(s, "p", o) for s, o in drawn(8, 2)],
        "unary": [(e, "u", 0.5 + i / 20) for i, e in enumerate(dict.fromkeys(drawn(5, 1)))],
        "ta=ternary": [*drawn(9, 3)] * 2,
        "r=four": [*drawn(4, 4)],
        "v=one": [*drawn(3, 1)],
    }
    header = {"triples": ["subject", "predicate", "object"], "unary": ["head", "relation", "truth"]}
    inputs = []
    for name, listed in tables.items():
        file = tmp_path / f"{name.partition('=')[2] or name}.parquet"
        cells = [tuple(c[0] if isinstance(c, tuple) else c for c in row) for row in listed]
        names = header.get(name, [f"c{i}" for i in range(len(cells[0]))])
        pq.write_table(pa.table(dict(zip(names, zip(*cells, strict=True), strict=True))), file)
        inputs.append(f"{name.partition('=')[0]}={file}" if "=" in name else str(file))
    engine = spark_engine_over(Spark(spark.newSession(), str(tmp_path / "work")), inputs)
    assert engine.not_binary == {"u": 1, "ta": 3, "r": 4, "v": 1}
    check_tables(engine, read_facts(*inputs))


def test_another_number_of_arguments(spark: SparkSession, tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.parquet"), str(tmp_path / "two.parquet")
    pq.write_table(pa.table({"subject": ["x"], "predicate": ["p"]}), one)
    pq.write_table(pa.table({"subject": ["x"], "predicate": ["p"], "object": ["y"]}), two)
    database = Spark(spark.newSession(), str(tmp_path / "work"))
    for inputs in ([one, two], [two, f"p={two}"]):
        with pytest.raises(DataError, match=r"'p' has . arguments in some facts and . in others"):
            spark_engine_over(database, inputs)


def test_facts_that_are_not_there(spark: SparkSession, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 is not all PAR1")
    database = Spark(spark.newSession(), str(tmp_path / "work"))
    for name in (str(tmp_path / "none.parquet"), str(broken), "no_such_table"):
        with pytest.raises(DataError, match="cannot be read"):
            spark_engine_over(database, [name])
    with pytest.raises(InputError, match="no facts given"):
        spark_engine_over(database, [])


def test_results_are_the_old_or_the_new_ones(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever ends a run between two of Spark's writes."""
    database = Spark(spark.newSession(), str(tmp_path / "work"))
    place = tmp_path / "scores.parquet"

    def batches(numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        for number in numbers:
            if number < 0:
                raise KeyboardInterrupt
            yield {"score": np.array([float(number)])}

    database.write_parquet(str(place), batches([1, 2]))
    with pytest.raises(KeyboardInterrupt):
        database.write_parquet(str(place), batches([3, -1]))
    assert sorted(pq.read_table(place)["score"].to_pylist()) == [1.0, 2.0]
    database.write_parquet(str(place), batches([4]))
    assert pq.read_table(place)["score"].to_pylist() == [4.0]
    assert [path.name for path in tmp_path.iterdir()] == [place.name]


@pytest.mark.xdist_group("cluster")  # early: it takes long
def test_a_killed_executor_changes_nothing(java: str, tmp_path: Path) -> None:
    """Two executors in processes of their own; one is killed between two levels of the search."""
    world = many_worlds(5, soft=False, seed=5)
    file = parquet(world, tmp_path / "facts.parquet")
    script = Path(__file__).parents[2] / "support" / "killed_executor.py"
    command = [sys.executable, str(script), file]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["killed"] == 1
    expected = MemoryEngine(read_facts(file)).discover(world.targets, RuleLimits(2, 1))
    assert report["found"] == [
        [c.text, c.coverage, c.coverage_true, c.paths] for c in expected.candidates
    ]
