"""Plain words become values without pydantic; the others are Typer's."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import typer.core

from hornbeam.cli.commands import NotPlainError, plain
from tests.support.commands import EVIDENCE, TRAIN, hornbeam_

LEARN = """
import sys
from hornbeam.cli.commands import load
load("learn").make_context("learn", {words!r})
print("pydantic" in sys.modules)
"""


class Colour(StrEnum):
    """Choices."""

    RED = "red"


@dataclass(frozen=True)
class Range:
    """The part of an option that matters here."""

    min: float | None = None
    max: float | None = None


@pytest.mark.parametrize(
    ("word", "kind", "value"),
    [
        ("text", str, "text"),
        ("3", int, 3),
        (3, int, 3),
        ("-3", int, -3),
        ("3", float, 3.0),
        ("1e-3", float, 1e-3),
        ("0.25", float, 0.25),
        (True, bool, True),
        ("red", Colour, Colour.RED),
        (Colour.RED, Colour, Colour.RED),
        ("no such file", Path, Path("no such file")),
        (["a", "b"], list[str], ["a", "b"]),
    ],
)
def test_plain_words(word: object, kind: Any, value: object) -> None:  # noqa: ANN401
    found = plain(word, kind, Range())
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("word", "kind"),
    [("three", int), ("3.5", int), ("٣", int), ("1_000", int), ("nan", float), ("inf", float),
     ("RED", Colour), ("yes", bool), (["1", "x"], list[int])],
)  # fmt: skip
def test_words_that_typer_looks_at(word: object, kind: Any) -> None:  # noqa: ANN401
    with pytest.raises(NotPlainError):
        plain(word, kind, Range())


def test_numbers_out_of_range_are_left_to_typer() -> None:
    assert plain("3", int, Range(1, 3)) == 3
    for word in ("0", "4"):
        with pytest.raises(NotPlainError):
            plain(word, int, Range(1, 3))


@pytest.mark.skipif(
    not hasattr(typer.core.TyperOption, "get_runtime_param"), reason="Typer before 0.29 reads 1_0"
)
@pytest.mark.parametrize("word", ["1_0", " 1", "١"])
@pytest.mark.parametrize("flag", ["--top", "--negatives"])
def test_only_plain_numbers_are_numbers(flag: str, word: str, tmp_path: Path) -> None:
    ended = hornbeam_("learn", *EVIDENCE, *TRAIN, "-o", tmp_path / "m.psl", flag, word)
    assert ended.code == 2
    assert f"'{flag}': '{word}' is not a number" in ended.stderr


@pytest.mark.slow
def test_a_command_without_mistakes_does_not_import_pydantic(tmp_path: Path) -> None:
    words = [*map(str, (*EVIDENCE, *TRAIN)), "-o", str(tmp_path / "model.psl"), "--top", "3",
             "--negatives", "0.5", "--method", "ppll", "--counts", "log", "-q"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", LEARN.format(words=words)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"
