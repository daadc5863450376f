"""What this machine has for Hornbeam: versions, kernels, Java, memory, disk, and problems."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from hornbeam import __version__
from hornbeam.compiled import TEMPORARY, Kernel
from hornbeam.machine import physical_memory, worker_threads

#: Extras for those who change Hornbeam, not for those who use it.
DEVELOPMENT = {"dev", "docs"}
#: Less free memory or disk than this is called a problem.
LITTLE_MEMORY = 1 << 30
LITTLE_DISK = 1 << 30


@dataclass(frozen=True)
class Extra:
    """An optional part: its libraries, which of them are there, and how to get the rest."""

    libraries: dict[str, str | None]
    install: str

    @property
    def installed(self) -> bool:
        """Whether every library of it is there."""
        return None not in self.libraries.values()


@dataclass(frozen=True)
class Kernels:
    """Compiled code: kernels there are, kernels kept from an earlier run, and where."""

    total: int
    compiled: int
    folders: list[str]
    writable: bool


@dataclass(frozen=True)
class Checkup:
    """Everything `hornbeam doctor` knows."""

    hornbeam: str
    python: str
    platform: str
    libraries: dict[str, str | None]
    extras: dict[str, Extra]
    threads: int
    kernels: Kernels | None
    java: str | None
    memory_total: int | None
    memory_available: int | None
    temporary_folder: str
    temporary_free: int
    problems: list[str]


def examine() -> Checkup:
    """Look at everything."""
    core, extras = _libraries()
    broken = [name for name, version in core.items() if version is None]
    kernels = None if broken else _kernels()
    memory_total, memory_available = _memory()
    temporary = tempfile.gettempdir()
    free = shutil.disk_usage(temporary).free
    problems = [
        f"{name} is not installed: pip install --upgrade --force-reinstall hornbeam"
        for name in broken
    ]
    if kernels is not None and not kernels.writable:
        problems.append(
            "compiled kernels cannot be kept, so that every run compiles them again: "
            "set NUMBA_CACHE_DIR to a folder that you may write to"
        )
    if memory_available is not None and memory_available < LITTLE_MEMORY:
        problems.append(
            f"only {gib(memory_available)} of memory is free: close other programs, or use "
            "a smaller --max-length or --max-fanout"
        )
    if free < LITTLE_DISK:
        problems.append(
            f"only {gib(free)} is free in {temporary}: make room, or set TMPDIR to another folder"
        )
    return Checkup(
        hornbeam=__version__,
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        platform=platform.platform(),
        libraries=core,
        extras=extras,
        threads=worker_threads(),
        kernels=kernels,
        java=_java(),
        memory_total=memory_total,
        memory_available=memory_available,
        temporary_folder=temporary,
        temporary_free=free,
        problems=problems,
    )


def _libraries() -> tuple[dict[str, str | None], dict[str, Extra]]:
    """Versions of what the package's own metadata ask for, always and for each extra."""
    core: dict[str, str | None] = {}
    optional: dict[str, dict[str, str | None]] = {}
    for requirement in metadata.requires("hornbeam") or []:
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", requirement)
        if extra is None:
            core[name] = _version(name)
        elif extra[1] not in DEVELOPMENT and name != "hornbeam":
            optional.setdefault(extra[1], {})[name] = _version(name)
    return core, {
        extra: Extra(libraries, f"pip install 'hornbeam[{extra}]'")
        for extra, libraries in sorted(optional.items())
    }


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def _kernels() -> Kernels:
    """Count the kernels, and those whose compiled form is newer than their source.

    Numba keeps an index a function, named by module, function and line.
    """
    total = compiled = 0
    folders: set[str] = set()
    for source, name, line, folder in _cached_functions():
        total += 1
        folders.add(folder)
        indexes = Path(folder).glob(f"{source.stem}.{name}-{line}.*.nbi")
        compiled += any(index.stat().st_mtime >= source.stat().st_mtime for index in indexes)
    lasting = all(TEMPORARY not in folder and _writable(folder) for folder in folders)
    return Kernels(total, compiled, sorted(folders), lasting)


def _cached_functions() -> Iterator[tuple[Path, str, int, str]]:
    """Source, name and line of every kernel that is kept on disk, and the folder it is kept in."""
    package = Path(__file__).parents[1]
    for source in sorted(package.rglob("*.py")):
        if "@kernel\n" not in source.read_text(encoding="utf-8"):
            continue
        parts = source.relative_to(package.parent).with_suffix("").parts
        try:
            module = import_module(".".join(parts))
        except ImportError:  # of a part whose extra is not installed
            continue
        for value in vars(module).values():
            if isinstance(value, Kernel):
                code = value.function.__code__
                yield source, code.co_qualname, code.co_firstlineno, value.folder


def _writable(folder: str) -> bool:
    """Whether files can be made in a folder, or the folder itself can be made."""
    path = Path(folder)
    while not path.exists():
        path = path.parent
    return os.access(path, os.W_OK)


def _java() -> str | None:
    """First line of `java -version`, where there is one."""
    command = shutil.which("java")
    if command is None:
        return None
    try:
        told = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = (told.stderr or told.stdout).splitlines()
    return lines[0].strip() if lines else None


def _memory() -> tuple[int | None, int | None]:
    """Memory of the machine and what is free of it, in bytes, where the system tells."""
    if sys.platform == "win32":
        return None, None
    total = physical_memory()
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return total, None
    known = dict(line.split(":", 1) for line in lines if ":" in line)
    return total, int(known["MemAvailable"].split()[0]) * 1024


def gib(size: int) -> str:
    """Format a size."""
    return f"{size / 2**30:,.1f} GiB"
