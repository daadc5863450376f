"""Kernels: when they are compiled, what is said then, and where the code is kept."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import hornbeam
from hornbeam.base import compiled
from hornbeam.base.compiled import TEMPORARY, Kernel, announced, kernels
from hornbeam.errors import HornbeamWarning
from hornbeam.facts.names import translated
from tests.support.commands import process, write
from tests.support.recorded_progress import RecordedProgress

kernel = kernels("a test")


def _next(x: int) -> int:
    return x + 1


@kernel
def _after(x: int) -> int:
    return _next(x)


@kernel
def _nested(x: int) -> int:
    return _after(x)  # type: ignore[operator, no-any-return]


@kernel
def _wrapping(x: np.ndarray) -> np.uint64:
    return x[0] * x[0]  # type: ignore[no-any-return]


def without_file() -> Kernel:
    """A kernel that Numba cannot keep, since it has no file."""
    space: dict[str, Any] = {"__name__": __name__}
    exec("def following(x):\n    return x + 1\n", space)
    return kernel(space["following"])


def test_what_a_kernel_calls_is_compiled_with_it() -> None:
    assert _after.compiled(1) == _after.interpreted(1) == 2


def test_work_in_small_pieces_adds_up() -> None:
    counted = kernels("a test")(_next)
    assert [counted.pays(40, 100) for _ in range(4)] == [False, False, True, True]
    assert counted.choose(0, 10**6) == counted.interpreted
    assert counted.for_size(101, 100) is counted.compiled
    assert counted.for_size(100, 100) == counted.interpreted


def test_a_kernel_that_calls_another_is_refused() -> None:
    with pytest.raises(TypeError, match="a kernel of its own"):
        _ = _nested.compiled


@pytest.mark.filterwarnings("error")
def test_numbers_wrap_around_silently() -> None:
    large = np.array([1 << 63 | 3], dtype=np.uint64)
    assert _wrapping.interpreted(large) == _wrapping.compiled(large) == 9


TOY = """
from hornbeam.base.compiled import announced, kernels

@kernels("a toy")
def after(x):
    return x + 1

class Told:
    def message(self, text):
        print(text)

with announced(Told()):
    assert after.compiled(1) == 2
"""


def run_toy(folder: Path) -> str:
    """Run a compiled kernel in a process of its own; what is told."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    words = [sys.executable, str(folder / "toy.py")]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout


COMPILING = "Compiling a toy (first run only; kept for the next time) ...\n"


@pytest.mark.slow
def test_only_what_is_compiled_is_announced_and_what_cannot_be_read_is_compiled(
    tmp_path: Path,
) -> None:
    """The second process reads the code from disk, and says nothing.

    Code that another version kept may name types that this one does not have.
    """
    (tmp_path / "toy.py").write_text(TOY)
    assert [run_toy(tmp_path), run_toy(tmp_path)] == [COMPILING, ""]
    [index] = tmp_path.rglob("*.nbi")
    version = pickle.dumps(numba.__version__)
    gone = b"chornbeam.facts.names\nNoSuchType\n."  # the pickle of a name that is not there
    index.write_bytes(version + gone)
    assert [run_toy(tmp_path), run_toy(tmp_path)] == [COMPILING, ""]


SHARED = """
from helpers import after
from hornbeam.base.compiled import announced, kernels

@kernels("a toy")
def twice_after(x):
    return 2 * after(x)

class Told:
    def message(self, text):
        print(text)

with announced(Told()):
    print(twice_after.compiled(1))
"""
HELPERS = "from constants import STEP\n\ndef after(x):\n    return x + STEP\n"


