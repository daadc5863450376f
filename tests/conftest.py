"""What tests need from outside the repository, and what happens where it is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Reading starts a database and compiles kernels: the first example may take its time.
settings.register_profile("hornbeam", deadline=None, max_examples=50)
# `make quick`: a few examples of everything, also of what asks for more (see below)
settings.register_profile("quick", parent=settings.get_profile("hornbeam"), max_examples=3)
settings.load_profile("hornbeam")

ROOT = Path(__file__).parents[1]
#: Markers that a test has because it asks for a fixture.
NEEDS = {"shared_data": "shared", "java": "java", "browser": "browser"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they ask for; with `--hypothesis-profile quick` limit all examples."""
    quick = config.getoption("--hypothesis-profile") == "quick"
    for item in items:
        for fixture in NEEDS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(NEEDS[fixture])
        test = getattr(item, "obj", None)
        mine = getattr(test, "_hypothesis_internal_use_settings", None)
        if quick and mine is not None:
            limit = min(mine.max_examples, settings.get_profile("quick").max_examples)
            vars(test)["_hypothesis_internal_use_settings"] = settings(mine, max_examples=limit)


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


@pytest.fixture(scope="session")
def psl_runtime(java: str) -> Path:
    """Return the jar of PSL's own runtime, which the pslpython wheel carries."""
    package = importlib.util.find_spec("pslpython")
    folders = (package.submodule_search_locations or []) if package else []
    jar = next((jar for folder in folders for jar in Path(folder).glob("psl-runtime.jar")), None)
    if jar is None:
        _missing("no PSL runtime: pip install pslpython==2.4.1")
    assert jar is not None
    return jar


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run the system's Chromium without a window."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        _missing("no Chromium on the path: apt-get install chromium")
    if importlib.util.find_spec("playwright") is None:
        _missing("no Playwright: pip install playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # containers have no user namespaces for the sandbox; tests open our own pages only
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()
