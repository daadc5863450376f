"""Which lines of the package an input is the first to reach.

A function whose lines have all been reached is not watched any more, so that watching costs less
and less.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import hornbeam

ROOT = str(hornbeam.__path__[0])


class LineCoverage:
    """Lines that are still to be reached, by function."""

    def __init__(self) -> None:
        self._left: dict[CodeType, set[int]] = {}
        #: How many lines have been reached.
        self.reached = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch what is called in the block, in this thread."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:  # noqa: ANN401
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            ours = code.co_filename.startswith(ROOT)
            left = {line for *_, line in code.co_lines() if line} if ours else set()
            self._left[code] = left
        return self._stepped if left else None

    def _stepped(self, frame: FrameType, event: str, _: Any) -> Any:  # noqa: ANN401
        left = self._left[frame.f_code]
        if event == "line" and frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self.reached += 1
        return self._stepped
