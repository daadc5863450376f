"""`--engine duckdb` and `--engine spark` as a user calls them: the same answers, clear refusals."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import hornbeam as hb
from hornbeam.counting.sql import spark_session
from hornbeam.facts.reading.sources import literal
from tests.support.commands import (
    COUNTRIES,
    EVIDENCE,
    TEST,
    TRAIN,
    command,
    hornbeam_,
    listing,
    write,
)
from tests.support.synthetic import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIRS = ("--pairs", COUNTRIES / "fold0" / "test.tsv")
LIMITS = ("--engine", "duckdb", "--memory-limit", "200MB")


def rows_of(path: Path) -> list[tuple[str, str, str, float]]:
    """Rows of a Parquet file or folder, in order."""
    place = path / "*.parquet" if path.is_dir() else path
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM read_parquet({literal(str(place))})")
        return found.fetchall()


def as_parquet(folder: Path) -> Path:
    """The countries' facts in one Parquet file."""
    files = [COUNTRIES / "observed.tsv", COUNTRIES / "fold0" / "obs.tsv"]
    path = folder / "facts.parquet"
    with duckdb.connect() as connection:
        text = "read_csv(?, delim='\t', header=false, quote='', all_varchar=true)"
        connection.execute(
            "CREATE TABLE t AS SELECT column0 AS subject, column1 AS predicate, column2 AS object "
            f"FROM {text}",
            [[str(file) for file in files]],
        )
        connection.execute(f"COPY t TO {literal(str(path))} (FORMAT parquet)")
    return path


@pytest.mark.parametrize("method", ["joint", "ppll"])
@pytest.mark.slow
def test_the_same_model(tmp_path: Path, scratch: Path, method: str) -> None:
    one, two = tmp_path / "memory.psl", tmp_path / "duckdb.psl"
    common = (*EVIDENCE, *TRAIN, "--method", method, "--quiet")
    assert hornbeam_("learn", *common, "-o", one).code == 0
    ended = hornbeam_("learn", *common, "-o", two, *LIMITS, "--spill-dir", tmp_path)
    assert ended.code == 0, ended.stderr
    assert one.read_text() == two.read_text()
    assert listing(scratch) == []
    assert listing(tmp_path) == ["duckdb.psl", "duckdb.trace.json", "memory.psl",
                                 "memory.trace.json"]  # fmt: skip


@pytest.mark.slow
def test_the_same_candidates_and_evaluation(countries_model: Path) -> None:
    for words in (
        ("candidates", *EVIDENCE, *TRAIN),
        ("evaluate", countries_model, *EVIDENCE, *TEST),
        ("predict", countries_model, *EVIDENCE, *PAIRS),
    ):
        one, two = (hornbeam_(*words, "--json", *more).json for more in ((), LIMITS))
        for answer in (one, two):
            answer.pop("seconds", None)
            answer.pop("found", None)  # rare ones are not followed to their end
        assert same(one, two)


def same(one: Any, two: Any) -> bool:  # noqa: ANN401
    """Whether two answers are the same, floats to nine digits: shares are sums of floats."""
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(one == pytest.approx(two, rel=1e-9)) if isinstance(one, float) else one == two


@pytest.mark.slow
def test_a_pruned_search_does_not_say_how_many_there_were() -> None:
    ended = hornbeam_("candidates", *EVIDENCE, *TRAIN, *LIMITS)
    assert ended.code == 0
    assert "bodies kept" in ended.stdout
    assert hornbeam_("candidates", *EVIDENCE, *TRAIN, *LIMITS, "--json").json["found"] is None


@pytest.mark.slow
def test_scores_go_to_parquet(countries_model: Path, tmp_path: Path, scratch: Path) -> None:
    output = tmp_path / "it's scores.parquet"
    words = ("predict", countries_model, *EVIDENCE, *PAIRS)
    ended = hornbeam_(*words, *LIMITS, "-o", output)
    assert (ended.code, ended.stdout) == (0, ""), ended.stderr
    rows = rows_of(output)
    expected = hornbeam_(*words, "--json").json["predictions"]
    assert same([list(row) for row in rows], [list(row.values()) for row in expected])
    assert listing(tmp_path) == [output.name]
    assert listing(scratch) == []


