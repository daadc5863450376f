"""Locks on files being written: a held lock shows that its owner is still running.

The system releases a lock when its owner ends, also where that is killed. Windows locks neither
folders nor files that are to be renamed: there nothing is locked, and what a killed run left behind
stays until the user deletes it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Stands for a lock where the system has none.
NOTHING = -1


def hold(path: Path) -> int | None:
    """Lock a path that was just created; None where another run deleted it as abandoned before."""
    if fcntl is None:
        return NOTHING
    try:
        owner = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    fcntl.flock(owner, fcntl.LOCK_EX)
    if os.path.exists(path):
        return owner
    os.close(owner)
    return None


def release(owner: int) -> None:
    """Release a lock of `hold`."""
    if owner != NOTHING:
        os.close(owner)


@contextmanager
def unlocked_now(path: Path) -> Iterator[None]:
    """Lock a path for the block; `OSError` where another process holds it, or might hold it."""
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "no locks")
    seen = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(seen, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(seen)
