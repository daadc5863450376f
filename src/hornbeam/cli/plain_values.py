"""Converts command-line arguments to values without importing pydantic.

Newer Typers convert every option with pydantic, whose import takes longer than all other work of a
short command. Values that are clearly of the wanted type are converted here; all others, including
wrong ones, are left to Typer, so that its messages stay the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
DECIMAL = re.compile(r"-?\d{1,18}(\.\d{1,18})?(e-?\d{1,2})?", re.ASCII)
#: What no number has, though Typer reads 1_0, spaces around a number and digits of other scripts.
NOT_IN_NUMBERS = re.compile(r"[_\s]|[^\x00-\x7f]")


class NotPlainError(Exception):
    """A value that is left to Typer's own conversion."""


@dataclass(frozen=True)
class PlainRuntime:
    """Replaces Typer's converter of one option."""

    typers: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401
        """Convert the given value, or the default."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        kind = param.type_descriptor.annotation
        try:
            return plain(value, kind, param)
        except NotPlainError:
            if kind in (int, float) and NOT_IN_NUMBERS.search(str(value)):
                raise typer.BadParameter(f"{value!r} is not a number", ctx, param) from None
            return self.typers().coerce(value, param=param, ctx=ctx)


def without_pydantic(params: Iterable[Any]) -> None:
    """Replace Typer's pydantic converters of the given parameters by `PlainRuntime`."""
    for param in params:
        if hasattr(param, "get_runtime_param") and hasattr(param, "type_descriptor"):
            runtime = PlainRuntime(param.get_runtime_param)
            param.get_runtime_param = lambda runtime=runtime: runtime


def plain(value: Any, kind: Any, param: Any) -> Any:  # noqa: ANN401
    """Convert a simple value (or a default) to a type."""
    if get_origin(kind) is list and isinstance(value, list | tuple):
        return [plain(one, get_args(kind)[0], param) for one in value]
    if not isinstance(kind, type) or not isinstance(value, str | int | float):
        raise NotPlainError
    if kind in (str, bool) and type(value) is kind:
        return value
    if kind is int and (type(value) is int or WHOLE.fullmatch(str(value))):
        return _within(int(value), param)
    if kind is float and (type(value) is float or DECIMAL.fullmatch(str(value))):
        return _within(float(value), param)
    if issubclass(kind, Enum):
        found = [one for one in kind if one.value == value]
        if found:
            return found[0]
    # Typer refuses files that exist and cannot be read
    if (
        kind is Path
        and isinstance(value, str)
        and (os.access(value, os.R_OK) or not os.path.exists(value))
    ):
        return Path(value)
    raise NotPlainError


def _within(number: float, param: Any) -> float:  # noqa: ANN401
    low, high = param.min, param.max
    if (low is not None and number < low) or (high is not None and number > high):
        raise NotPlainError
    return number
