"""What this machine has: memory and cores."""

from __future__ import annotations

import os


def physical_memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def worker_threads(asked: int | None = None) -> int:
    """As many threads as are asked for; one per core by default.

    Examples
    --------
    >>> worker_threads(3), worker_threads() >= 1
    (3, True)
    """
    return asked or os.cpu_count() or 1