@pytest.mark.slow
def test_scores_in_blocks_are_the_same(countries_model: Path, tmp_path: Path) -> None:
    from hornbeam.counting.sql.duckdb_engine import duckdb_engine
    from hornbeam.scoring.scored_links import scored_batches

    facts = hb.read_facts(COUNTRIES / "observed.tsv", COUNTRIES / "fold0" / "obs.tsv")
    pairs = hb.read_pairs(COUNTRIES / "fold0" / "test.tsv")
    model = hb.Model.load(countries_model)
    parts = scored_batches(duckdb_engine(facts), model, pairs, block=50)
    found = [score for part in parts for score in part["score"].tolist()]
    assert found == pytest.approx(model.predict(facts, pairs)["score"].tolist(), rel=1e-9)


@pytest.mark.slow
def test_parquet_that_cannot_be_written_is_refused(countries_model: Path, tmp_path: Path) -> None:
    missing = tmp_path / "none" / "scores.parquet"
    ended = hornbeam_("predict", countries_model, *EVIDENCE, *PAIRS, *LIMITS, "-o", missing)
    assert ended.code == 2
    assert "does not exist" in ended.stderr
    names = write(tmp_path / "names.tsv", [("peru", "Peru")])
    words = (*PAIRS, *LIMITS, "--names", names, "-o", tmp_path / "scores.parquet")
    ended = hornbeam_("predict", countries_model, *EVIDENCE, *words)
    assert ended.code == 2
    assert "--engine duckdb writes Parquet without --names" in ended.stderr
    assert listing(tmp_path) == ["names.tsv"]


def refused(*words: object) -> str:
    """What a command that must be refused says."""
    ended = hornbeam_(*words)
    assert ended.code == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--memory-limit", "2GB"), "--memory-limit is for --engine duckdb"),
        (("--engine", "duckdb", "--master", "local"), "--master is for --engine spark"),
        (("--spill-dir", "."), "--spill-dir is for --engine duckdb or spark"),
        (("--engine", "spark", "--master", "yarn"), "on a cluster give --spill-dir"),
        (("--engine", "duckdb", "--memory-limit", "much"), "expected a size such as 2GB"),
        (("--engine", "duckdb", "--spill-dir", "/no/such/folder"), "is not a folder"),
        (("--engine", "duckdb", "--memory-limit", "1KB"), "--memory-limit"),
        (("--engine", "spark", "--spark-conf", "memory"), "expected spark.KEY=VALUE"),
        (("--engine", "spark", "--master", "here"), "expected local[N], spark://HOST:PORT"),
        (("--engine", "spark", "--master", "spark://host"), "expected HOST:PORT"),
        (("--engine", "oracle"), "oracle"),
    ],
)
def test_wrong_options(more: tuple[str, ...], said: str, scratch: Path) -> None:
    assert said in refused("candidates", *EVIDENCE, *TRAIN, *more)
    assert listing(scratch) == []


@pytest.mark.slow
def test_wrong_files(tmp_path: Path, scratch: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and no more")
    half = tmp_path / "half.parquet"
    half.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    columns = tmp_path / "columns.parquet"
    database = tmp_path / "two.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS x) TO '{columns}' (FORMAT parquet)")
        connection.execute(f"ATTACH '{database}' AS d")
        connection.execute(
            "CREATE TABLE d.one AS SELECT 1 AS a; CREATE TABLE d.two AS SELECT 1 AS a"
        )
    no_database = tmp_path / "none.duckdb"
    no_database.write_text("not a database")
    for file, said in (
        (broken, "no Parquet file"),
        (half, "cannot be read"),
        (columns, "expected columns subject, predicate, object"),
        (database, "expected one table, or one called facts; found one, two"),
        (no_database, "no DuckDB file"),
        (tmp_path / "missing.parquet", "no such file"),
        (write(tmp_path / "lines.tsv", [("a", "p", "b"), ("a",)]), "line 2"),
    ):
        text = refused("candidates", "--facts", file, *TRAIN, *LIMITS)
        assert said in text
        assert str(file) in text
    assert listing(scratch) == []


