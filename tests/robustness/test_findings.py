"""What attacks have found, each as the command that found it: one message and exit code 2."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.machine import MAX_THREADS, worker_threads
from hornbeam.cli import doctor
from hornbeam.errors import DataError, InputError
from tests.support import small_inputs as small
from tests.support.commands import PATIENCE, command, hornbeam_
from tests.support.small_inputs import PREDICT, PROGRAM

pytestmark = pytest.mark.usefixtures("small_inputs")
LEARN = (*small.LEARN, "-o", "new.psl")
#: A name that no system takes.
LONG = "9" * 400
GRADIENT = (*LEARN, "--method", "ppll", "--min-coverage", "1", "--solver", "gradient")


def _refused(*words: object) -> str:
    before = sorted(os.listdir())
    ended = hornbeam_(*words)
    assert ended.code == 2, ended
    assert "Traceback" not in ended.stderr
    assert sorted(os.listdir()) == before
    return ended.stderr


def test_weights_whose_sum_is_no_number() -> None:
    Path("model.psl").write_text("1e308: p(A, X) & q(X, B) -> t(A, B)\n" * 2 + "1e308: !t(A, B)\n")
    said = "model.psl, line 1, column 1: the weight 1e308 is too large for a number; expected"
    assert said in _refused(*PREDICT)
    assert said in _refused("evaluate", *PREDICT[1:4], "--labels", "labels.tsv")
    assert said in _refused("report", *PREDICT[1:4], "--labels", "labels.tsv", "-o", "r.html")
    Path("program.json").write_text(json.dumps(PROGRAM | {"rules": ["1e308: P(A) -> Q(A)"]}))
    assert "the weight 1e308 is too large" in _refused("infer", "program.json")


@pytest.mark.parametrize("solver", ["auto", "admm", "exact"])
def test_the_smallest_weights(solver: str) -> None:
    rules = ["5e-324: P(A) -> Q(A)", "5e-324: !Q(A) ^2"]
    Path("program.json").write_text(json.dumps(PROGRAM | {"rules": rules}))
    found = hornbeam_("infer", "program.json", "--solver", solver, "--json").json
    assert 0.0 <= found["objective"] < 1e-300


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*LEARN, "--max-fanout", str(2**64)), f"--max-fanout is {2**64}; expected at most"),
        ((*GRADIENT, "--step-size", "1e300"), "--step-size is 1e+300; expected at most 1e+100"),
        ((*GRADIENT, "--step-size", "1e100"), "and the weights diverge"),
        (("infer", "program.json", "--tolerance", "inf"), "--tolerance is inf; expected 0 to"),
        (
            ("weights", "program.json", "-o", "w.psl", "--weight-variance", "nan"),
            "is nan; expected",
        ),
        ((*LEARN, "--engine", "duckdb", "--spill-dir", "/proc"), "/proc"),
        ((*LEARN, "--facts", "loop"), "loop: cannot be read: Too many levels of symbolic links"),
        ((*LEARN, "--facts", "/dev/zero"), "/dev/zero: cannot be read: it holds NUL bytes without"),
        ((*LEARN, "--facts", "bomb.tsv.gz"), "bomb.tsv.gz: cannot be read: it holds NUL bytes"),
    ],
)
def test_odd_options_and_files(words: tuple[str, ...], said: str) -> None:
    Path("loop").symlink_to("loop")
    if "bomb.tsv.gz" in words:
        Path("bomb.tsv.gz").write_bytes(gzip.compress(bytes(40 << 20), 1))
    assert said in _refused(*words)


def test_endless_inputs_are_cut_at_a_limit_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornbeam.facts.reading.workspace.MAX_COPY", 3_000_000)
    Path("long.tsv.gz").write_bytes(gzip.compress(small.FACTS.encode() * 20_000, 1))
    said = "cannot be read: longer than 3 MB, where a pipe or gzipped file is cut"
    assert f"long.tsv.gz: {said}" in _refused(*LEARN, "--facts", "long.tsv.gz")
    os.mkfifo("pipe")
    endless = Thread(target=_write_on, args=("pipe",), daemon=True)
    endless.start()
    assert f"pipe: {said}" in _refused(*LEARN, "--facts", "pipe")
    endless.join(PATIENCE)
    assert not endless.is_alive()


def _write_on(pipe: str) -> None:
    """Write facts as long as somebody reads them."""
    with suppress(BrokenPipeError), open(pipe, "w") as stream:
        while True:
            stream.write(small.FACTS)


@pytest.mark.slow
def test_reports_of_models_that_sql_has_learned() -> None:
    assert hornbeam_(*LEARN, "--min-coverage", "1", "--engine", "duckdb").code == 0
    words = ("new.psl", *PREDICT[2:4], "--labels", "labels.tsv", "-o", "report.html")
    assert hornbeam_("report", *words).code == 0
    assert "</html>" in Path("report.html").read_text()


@pytest.mark.slow
def test_more_threads_than_there_could_be_are_not_started() -> None:
    # DuckDB would try, and the process would end without a word
    words = ("infer", "program.json", "--threads", "2147483648", "--json")
    done = subprocess.run(command(*words), capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0
    assert "objective" in json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("infer", LONG), LONG),
        (("infer", "long.json"), "long.json: 'rules'"),
        (("predict", "model.psl", "--facts", LONG, "--pairs", "labels.tsv"), LONG),
        (("predict", LONG, *PREDICT[2:]), LONG),
        ((*PREDICT, "-o", LONG), LONG),
        ((*small.LEARN, "-o", LONG), LONG),
        ((*small.LEARN, "-o", "9" * 248 + ".psl"), "9" * 248 + ".trace.json: cannot be written"),
        (("export", *PREDICT[1:], "-o", LONG), LONG),
        (("infer", "program.json", "-o", LONG), LONG),
        (("report", *PREDICT[1:4], "--labels", "labels.tsv", "-o", LONG), LONG),
        (("crossval", LONG), LONG),
    ],
)
def test_names_too_long_for_the_system(words: tuple[str, ...], named: str) -> None:
    """The reader or the writer tells, the latter before any work."""
    Path("long.json").write_text(json.dumps(PROGRAM | {"rules": LONG}))
    said = _refused(*words)
    assert "ile name too long" in said
    assert named[:40] in said


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
def test_what_a_machine_lacks_is_told(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornbeam.facts.reading.readers.intern_facts", _failing(number))
    assert os.strerror(number) in _refused(*LEARN)


def test_another_fault_of_the_system_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornbeam.facts.reading.readers.intern_facts", _failing(errno.ENOENT))
    with pytest.raises(FileNotFoundError):
        hornbeam_(*LEARN)


def _failing(number: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number), "a file of ours")

    return fail


def test_what_usage_errors_quote_moves_no_cursor() -> None:
    for words in (
        ("infer", "program.json", "\x1b[31m\u202e"),
        ("\u202einfer",),
        ("infer", "--\u202e"),
    ):
        said = _refused(*words)
        assert "\\u202e" in said
        assert not {"\x1b", "\u202e"} & {*said}


def test_no_memory_is_not_the_fault_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("hornbeam.facts.reading.readers.intern_facts", fail)
    assert "hornbeam: not enough memory" in _refused(*LEARN)


def test_warnings_of_other_libraries_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(*_: object) -> object:
        np.float64(1e308) * np.array([1e308])
        raise InputError("that is all")

    monkeypatch.setattr("hornbeam.facts.reading.readers.intern_facts", overflow)
    assert _refused(*LEARN) == "hornbeam: that is all\n"


@pytest.mark.parametrize(
    "line", ['"a" "b",p,o', '"a"b,p,o', 'a,p,"o', '  "a",p,o', '"a"  ,p,o', '"a,p,o\nb",p,o']
)
def test_quotes_that_csv_does_not_know(line: str) -> None:
    Path("facts.csv").write_text(f"x,p,y\n{line}\n")
    with pytest.raises(DataError, match=r"facts.csv, line 2: a quoted field goes on after"):
        hb.read_facts("facts.csv")
    Path("facts.csv").write_text('x,p,y\n"a","p" , "o"\n"a ""b""",p,o\n')
    assert list(hb.read_facts("facts.csv").entities) == ["a", 'a "b"', "o", "x", "y"]


