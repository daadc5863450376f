"""Resources of this machine (memory, cores, BLAS), and limits on numbers and on threads."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

#: Largest weight, coefficient, step or tolerance: sums and squares of such numbers stay finite.
#: Its inverse is the smallest number that is not 0.
MAX_NUMBER = 1e100
#: Largest limit on a number of things.
MAX_COUNT = 2**63 - 1
#: Maximum number of worker threads: each has its own counters.
MAX_THREADS = 256
#: Bytes of address space that DuckDB, LLVM and their threads reserve on small work, with a reserve.
#: With less they may abort the process without a message.
MIN_ADDRESS_SPACE = 2 * 10**9


def physical_memory() -> int:
    """Bytes of memory of this machine."""
    if sys.platform == "win32":
        kilobytes = ctypes.c_ulonglong()
        ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes))
        return kilobytes.value * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available_memory() -> int | None:
    """Bytes of free memory; None where the system does not report them."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s*(\d+) kB$", text, re.MULTILINE)
    return None if match is None else int(match[1]) * 1024


def address_space() -> int | None:
    """Bytes of addresses that this process may reserve (`ulimit -v`); None without a limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def worker_threads(requested: int | None = None) -> int:
    """The requested number of threads, up to `MAX_THREADS`; one per core by default.

    Examples
    --------
    >>> worker_threads(3), worker_threads() >= 1
    (3, True)
    """
    return min(requested or os.cpu_count() or 1, MAX_THREADS)


def blas_threads(number: int) -> AbstractContextManager[Any]:
    """Limit BLAS and LAPACK to a number of threads in a block.

    BLAS threads wait for each other by spinning: on a busy machine, several threads take a second
    to invert a matrix of 300 rows, one thread 3 ms. Sums also depend on the number of threads.
    """
    return _blas().limit(limits=number, user_api="blas")  # type: ignore[no-any-return]


@cache
def _blas() -> Any:  # noqa: ANN401
    import scipy.linalg  # noqa: F401 (what is not loaded yet is not found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
