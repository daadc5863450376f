"""Every mistake: exit 2, one message that says where and what was expected, nothing written."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hornbeam.learning.trace import KEYS
from tests.support.commands import Ended, hornbeam_, listing, process

FACTS = "".join(f"s{i}\tp\to{i % 2}\n" for i in range(20))
LABELS = "".join(f"s{i}\tt\to{k}\t{int(i % 2 == k)}\n" for i in range(20) for k in (0, 1))
MODEL = "1.0: p(A, B) -> t(A, B)\n0.5: !t(A, B)\n"
PACKED = gzip.compress(FACTS.encode(), mtime=0)

COMMANDS = {
    "candidates": "candidates --facts facts.tsv --labels labels.tsv",
    "learn": "learn --facts facts.tsv --labels labels.tsv -o out.psl",
    "predict": "predict model.psl --facts facts.tsv --pairs labels.tsv -o out.tsv",
    "propose": "predict model.psl --facts facts.tsv -o out.tsv",
    "evaluate": "evaluate model.psl --facts facts.tsv --labels labels.tsv",
    "crossval": "crossval --facts facts.tsv --labels labels.tsv --methods ppll",
    "explain": "explain model.psl --facts facts.tsv s1 o1",
    "report": "report model.psl --facts facts.tsv --labels labels.tsv -o out.html",
}

Run = Callable[..., Ended]


@pytest.fixture
def task(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good files and old outputs; temporary files would show in `scratch`."""
    assert listing(scratch) == []
    monkeypatch.chdir(tmp_path)
    for name, text in (("facts.tsv", FACTS), ("labels.tsv", LABELS), ("model.psl", MODEL)):
        (tmp_path / name).write_text(text)
    for name in ("out.psl", "out.tsv", "out.html"):
        (tmp_path / name).write_text("old")
    (tmp_path / "out.trace.json").write_text(json.dumps(dict.fromkeys(KEYS)))
    return tmp_path


def refused(task: Path, scratch: Path, words: str, run: Run = hornbeam_) -> str:
    """Run a command that must fail, and return its message."""
    before = {name: _content(task / name) for name in listing(task)}
    ended = run(*words.split(), "--quiet")
    assert ended.code == 2, ended
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert {name: _content(task / name) for name in listing(task)} == before
    assert listing(scratch) == []
    return ended.stderr


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def one_message(stderr: str) -> str:
    """Check that stderr is the one line of an error of the user's."""
    assert stderr.startswith("hornbeam: ")
    assert stderr.count("\n") == 1
    assert "Error" not in stderr
    return stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_work_on_good_files(task: Path, command: str) -> None:
    assert hornbeam_(*COMMANDS[command].split(), "--quiet").code == 0


#: What may be wrong with any file: how it is made, and what is said.
FILES: dict[str, tuple[bytes | None, str]] = {
    "missing.tsv": (None, "missing.tsv: no such file"),
    "empty.tsv": (b"", "empty.tsv: is empty; expected"),
    "few.tsv": (b"a\tp\tb\t1\nb\tp\tc\n", "few.tsv, line 2: expected 4 fields"),
    "many.tsv": (b"a\tp\tb\t1\nb\tp\tc\t1\t1\n", "many.tsv, line 2: expected 4 fields"),
    "high.tsv": (b"a\tp\tb\t1\nb\tp\tc\t1.5\n", "high.tsv, line 2: expected a"),
    "low.tsv": (b"a\tp\tb\t-1\n", "low.tsv, line 1: expected a"),
    "word.tsv": (b"a\tp\tb\t1\nb\tp\tc\tyes\n", "word.tsv, line 2: expected a"),
    "nan.tsv": (b"a\tp\tb\tnan\n", "nan.tsv, line 1: expected a"),
    "latin.tsv": (b"a\tp\tb\t1\nb\tp\tcaf\xe9\t1\n", "latin.tsv, line 2: invalid UTF-8"),
    "cut.tsv.gz": (PACKED[:-9], "cut.tsv.gz: broken gzip file"),
    "fake.parquet": (b"not Parquet", "fake.parquet: "),
    "twice.tsv": (b"a\tp\tb\t1\na\tp\tb\t0\n", "twice.tsv, line 2: p(a, b) has"),
}