def test_control_characters_do_not_reach_the_screen() -> None:
    pytest.importorskip("pyoxigraph")
    Path("facts.nt").write_text('<http://a> <http://p> "\\u001B[31mred\\u202E" .\n')
    Path("pairs.tsv").write_text("http://a\tt\tb\n")
    Path("model.psl").write_text("1.0: q(A, B) -> t(A, B)\n")
    ended = hornbeam_("predict", "model.psl", "--facts", "facts.nt", "--pairs", "pairs.tsv")
    assert "\x1b" not in ended.stderr + ended.stdout
    text = str(InputError("a \x1b[31m\u202e and \x07"))
    assert text == "a \\x1b[31m\\u202e and \\x07"


def test_messages_are_short() -> None:
    Path("facts.tsv").write_text(f"a\tp\tb\nc\t{'p' * 100_000}\td\te\n")
    assert len(_refused(*LEARN)) < 500
    assert len(str(InputError("x" * 100_000))) <= 500
    assert len(str(InputError("x " * 100_000))) <= 4000


def test_threads_are_bounded() -> None:
    assert worker_threads(100_000) == MAX_THREADS
    assert hornbeam_(*PREDICT, "--threads", "100000").code == 0


def test_programs_do_not_tell_what_other_files_hold(tmp_path: Path) -> None:
    secret, inside = tmp_path / "secret.txt", tmp_path / "project" / "data" / "mine.txt"
    inside.parent.mkdir(parents=True)
    for file in (secret, inside):
        file.write_text("hidden\tpassword\n")
    program = tmp_path / "project" / "program.json"
    for name, is_shown in (("../secret.txt", False), ("data/mine.txt", True)):
        data = {"P/1": {"observations": [name]}, "Q/1": {"targets": [["a"]]}}
        program.write_text(json.dumps(PROGRAM | {"predicates": data}))
        told = _refused("infer", program)
        assert f"{name.split('/')[-1]}, line 1: expected a truth value in [0, 1]" in told
        assert ("password" in told) is is_shown
        program.write_text(json.dumps(PROGRAM | {"rules": name}))
        told = _refused("infer", program)
        assert "line 1" in told
        assert ("password" in told) is is_shown


