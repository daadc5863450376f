"""Running the command: in this process for most tests, as a process of its own for some."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import hornbeam
from hornbeam.cli.main import run

COUNTRIES = Path(hornbeam.__file__).parent / "examples" / "countries"
EVIDENCE = ("--facts", COUNTRIES / "observed.tsv", "--facts", COUNTRIES / "fold0" / "obs.tsv")
TRAIN = ("--labels", COUNTRIES / "fold0" / "train.tsv")
TEST = ("--labels", COUNTRIES / "fold0" / "test.tsv")

#: Seconds after which what a test waits for is taken as hanging: other tests share the machine.
PATIENCE = 120.0

#: Names that break what is not careful: markup, HTML, SQL, quotes, emoji, codes of emoji, paths.
HOSTILE = (
    "[bold]x[/bold]",
    "[/]",
    "<script>alert('1')</script>",
    "'; DROP TABLE facts; --",
    '"quoted", twice "" over',
    "\N{SNAKE} snake \N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET}",
    ":smile: :warning:",
    "../../etc/passwd",
    "back\\slash\\",
    "{curly} %s $HOME `id`",
    "מימין לשמאל",
    " leading and trailing ",
    "\u2028line\u0085separators",
)


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:  # noqa: ANN401
        """The one JSON object that stdout holds, and nothing besides."""
        assert self.code == 0, self.stderr
        found = json.loads(self.stdout, parse_constant=_no_constant)
        assert isinstance(found, dict)
        return found

    @property
    def rows(self) -> list[list[str]]:
        """Fields of the lines of stdout."""
        assert self.code == 0, self.stderr
        assert self.stdout.endswith("\n") or not self.stdout
        return [line.split("\t") for line in self.stdout.split("\n")[:-1]]

    @property
    def told(self) -> list[str]:
        """Lines of stderr, but for the news of a first run that kernels are compiled."""
        return [line for line in self.stderr.splitlines() if not line.startswith("Compiling ")]


def _no_constant(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def hornbeam_(*words: object) -> Ended:
    """Run the command's entry point in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["hornbeam", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        try:
            run()
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    return Ended(code, out.getvalue(), err.getvalue())


def process(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> Ended:
    """Run the command as a user does."""
    done = subprocess.run(
        command(*words), capture_output=True, cwd=cwd, env=env, timeout=PATIENCE, check=False
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def command(*words: object) -> list[str]:
    """The words of a process that is the command."""
    return [sys.executable, "-m", "hornbeam.cli.main", *map(str, words)]


def plain_user() -> list[str]:
    """Words before a command that take away root's right to read and write everything."""
    if os.name == "nt" or os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may read and write anywhere")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]


def write(path: Path, rows: Iterable[Iterable[object]]) -> Path:
    """Write a TSV file."""
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    path.write_bytes(text.encode())
    return path


def listing(folder: Path) -> list[str]:
    """Everything in a folder, however deep."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
