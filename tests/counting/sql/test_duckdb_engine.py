"""What is particular to DuckDB: facts that stay on disk, limits of memory, what is left behind."""

from __future__ import annotations

import gc
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import read_facts, read_labels
from hornbeam.counting import discover
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.opening import open_engine
from hornbeam.counting.sql.duckdb_engine import DuckDB, duckdb_engine, open_duckdb, size_in_bytes
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import DataError, InputError
from hornbeam.facts.reading.sources import literal
from hornbeam.facts.reading.workspace import resource_error
from hornbeam.facts.table import ONE
from hornbeam.rules.body import Body, Step
from hornbeam.rules.candidates import RuleLimits
from tests.support.engine_contract import figures_of, rows_of
from tests.support.synthetic import planted, random_facts
from tests.support.worlds import (
    CLASSES,
    SOFT,
    World,
    entities_of,
    renamed,
    rich_languages,
    worlds,
)


def same(one: Statistics | None, other: Statistics | None) -> bool:
    """Whether two tables are the same, number by number."""
    assert one is not None
    assert other is not None
    parts = ("indptr", "target", "count")
    return all(np.array_equal(getattr(one, p), getattr(other, p)) for p in parts)


def triples(world: World) -> list[tuple[str, str, str, float]]:
    return [(*fact, value / ONE) for fact, value in world.values.items()]


#: What constants of anchored conditions may be called.
STRANGE = ["'; DROP TABLE facts; --", '"', "''", "B", "NULL", " a ", "é", "😀", "\\", "1.0"]


@pytest.mark.slow
@given(worlds(SOFT, classes=CLASSES), rich_languages(), st.permutations(STRANGE))
@settings(max_examples=25)
def test_stored_facts_are_those_in_memory(
    world: World, language: RuleLimits, names: list[str]
) -> None:
    """Through DuckDB's own reading, with every fact given twice and one of value 0."""
    world = renamed(world, dict(zip(entities_of(world), names, strict=False)))
    world = replace(world, unary=dict.fromkeys(world.unary, ONE))
    inputs: list[list[tuple[object, ...]]] = [[*triples(world), *triples(world)]]
    inputs[0].append((next(iter(world.values))[0], "zero", "zero", 0.0))
    if world.unary:
        inputs.append([*world.unary])
    expected = MemoryEngine(read_facts(*inputs)).discover(world.targets, language)
    with open_duckdb(*inputs) as engine:
        found = engine.discover(world.targets, language)
        assert figures_of(found) == figures_of(expected)
        assert [c.text for c in found.candidates] == [c.text for c in expected.candidates]
        bodies = [candidate.body for candidate in found.candidates]
        counted = engine.count(world.targets, bodies, language)
    assert found.statistics is not None
    assert expected.statistics is not None
    for table in (found.statistics, counted):
        assert rows_of(table) == rows_of(expected.statistics)
        if expected.statistics.share is not None:
            assert table.share is not None
            assert table.share.sum() == pytest.approx(expected.statistics.share.sum(), rel=1e-9)


def test_facts_of_value_zero_count_in_no_degree() -> None:
    """Each step of a -> x -> b is the only one at both of its ends."""
    rows = [("a", "p", "x", 1.0), ("x", "q", "b", 0.5)]
    absent = [
        ("a", "p", "y", 0.0),
        ("y", "p", "x", 0.0),
        ("x", "q", "y", 0.0),
        ("y", "q", "b", 0.0),
    ]
    labels, language = read_labels([("a", "t", "b", 1.0)]), RuleLimits(2, 1, shares=True)
    body = Body((Step("p"), Step("q")), "t")
    with open_duckdb([*rows, *absent]) as stored:
        for engine in (MemoryEngine(read_facts([*rows, *absent])), stored):
            counted = engine.count(labels, [body], language)
            assert counted.share is not None
            assert counted.share.tolist() == pytest.approx([1.0])
            assert engine.count(labels, [body], replace(language, shares=False)).share is None


@pytest.mark.slow
def test_facts_from_several_kinds_of_input(tmp_path: Path) -> None:
    parquet, text = tmp_path / "it's.parquet", tmp_path / "more.tsv"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS s, 'p' AS p, 'b' AS o")
        connection.execute(f"COPY t TO {literal(str(parquet))} (FORMAT parquet)")
        stored = tmp_path / "facts.duckdb"
        connection.execute(f"ATTACH {literal(str(stored))} AS stored")
        connection.execute("CREATE TABLE stored.triples AS SELECT 'c' AS s, 'q' AS p, 'd' AS o")
    text.write_text("b\tq\tc\n")
    labels = read_labels([("a", "t", "d", 1.0)])
    for inputs in ([parquet, text, stored], [stored, parquet, text]):
        with open_duckdb(*inputs) as engine:
            found = discover(engine, labels, RuleLimits(3, 1))
        assert [c.text for c in found.candidates] == ["p(A, B) & q(B, C) & q(C, D) -> t(A, D)"]
        assert figures_of(discover(read_facts(*inputs), labels, RuleLimits(3, 1))) == (
            figures_of(found)
        )