@pytest.mark.slow
def test_what_needs_the_facts_in_memory(countries_model: Path, tmp_path: Path) -> None:
    output = tmp_path / "model.psl"
    learn = ("learn", *EVIDENCE, "--target", "located_in", "-o", output, *LIMITS)
    assert "give --labels" in refused(*learn)
    assert "give --pairs" in refused("predict", countries_model, *EVIDENCE, *LIMITS)
    assert listing(tmp_path) == []


@pytest.mark.slow
def test_names_never_reach_sql(tmp_path: Path) -> None:
    """Names that would end a statement are names like any other."""
    evil = "x'; DROP TABLE facts; --"
    facts = write(tmp_path / "facts.tsv", [(evil, '"p"; --', "b"), ("b", "q'", 'c"')])
    labels = write(tmp_path / "labels.tsv", [(evil, "t'; --", 'c"', 1), (evil, "t'; --", "b", 0)])
    words = ("candidates", "--facts", facts, "--labels", labels, "--min-coverage", "1", "--json")
    one, two = (hornbeam_(*words, *more).json for more in ((), LIMITS))
    assert one["candidates"] == two["candidates"] != []


def test_spark_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornbeam.counting.sql.spark_session.find_spec", lambda name: None)
    text = refused("candidates", *EVIDENCE, *TRAIN, "--engine", "spark")
    assert "pip install 'hornbeam[spark]'" in text


pyspark = pytest.mark.skipif(find_spec("pyspark") is None, reason="pip install 'hornbeam[spark]'")


