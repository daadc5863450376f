"""The database of the last workspace is used again, and nobody can tell."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import DataError
from hornbeam.facts.reading.workspace import Workspace, _is_like_new, workspace


def database_of(space: Workspace) -> int:
    """What tells databases apart: each numbers its connections from one on."""
    ((number,),) = space.connection.execute("SELECT current_connection_id()").fetchall()
    return int(number)


def setting(space: Workspace, name: str) -> object:
    return space.connection.execute("SELECT current_setting(?)", [name]).fetchall()[0][0]


def test_the_next_workspace_starts_from_scratch() -> None:
    with workspace() as space:
        first, threads = database_of(space), setting(space, "threads")
        space.connection.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
        space.connection.register("seen", {"a": np.ones(1)})
        space.connection.execute("SET threads = 1")
        space.connection.execute("SET memory_limit = '256MB'")
        space.connection.execute("SET preserve_insertion_order = false")
        space.connection.execute("SET disabled_optimizers = 'join_filter_pushdown'")
    with workspace() as space:
        assert database_of(space) > first  # the same database, another connection
        assert setting(space, "threads") == threads
        assert setting(space, "memory_limit") == "1.8 GiB"
        assert setting(space, "preserve_insertion_order") is True
        assert setting(space, "disabled_optimizers") == ""
        assert setting(space, "temp_directory") == str(space.folder)
        for name in ("t", "seen"):
            with pytest.raises(duckdb.CatalogException):
                space.connection.execute(f"FROM {name}")


def test_a_database_that_refused_an_input_is_used_again() -> None:
    with workspace() as space:
        first = database_of(space)
    with pytest.raises(DataError):
        hb.read_facts([("a",)])
    with workspace() as space:
        assert database_of(space) > first


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE kept AS SELECT 1", "ATTACH ':memory:' AS other", "spill", "fail"],
)
def test_a_database_with_anything_left_in_it_is_closed(statement: str) -> None:
    try:
        with workspace() as space:
            number = database_of(space)
            if statement == "fail":
                raise KeyError
            if statement == "spill":
                space.connection.execute("SET memory_limit = '20MB'")
                statement = "CREATE TEMP TABLE t AS SELECT hash(range) FROM range(4_000_000)"
            space.connection.execute(statement)
    except KeyError:
        pass
    with workspace() as space:
        assert database_of(space) <= number
        assert space.connection.execute("SELECT * FROM duckdb_tables()").fetchall() == []
        assert setting(space, "memory_limit") == "1.8 GiB"


def test_a_database_that_answers_nothing_more_is_not_kept() -> None:
    # as DuckDB 1.5 is after a row that is no UTF-8: what was refused must still be told
    database = duckdb.connect()
    database.close()
    assert not _is_like_new(database)


def test_workspaces_in_workspaces() -> None:
    with workspace() as outer:
        outer.connection.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
        with workspace() as inner:
            assert inner.folder != outer.folder
            assert setting(outer, "temp_directory") == str(outer.folder)
        assert outer.connection.execute("FROM t").fetchall() == [(1,)]


def test_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    found = []
    for name in ("a", "b"):
        hb.ResultTable({"s": [name], "p": ["p"], "o": ["o"]}).save(path)
        os.utime(path, (1, 1))
        found.append(sorted(hb.read_facts(path).entities))
    assert found == [["a", "o"], ["b", "o"]]


def test_a_forked_process_reads() -> None:
    hb.read_pairs([("a", "p", "b")])
    child = os.fork()
    if child == 0:
        os._exit(len(hb.read_pairs([("a", "p", "b")])))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