def place(task: Path, name: str) -> None:
    content = FILES[name][0]
    if content is not None:
        (task / name).write_bytes(content)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("role", ["facts", "labels"])
def test_a_wrong_file_is_named_with_its_line(
    task: Path, scratch: Path, role: str, name: str
) -> None:
    place(task, name)
    words = COMMANDS["learn"].replace(f"{role}.tsv", name)
    assert FILES[name][1] in one_message(refused(task, scratch, words))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("role", ["facts", "labels"])
def test_every_command_refuses_it_alike(task: Path, scratch: Path, command: str, role: str) -> None:
    if f"{role}.tsv" not in COMMANDS[command]:
        return
    for name in ("missing.tsv", "latin.tsv"):
        place(task, name)
        words = COMMANDS[command].replace(f"{role}.tsv", name)
        assert FILES[name][1] in one_message(refused(task, scratch, words))
    words = COMMANDS[command].replace(f"{role}.tsv", ".")
    assert ".: is a directory; expected a file" in one_message(refused(task, scratch, words))


#: Models that are none, and what is said of them.
MODELS: list[tuple[bytes, str]] = [
    (b"1.0: p(A, B) -> t(A, B)\n2.0: p(A, B -> t(A, B)\n", "line 2, column 13: expected"),
    (b"1.0: p(A, B) -> t(A, B)\n\n0.5 !t(A, B)\n", "line 3, column 13: expected"),
    (b"nan: p(A, B) -> t(A, B)\n", "line 1, column 1: 'nan' is not a weight"),
    (b"-1.0: p(A, B) -> t(A, B)\n", "line 1, column 1: the weight is negative"),
    (b"1.0: p(C, D) -> t(A, B)\n", "line 1, column 6: p(C, D) is about neither A nor B"),
    (
        b"1.0: p(A, X) & q(Y, 'x') -> t(A, B)\n",
        "line 1, column 16: q(Y, 'x') is about neither A nor B",
    ),
    (b"1.0: p(A, B) [n >= few] -> t(A, B)\n", "line 1, column 20: expected a number, found 'few'"),
    (b"1.0: p(A, B) -> t(A, B) [many]\n", "line 1, column 25: [many] is not a way of counting"),
    (b"1.0: p(A, B) -> t(A, B)\n1: p(A) -> t(A, B)\n", "line 2, column 4: p(A) has arity 1"),
    (b"p(A, B) -> t(A, B) .\n", "line 1, column 1: a model has no hard rules"),
    (b"", "holds no rule"),
    (b'# hornbeam: {"version": 1}\n', "holds no rule"),
    (b'# Hornbeam: {"version": 1, "rules": 7}\n', "holds no rule, of the 7 that were written"),
    (
        b"1.0: !t(A, B)\n1.0: p(A, B) -> t(A, B) [share / 1e-320]\n",
        "line 2, column 25: the median of shares is 9.99989e-321; expected a number of at least "
        "1e-100",
    ),
    (
        b"1.0: p(A, B) [n >= 9007199254740993] & q(A) -> t(A, B)\n",
        "line 1, column 20: 9007199254740993 cannot be held exactly; expected 9007199254740992",
    ),
    (b"1.0: p(A, B) -> t(A, B)\n# caf\xe9\n", "expected UTF-8"),
    (
        b'# hornbeam: {"counts": "many"}\n' + MODEL.encode(),
        "line 1: behind '# hornbeam:', \"counts\"",
    ),
    (b"# hornbeam: {counts: raw}\n" + MODEL.encode(), "line 1, column 14: expected JSON"),
]


