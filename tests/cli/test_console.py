"""What a person sees besides results: bars with rates, lines in logs, colours, narrow screens."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable
from inspect import getdoc
from pathlib import Path

import pytest

from hornbeam.base import terminal_progress
from hornbeam.base.terminal_progress import TerminalProgress, WholeProgress
from hornbeam.cli import commands, console, evidence
from hornbeam.cli.commands import help_text
from hornbeam.cli.options import ConsoleOptions
from tests.support.commands import COUNTRIES, EVIDENCE, TRAIN, command, hornbeam_

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
COMMANDS = {
    name: commands.function_of(name) for group in commands.COMMANDS.values() for name in group
}


def examples(command: Callable[..., None]) -> list[str]:
    """The examples of a command's docstring."""
    lines = (getdoc(command) or "").splitlines()
    return [line.strip() for line in lines if line.startswith(" ")]


class Clock:
    """A clock that tests move."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr("hornbeam.base.terminal_progress.time.monotonic", moved)
    return moved


def on_a_terminal(*words: object, columns: int = 100, **environment: str) -> str:
    """What a command shows on a terminal, stdout and stderr together."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items()
           if name not in ("NO_COLOR", "FORCE_COLOR", "CI", "COLUMNS")}  # fmt: skip
    env |= {"TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
    shown = b""
    with subprocess.Popen(
        command(*words), stdin=theirs, stdout=theirs, stderr=theirs, env=env
    ) as running:
        os.close(theirs)
        while select.select([ours], [], [], 60)[0]:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so where the other end is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert running.returncode == 0, shown
    return shown.decode()


def test_a_log_gets_a_line_now_and_then(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = TerminalProgress()
    for done in range(0, 1001, 10):
        progress.advance("Counting", done, 1000)
        clock.now += 0.5
    lines = capsys.readouterr().err.splitlines()
    # 50 seconds of work at 20 a second, a line every 10 s and none at the end
    assert lines == [
        "Counting: 200 of 1,000, 20/s, 40 s left.",
        "Counting: 400 of 1,000, 20/s, 30 s left.",
        "Counting: 600 of 1,000, 20/s, 20 s left.",
        "Counting: 800 of 1,000, 20/s, 10 s left.",
    ]


def test_quiet_and_verbose(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    for quiet, verbose in ((True, False), (True, True)):
        with ConsoleOptions(quiet=quiet, verbose=verbose).progress() as progress:
            progress.message("something")
            progress.detail("a detail")
            progress.advance("Counting", 10, 10)
        assert capsys.readouterr().err == ""
    with ConsoleOptions().progress() as progress:
        progress.message("something")
        progress.detail("a detail")
        progress.advance("Counting", 10, 10)
    assert capsys.readouterr().err == "something\n"
    with ConsoleOptions(verbose=True).progress() as progress:
        clock.now += 1.5
        progress.message("something")
        progress.detail("a detail")
        progress.advance("Counting", 5, 10)
        clock.now += 0.5
        progress.advance("Counting", 10, 10)
    *lines, cost = capsys.readouterr().err.splitlines()
    assert lines == [
        "[   1.50 s] something",
        "[   1.50 s] a detail",
        "[   2.00 s] Counting: 10 of 10, 10/s.",
    ]
    assert re.fullmatch(r"\[   2\.00 s\] Done\. CPU [\d.]+ s(, peak memory [\d,]+ MiB)?\.", cost)


def test_failed_work_has_no_cost(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), ConsoleOptions(verbose=True).progress():
        _ = 1 / 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_as_loud_as_asked(name: str) -> None:
    shown = " ".join(hornbeam_(name, "--help").stdout.split())
    for option in ("--json", "--quiet -q", "--verbose -v"):
        assert option in shown.replace("│", " ").replace("  ", " ")


@pytest.mark.slow
def test_verbose_work_on_files() -> None:
    ended = hornbeam_("candidates", *EVIDENCE, *TRAIN, "-v")
    assert "Read Facts(1,254 facts" in ended.stderr
    assert "Counting paths: 120 of 120" in ended.stderr
    assert ended.stdout == "".join(
        line for line in hornbeam_("candidates", *EVIDENCE, *TRAIN).stdout.splitlines(keepends=True)
        if "Loaded in" not in line
    ) + ended.stdout.splitlines(keepends=True)[-1]  # fmt: skip


@pytest.mark.slow
def test_large_files_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "LARGE", 20_000)
    ended = hornbeam_("candidates", *EVIDENCE, *TRAIN)
    assert ended.told == ["Reading 0 MB ..."]
    assert hornbeam_("candidates", *EVIDENCE, *TRAIN, "-q").told == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_every_command_are_right(name: str) -> None:
    """They name the command, and options that it has."""
    shown = examples(COMMANDS[name])
    assert shown
    for example in shown:
        program, subcommand, *words = example.split()
        assert (program, subcommand) == ("hornbeam", name)
        commands.load(name).make_context(name, words)


def test_every_command_is_listed_with_the_first_line_of_its_help() -> None:
    listed = {name: text for group in commands.COMMANDS.values() for name, text in group.items()}
    assert listed == {name: help_text(one).split("\n")[0] for name, one in COMMANDS.items()}


@pytest.mark.slow
def test_help_shows_the_examples_and_no_markup() -> None:
    for name, function in COMMANDS.items():
        shown = " ".join(hornbeam_(name, "--help").stdout.split())
        for example in examples(function):
            assert example in shown
        assert "[dim]" not in shown
        assert "[/" not in shown


@pytest.mark.slow
def test_colours_are_for_terminals_that_want_them() -> None:
    assert "\x1b" not in hornbeam_("doctor").stdout
    assert "\x1b[1mPython" in on_a_terminal("doctor")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", on_a_terminal("doctor", NO_COLOR="1"))
    assert "\x1b" not in on_a_terminal("doctor", TERM="dumb")


def test_a_bar_shows_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn on a recording screen, without waiting for long work."""
    import rich.console

    record = rich.console.Console(record=True, force_terminal=True, width=100, stderr=True)
    monkeypatch.setattr(rich.console, "Console", lambda **_: record)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal_progress, "BAR_AFTER_SECONDS", 0.0)
    progress = TerminalProgress()
    moved = Clock()
    monkeypatch.setattr("hornbeam.base.terminal_progress.time.monotonic", moved)
    progress._bar_from = 0.0
    for done in (100, 200, 300):
        progress.advance("Counting paths", done, 1000)
        moved.now += 1.0
    assert progress._bar is not None
    progress._bar.refresh()
    progress.close()
    shown = ESCAPE.sub("", record.export_text())
    assert "Counting paths" in shown
    assert "300 of 1,000, 100/s, 7 s left" in shown
    assert progress._bar is None


def test_stages_of_a_whole_are_one_line_with_one_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = Clock()
    monkeypatch.setattr("hornbeam.base.terminal_progress.time.monotonic", moved)
    monkeypatch.setattr(terminal_progress, "LINE_EVERY_SECONDS", 1.0)
    shares = {"Counting": 20.0, "Fitting": 70.0, "Rest": 10.0}
    progress = TerminalProgress(whole=WholeProgress("Learning", shares))
    for stage, done in (("Counting", 1), ("Counting", 2), ("Counting", 1), ("Fitting", 1)):
        progress.advance(stage, 0, 2)
        moved.now += 10.0
        progress.advance(stage, done, 2)
    progress.advance("of no share", 1, 2)
    lines = [line for line in capsys.readouterr().err.splitlines() if line]
    assert lines == [
        "Learning: 10 %, 90 s left.",
        "Learning: 20 %, 80 s left.",  # a stage that begins again does not take it back
        "Learning: 55 %, 18 s left.",
    ]


def test_the_time_left_is_right_though_shares_are_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Within a stage its own rate is what counts, and nothing is rounded before it is shown."""
    moved = Clock()
    monkeypatch.setattr("hornbeam.base.terminal_progress.time.monotonic", moved)
    monkeypatch.setattr(terminal_progress, "LINE_EVERY_SECONDS", 1.0)
    progress = TerminalProgress(
        whole=WholeProgress("Learning", {"Counting": 90.0, "Fitting": 10.0})
    )
    for stage, seconds in (("Counting", 0.1), ("Fitting", 10.0)):
        for done in range(10):
            progress.advance(stage, done, 10)
            moved.now += seconds
        progress.advance(stage, 10, 10)
    lines = [line for line in capsys.readouterr().err.splitlines() if line]
    assert lines == [f"Learning: {90 + k} %, {100 - 10 * k} s left." for k in range(1, 10)]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [20, 37, 60, 100, 200])
def test_tables_fit_and_lose_nothing(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = hornbeam_("candidates", *EVIDENCE, *TRAIN)
    assert ended.code == 0
    assert max(map(len, ended.stdout.splitlines())) <= columns
    assert "…" not in ended.stdout
    words = re.sub(r"\s", "", ended.stdout)
    assert "347" in words
    if columns in (100, 200):
        assert "uses_currency(A, B) & uses_currency(C, B)" in " ".join(ended.stdout.split())
    ended = hornbeam_("crossval", COUNTRIES, "--folds", 2, "--methods", "ppll", "-q")
    assert max(map(len, ended.stdout.splitlines())) <= columns
    assert "…" not in ended.stdout
    assert "log-loss" in ended.stdout


def test_a_long_line_goes_on_below_its_last_column(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    import rich.console

    lines = [
        "  +0.21  ███  If A binds B and B causes C, then A treats C.",
        "plain words " * 4 + "to the end",
        "short",
    ]
    shown = {}
    for terminal in (False, True):
        out = io.StringIO()
        on = rich.console.Console(file=out, width=40, force_terminal=terminal, color_system=None)
        for line in lines:
            console.print_line(on, line)
        shown[terminal] = out.getvalue().splitlines()
    assert shown[False] == lines
    assert shown[True][:3] == [
        "  +0.21  ███  If A binds B and B causes",
        "              C, then A treats C.",
        "plain words plain words plain words",
    ]
    assert shown[True][-1] == "short"


@pytest.mark.slow
def test_completion_knows_commands_and_options() -> None:
    def complete(words: str, last: int) -> list[str]:
        done = subprocess.run(
            [Path(sys.executable).with_name("hornbeam")],
            capture_output=True, text=True, check=False,
            env={**os.environ, "_HORNBEAM_COMPLETE": "complete_bash", "COMP_WORDS": words,
                 "COMP_CWORD": str(last)},
        )  # fmt: skip
        return done.stdout.split()

    assert complete("hornbeam cand", 1) == ["candidates"]
    assert "--max-length" in complete("hornbeam learn --max", 2)
    assert complete("hornbeam learn --method gr", 3) == ["greedy"]