@pytest.mark.slow
def test_a_changed_helper_or_constant_of_another_file_compiles_again(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(SHARED)
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "constants.py").write_text("STEP = 1\n")
    assert [run_toy(tmp_path), run_toy(tmp_path)] == [f"{COMPILING}4\n", "4\n"]
    (tmp_path / "helpers.py").write_text(HELPERS.replace("x + STEP", "x - STEP"))
    assert [run_toy(tmp_path), run_toy(tmp_path)] == [f"{COMPILING}0\n", "0\n"]
    (tmp_path / "constants.py").write_text("STEP = 10\n")
    assert [run_toy(tmp_path), run_toy(tmp_path)] == [f"{COMPILING}-18\n", "-18\n"]


def test_small_work_is_not_announced() -> None:
    told = RecordedProgress()
    blob = np.frombuffer(b"a\0", dtype=np.uint8)
    with announced(told):
        translated.interpreted(blob, np.array([1]), blob, np.array([1]), np.array([-1]))
    assert told.messages == []


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment of a package and a home that nothing can be written to, not even by root."""
    folder = tmp_path_factory.mktemp("nowhere")
    package = Path(hornbeam.__file__).parent
    copied = folder / "package" / "hornbeam"
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("__pycache__"))
    for part in [copied, *(path for path in copied.rglob("*") if path.is_dir())]:
        (part / "__pycache__").write_text("a file where a folder should be")
    (folder / "temporary").mkdir()
    impossible = str(copied / "__init__.py" / "x")
    return {
        **os.environ,
        "PYTHONPATH": str(copied.parent),
        "TMPDIR": str(folder / "temporary"),
        "HOME": impossible,
        "XDG_CACHE_HOME": impossible,
        "NUMBA_CACHE_DIR": impossible,
    }


@pytest.mark.slow
def test_code_that_cannot_be_kept_is_kept_for_a_while(
    nowhere: dict[str, str], tmp_path: Path
) -> None:
    facts = write(tmp_path / "facts.tsv", [("a", "p", "b"), ("b", "p", "c")])
    # so many names that looking them up is worth compiling
    rows = [("a", "p", "c", 1), *((f"x{i}", "p", "y", 0) for i in range(12_000))]
    labels = write(tmp_path / "labels.tsv", rows)
    words = ("candidates", "--facts", facts, "--labels", labels, "--min-coverage", 1, "--json")
    first, second = (process(*words, env=nowhere) for _ in range(2))
    assert first.code == second.code == 0
    assert first.json["candidates"] == second.json["candidates"] != []
    assert first.stderr.count(f"Compiled code is kept in {nowhere['TMPDIR']}") == 1
    assert "Compiling the comparison of names" in first.stderr
    assert "Compiling" not in second.stderr


def test_code_that_can_be_kept_nowhere_is_compiled_and_said_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_folder() -> Path:
        raise OSError("No space left on device")

    monkeypatch.setattr(compiled, "_temporary_folder", no_folder)
    monkeypatch.setattr(compiled, "_announced", set())
    told = RecordedProgress()
    with announced(told):
        assert without_file().compiled(1) == 2
    said = "Compiled code cannot be kept anywhere; the next run compiles again."
    assert said in told.messages
    monkeypatch.setattr(compiled, "_announced", set())
    with pytest.warns(HornbeamWarning) as warned:  # nobody listens
        assert [without_file().compiled(1) for _ in range(2)] == [2, 2]
    assert [str(one.message) for one in warned] == [said]
    assert without_file().folder is None


@pytest.mark.slow
def test_the_doctor_marks_code_that_cannot_be_kept(nowhere: dict[str, str]) -> None:
    told = json.loads(process("doctor", "--json", env=nowhere).stdout)
    assert told["kernels"].startswith(str(Path(nowhere["TMPDIR"]) / TEMPORARY))
    assert any("NUMBA_CACHE_DIR" in problem for problem in told["problems"])


@pytest.mark.slow
def test_small_work_never_loads_numba() -> None:
    """Learning and evaluating the bundled countries, as a new user does."""
    script = (
        "import sys, hornbeam as hb; task = hb.datasets.countries(); "
        "model = hb.learn(task.facts, task.train); model.evaluate(task.facts, task.test); "
        "assert 'numba' not in sys.modules, 'Numba was loaded'"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
