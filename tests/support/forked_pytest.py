"""Runs of pytest that import the libraries once, for `make mutants`.

Each line of the input is JSON: pytest's arguments, and variables of the environment. Each line of
the output is the exit code of that run, negative if its process was ended. A run imports the
package and the tests anew.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress

import pytest

#: What the package and its tests import, slowest first.
LIBRARIES = (
    "pandas", "polars", "pyarrow.parquet", "numba", "duckdb", "scipy.sparse.linalg",
    "scipy.optimize", "scipy.stats", "scipy.special", "hypothesis.strategies", "networkx", "lark",
    "jinja2", "typer.testing", "rich.console", "mpmath", "clarabel", "_pytest.doctest",
    "xdist.plugin", "_hypothesis_pytestplugin",
)  # fmt: skip
#: Seconds after which a process ends that only waits.
WAITING = 3600


def run(arguments: Iterable[str], variables: dict[str, str]) -> int:
    """Run pytest in a copy of this process, without output, and return the exit code."""
    process = os.fork()
    if not process:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        signal.alarm(WAITING)
        os.environ.update(variables)
        os._exit(int(pytest.main(["--assert=plain", *arguments])))
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main() -> None:
    """Answer every line of the input."""
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        print(run(*json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
