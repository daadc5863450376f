"""Commands with mutated options and mutated files, run in this process.

Options come from the command line itself, so that a new one is tried without being listed.
What must hold: exit code 0 or 2; with 2 one message, and nothing written; with 0 nothing but the
named output written; never a traceback, a temporary file that stays, or a changed input.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from enum import Enum
from functools import cache
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

from hornbeam.base.files import TEMPORARY
from hornbeam.cli.commands import function_of, load
from tests.support.commands import hornbeam_
from tests.support.fuzz_readers import UNPRINTABLE
from tests.support.fuzz_seeds import GRAPH
from tests.support.mutations import mutated
from tests.support.small_inputs import FILES

NUMBERS = (
    "0", "1", "2", "3", "-1", "0.5", "1e-5", "1e300", "1e-320", "nan", "inf", "-inf", "9" * 20,
    "9" * 400, "1_0", "\uff10", "\u0663", " 1", "0x10", "1e5", "true", "2147483648",
    "9223372036854775807", "9223372036854775808", "100000",
)  # fmt: skip
TEXTS = (
    "", " ", "a", "?", "\u00e9", "\x1b[31m", "\u202e", "a" * 5000, "../..", "-", "--", ",", "t",
    "p", "paths,open", "subject=a", "subject=x,object=y", "'", "%s", "\udcff", "[bold]", "=",
    "ta=facts.tsv",
    "auto", "p,q", "missing.tsv", "tmp", "/dev/null", "facts.tsv", "labels.tsv", "model.psl",
    "graph.hornbeam", "program.json", "names.tsv", "new.psl", "out.csv", "out.parquet", "out.json",
)  # fmt: skip
#: It would start a Java machine.
LEFT_OUT = ("spark",)
#: More than any of these small inputs may take.
MAX_SECONDS = 30.0

FACTS, LABELS = ("--facts", "facts.tsv"), ("--labels", "labels.tsv")
FIT = ("--method", "ppll", "--min-coverage", "1")
#: Valid words of every command. A demo runs the others.
BASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "demo": (),
    "doctor": ((),),
    "candidates": ((*FACTS, *LABELS), (*FACTS, *LABELS, "-o", "out.csv")),
    "learn": (
        (*FACTS, *LABELS, *FIT, "-o", "new.psl"),
        (*FACTS, "--target", "p", *FIT, "--bodies", "open", "-o", "new.psl"),
    ),
    "predict": (
        ("model.psl", *FACTS, "--pairs", "labels.tsv", "-o", "out.tsv"),
        ("model.psl", *FACTS, "--top", "3"),
        ("graph.hornbeam", *FACTS, "--queries", "queries.tsv", "--names", "names.tsv"),
    ),
    "evaluate": (
        ("model.psl", *FACTS, *LABELS),
        ("graph.hornbeam", *FACTS, "--test", "facts.tsv", "-o", "out.tsv"),
    ),
    "crossval": ((*FACTS, *LABELS, "--methods", "ppll", "--folds", "2", "--min-coverage", "1"),),
    "explain": (
        ("model.psl", "a0", "c0", *FACTS),
        ("graph.hornbeam", "a0", "p", "b0", *FACTS),
    ),
    "report": (("model.psl", *FACTS, *LABELS, "-o", "out.html"),),
    "show": (("model.psl",), ("graph.hornbeam", "--json")),
    "diff": (("model.psl", "model.psl"), ("model.psl", "model.psl", *FACTS, *LABELS)),
    "serve": (("model.psl", *FACTS, "--port", "0"),),
    "infer": (("program.json", "-o", "inferred"), ("program.json", "--json")),
    "weights": (("program.json", "-o", "learned.psl"),),
    "export": (
        ("model.psl", *FACTS, "--pairs", "labels.tsv", "-o", "program"),
        ("graph.hornbeam", "-o", "rules.csv"),
    ),
}

WORLD: dict[str, bytes] = {
    **{name: text.encode() for name, text in FILES.items()},
    "queries.tsv": b"a0\tp\t?\n?\tq\tc0\n",
    "names.tsv": b"a0\tAnn\nb0\tBob\tperson\n",
    "graph.hornbeam": GRAPH,
    "new.psl": b"0.25: q(A, B) -> t(A, B)\n",
    "mine.txt": b"mine",
}


@dataclass(frozen=True)
class Option:
    """An option of a command: how it is written, whether it is a flag, and its choices."""

    flag: str
    is_flag: bool
    words: tuple[str, ...]


@cache
def options_of(command: str) -> tuple[Option, ...]:
    """Every option of a command, as the command line knows it."""
    kinds = {
        name: one.annotation for name, one in signature(function_of(command)).parameters.items()
    }
    found = []
    for parameter in load(command).params:
        flags = [flag for flag in (*parameter.opts, *parameter.secondary_opts) if flag[0] == "-"]
        choices = _choices(kinds.get(parameter.name))
        found += [
            Option(flag, bool(getattr(parameter, "is_flag", False)), choices) for flag in flags
        ]
    return tuple(one for one in found if one.flag not in ("--help", "-h"))


def _choices(annotation: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Words of the enumeration within an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(str(one.value) for one in annotation)
    return tuple(word for inner in get_args(annotation) for word in _choices(inner))


@dataclass(frozen=True)
class Commands:
    """The command line as a target of fuzzing: an input is JSON of words, and of one file."""

    name: str = "commands"
    file: str = "command.json"
    often: int = 3

    @property
    def seeds(self) -> tuple[bytes, ...]:
        """Valid commands."""
        listed = [(name, base) for name, bases in BASES.items() for base in bases]
        return tuple(_written([name, *base]) for name, base in listed)

    def mutated(self, rng: random.Random, pool: Sequence[bytes]) -> bytes:
        """More options, another word, or another file."""
        given = json.loads(rng.choice(pool))
        words = list(given["words"])
        if rng.random() < 0.25:
            named = [word for word in words if word in WORLD]
            if named:
                file = rng.choice(named)
                return _written(words, file, mutated(rng, [WORLD[file]]))
        for _ in range(rng.choice((1, 1, 2, 3))):
            words = _changed(rng, words)
        return _written(words, given["file"], given["data"].encode("latin-1"))

    def check(self, data: bytes, folder: Path) -> bool:
        """Whether a command ends with exit code 0; see the module."""
        given = json.loads(data)
        world = dict(WORLD)
        if given["file"]:
            world[given["file"]] = given["data"].encode("latin-1")
        _put(folder, world)
        nothing = io.TextIOWrapper(io.BytesIO())
        served = patch("hornbeam.serve.server.run", lambda *_, **__: None)
        with chdir(folder), patch.object(sys, "stdin", nothing), served:
            ended = hornbeam_(*given["words"])
        left = _contents(folder)
        assert ended.code in (0, 2), f"exit {ended.code}: {ended.stderr[-2000:]}"
        assert "Traceback" not in ended.stderr, ended.stderr[-2000:]
        assert not UNPRINTABLE.search(ended.stderr), f"controls: {ended.stderr!r}"
        assert len(ended.stderr) < 20_000, f"a message of {len(ended.stderr)} characters"
        if ended.code:
            assert left == world, f"exit 2, but written: {_difference(left, world)}"
            told = len(re.findall("^hornbeam: ", ended.stderr, re.M)) + ended.stderr.count(
                "\u2500 Error \u2500"
            )
            assert told == 1, ended.stderr[-2000:]
        else:
            outputs = tuple(_outputs(given["words"]))
            for name in _difference(left, world):
                assert name.startswith(outputs), f"{name} is written besides {outputs}"
        return ended.code == 0


def _written(words: Sequence[str], file: str = "", data: bytes = b"") -> bytes:
    return json.dumps({"words": list(words), "file": file, "data": data.decode("latin-1")}).encode()


def _changed(rng: random.Random, words: list[str]) -> list[str]:
    """One change of a command's words."""
    if rng.random() < 0.2 and len(words) > 1:
        at = rng.randrange(1, len(words))
        rest = words[at + 1 :]
        return words[:at] + ([_value(rng, ())] if rng.random() < 0.7 else []) + rest
    option = rng.choice(options_of(words[0]))
    if option.is_flag and rng.random() < 0.9:
        return [*words, option.flag]
    return [*words, option.flag, _value(rng, option.words)]


def _value(rng: random.Random, choices: Sequence[str]) -> str:
    pool = choices if choices and rng.random() < 0.7 else rng.choice((NUMBERS, TEXTS))
    value = rng.choice(pool)
    return "" if value in LEFT_OUT else value


def _outputs(words: Sequence[str]) -> Iterator[str]:
    """What a command may write: its outputs, and the trace beside a model."""
    for before, word in pairwise(words):
        if before in ("-o", "--output"):
            yield word
            yield f"{word.rpartition('.')[0] or word}.trace.json"


def _put(folder: Path, world: dict[str, bytes]) -> None:
    """Make a folder hold these files, and nothing else."""
    left = _contents(folder)
    for name in sorted(left.keys() - world.keys(), reverse=True):
        path = folder / name
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    for name, data in world.items():
        if left.get(name) != data:
            (folder / name).write_bytes(data)


def _contents(folder: Path) -> dict[str, bytes | None]:
    found = {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }
    assert not any(TEMPORARY.fullmatch(part) for name in found for part in name.split("/"))
    return found


def _difference(one: dict[str, bytes | None], other: dict[str, bytes]) -> list[str]:
    return [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
