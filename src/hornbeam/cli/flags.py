"""Translates the library's messages for the command line: parameters become flags.

The library names its parameters in backquotes, `min_coverage` or `engine="memory"`. Where the
parameter is an option of the command that runs, the message names the flag instead:
--min-coverage, --engine memory. Other backquotes stay as they are.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hornbeam.cli.console import print_message
from hornbeam.errors import HornbeamWarning, InputError

if TYPE_CHECKING:
    from typer.core import TyperCommand

#: Parameters of the library whose option has another name.
DIFFERENCES = {"conf": "spark_conf", "subjects": "subject", "header": "no_header"}
#: Boolean flags whose value, if any, is given by another option.
METHODS = {"collective": "collective_method"}

#: A name in backquotes, with or without a value.
QUOTED = re.compile(r"`(\w+)(?:=([^`]*))?`")
#: Quotes and brackets that Python prints around a string or a one-item list; dropped in flags.
QUOTES = "\"'[]"


@contextmanager
def messages_in_flags(flags: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Let errors and warnings of the library name the flags of the command that runs.

    A warning is one line, without its source location; those of other libraries are not shown.
    """

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if not issubclass(category, HornbeamWarning):
            return  # of NumPy and others, about our code: users cannot act on them
        print_message(f"hornbeam: warning: {in_flags(str(message), flags())}")

    before, warnings.showwarning = warnings.showwarning, show
    try:
        yield
    except InputError as error:
        raise InputError(in_flags(str(error), flags())) from error
    finally:
        warnings.showwarning = before


def flags_of(command: TyperCommand) -> dict[str, str]:
    """Flags of a command by the library's name of the parameter."""
    flags = {
        option.name: next((word for word in option.opts if word.startswith("--")), "")
        for option in command.params
        if option.name is not None
    }
    flags |= {theirs: flags[ours] for theirs, ours in DIFFERENCES.items() if ours in flags}
    return {name: flag for name, flag in flags.items() if flag}


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """Write the parameters that a text names as flags.

    >>> flags = {"engine": "--engine", "top": "--top", "header": "--no-header"}
    >>> in_flags('use `engine="memory"`, `top`, `top=5` or `header=False`; not `id`', flags)
    'use --engine memory, --top, --top 5 or --no-header; not `id`'
    """

    def flag(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in flags:
            return found[0]
        if value in (None, "True", "False"):
            return flags[name]
        method = flags.get(METHODS.get(name, ""))
        return " ".join([flags[name], *([method] if method else []), value.strip(QUOTES)])

    return QUOTED.sub(flag, text)
