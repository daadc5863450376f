"""What machines and surroundings do to a command: bounded memory and a message for each.

`FAULTS` names the classes; the page "What we promise" lists them, and every one has a test here or
where `ELSEWHERE` says.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam.base.machine import MIN_ADDRESS_SPACE
from hornbeam.base.terminal_progress import StageProgress
from hornbeam.errors import DataError
from hornbeam.facts.reading.interning import intern_facts
from tests.support.commands import PATIENCE, command, hornbeam_, plain_user
from tests.support.small_inputs import FACTS, LEARN, PREDICT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="limits and signals are Linux's"),
    pytest.mark.usefixtures("small_inputs"),
]

FAULTS = (
    "a full disk for results",
    "a full disk for the trace",
    "a full disk for an exported folder",
    "a full disk for what DuckDB spills",
    "a full disk for compiled code",
    "folders that cannot be written to",
    "no home and no caches",
    "a temporary folder that is missing",
    "little memory while reading",
    "little memory while learning",
    "little memory while inferring",
    "64 open files for learning",
    "64 open files for the explorer",
    "a clock that jumps",
    "Ctrl-C while reading",
    "Ctrl-C in compiled code",
    "Ctrl-C while inferring",
    "Ctrl-C while learning a whole graph",
    "Ctrl-C while Spark starts",
    "SIGTERM",
    "a reader of the output that goes away",
    "closed standard streams",
    "deep nesting",
    "a line of 100 MB",
    "a million predicates",
    "100,000 rules in a model",
    "a Parquet bomb",
    "a gzip bomb",
    "a named pipe as input",
    "loops of links, and folders for files",
    "files that change or vanish while they are read",
    "a terminal without UTF-8",
    "a terminal of no width",
)
#: Classes that other modules test, with these words.
ELSEWHERE = {
    "a reader of the output that goes away": "test_a_reader_that_goes_away_is_no_error",
}


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk that is full but for a page of 4 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        (folder / "filler").write_bytes(bytes(28 << 10))
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _run(
    *words: object, shell: str = "", timeout: float = PATIENCE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, after some words of the shell."""
    line = " ".join(map(str, command(*words)))
    return subprocess.run(
        ["bash", "-c", f"{shell or 'true'}; exec {line}"],
        capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def _message(done: subprocess.CompletedProcess[str], code: int = 2) -> str:
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    return done.stderr


def test_every_class_is_listed_and_tested() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/promises.md").read_text()
    listed = re.findall(r"^\| ([^|]+?) \|", page, flags=re.MULTILINE)
    assert set(FAULTS) <= set(listed)
    tested = {fault for test in list(globals().values()) for fault in getattr(test, "faults", ())}
    assert tested | set(ELSEWHERE) == set(FAULTS)
    others = "".join(
        (Path(__file__).parents[1] / "cli" / name).read_text() for name in ("test_process.py",)
    )
    assert all(f"def {name}" in others for name in ELSEWHERE.values())


def _about(*faults: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say which classes of fault a test is about."""

    def marked(test: Callable[..., None]) -> Callable[..., None]:
        test.faults = faults  # type: ignore[attr-defined]
        return test

    return marked


# -- disks and folders -----------------------------------------------------------------------------


@pytest.mark.slow
@_about("a full disk for results")
def test_a_full_disk_for_results(full_disk: Path) -> None:
    (full_disk / "model.psl").write_text("1.0: p(A, B) -> t(A, B)\n")
    before = sorted(os.listdir(full_disk))
    for words in (
        (*LEARN, "-o", full_disk / "model.psl"),
        (*LEARN, "-o", full_disk / "new.psl"),
        (*PREDICT, "-o", full_disk / "scores.tsv"),
        ("report", *PREDICT[1:4], "--labels", "labels.tsv", "-o", full_disk / "report.html"),
    ):
        ended = hornbeam_(*words)
        assert ended.code == 2, ended
        assert "No space left on device" in ended.stderr
        assert sorted(os.listdir(full_disk)) == before
    assert (full_disk / "model.psl").read_text() == "1.0: p(A, B) -> t(A, B)\n"


@_about("a full disk for the trace")
def test_a_full_disk_for_the_trace(full_disk: Path) -> None:
    """There is room for the model, which is whole; what is missing is said."""
    ended = hornbeam_(*LEARN, "-o", full_disk / "new.psl")
    assert ended.code == 2, ended
    assert "trace" in ended.stderr
    assert "No space left on device" in ended.stderr
    assert sorted(os.listdir(full_disk)) == ["filler", "new.psl"]
    assert hb.Model.load(full_disk / "new.psl").rules


@_about("a full disk for an exported folder")
def test_a_full_disk_for_an_exported_folder(full_disk: Path) -> None:
    words = ("export", "model.psl", "--facts", "facts.tsv", "--pairs", "labels.tsv")
    ended = hornbeam_(*words, "-o", full_disk / "folder")
    assert ended.code == 2, ended
    assert "No space left on device" in ended.stderr
    assert os.listdir(full_disk) == ["filler"]


@_about("a full disk for what DuckDB spills")
def test_a_full_disk_for_what_duckdb_spills(full_disk: Path) -> None:
    ended = hornbeam_(*LEARN, "-o", "m.psl", "--engine", "duckdb", "--spill-dir", full_disk)
    assert ended.code == 2, ended
    assert "the spill directory: is full" in ended.stderr
    assert not Path("m.psl").exists()
    assert os.listdir(full_disk) == ["filler"]


COMPILED = """
import numpy as np
from hornbeam.graph.adjacency import list_properties
out = np.zeros(2, dtype=np.int64)  # one edge of a node to itself, and its reversal
first_run, run_step, code = np.array([0, 2]), np.array([2, 3]), np.array([2, 3])
list_properties.compiled(first_run, run_step, np.array([0, 0]), code, out)
print(out.tolist())
"""


@pytest.mark.slow
@_about("a full disk for compiled code")
def test_a_full_disk_for_compiled_code(full_disk: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(full_disk)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1, 0]\n"


@pytest.mark.slow
@_about("folders that cannot be written to", "no home and no caches")
def test_folders_that_cannot_be_written_to() -> None:
    Path("closed").mkdir(mode=0o555)
    caches = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "PYTHONPYCACHEPREFIX"), "closed")
    for words, code, said in (
        ((*LEARN, "-o", "closed/model.psl"), 2, "closed/model.psl: cannot be written"),
        ((*LEARN, "-o", "m.psl"), 0, ""),
    ):
        done = subprocess.run(
            [*plain_user(), *command(*words)], capture_output=True, text=True, check=False,
            env={**os.environ, **caches, "NUMBA_CACHE_DIR": "closed"},
        )  # fmt: skip
        assert said in _message(done, code)
    assert os.listdir("closed") == []


@pytest.mark.slow
@_about("no home and no caches")
def test_no_home_at_all() -> None:
    assert _run(*PREDICT, shell="unset HOME USER LOGNAME XDG_CACHE_HOME").returncode == 0
    assert _run(*PREDICT, HOME="/nowhere", XDG_CACHE_HOME="/nowhere").returncode == 0


@pytest.mark.slow
@_about("a temporary folder that is missing")
def test_a_temporary_folder_that_is_missing() -> None:
    """Python falls back on others, and nothing changes."""
    done = _run(*PREDICT, TMPDIR="/nowhere")
    assert (done.returncode, done.stdout) == (0, hornbeam_(*PREDICT).stdout)


# -- memory and open files -------------------------------------------------------------------------


@pytest.mark.slow
@_about(
    "little memory while reading", "little memory while learning", "little memory while inferring"
)
@pytest.mark.parametrize("words", [(*LEARN, "-o", "new.psl"), PREDICT, ("infer", "program.json")])
def test_little_memory(words: tuple[str, ...]) -> None:
    """The least that is allowed is enough for small work."""
    kilobytes = MIN_ADDRESS_SPACE // 1024 + 1
    assert _run(*words, shell=f"ulimit -v {kilobytes}").returncode == 0
    assert "not enough memory" in _message(_run(*words, shell="ulimit -v 900000"))


@pytest.mark.slow
@_about("64 open files for learning")
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_64_open_files_for_learning(engine: str) -> None:
    done = _run(*LEARN, "-o", "new.psl", "--engine", engine, "--threads", 2, shell="ulimit -n 64")
    assert done.returncode == 0, done.stderr
    assert Path("new.psl").exists()


#: `hornbeam serve` that expects so many open files of its own.
SERVE = """
import sys
from hornbeam.serve import server
server.OTHER_FILES = {}
from hornbeam.cli.main import run
sys.exit(run())
"""


@pytest.mark.slow
@_about("64 open files for the explorer")
@pytest.mark.parametrize("expected", ["server.OTHER_FILES", "-2000"])
def test_64_open_files_for_the_explorer(expected: str) -> None:
    """More connections than files: the server makes room, also if its own files are too many."""
    import socket
    from http.client import HTTPConnection

    pytest.importorskip("uvicorn")
    words = ("serve", "model.psl", "--facts", "facts.tsv", "--port", "0", "--json")
    with subprocess.Popen(
        ["bash", "-c", 'ulimit -n 64; exec "$@"', "", sys.executable, "-c", SERVE.format(expected),
         *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stderr is not None
        port = json.loads(running.stdout.readline())["port"]
        crowd = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(60)]
        try:
            for _ in range(5):
                asking = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
                asking.request("GET", "/entity?name=a1")
                assert asking.getresponse().status == 200
                asking.close()
        finally:
            for one in crowd:
                one.close()
            running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 0
        said = running.stderr.read()
        assert "Traceback" not in said
        assert said.count("The limit on open files (`ulimit -n`) is reached") <= 1
        assert expected[0] == "s" or "is reached: idle connections are closed" in said


# -- clocks and signals ----------------------------------------------------------------------------


@pytest.mark.slow
@_about("a clock that jumps")
def test_a_clock_that_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but dates is taken from the clock on the wall: it may go back years, and on."""
    expected = hornbeam_(*LEARN, "-o", "one.psl")
    jumps = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: 1e9 * (-1) ** next(jumps))
    ended = hornbeam_(*LEARN, "-o", "two.psl")
    assert ended.code == expected.code == 0
    assert Path("one.psl").read_bytes() == Path("two.psl").read_bytes()
    assert StageProgress(began=5.0, done_before=0, now=5.0, done=3, total=9).rate is None
    used = [
        path.name
        for path in (Path(hb.__file__).parent).rglob("*.py")
        if re.search(r"\btime\.time\(\)", path.read_text())
    ]
    assert used == []


def _interrupted(words: tuple[object, ...], wait_for: str) -> None:
    """Press Ctrl-C as soon as something is said of work that takes long."""
    with subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        told = ""
        while wait_for not in told:
            line = running.stderr.readline()
            assert line, told
            told += line
        running.send_signal(signal.SIGINT)
        _, rest = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, told + rest
    assert rest.endswith("hornbeam: interrupted\n")
    assert "Traceback" not in told + rest


def _write_large_facts() -> None:
    """Facts that take seconds to read."""
    rows = "".join(f"subject{i}\tpredicate{i % 7}\tobject{i % 1000}\n" for i in range(100_000))
    Path("large.tsv").write_text(rows * 6)


@pytest.mark.slow
@_about("Ctrl-C while reading")
def test_ctrl_c_while_reading() -> None:
    _write_large_facts()
    before = sorted(os.listdir())
    words = ("learn", "--facts", "large.tsv", "--labels", "labels.tsv", "-o", "new.psl")
    _interrupted(words, wait_for="Reading")
    assert sorted(os.listdir()) == before


@pytest.mark.slow
@_about("Ctrl-C while inferring")
def test_ctrl_c_while_inferring() -> None:
    n = 700
    pairs = [[f"a{i}", f"a{j}"] for i in range(n) for j in range(n) if i % 7 == j % 7]
    program = {
        "rules": ["1.0: P(A, B) & Q(B, C) -> Q(A, C)", "0.2: !Q(A, B)"],
        "predicates": {"P/2": {"observations": pairs}, "Q/2": {"targets": pairs}},
    }
    Path("large.json").write_text(json.dumps(program))
    _interrupted(("infer", "large.json", "--tolerance", "0", "-o", "values"), "ADMM")
    assert not Path("values").exists()


@pytest.mark.slow
@_about("Ctrl-C while learning a whole graph")
def test_ctrl_c_while_learning_a_whole_graph() -> None:
    rows = [f"e{i * 7919 % 3000}\tr{i % 40}\te{i * 104729 % 3001}\n" for i in range(60_000)]
    Path("graph.tsv").write_text("".join(rows))
    words = ("learn", "--facts", "graph.tsv", "--all-relations", "-o", "graph.hornbeam", "-v")
    _interrupted(words, wait_for="Learning the graph")
    assert not Path("graph.hornbeam").exists()


@pytest.mark.slow
@pytest.mark.java
@_about("Ctrl-C while Spark starts")
def test_ctrl_c_while_spark_starts() -> None:
    pytest.importorskip("pyspark")
    words = (*LEARN, "-o", "new.psl", "--engine", "spark")
    _interrupted(words, wait_for="Starting Spark")
    assert not Path("new.psl").exists()


STUCK = """
import os, signal, threading
from pathlib import Path
import numpy as np
from numba import njit
from hornbeam.cli.interrupts import interrupts_handled
from hornbeam.base.files import working_folder

@njit(nogil=True)
def spin(counter):
    while counter[0] >= 0:
        counter[0] = (counter[0] + 1) % 1000

spin(np.full(1, -1, dtype=np.int64))  # compiles it
with interrupts_handled(), working_folder(Path.cwd()):
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    spin(np.zeros(1, dtype=np.int64))
"""


@pytest.mark.slow
@_about("Ctrl-C in compiled code")
def test_ctrl_c_in_compiled_code() -> None:
    """Compiled code goes on without end and Python never sees the signal: the process ends."""
    before = sorted(os.listdir())
    done = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 130, done
    assert done.stderr == "hornbeam: interrupted\n"
    assert sorted(os.listdir()) == before


@pytest.mark.slow
@_about("SIGTERM")
def test_sigterm_leaves_what_the_next_run_deletes() -> None:
    """Facts that are read into a database have a folder of their own."""
    Path("old.psl").write_text("1.0: p(A, B) -> t(A, B)\n")
    _write_large_facts()
    words = ("learn", "--facts", "large.tsv", "--labels", "labels.tsv", "-o", "old.psl")
    spilling = ("--engine", "duckdb", "--spill-dir", ".")
    before = set(os.listdir())
    with subprocess.Popen(command(*words, *spilling), stderr=subprocess.PIPE) as running:
        while set(os.listdir()) == before:
            assert running.poll() is None
            time.sleep(0.01)
        running.terminate()
        running.communicate(timeout=PATIENCE)
    assert running.returncode == -signal.SIGTERM
    assert Path("old.psl").read_text() == "1.0: p(A, B) -> t(A, B)\n"
    assert set(os.listdir()) > before
    assert hornbeam_(*LEARN, "-o", "old.psl", *spilling).code == 0
    assert set(os.listdir()) == before | {"old.trace.json"}


@pytest.mark.slow
@_about("closed standard streams")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams(closed: str) -> None:
    done = _run(*LEARN, "-o", "new.psl", shell=f"exec {closed}")
    assert done.returncode == 0, done
    assert hb.Model.load("new.psl").rules
    assert Path("facts.tsv").read_text() == FACTS


@pytest.mark.slow
def test_a_closed_standard_input_as_facts() -> None:
    done = _run("predict", "model.psl", "--facts", "-", "--pairs", "labels.tsv", shell="exec <&-")
    assert "standard input: is empty" in _message(done)


# -- inputs of odd sizes ---------------------------------------------------------------------------


@pytest.mark.slow
@_about("deep nesting")
def test_deep_nesting() -> None:
    long, odd = "the rule has more than 20,000", "expected plain JSON behind '# hornbeam:'"
    for text, said in (
        ("1.0: " + "(" * 100_000 + "p(A, B)" + ")" * 100_000 + " -> t(A, B)\n", long),
        ("1.0: " + "!" * 100_000 + "p(A, B) -> t(A, B)\n", long),
        ("1.0: p(A, B) -> t(A, B)\n# hornbeam: " + "[" * 100_000 + "\n", odd),
        ('# hornbeam: {"version": ' + '{"a":' * 100_000 + "\n", odd),
    ):
        Path("model.psl").write_text(text)
        ended = hornbeam_(*PREDICT)
        assert ended.code == 2
        assert ended.stderr.startswith("hornbeam: model.psl, line ")
        assert said in ended.stderr
        assert len(ended.stderr) < 1000


@pytest.mark.slow
@_about("a line of 100 MB")
def test_a_line_of_100_mb() -> None:
    for name, start in (("long.tsv", "a\tp\tb\nc\tp\t"), ("long.csv", "a,p,b\nc,p,")):
        with Path(name).open("w") as file:
            file.write(start)
            for _ in range(100):
                file.write("x" * 1_000_000)
            file.write("\n")
        with pytest.raises(DataError, match=f"{name}, line 2: is longer than 16 MB"):
            hb.read_facts(name)


@pytest.mark.slow
@_about("a million predicates")
def test_a_million_predicates() -> None:
    """A fifth of them are read as facts; a search of long paths says that it takes fewer."""
    rows = (f"a{i % 12}\tp{i}\tb{i % 12}\n" for i in range(200_000))
    Path("many.tsv").write_text("".join(rows))
    words = ("learn", "--facts", "many.tsv", "--labels", "labels.tsv", "-o", "new.psl")
    said = _message(_run(*words, "--max-length", 4, shell="ulimit -v 6000000"))
    assert "200,000" in said


@pytest.mark.slow
@_about("100,000 rules in a model")
def test_20000_rules_in_a_model() -> None:
    """A fifth of them; `benchmarks/bench_parsing.py` reads them all, and time grows in step."""
    rules = "".join(f"0.5: p{i}(A, X) & q(X, B) -> t(A, B)\n" for i in range(20_000))
    assert len(hb.Model.parse(rules).rules) == 20_000


@pytest.mark.slow
@_about("a Parquet bomb")
def test_a_parquet_bomb() -> None:
    """Few bytes that unpack to many: a gigabyte of names is read where there are four."""
    import duckdb

    duckdb.sql(
        "COPY (SELECT repeat('x', 1000000) AS subject, 'p' AS predicate, 'b' AS object "
        "FROM range(1000)) TO 'bomb.parquet' (COMPRESSION zstd)"
    )
    assert Path("bomb.parquet").stat().st_size < 10_000_000
    words = ("predict", "model.psl", "--facts", "bomb.parquet", "--pairs", "labels.tsv")
    done = _run(*words, "--threads", 1, shell="ulimit -v 4000000")
    assert (done.returncode, done.stdout.count("\n")) == (0, 12), done


@pytest.mark.slow
@_about("a gzip bomb")
def test_a_gzip_bomb(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One line of 300 MB: DuckDB would leave out such a last line without a word."""
    folder = tmp_path_factory.mktemp("scratch")
    with gzip.open("bomb.tsv.gz", "wb", 1) as packed:
        packed.write(b"a\tp\tb\n")
        for _ in range(300):
            packed.write(b"x" * 1_000_000)
    words = ("predict", "model.psl", "--facts", "bomb.tsv.gz", "--pairs", "labels.tsv")
    done = _run(*words, shell="ulimit -v 4000000", TMPDIR=str(folder))
    assert "bomb.tsv.gz, line 2: is longer than 16 MB" in _message(done)
    assert os.listdir(folder) == []


# -- inputs that are no plain files ----------------------------------------------------------------


@_about("a named pipe as input")
def test_a_named_pipe_as_input() -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_text(FACTS), daemon=True)
    writer.start()
    ended = hornbeam_("predict", "model.psl", "--facts", "pipe", "--pairs", "labels.tsv", "--json")
    assert ended.json == hornbeam_(*PREDICT, "--json").json
    writer.join(PATIENCE)


@_about("loops of links, and folders for files")
@pytest.mark.parametrize("place", ["facts.tsv", "labels.tsv", "model.psl"])
def test_loops_of_links_and_folders_for_files(place: str) -> None:
    for is_folder in (False, True):
        Path(place).unlink()
        if is_folder:
            Path(place).mkdir()
        else:
            Path(place).symlink_to(place)
        ended = hornbeam_(*PREDICT)
        assert ended.code == 2, ended
        assert place in ended.stderr
        assert "Traceback" not in ended.stderr


@_about("files that change or vanish while they are read")
@pytest.mark.parametrize("change", ["vanishes", "shrinks", "grows"])
def test_files_that_change_while_they_are_read(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one message, or the facts that stand in the file when they are read."""
    original = intern_facts
    text = {"vanishes": "", "shrinks": FACTS[:7], "grows": FACTS + "new\tp\tb1\n" * 1000}[change]

    def changed(*given: object, **more: object) -> object:
        Path("facts.tsv").unlink()
        if text:
            Path("facts.tsv").write_text(text)
        return original(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("hornbeam.facts.reading.readers.intern_facts", changed)
    if not text:
        with pytest.raises(DataError, match=r"facts\.tsv"):
            hb.read_facts("facts.tsv")
        return
    facts = hb.read_facts("facts.tsv")
    rows = {tuple(line.split("\t")) for line in text.splitlines()}
    assert len(facts) == len(rows)
    assert set(facts.entities) == {name for s, _, o in rows for name in (s, o)}


# -- terminals -------------------------------------------------------------------------------------


@pytest.mark.slow
@_about("a terminal without UTF-8")
def test_a_terminal_without_utf8() -> None:
    Path("facts.tsv").write_text("né\tq\t\N{SNAKE}\n")
    Path("model.psl").write_text("1.0: q(A, B) -> t(A, B)\n")
    done = _run(
        "predict", "model.psl", "--facts", "facts.tsv", PYTHONIOENCODING="ascii", LC_ALL="C"
    )
    assert done.returncode == 0, done.stderr
    assert "n\\xe9" in done.stdout
    assert "\\U0001f40d" in done.stdout


@pytest.mark.parametrize("columns", ["0", "1", "7", "x", "-3"])
@_about("a terminal of no width")
def test_a_terminal_of_no_width(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    assert hornbeam_(*LEARN, "-o", "new.psl").code == 0
    assert hornbeam_("candidates", *LEARN[1:]).code == 0
    assert hornbeam_("learn", "--help").code == 0