def fake_java(folder: Path, said: str) -> Path:
    """A Java home whose java says something."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.slow
@pyspark
def test_no_java_and_wrong_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("candidates", *EVIDENCE, *TRAIN, "--engine", "spark")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no Java was found: install Java 17" in refused(*words)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "has no bin/java" in refused(*words)
    fake_java(tmp_path, 'openjdk version "11.0.2" 2019-01-15')
    assert "needs Java 17 or newer, and" in refused(*words)
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'java version \"1.8.0_402\"' >&2\n")
    assert "is 8: install Java 17" in refused(*words)


@pyspark
@pytest.mark.java
def test_a_master_that_does_not_answer(java: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "CONNECT_SECONDS", 1.0)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        words = ("--engine", "spark", "--master", f"spark://127.0.0.1:{port}")
        text = refused("candidates", *EVIDENCE, *TRAIN, *words)
    assert f"the Spark master spark://127.0.0.1:{port} does not answer" in text


@pyspark
def test_learning_and_scoring_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """The same model, the same scores; Spark runs already, starting it is for other tests."""
    from tests.support.sparks import given_for_started

    facts = as_parquet(tmp_path)
    model, scores = tmp_path / "model.psl", tmp_path / "scores.parquet"
    in_memory, short = tmp_path / "memory.psl", ("--max-length", "2", "--method", "ppll")
    assert hornbeam_("learn", *EVIDENCE, *TRAIN, *short, "-o", in_memory).code == 0
    small = ("--spark-conf", "spark.sql.shuffle.partitions=2")
    engine = ("--facts", facts, "--engine", "spark", "--master", "local[2]", *small)
    with given_for_started(spark) as asked:
        learned = hornbeam_("learn", *engine, *TRAIN, *short, "-o", model, "--json")
        assert learned.json["rules"]
        assert model.read_text() == in_memory.read_text()
        predicted = hornbeam_("predict", model, *engine, *PAIRS, "-o", scores, "--quiet")
    assert predicted.code == 0, predicted.stderr
    settings = [(master, conf["spark.sql.shuffle.partitions"]) for master, conf in asked]
    assert settings == [("local[2]", "2")] * 2
    expected = hornbeam_("predict", in_memory, *EVIDENCE, *PAIRS, "--json").json
    found = sorted(rows_of(scores))
    predictions = sorted(tuple(row.values()) for row in expected["predictions"])
    assert [row[:3] for row in found] == [row[:3] for row in predictions]
    # a cluster adds the rules of a pair in the order in which its tasks end
    assert [row[3] for row in found] == pytest.approx([row[3] for row in predictions], rel=1e-12)


@pytest.fixture
def lonely_master(java: str) -> Iterator[str]:
    """A real master of a Spark cluster that has no workers."""
    package = find_spec("pyspark")
    assert package is not None
    assert package.origin is not None
    starter = Path(package.origin).parent / "bin" / "spark-class"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = ["--host", "127.0.0.1", "--port", port, "--webui-port", "0"]
    master = subprocess.Popen(
        [str(starter), "org.apache.spark.deploy.master.Master", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
    )
    try:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", int(port)), timeout=1):
                break
            time.sleep(0.1)
        yield f"spark://127.0.0.1:{port}"
    finally:
        master.kill()
        master.wait()


@pyspark
@pytest.mark.java
@pytest.mark.xdist_group("cluster")  # early: it takes long
def test_a_master_without_workers(lonely_master: str, tmp_path: Path) -> None:
    """The master takes the application and never runs it: the wait has an end, and a reason."""
    impatient = (
        "import sys; from hornbeam.counting.sql import spark_session; "
        "spark_session.FIRST_JOB_SECONDS = 2.0; from hornbeam.cli.main import run; sys.exit(run())"
    )
    words = ("--engine", "spark", "--master", lonely_master, "--spill-dir", tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", impatient, "candidates", "--facts", str(as_parquet(tmp_path))]
        + [str(word) for word in (*TRAIN, *words, "--spark-conf", "spark.driver.host=127.0.0.1")],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
        check=False,
    )
    assert done.returncode == 2, done.stderr[-3000:]
    assert f"the Spark master {lonely_master} gives no workers" in done.stderr
    assert "Traceback" not in done.stderr
    assert listing(tmp_path) == ["facts.parquet"]


@pytest.fixture
def small_disk(tmp_path: Path) -> tuple[Path, list[str]]:
    """A folder, and what runs a command while half a megabyte of disk is there, then lists it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    small = 'mount -t tmpfs -o size=512k tmpfs "$0" && { "$@"; code=$?; ls -A "$0"; exit $code; }'
    within = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", small, str(disk)]
    if shutil.which("unshare") is None or subprocess.run([*within, "true"], check=False).returncode:
        pytest.skip("this system gives a test no file system of its own")
    return disk, within


@pytest.mark.java
@pytest.mark.parametrize(
    "engine", [("duckdb", "--memory-limit", "60MB"), pytest.param(("spark",), marks=pyspark)]
)
def test_a_disk_that_fills_up(
    engine: tuple[str, ...], java: str, tmp_path: Path, small_disk: tuple[Path, list[str]]
) -> None:
    facts, labels, (disk, within) = tmp_path / "facts.parquet", tmp_path / "labels.tsv", small_disk
    write_parquet(facts, 60_000, 2000, 4)
    names = [f"e{number:04d}" for number in range(2000)]
    rows = (f"{a}\tt\t{b}\t{i % 2}\n" for i, (a, b) in enumerate(pairwise(names)))
    labels.write_text("".join(rows))
    words = ("--facts", facts, "--labels", labels, "--spill-dir", disk, "--engine", *engine)
    done = subprocess.run(
        [*within, *command("candidates", *words, "--json")],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == 2, done.stderr[-3000:]
    assert "the spill directory: is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "", "nothing is printed, and nothing left behind"
