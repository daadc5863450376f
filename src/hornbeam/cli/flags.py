"""Translates the library's messages for the command line: parameters become flags.

The library names its parameters in backquotes: `min_coverage` or `engine="memory"`. If the
parameter is an option of the command that runs, the message names the flag instead:
--min-coverage, --engine memory. Other texts in backquotes stay as they are.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hornbeam.base.terminal_progress import print_message
from hornbeam.errors import HornbeamNote, HornbeamWarning, InputError

if TYPE_CHECKING:
    from typer.core import TyperCommand

#: Parameters of the library whose options have other names.
DIFFERENCES = {"conf": "spark_conf", "subjects": "subject", "objects": "object_",
               "filter": "filter_", "links": "link", "types": "type_"}  # fmt: skip
#: Boolean flags whose parameter may also have a text as value; another option gives that text.
METHODS = {"collective": "collective_method"}

#: A name in backquotes, with or without a value.
QUOTED = re.compile(r"`(\w+)(?:=([^`]*))?`")
#: Quotes and brackets that Python prints around a string or a one-item list; dropped in flags.
QUOTES = "\"'[]"


@contextmanager
def messages_in_flags(flags: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Let errors and warnings of the library name the flags of the command that runs.

    A warning or note is one line, without its source location. Warnings of other libraries are not
    shown.
    """
    said = set[str]()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if not issubclass(category, HornbeamWarning):
            return  # a warning of another library about our code: users cannot act on it
        if str(message) in said:
            return  # the same message again: a file may be read twice, as facts and as pairs
        said.add(str(message))
        kind = "note" if issubclass(category, HornbeamNote) else "warning"
        print_message(f"hornbeam: {kind}: {in_flags(str(message), flags())}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", HornbeamNote)
        warnings.showwarning = show
        try:
            yield
        except InputError as error:
            raise InputError(in_flags(str(error), flags())) from error


def flags_of(command: TyperCommand) -> dict[str, str]:
    """Flags of a command, by the names of the library's parameters."""
    flags = {
        option.name: next((word for word in option.opts if word.startswith("--")), "")
        for option in command.params
        if option.name is not None
    }
    flags |= {
        f"{option.name}=False": option.secondary_opts[0]
        for option in command.params
        if option.secondary_opts
    }
    flags |= {theirs: flags[ours] for theirs, ours in DIFFERENCES.items() if ours in flags}
    return {name: flag for name, flag in flags.items() if flag}


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """Write the parameters that a text names as flags.

    >>> flags = {"engine": "--engine", "top": "--top", "header=False": "--no-header"}
    >>> in_flags('use `engine="memory"`, `top`, `top=5` or `header=False`; not `id`', flags)
    'use --engine memory, --top, --top 5 or --no-header; not `id`'
    """

    def flag(match: re.Match[str]) -> str:
        name, value = match.groups()
        if f"{name}={value}" in flags:  # the other flag of a pair such as --header/--no-header
            return flags[f"{name}={value}"]
        if name not in flags:
            return match[0]
        if value in (None, "True", "False"):
            return flags[name]
        method = flags.get(METHODS.get(name, ""))
        return " ".join([flags[name], *([method] if method else []), value.strip(QUOTES)])

    return QUOTED.sub(flag, text)
