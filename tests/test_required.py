"""HORNBEAM_REQUIRE_ALL=1, as continuous integration has it: whatever is skipped has failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Every way to skip, and a failure that is expected, which is none of them.
SKIPPED = """
import pytest

@pytest.fixture
def missing():
    pytest.skip("no machine")

def test_by_fixture(missing): ...
def test_by_call(): pytest.skip("no reason")
@pytest.mark.skipif(True, reason="no mark")
def test_by_mark(): ...
@pytest.mark.xfail
def test_expected(): assert False
"""


@pytest.mark.slow
@pytest.mark.parametrize("required", ["", "1"])
def test_every_skip_is_a_failure_where_everything_is_required(
    tmp_path: Path, required: str
) -> None:
    (tmp_path / "test_calls.py").write_text(SKIPPED)
    (tmp_path / "test_module.py").write_text("import pytest\npytest.importorskip('no_such_module')")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    words = ["-q", "-p", "tests.conftest", "--continue-on-collection-errors"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "-c", tmp_path / "pytest.ini", tmp_path],
        cwd=Path(__file__).parents[1], env={**os.environ, "HORNBEAM_REQUIRE_ALL": required},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    expected = "1 failed, 1 xfailed, 3 errors" if required else "4 skipped, 1 xfailed"
    assert expected in done.stdout.splitlines()[-1], done.stdout
    for reason in ("no machine", "no reason", "no mark", "no_such_module"):
        assert (reason in done.stdout) is bool(required)
