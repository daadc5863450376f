"""What tests need from outside the repository, and what happens where it is missing."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, Phase, settings

from hornbeam.base import compiled
from hornbeam.base.compiled import Kernel

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

# Reading starts a database, and kernels may be compiled: the first example may take its time.
# Continuous integration tries the same examples for the same code, so that a commit is green or red
# whenever it is judged; everywhere else examples differ from run to run and find what is new.
settings.register_profile(
    "hornbeam",
    deadline=None,
    max_examples=12,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault of a test
)
# `make quick`: few examples of every property, also of those that ask for more
settings.register_profile("quick", parent=settings.get_profile("hornbeam"), max_examples=2)
# `make mutants`: not many either, the same in every run, and the first that fails is enough
settings.register_profile(
    "mutants",
    parent=settings.get_profile("hornbeam"),
    max_examples=10,
    phases=[Phase.explicit, Phase.generate],
    database=None,
    derandomize=True,
)
#: And of the cases of a test, unless the marker `quick_cases` says otherwise.
QUICK_CASES = 1
settings.load_profile("hornbeam")

# Threads of BLAS wait for each other by spinning, and workers, which inherit this, share the cores
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
#: Java's second compiler takes longer than what it makes faster in jobs of seconds.
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(JAVA_OPTIONS))
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", " ".join(JAVA_OPTIONS))
ROOT = Path(__file__).parents[1]
os.environ.setdefault("SPARK_CONF_DIR", str(ROOT / "tests" / "support" / "spark"))
#: Markers that a test has because it asks for a fixture.
NEEDS = {"shared_data": "shared", "java": "java", "browser": "browser", "site": "slow"}
#: What a module says whose tests are all of a kind that `make quick` leaves out.
LEFT_OUT = re.compile(r"^pytestmark = .*mark\.(slow|java|browser|shared)\b", re.MULTILINE)
#: Fixtures that are expensive to start: tests that ask for one run in the same worker.
ONE_WORKER = ("spark", "psl_runtime", "browser", "site")


def _is_quick(config: pytest.Config) -> bool:
    """Whether these are the tests of `make quick`."""
    return bool(config.getoption("--hypothesis-profile") == "quick")


def pytest_configure(config: pytest.Config) -> None:
    """Ignore notes as Python code does; `filterwarnings` of the project makes warnings errors."""
    config.addinivalue_line("filterwarnings", "ignore::hornbeam.errors.HornbeamNote")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave modules alone of which `make quick` runs nothing: importing some takes seconds."""
    if not (_is_quick(config) and collection_path.suffix == ".py"):
        return None
    return bool(LEFT_OUT.search(collection_path.read_text(encoding="utf-8"))) or None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[list[pytest.Collector]]:
    """Look for doctests in the package alone: this file knows of the tests' folder only."""
    found: list[pytest.Collector] = yield  # type: ignore[assignment, misc]
    return [one for one in found if not isinstance(one, DoctestModule)]  # type: ignore[return-value]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures they ask for, and cases that are more than `make quick` runs.

    Groups come first: they are the dearest, and no worker shall be alone with one at the end.
    """
    _mark_more_cases(items)
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for name in NEEDS.keys() & fixtures:
            item.add_marker(NEEDS[name])
        for name in fixtures.intersection(ONE_WORKER):
            item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def _mark_more_cases(items: list[pytest.Item]) -> None:
    """Spread the cases that `make quick` runs over all cases of a test; mark the others."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for all_cases in tests.values():
        cases = [case for case in all_cases if not case.get_closest_marker("more_cases")]
        if not cases:
            continue
        mark = cases[0].get_closest_marker("quick_cases")
        few = min(len(cases), mark.args[0] if mark else QUICK_CASES)
        kept = {i * (len(cases) - 1) // max(1, few - 1) for i in range(few)}
        for i, case in enumerate(cases):
            if i not in kept:
                case.add_marker("more_cases")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Try at most as many examples as the marker `examples` and a profile of few allow.

    Hypothesis keeps settings by function; a limit may be that of one parameter.
    """
    limits = [mark.args[0] for mark in pyfuncitem.iter_markers("examples")]
    profile = pyfuncitem.config.getoption("--hypothesis-profile")
    if profile in ("quick", "mutants"):
        limits.append(settings.get_profile(profile).max_examples)
    name = "_hypothesis_internal_use_settings"
    test = pyfuncitem.obj
    whole = getattr(test, name, None)
    if whole is None or not limits:
        return (yield)
    setattr(test, name, settings(whole, max_examples=min(whole.max_examples, *limits)))
    try:
        return (yield)
    finally:
        setattr(test, name, whole)


_asked: set[Kernel] = set()


@pytest.fixture(scope="session", autouse=True)
def _kernels_that_are_asked() -> Iterator[None]:
    """Note which kernels count work."""
    pays = Kernel.pays

    def noted(kernel: Kernel, work: int, limit: int) -> bool:
        _asked.add(kernel)
        return pays(kernel, work, limit)

    with patch.object(Kernel, "pays", noted):
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_worker_compiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let a worker wait for a kernel that another compiles, and read it from disk."""
    folder, jitted = tmp_path_factory.getbasetemp().parent, compiled._jitted
    if "PYTEST_XDIST_WORKER" not in os.environ or sys.platform == "win32":
        yield
        return
    from fcntl import LOCK_EX, flock

    def locked(function: FunctionType, options: dict[str, bool], stamp: str) -> Callable[..., Any]:
        made = jitted(function, options, stamp)
        if options == compiled.KEPT:
            compile_ = made.compile  # type: ignore[attr-defined]

            def compile_or_read(signature: object) -> object:
                with open(folder / f"{function.__module__}.{function.__name__}.lock", "w") as lock:
                    flock(lock, LOCK_EX)
                    return compile_(signature)

            made.compile = compile_or_read  # type: ignore[attr-defined]
        return made

    with patch.object(compiled, "_jitted", locked):
        yield


@pytest.fixture(scope="module", autouse=True)
def _no_work_before() -> Iterator[None]:
    """Forget the work of a module: it shall not decide whether the next one's kernels compile.

    Within a module it adds up, as in a process of a user: to run all of it as it is takes longer.
    """
    yield
    for kernel in _asked:
        kernel._asked = 0
    _asked.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where everything is required, a test that is skipped has failed, whoever skipped it."""
    report = yield
    _fail_if_required(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """And so has a module that is skipped as a whole."""
    report = yield
    _fail_if_required(report)
    return report


def _fail_if_required(report: pytest.TestReport | pytest.CollectReport) -> None:
    skipped = report.skipped and not hasattr(report, "wasxfail")
    if skipped and os.environ.get("HORNBEAM_REQUIRE_ALL") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"{reason} (HORNBEAM_REQUIRE_ALL=1)"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of the shared data sets: HORNBEAM_DATA, or ../shared/data."""
    folder = Path(os.environ.get("HORNBEAM_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no shared data sets at {folder}; set HORNBEAM_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def psl_links(shared_data: Path) -> Path:
    """Return the folder of the PSL programs with known answers."""
    folder = shared_data.parent / "psl" / "links"
    if not folder.is_dir():
        pytest.skip(f"no PSL programs at {folder}")
    return folder


@pytest.fixture(scope="session")
def java() -> str:
    """Return the Java runtime."""
    found = shutil.which("java")
    if found is None:
        pytest.skip("no Java runtime on the path")
    assert found is not None
    return found


@pytest.fixture(scope="session")
def spark(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start Spark once for all tests of a worker: it takes longer than most of them."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("no Spark: pip install 'hornbeam[spark]'")
    from tests.support.sparks import small_session

    with small_session(tmp_path_factory.mktemp("warehouse")) as session:
        yield session


@pytest.fixture(scope="session")
def psl_runtime(java: str) -> Path:
    """Return the jar of PSL's own runtime, which the pslpython wheel carries."""
    package = importlib.util.find_spec("pslpython")
    folders = (package.submodule_search_locations or []) if package else []
    jar = next((jar for folder in folders for jar in Path(folder).glob("psl-runtime.jar")), None)
    if jar is None:
        pytest.skip("no PSL runtime: pip install pslpython==2.4.1")
    assert jar is not None
    return jar


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run the system's Chromium without a window; its headless shell takes half the time."""
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        pytest.skip("no Chromium on the path: apt-get install chromium-headless-shell")
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("no Playwright: pip install playwright")
    from playwright.sync_api import expect, sync_playwright

    from tests.support.commands import PATIENCE

    expect.set_options(timeout=1000 * PATIENCE)  # five seconds are few on a busy machine
    with sync_playwright() as playwright:
        # containers have no user namespaces for the sandbox; tests open our own pages only
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()
