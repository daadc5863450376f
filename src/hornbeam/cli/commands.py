"""The subcommands: help lists each with one line, and only the subcommand that runs is imported.

Newer versions of Typer convert every option with pydantic, whose import takes longer than all other
work of a short command. Values that are clearly of the wanted type are converted here
(`PlainRuntime`). All other values, including wrong values, are left to Typer and its messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from hornbeam.base.machine import MIN_ADDRESS_SPACE, address_space
from hornbeam.base.texts import message_text
from hornbeam.cli.flags import flags_of, messages_in_flags
from hornbeam.cli.option_groups import with_options
from hornbeam.cli.outputs import check_outputs
from hornbeam.errors import InputError

#: Click's Context; of type Any, since older versions of Typer import Click and newer bundle it.
Context = Any

WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
DECIMAL = re.compile(r"-?\d{1,18}(\.\d{1,18})?(e-?\d{1,2})?", re.ASCII)
#: Characters that a number may not have, though Typer accepts 1_0, spaces and digits of any script.
NOT_IN_NUMBERS = re.compile(r"[_\s]|[^\x00-\x7f]")

#: Commands by their heading in the help, each with the first line of its own help. A command is a
#: function in the module of the same name.
COMMANDS = {
    "Begin": {
        "demo": "Take a tour: the whole flow on the bundled countries, with the commands you "
        "would type.",
        "doctor": "Show versions, threads, memory, Java and where compiled code is kept; mark "
        "problems.",
    },
    "Learn and predict": {
        "candidates": "List the candidate rules for labelled pairs, with exact counts.",
        "learn": "Learn a weighted rule model and write it as PSL text that you can read and edit.",
        "predict": "Score pairs (their columns, then the score), answer queries, or propose the "
        "best new links.",
        "evaluate": "Score labelled pairs and say how well the scores agree with the labels, or "
        "rank true answers.",
        "crossval": "Learn and evaluate on every fold of a task; mean, spread, significance, "
        "rules, seconds.",
    },
    "See why": {
        "explain": "Say why a pair scores as it does: the rules for and against it, and what "
        "would flip it.",
        "report": "Write a page about a model: what was learned, how good it is, how it was "
        "learned, its errors.",
        "show": "Show the card of a model: where it comes from, figures, heaviest rules in words, "
        "its needs.",
        "diff": "Compare two models: rules gone, new and changed; with labels, figures and pairs "
        "that differ.",
        "serve": "Explore a model or a PSL program in the browser: see reasons, edit rules, "
        "compare models.",
    },
    "PSL programs": {
        "infer": "Infer the most probable values of a PSL program's targets, without Java.",
        "weights": "Learn the weights of a PSL program's rules from the truth of its targets.",
        "export": "Write a model as a PSL 2.4 program (rules, data, JSON) that the Java runtime "
        "runs as it is.",
    },
}


@contextmanager
def _printable_messages() -> Iterator[None]:
    """Shorten Typer's error messages and escape control characters in them."""
    try:
        yield
    except Exception as error:  # of a class of Click or of Typer, depending on the version
        message = getattr(error, "message", None)
        if isinstance(message, str):
            error.message = message_text(message)  # type: ignore[attr-defined]
        raise


def _check_address_space() -> None:
    """Refuse an address-space limit (`ulimit -v`) that is too low, before a library crashes."""
    limit = address_space()
    if limit is not None and limit < MIN_ADDRESS_SPACE:
        raise InputError(
            f"not enough memory: ulimit -v allows {limit // 1024:,} kB of addresses; expected at "
            f"least {MIN_ADDRESS_SPACE // 1024:,} (to limit memory itself, give --memory-limit)"
        )


class Command(TyperCommand):
    """A command; in its messages, flags replace the names of the library's parameters."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the options."""
        without_pydantic(self.get_params(ctx))
        with _printable_messages():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Context) -> object:
        """Run the command; messages may also name flags of `learn`, by which its model was made."""
        with messages_in_flags(lambda: flags_of(load("learn")) | flags_of(self)):
            _check_address_space()
            check_outputs(self, ctx.params)
            return super().invoke(ctx)


class LazyGroup(TyperGroup):
    """The subcommands by name and summary; only the requested subcommand is imported."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(**settings)
        for heading, commands in COMMANDS.items():
            for name, summary in commands.items():
                self.add_command(TyperCommand(name, help=summary, rich_help_panel=heading))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the options before the command."""
        without_pydantic(self.get_params(ctx))
        with _printable_messages():
            return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, TyperCommand | None, list[str]]:
        """Find the command that runs (or completes, or shows its help)."""
        with _printable_messages():
            name, listed, rest = super().resolve_command(ctx, args)
        return name, None if listed is None or name is None else load(name), rest


def function_of(name: str) -> Callable[..., None]:
    """Import the function of a command, which has one argument per option."""
    return with_options(getattr(import_module(f"hornbeam.cli.{name}"), name))


def load(name: str) -> TyperCommand:
    """Import a command."""
    function = function_of(name)
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False)
    alone.command(name, cls=Command, help=help_text(function))(function)
    command = get_command(alone)
    assert isinstance(command, TyperCommand)
    return command


def help_text(command: Callable[..., None]) -> str:
    r"""A docstring as help text: every paragraph and every example on a line of its own.

    An indented line is an example. Other lines are joined to paragraphs, since Typer would keep the
    line breaks of the source.

    >>> def walk() -> None:
    ...     '''Walk the dog.
    ...
    ...     It likes
    ...     that.
    ...
    ...     Example:
    ...
    ...       walk --far
    ...     '''
    >>> help_text(walk)
    'Walk the dog.\n\nIt likes that.\n\nExample:\n\n  walk --far'
    """
    lines = (getdoc(command) or "").splitlines()
    blocks: list[str] = []
    new_paragraph = True
    for line in lines:
        if not line.strip() or line.startswith(" "):
            blocks += [line] if line.strip() else []
            new_paragraph = True
        elif new_paragraph:
            blocks.append(line)
            new_paragraph = False
        else:
            blocks[-1] += f" {line}"
    return "\n\n".join(blocks)


# --- values without pydantic ----------------------------------------------------------------------


class NotPlainError(Exception):
    """Raised for a value that is left to Typer's own conversion."""


@dataclass(frozen=True)
class PlainRuntime:
    """Converts the value of one option, in place of Typer's converter."""

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
        return [plain(item, get_args(kind)[0], param) for item in value]
    if not isinstance(kind, type) or not isinstance(value, str | int | float):
        raise NotPlainError
    if kind in (str, bool) and type(value) is kind:
        return value
    if kind is int and (type(value) is int or WHOLE.fullmatch(str(value))):
        return _within(int(value), param)
    if kind is float and (type(value) is float or DECIMAL.fullmatch(str(value))):
        return _within(float(value), param)
    if issubclass(kind, Enum):
        named = [choice for choice in kind if choice.value == value]
        if named:
            return named[0]
    # left to Typer, which refuses files that exist and cannot be read
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
