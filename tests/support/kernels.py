"""Make all kernels run as they are, or all of them compiled, whatever the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import pytest

from hornbeam.base.compiled import Kernel
from hornbeam.graph import adjacency
from hornbeam.learning import descent

#: Tests that compile kernels run in the same worker, so that none is compiled twice.
compiles = pytest.mark.xdist_group("kernels")
#: Runs a test twice: kernels as they are, and compiled, which `make quick` leaves out.
both_ways = pytest.mark.parametrize(
    "compiled",
    [
        pytest.param(False, id="interpreted"),
        pytest.param(True, id="compiled", marks=[compiles, pytest.mark.more_cases]),
    ],
)


@contextmanager
def kernels_are(compiled: bool) -> Iterator[None]:
    """Decide for every kernel that has a choice; NumPy's forms count as not compiled."""
    few = -1 if compiled else 1 << 60
    with ExitStack() as changes:
        changes.enter_context(patch.object(Kernel, "pays", lambda *_: compiled))
        changes.enter_context(
            patch.object(
                Kernel,
                "for_size",
                lambda kernel, *_: kernel.compiled if compiled else kernel.interpreted,
            )
        )
        changes.enter_context(patch.object(adjacency, "SMALL_GRAPH", few))
        changes.enter_context(patch.object(descent, "LARGE", few))
        yield
