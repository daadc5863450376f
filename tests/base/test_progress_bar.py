"""`progress=True` of the Python interface: a bar on stderr, and nothing without it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam.base import terminal_progress
from hornbeam.base.progress import as_progress
from hornbeam.base.terminal_progress import TerminalProgress

FACTS = [(f"a{i}", "p", f"b{i % 3}") for i in range(48)] + [("b0", "q", "c"), ("b1", "r", "c")]
LABELS = [(f"a{i}", "t", "c", int(i % 3 == 0)) for i in range(48)]
TEST = [("a1", "p", "b0"), ("b1", "q", "c")]
RULES = "1.0: Knows(A, B) -> Likes(A, B) ^2\n1.0: !Likes(A, B) ^2\n"


class Recorder:
    """A progress of a user's own."""

    def __init__(self) -> None:
        self.stages: set[str] = set()

    def message(self, text: str) -> None:
        """Messages are not looked at."""

    def advance(self, stage: str, done: int, total: int) -> None:
        """Note the stage."""
        self.stages.add(stage)


@cache
def model() -> hb.Model:
    return hb.Model.parse("2: p(A, B) & q(B, C) -> t(A, C)\n1: !t(A, C)\n")


@cache
def graph_model() -> hb.GraphModel:
    return hb.learn_graph(FACTS, time_limit=60)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with truth, for inference and learning of weights."""
    folder = tmp_path_factory.mktemp("program")
    names = [(f"p{i}", f"p{j}") for i in range(6) for j in range(6) if i != j]
    rows = "".join(f"{a}\t{b}\n" for a, b in names)
    (folder / "knows.tsv").write_text(rows)
    (folder / "likes.tsv").write_text(rows)
    (folder / "truth.tsv").write_text("".join(f"{a}\t{b}\t{int(a < b)}\n" for a, b in names))
    (folder / "likes.psl").write_text(RULES)
    (folder / "likes.data").write_text(
        "predicates:\n  Knows/2: closed\n  Likes/2: open\n"
        "observations:\n  Knows: knows.tsv\ntargets:\n  Likes: likes.tsv\n"
        "truth:\n  Likes: truth.tsv\n"
    )
    return folder / "likes.psl"


CALLS: dict[str, Callable[..., object]] = {
    "learn": lambda **given: hb.learn(FACTS, LABELS, **given),
    "learn_graph": lambda **given: hb.learn_graph(FACTS, **given),
    "cross_validate": lambda **given: hb.cross_validate(FACTS, LABELS, folds=2, **given),
    "predict": lambda **given: model().predict(FACTS, LABELS, **given),
    "evaluate": lambda **given: model().evaluate(FACTS, LABELS, **given),
    "propose": lambda **given: model().propose(FACTS, **given),
    "ranks": lambda **given: model().evaluate_ranks(FACTS, [("a0", "t", "c")], **given),
    "rank": lambda **given: model().rank(FACTS, [("a0", "t", "?")], **given),
    "report": lambda **given: model().report(FACTS, LABELS, **given),
    "graph_predict": lambda **given: graph_model().predict(FACTS, TEST, **given),
    "graph_propose": lambda **given: graph_model().propose(FACTS, **given),
    "graph_ranks": lambda **given: graph_model().evaluate_ranks(FACTS, TEST, **given),
}
PROGRAM_CALLS: dict[str, Callable[..., object]] = {
    "infer": hb.infer,
    "learn_weights": lambda program, **given: hb.learn_weights(
        program, method="search", trials=3, **given
    ),
}


def pretend_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make stderr a terminal as far as programs can tell, with a bar for short work, too."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal_progress, "BAR_AFTER_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")


def check(
    call: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A call shows a bar with its stages if that is asked for, and else nothing."""
    pretend_terminal(monkeypatch)
    own = Recorder()
    call(progress=own)
    assert own.stages
    assert capsys.readouterr() == ("", "")
    call(progress=False)
    assert capsys.readouterr() == ("", "")
    call(progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "━" in shown.err
    assert any(stage in shown.err for stage in own.stages)
    # the cursor, hidden while a bar is drawn, is back
    assert shown.err.rindex("\x1b[?25h") > shown.err.rindex("\x1b[?25l")


@pytest.mark.parametrize("name", CALLS)
def test_a_bar_is_shown_where_it_is_asked_for(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check(CALLS[name], monkeypatch, capsys)


@pytest.mark.parametrize("name", PROGRAM_CALLS)
def test_programs_show_a_bar(
    name: str, program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check(partial(PROGRAM_CALLS[name], program), monkeypatch, capsys)


def test_every_function_and_method_of_a_model_takes_true() -> None:
    callables = [getattr(hb, name) for name in hb.__all__]
    for kind in (hb.Model, hb.GraphModel):
        callables += [getattr(kind, name) for name in dir(kind) if not name.startswith("_")]
    taken = [
        parameter.annotation
        for found in callables
        if inspect.isfunction(found)
        if (parameter := inspect.signature(found).parameters.get("progress")) is not None
    ]
    assert len(taken) >= len(CALLS) + len(PROGRAM_CALLS)
    assert set(taken) == {"Progress | bool"}


def test_nothing_is_shown_by_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend_terminal(monkeypatch)
    hb.learn(FACTS, LABELS).predict(FACTS, LABELS)
    assert capsys.readouterr() == ("", "")


def _fail(kept: list[TerminalProgress]) -> None:
    with as_progress(True) as progress:
        assert isinstance(progress, TerminalProgress)
        kept.append(progress)
        progress.advance("Counting", 1, 3)
        assert progress._bar is not None
        raise ZeroDivisionError


def test_the_bar_is_gone_after_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend_terminal(monkeypatch)
    kept: list[TerminalProgress] = []
    with pytest.raises(ZeroDivisionError):
        _fail(kept)
    assert kept[0]._bar is None
    assert "Counting" in capsys.readouterr().err


def test_the_bar_costs_nothing_that_is_not_asked_for() -> None:
    code = (
        "import sys, hornbeam as hb; hb.learn, hb.Model.parse('1: p(A, B) -> t(A, B)');"
        "sys.exit(bool({'rich', 'hornbeam.base.terminal_progress'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
