"""`hornbeam doctor`: versions and resources on this machine, and what is missing or slow."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata

from hornbeam import __version__
from hornbeam.cli import options
from hornbeam.cli.console import screen, screen_text

#: Extras for developers of Hornbeam, not for its users.
DEVELOPMENT = {"dev", "docs"}
#: Less free memory than this is reported as a problem.
LITTLE_MEMORY = 1 << 30

Versions = dict[str, str | None]


@dataclass(frozen=True)
class Checkup:
    """The results of all checks; a result is None where the system does not provide it."""

    hornbeam: str
    python: str
    platform: str
    libraries: Versions
    extras: dict[str, Versions]
    threads: int
    memory_total: int
    memory_available: int | None
    java: str | None
    kernels: str | None
    problems: list[str]


def doctor(*, console: options.ConsoleOptions) -> None:
    """Show versions, threads, memory, Java and where compiled code is kept; mark problems.

    Put its output into a report of a fault. The exit code is 0 whatever it finds; `problems` of
    [bold]--json[/bold] lists what is wrong, each with what to do.

    [dim]Examples:[/dim]

      hornbeam doctor

      hornbeam doctor --json
    """
    with console.progress():
        checkup = examine()
    console.print(lambda: asdict(checkup), lambda: _show(checkup))


def examine() -> Checkup:
    """Run all checks."""
    from hornbeam.base.machine import available_memory, physical_memory, worker_threads

    core, extras = _libraries()
    problems = [
        f"{name} is not installed: pip install --upgrade --force-reinstall hornbeam"
        for name, version in core.items()
        if version is None
    ]
    problems += _outside_ranges()
    kernels = None
    if not problems:
        from hornbeam.base.compiled import TEMPORARY
        from hornbeam.counting.memory.search import search_block

        kernels = search_block.folder  # the cache folder of one kernel stands for all kernels
        if kernels is None or TEMPORARY in kernels:
            where = "nowhere" if kernels is None else "in a temporary folder only"
            problems.append(
                f"compiled kernels are kept {where} and may be compiled again: "
                "set NUMBA_CACHE_DIR to a folder that you may write to"
            )
    available = available_memory()
    if available is not None and available < LITTLE_MEMORY:
        problems.append(
            f"only {_gib(available)} of memory is free: close other programs, or use a smaller "
            "--max-length or --max-fanout"
        )
    return Checkup(
        hornbeam=__version__,
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        platform=platform.platform(),
        libraries=core,
        extras=extras,
        threads=worker_threads(),
        memory_total=physical_memory(),
        memory_available=available,
        java=_java(),
        kernels=kernels,
        problems=problems,
    )


def _requirements() -> Iterator[tuple[str, str, str | None]]:
    """The requirements in the package's metadata: library, version bounds, extra."""
    for requirement in metadata.requires("hornbeam") or []:
        text, _, marker = requirement.partition(";")
        match = re.match(r"([\w.-]+)(?:\[[^]]*\])?\s*(.*)", text)
        marked = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
        extra = None if marked is None else marked[1]
        if match is not None and match[1] != "hornbeam" and extra not in DEVELOPMENT:
            yield match[1], match[2].strip(), extra


def _libraries() -> tuple[Versions, dict[str, Versions]]:
    """Versions of the required libraries, and of the libraries of each extra."""
    core: Versions = {}
    extras: dict[str, Versions] = {}
    for name, _, extra in _requirements():
        (core if extra is None else extras.setdefault(extra, {}))[name] = _version(name)
    return core, dict(sorted(extras.items()))


def _outside_ranges() -> list[str]:
    """Installed libraries whose versions are outside their allowed ranges."""
    problems = []
    for name, bounds, _ in _requirements():
        version = _version(name)
        if version and not all(_is_within(version, bound) for bound in bounds.split(",") if bound):
            allowed = ",".join(sorted(bounds.split(","), reverse=True))
            problem = f"{name} {version} is not supported, only {allowed}"
            problems.append(f"{problem}: pip install --upgrade '{name}{allowed}'")
    return problems


def _is_within(version: str, bound: str) -> bool:
    """Whether a version meets a bound, compared by release numbers.

    >>> _is_within("1.4.2", ">=1.5"), _is_within("2.0.0", "<3"), _is_within("3.0", "<3")
    (False, True, False)
    """
    sign, limit = bound.strip()[:2].rstrip("0123456789"), bound.strip().lstrip("<>=!~ ")
    release, other = (
        [int(part) for part in re.findall(r"\d+", text)[:4]] + [0] * 4 for text in (version, limit)
    )
    return {">=": release[:4] >= other[:4], "<": release[:4] < other[:4]}.get(sign, True)


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def _java() -> str | None:
    """First line of `java -version`; None without Java."""
    command = shutil.which("java")
    if command is None:
        return None
    try:
        result = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = (result.stderr or result.stdout).splitlines()
    return lines[0].strip() if lines else None


def _show(checkup: Checkup) -> None:
    out = screen()
    lines = {
        "Hornbeam": checkup.hornbeam,
        "Python": f"{checkup.python} on {screen_text(checkup.platform)}",
        "Libraries": _listed(checkup.libraries),
    }
    for name, libraries in checkup.extras.items():
        missing = "not installed: " + screen_text(f"pip install 'hornbeam[{name}]'")
        lines[f"  {name}"] = missing if None in libraries.values() else _listed(libraries)
    lines["Threads"] = str(checkup.threads)
    free = checkup.memory_available
    lines["Memory"] = _gib(checkup.memory_total) + (f", {_gib(free)} free" if free else "")
    lines["Java"] = screen_text(checkup.java or "none (only Spark and PSL's own runtime need it)")
    if checkup.kernels is not None:
        lines["Kernels"] = f"compiled code is kept in {screen_text(checkup.kernels)}"
    for name, text in lines.items():
        out.print(f"[bold]{name:10}[/bold] {text}", soft_wrap=True)
    if not checkup.problems:
        out.print("[green]No problems found.[/green]")
    for problem in checkup.problems:
        out.print(f"[red]problem:[/red] {screen_text(problem)}", soft_wrap=True)


def _listed(libraries: Versions) -> str:
    return ", ".join(
        f"{name} {version or '[red]missing[/red]'}" for name, version in libraries.items()
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"