@pytest.mark.parametrize(("content", "said"), MODELS)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_wrong_model_is_named_with_line_and_column(
    task: Path, scratch: Path, command: str, content: bytes, said: str
) -> None:
    (task / "model.psl").write_bytes(content)
    message = one_message(refused(task, scratch, COMMANDS[command]))
    assert message.startswith("hornbeam: model.psl")
    assert said in message


def test_a_model_that_lost_rules_is_told_and_used(task: Path) -> None:
    text = '# hornbeam: {"version": 1, "rules": 3}\n' + MODEL
    (task / "model.psl").write_text(text)
    ended = hornbeam_(*COMMANDS["predict"].split())
    assert ended.code == 0
    said = "hornbeam: warning: model.psl: holds 2 rules, and its line '# hornbeam:' says 3"
    assert said in ended.stderr


@pytest.mark.parametrize("command", ["predict", "propose", "evaluate"])
def test_a_model_that_cannot_be_read(task: Path, scratch: Path, command: str) -> None:
    for name, said in (("nowhere.psl", "No such file"), (".", "Is a directory")):
        words = COMMANDS[command].replace("model.psl", name)
        assert f"{name}: cannot be read: {said}" in one_message(refused(task, scratch, words))


@pytest.mark.slow
def test_labels_of_one_class(task: Path, scratch: Path) -> None:
    for label, kind in ((1, "true"), (0, "false")):
        rows = "".join(f"s{i}\tt\to{i % 2}\t{label}\n" for i in range(20))
        (task / "labels.tsv").write_text(rows)
        message = one_message(refused(task, scratch, COMMANDS["learn"]))
        assert f"all 20 labels are {kind}; learning needs both" in message


def test_no_candidate_clause(task: Path, scratch: Path) -> None:
    message = one_message(refused(task, scratch, COMMANDS["learn"] + " --min-coverage 1000"))
    assert "no body of up to 3 atoms has groundings for 1000 or more targets of t" in message
    assert "try a lower --min-coverage" in message


