"""What tests need from outside the repository, and what happens where it is missing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

# Reading starts a database and compiles kernels: the first example may take its time.
settings.register_profile("hornbeam", deadline=None, max_examples=50)
settings.load_profile("hornbeam")

ROOT = Path(__file__).parents[1]


def _missing(reason: str) -> None:
    """Skip, or fail where everything is required."""
    if os.environ.get("HORNBEAM_REQUIRE_ALL") == "1":
        pytest.fail(f"{reason} (HORNBEAM_REQUIRE_ALL=1)")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of the shared data sets: HORNBEAM_DATA, or ../shared/data."""
    folder = Path(os.environ.get("HORNBEAM_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        _missing(f"no shared data sets at {folder}; set HORNBEAM_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def psl_links(shared_data: Path) -> Path:
    """Return the folder of the PSL programs with known answers."""
    folder = shared_data.parent / "psl" / "links"
    if not folder.is_dir():
        _missing(f"no PSL programs at {folder}")
    return folder


@pytest.fixture(scope="session")
def java() -> str:
    """Return the Java runtime."""
    found = shutil.which("java")
    if found is None:
        _missing("no Java runtime on the path")
    assert found is not None
    return found
