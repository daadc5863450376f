"""Kills a command before each of its file operations, as a power failure or `kill -9` would.

The command runs in a fork of this process, so that no import is repeated. There an audit hook of
Python's own sees every file operation (opening for writing, making, renaming, locking, deleting)
below one folder, and at the chosen one the fork ends itself by SIGKILL: no `finally` and no `with`
of the command gets a chance to tidy up.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbeam.cli.main import run

#: Audit events that change files, or stand right before what does (the exchange of two folders).
CHANGES = (
    "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.link",
    "os.symlink", "shutil.rmtree",
)  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Ran:
    """How a fork ended: its exit code (None where it was killed), and its file operations."""

    code: int | None
    operations: tuple[str, ...]


def run_in_fork(words: Sequence[str], folder: Path, kill_before: int | None = None) -> Ran:
    """Run a command; SIGKILL before the file operation of a number, counted from 0."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _child(words, folder, kill_before, write)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        sent = stream.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return Ran(None, ())
    return Ran(os.WEXITSTATUS(status), pickle.loads(sent))


def _child(words: Sequence[str], folder: Path, kill_before: int | None, write: int) -> None:
    code = 70
    try:
        seen = list[str]()
        tempfile.tempdir = str(folder / "tmp")
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.chdir(folder)
        sys.argv = ["hornbeam", *words]
        sys.addaudithook(_hook(seen, str(folder), kill_before))
        try:
            run()
        except SystemExit as ended:
            code = int(ended.code or 0)
        os.write(write, pickle.dumps(tuple(seen)))
    finally:
        os._exit(code)


def _hook(
    seen: list[str], folder: str, kill_before: int | None
) -> Callable[[str, tuple[object, ...]], None]:
    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if not isinstance(flags, int) or not flags & WRITING:
                return
        elif event == "ctypes.dlsym" and arguments[1] == "renameat2":
            path = f"{folder}/"
        elif event in CHANGES:
            path = arguments[0]
        else:
            return
        # names relative to a descriptor are those of a tree that is being deleted
        named = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if os.path.isabs(named) and not named.startswith(folder):
            return
        if len(seen) == kill_before:
            os.kill(os.getpid(), signal.SIGKILL)
        seen.append(f"{event} {named.removeprefix(folder)}")

    return hook