@pytest.mark.slow
def test_a_target_none_of_whose_pairs_is_connected(task: Path, scratch: Path) -> None:
    rows = "".join(f"new{i}\tt\tother{i}\t{i % 2}\n" for i in range(20))
    (task / "labels.tsv").write_text(rows)
    words = COMMANDS["learn"] + " --min-coverage 1"
    assert "no body of up to 3 atoms" in one_message(refused(task, scratch, words))
    # single pairs without any path are normal
    (task / "labels.tsv").write_text(rows + LABELS)
    assert hornbeam_(*words.split(), "--quiet").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (COMMANDS["learn"] + " --target nope", "target predicate 'nope'; expected one of: 't'"),
        (COMMANDS["candidates"] + " --target nope", "unknown target predicate 'nope'"),
        ("learn --facts facts.tsv -o out.psl --target nope", "'nope'; expected one of: 'p'"),
        ("learn --facts model.psl -o out.psl --target p", "model.psl, line 1: looks like a model,"),
        ("learn --facts facts.tsv -o out.psl", "name the predicate to learn: --target"),
        (COMMANDS["propose"] + " --target nope", "unknown target predicate 'nope'"),
        (COMMANDS["propose"] + " --subject nope", "no fact has the subject 'nope'"),
        (COMMANDS["learn"].replace("out.psl", "no/where.psl"), "no/where.psl: the folder no does"),
        (COMMANDS["learn"].replace("out.psl", "."), "is a folder; name a file in it"),
        (COMMANDS["predict"].replace("out.tsv", "no/where.tsv"), "the folder no does not exist"),
        (COMMANDS["learn"] + " --weight-variance 0", "--weight-variance is 0; expected"),
        (COMMANDS["learn"] + " --weight-variance nan", "--weight-variance is nan; expected"),
        (COMMANDS["learn"] + " --length-penalty inf", "--length-penalty is inf; expected"),
        (COMMANDS["learn"] + " --method ppll --step-size inf", "--step-size is inf; expected"),
        (COMMANDS["learn"] + " --method greedy --tolerance inf", "--tolerance is inf; expected"),
        ("learn --facts facts.tsv --target p -o out.psl --negatives inf", "--negatives is inf"),
        (COMMANDS["crossval"] + ",nope", "'nope'; expected some of: joint, boost, ppll"),
        ("crossval --methods ,", "unknown method ','"),
        ("crossval", "give a TASK_DIR, or --facts and either --labels or --target"),
        ("crossval --facts facts.tsv", "--facts and either --labels or --target"),
        ("crossval --facts facts.tsv --target nothing", "nothing"),
        ("crossval nowhere", "nowhere: no such folder; expected observed.tsv"),
        ("crossval facts.tsv", "facts.tsv: is not a folder"),
        ("crossval .", "has no folders fold0, fold1"),
        (COMMANDS["crossval"] + " --folds 1", "--folds is 1; expected at least 2"),
        (COMMANDS["crossval"] + " --folds 50", "too few for 50 folds"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(task: Path, scratch: Path, words: str, said: str) -> None:
    assert said in one_message(refused(task, scratch, words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("learn --labels labels.tsv -o out.psl", "--facts"),
        ("learn --facts facts.tsv --labels labels.tsv", "--output"),
        (COMMANDS["learn"] + " --max-length 9", "--max-length"),
        (COMMANDS["learn"] + " --min-coverage 0", "--min-coverage"),
        (COMMANDS["learn"] + " --method magic", "--method"),
        (COMMANDS["learn"] + " --counts many", "--counts"),
        (COMMANDS["learn"] + " --engine abacus", "--engine"),
        (COMMANDS["learn"] + " --seed -1", "--seed"),
        (COMMANDS["learn"] + " --length-penalty nan", "--length-penalty"),
        (COMMANDS["learn"] + " --method ppll --step-size nan", "--step-size"),
        (COMMANDS["learn"] + " --method greedy --tolerance nan", "--tolerance"),
        ("learn --facts facts.tsv --target p -o out.psl --negatives nan", "--negatives"),
        (COMMANDS["predict"] + " --score median", "--score"),
        (COMMANDS["propose"] + " --top 0", "--top"),
        ("predict --facts facts.tsv", "MODEL"),
        ("lern", "No such command"),
    ],
)
def test_wrong_usage_names_the_option(task: Path, scratch: Path, words: str, said: str) -> None:
    assert said in refused(task, scratch, words)


def test_a_trace_that_cannot_be_written_stops_before_the_work(task: Path, scratch: Path) -> None:
    (task / "out.trace.json").unlink()
    (task / "out.trace.json").mkdir()
    message = one_message(refused(task, scratch, COMMANDS["learn"]))
    assert "out.trace.json: is a folder" in message


def test_a_task_folder_with_a_hole_says_what_is_missing(task: Path, scratch: Path) -> None:
    for name in ("observed.tsv", "fold0/train.tsv", "fold1/train.tsv", "fold1/test.tsv"):
        (task / name).parent.mkdir(exist_ok=True)
        (task / name).write_text(LABELS)
    assert "lacks fold0/test.tsv" in one_message(refused(task, scratch, "crossval ."))


def test_a_rule_over_an_unknown_predicate_is_only_a_warning(task: Path) -> None:
    (task / "model.psl").write_text("3.0: gone(A, B) -> t(A, B)\n1.0: !t(A, B)\n")
    ended = hornbeam_(*COMMANDS["evaluate"].split(), "--json")
    assert ended.json["auc_roc"] == 0.5
    assert ended.told == [
        "hornbeam: warning: the facts have no predicate 'gone'; its rules have no groundings"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        COMMANDS["learn"].replace("labels.tsv", "few.tsv"),
        COMMANDS["evaluate"].replace("model.psl", "few.tsv"),
    ],
)
def test_the_process_ends_alike(task: Path, scratch: Path, words: str) -> None:
    place(task, "few.tsv")
    one_message(refused(task, scratch, words, process))
