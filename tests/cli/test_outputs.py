"""No command writes over what it reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hornbeam.learning.trace import check_trace_path
from tests.support.commands import hornbeam_

MODEL = "1.0: knows(A, B) -> likes(A, B)\n"
FACTS = "a\tknows\tb\nb\tknows\tc\n"
LABELS = "a\tlikes\tb\t1\nb\tlikes\ta\t0\n"
PROGRAM = {
    "rules": "rules.psl",
    "predicates": {
        "Knows/2": {"observations": ["knows.txt"]},
        "Likes/2": {"targets": ["LIKES.txt"], "truth": ["truth.txt"]},
    },
}


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    texts = {
        "model.psl": MODEL,
        "facts.tsv": FACTS,
        "labels.tsv": LABELS,
        "queries.tsv": "a\tlikes\t?\n",
        "names.tsv": "a\tAda\n",
        "program.json": json.dumps(PROGRAM),
        "rules.psl": "1.0: Knows(A, B) -> Likes(A, B)\n",
        "knows.txt": "a\tb\n",
        "LIKES.txt": "a\tb\n",
        "truth.txt": "a\tb\t1\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("link.tsv").symlink_to("facts.tsv")
    return texts


@pytest.mark.quick_cases(20)
@pytest.mark.parametrize(
    "command",
    [
        "predict model.psl --facts facts.tsv --pairs labels.tsv -o facts.tsv",
        "predict model.psl --facts facts.tsv --pairs labels.tsv -o ./labels.tsv",
        "predict model.psl --facts facts.tsv --pairs labels.tsv -o model.psl",
        "predict model.psl --facts facts.tsv --pairs labels.tsv -o link.tsv",
        "predict model.psl --facts link.tsv --queries queries.tsv -o facts.tsv",
        "predict model.psl --facts facts.tsv --queries queries.tsv -o queries.tsv",
        "predict model.psl --facts facts.tsv --names names.tsv --top 1 -o names.tsv",
        "predict model.psl --facts knows=knows.txt --top 1 -o knows.txt",
        "predict model.psl --facts program.json --top 1 -o knows.txt",
        "learn --facts facts.tsv --labels labels.tsv -o facts.tsv",
        "learn --facts facts.tsv --labels labels.tsv -o labels.tsv",
        "learn --facts facts.tsv --all-relations -o facts.tsv",
        "report model.psl --facts facts.tsv --labels labels.tsv -o labels.tsv",
        "report model.psl --facts facts.tsv --labels labels.tsv -o model.psl",
        "weights program.json -o rules.psl",
        "weights program.json -o truth.txt",
        "infer program.json -o .",
        "export model.psl --facts facts.tsv --pairs labels.tsv -o .",
    ],
)
def test_an_output_over_an_input_is_refused(inputs: dict[str, str], command: str) -> None:
    ended = hornbeam_(*command.split())
    assert ended.code == 2
    assert "is read from" in ended.stderr
    assert ended.stdout == ""
    assert {name: Path(name).read_text() for name in inputs} == inputs


@pytest.mark.parametrize(
    "text", ["", "mine\n", "{}", "[]", '{"method": "mine", "seconds": {}}', "[" * 100_000, "\xff"]
)
def test_the_trace_goes_over_nothing_else(inputs: dict[str, str], text: str) -> None:
    mine = Path("mine.trace.json")
    mine.write_bytes(text.encode("latin-1"))
    before = set(Path().iterdir())
    ended = hornbeam_(
        "learn", "--facts", "no-such-file", "--labels", "labels.tsv", "-o", "mine.psl"
    )
    assert ended.code == 2
    assert "mine.trace.json: is not a trace that `learn` wrote" in ended.stderr
    assert mine.read_bytes() == text.encode("latin-1")
    assert set(Path().iterdir()) == before


def test_a_trace_of_any_version_may_be_replaced(tmp_path: Path) -> None:
    """The keys that version 0.1 wrote for every learner."""
    path = tmp_path / "model.trace.json"
    first = ("method", "seed", "language", "targets", "positives", "sampled_negatives", "found",
             "candidates", "seconds")  # fmt: skip
    path.write_text(json.dumps(dict.fromkeys(first)))
    check_trace_path(path)


def test_the_trace_goes_over_no_input_either(inputs: dict[str, str]) -> None:
    Path("m.trace.json").write_text(FACTS)
    ended = hornbeam_("learn", "--facts", "m.trace.json", "--labels", "labels.tsv", "-o", "m.psl")
    assert (ended.code, "m.trace.json: is read from" in ended.stderr) == (2, True)
    Path("model.trace.json").write_text("{}")
    words = ("report", "model.psl", "--facts", "facts.tsv", "--labels", "labels.tsv")
    ended = hornbeam_(*words, "-o", "model.trace.json")
    assert (ended.code, "model.trace.json: is read from" in ended.stderr) == (2, True)
    assert inputs.keys() | {"m.trace.json", "model.trace.json", "link.tsv"} == {
        path.name for path in Path().iterdir()
    }


def test_values_of_several_predicates_replace_their_own_folder_only(
    inputs: dict[str, str],
) -> None:
    program = {
        "rules": ["1.0: P(A) -> Q(A)", "1.0: P(A) -> R(A)"],
        "predicates": {
            "P/1": {"observations": [["a"]]},
            "Q/1": {"targets": [["a"]]},
            "R/1": {"targets": [["a"]]},
        },
    }
    Path("two.json").write_text(json.dumps(program))
    for _ in range(2):
        assert hornbeam_("infer", "two.json", "-o", "out").code == 0
        assert sorted(path.name for path in Path("out").iterdir()) == ["Q.txt", "R.txt"]
    Path("out", "mine").write_text("mine")
    ended = hornbeam_("infer", "two.json", "-o", "out")
    assert ended.code == 2
    assert "out: holds 'mine', and the values of several predicates replace" in ended.stderr
    assert Path("out", "mine").read_text() == "mine"