def test_doctor_knows_the_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["duckdb<3,>=1.5", "numpy>=2.0", "pyspark<5,>=4; extra == 'spark'"]
    asked.append("furo>=9; extra == 'docs'")
    installed = {"duckdb": "1.4.2", "numpy": "2.3.1", "furo": "1.0"}
    monkeypatch.setattr("importlib.metadata.requires", lambda _: asked)
    monkeypatch.setattr(doctor, "_version", installed.get)
    [problem] = doctor._outside_ranges()
    assert problem.startswith("duckdb 1.4.2 is not supported, only >=1.5,<3: pip install")


@pytest.mark.slow
def test_labels_are_missed_before_spark_starts() -> None:
    words = ("learn", "--facts", "facts.tsv", "--labels", "gone.tsv", "-o", "m.psl")
    told = _refused(*words, "--engine", "spark")
    assert "gone.tsv: no such file" in told
    assert "Starting Spark" not in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gone.tsv", None, "gone.tsv: no such file"),
        ("bad.tsv", "a\tp\tb\nc\n", "bad.tsv, line 2: expected"),
        ("bad.csv", 'a,p,b\n"a" "b",p,o\n', "bad.csv, line 2: a quoted field"),
        ("bad.nt", "<a> <b>\n", "bad.nt, line 1"),
    ],
)
def test_what_spark_cannot_read_is_said_before_it_starts(
    name: str, text: str | None, said: str
) -> None:
    pytest.importorskip("pyspark")
    if text is not None:
        Path(name).write_text(text)
    words = ("learn", "--facts", name, "--labels", "labels.tsv", "-o", "m.psl")
    told = _refused(*words, "--engine", "spark")
    assert said in told
    assert "Starting Spark" not in told


@pytest.mark.parametrize("kilobytes", [400_000, 700_000, 1_900_000])
def test_addresses_that_native_libraries_do_not_live_with(kilobytes: int) -> None:
    """`ulimit -v`: told before a library is loaded that would end the process without a word."""
    if sys.platform != "linux":
        pytest.skip("the limit is Linux's")
    words = " ".join(map(str, command(*PREDICT)))
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v {kilobytes}; exec {words}"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f"ulimit -v allows {kilobytes:,} kB of addresses; expected at least" in done.stderr
    assert "Traceback" not in done.stderr