@pytest.mark.slow
def test_little_memory_spills_and_changes_nothing(tmp_path: Path) -> None:
    """The counts alone take many times the limit."""
    data = planted(n_entities=3000, n_facts=60_000, n_targets=2000, skew=0.4, seed=1)
    language = RuleLimits(3, 1)
    expected = MemoryEngine(data.facts).discover(data.labels, language)
    names = data.facts.entities
    atoms = data.facts.binary
    rows = [
        (names[s], data.facts.predicates[p], names[o])
        for s, p, o in zip(*(c.tolist() for c in (atoms.arguments[0], atoms.predicate,
                                                  atoms.arguments[1])), strict=True)
    ]  # fmt: skip
    spilled = 0
    with open_duckdb(rows, memory_limit="100MB", spill_dir=tmp_path, threads=2) as engine:

        class Watching(DuckDB):
            """Looks how much lies in the folder after every table."""

            def create(self, table: str, select: str) -> None:
                nonlocal spilled
                super().create(table, select)
                sizes = (file.stat().st_size for file in tmp_path.rglob("*.tmp"))
                spilled = max(spilled, sum(sizes))

        assert isinstance(engine.database, DuckDB)
        found = type(engine)(Watching(engine.database.connection), engine.predicates, engine.soft)
        discovery = found.discover(data.labels, language)
    assert figures_of(discovery) == figures_of(expected)
    assert same(discovery.statistics, expected.statistics)
    assert spilled > 0, "nothing was spilled: the limit is no limit for this search"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE)])
    engine = duckdb_engine(world.facts)
    engine.discover(world.targets, RuleLimits(1, 1))
    del engine
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    broken = [*triples(world), ("a", "p", "b", 0.5)]
    with pytest.raises(DataError), open_duckdb(broken):
        pytest.fail("opened")
    assert list(tmp_path.iterdir()) == []
    with open_duckdb(triples(world)):
        assert list(tmp_path.iterdir()) != []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", ["2", "GB", "-2GB", "2 XB", "0GB", "", "'; DROP TABLE facts; --"])
def test_sizes_that_are_none(size: str) -> None:
    with pytest.raises(InputError, match="expected a size such as 2GB"):
        size_in_bytes(size)


def test_sizes() -> None:
    assert size_in_bytes("1.5gb") == 1_500_000_000
    assert size_in_bytes("4 MiB") == 4 << 20


def test_wrong_folders(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder in (tmp_path / "none", file):
        with (
            pytest.raises(InputError, match="is not a folder that can be written to"),
            open_duckdb([("a", "p", "b")], spill_dir=folder),
        ):
            pytest.fail("opened")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([("a", "p", "b", 1.5)], "row 1: .*between 0 and 1|row 1"),
        ([("a", "p", "b", 0.5), ("a", "p", "b", 0.7)], "row 2"),
        ([("a", "p", "")], "row 1"),
        ([], "has no rows"),
    ],
)
def test_wrong_facts(rows: list[tuple[object, ...]], problem: str) -> None:
    with pytest.raises(DataError, match=problem), open_duckdb(rows):
        pytest.fail("opened")


def test_a_limit_too_small_says_so() -> None:
    with (
        pytest.raises(DataError, match=r"`memory_limit`|`spill_dir`"),
        open_duckdb([("a", "p", "b")], memory_limit="1KB"),
    ):
        pytest.fail("opened")


def test_a_full_disk_says_so(tmp_path: Path) -> None:
    """DuckDB counts what it spills; a folder that takes nothing is a full one."""
    facts = random_facts(2000, 40_000, 4, seed=2)
    engine = duckdb_engine(facts)
    assert isinstance(engine.database, DuckDB)
    connection = engine.database.connection
    connection.execute("SET memory_limit = '60MB'")
    connection.execute("SET max_temp_directory_size = '1MB'")
    data = planted(n_entities=2000, n_facts=40_000, n_targets=3000, seed=2)
    with pytest.raises(DataError, match="the spill directory: is full"):
        engine.discover(data.labels, RuleLimits(3, 1))


def test_a_device_without_space_is_a_full_disk() -> None:
    error = duckdb.IOException('Could not write file "x.tmp": No space left on device')
    assert "is full" in str(resource_error(error))
    assert resource_error(duckdb.ParserException("syntax")) is None


def test_engines_by_name() -> None:
    world = World({("a", "p", "b"): ONE}, [(("a", "t", "b"), ONE)])
    engine = open_engine(world.facts, "duckdb", threads=1)
    assert open_engine(engine) is engine
    assert len(engine.discover(world.targets, RuleLimits(1, 1)).candidates) == 1
    with pytest.raises(InputError, match="unknown `engine` 'none'"):
        open_engine(world.facts, "none")
