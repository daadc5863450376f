"""The reference of the command line, written from the commands themselves.

The line `<!-- commands -->` of a page becomes one section per command: its help, its examples
and its options under the headings that `--help` has.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from inspect import Parameter, signature
from typing import get_args, get_type_hints

from sphinx.application import Sphinx
from typer.models import ArgumentInfo, OptionInfo

from hornbeam.cli.commands import COMMANDS, function_of, help_text

MARKER = "<!-- commands -->"
TAG = re.compile(r"\[/?(?:bold|dim|italic)\]")

Command = Callable[..., None]


@dataclass(frozen=True)
class Entry:
    """An argument or option as the reference shows it."""

    panel: str
    names: str
    value: str
    text: str
    default: object

    def __str__(self) -> str:
        heading = f"{self.names} {self.value}".strip()
        text = as_markdown(self.text)
        if self.default is Parameter.empty:
            text += " *Required.*"
        elif self.default is not None and self.default is not False:
            text += f" Default: `{getattr(self.default, 'value', self.default)}`."
        return f"`{heading}`\n: {text}\n"


def commands() -> str:
    """Write the sections of all commands."""
    names = [name for group in COMMANDS.values() for name in group]
    return "\n\n".join("\n".join(section(function_of(name))) for name in names)


def section(command: Command) -> Iterator[str]:
    """Write the section of one command, line by line."""
    listed = list(entries(command))
    arguments = [entry.names for entry in listed if entry.panel == "Arguments"]
    yield f"## hornbeam {command.__name__}\n"
    yield f"```text\n{' '.join(['hornbeam', command.__name__, *arguments, '[OPTIONS]'])}\n```\n"
    in_examples = False
    for block in help_text(command).split("\n\n"):
        if block.startswith(" ") != in_examples:
            yield "```\n" if in_examples else "```bash"
            in_examples = not in_examples
        yield block.strip() if in_examples else as_markdown(block) + "\n"
    if in_examples:
        yield "```\n"
    for panel in dict.fromkeys(entry.panel for entry in listed):
        yield f"**{panel}**\n"
        yield from (str(entry) for entry in listed if entry.panel == panel)


def entries(command: Command) -> Iterator[Entry]:
    """What the signature of a command says about its arguments and options."""
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in signature(command).parameters.items():
        kind, info = get_args(hints[name])[:2]
        if isinstance(info, ArgumentInfo):
            names = info.metavar or name.upper()
            yield Entry("Arguments", names, "", info.help or "", parameter.default)
        elif isinstance(info, OptionInfo):
            # in an annotation Typer takes the first name for a default
            decls = [word for word in (info.default, *(info.param_decls or ()))
                     if isinstance(word, str)] or [f"--{name.replace('_', '-')}"]  # fmt: skip
            panel = info.rich_help_panel if isinstance(info.rich_help_panel, str) else "Options"
            value = info.metavar or value_of(kind)
            # an option of several learners says itself which default each of them has
            told = info.show_default
            default = told if isinstance(told, str) else parameter.default
            yield Entry(panel, ", ".join(decls), value, info.help or "", default)


def value_of(kind: object) -> str:
    """What follows an option of a kind: its choices, nothing for a flag, or a word."""
    kinds = get_args(kind) or (kind,)
    for one in kinds:
        if isinstance(one, type) and issubclass(one, Enum):
            return "|".join(str(choice.value) for choice in one)
    return "" if bool in kinds else "VALUE"


def as_markdown(text: str) -> str:
    """Turn Rich's markup into Markdown, and keep options in one piece."""
    text = TAG.sub("", text).replace("<", "&lt;").replace("*", r"\*")
    return re.sub(r"(?<![\w`-])(--?[a-z][a-z-]*)", r"`\1`", text)


def insert(_: Sphinx, __: str, source: list[str]) -> None:
    """Put the sections where a page wants them."""
    if MARKER in source[0]:
        source[0] = source[0].replace(MARKER, commands())


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx.connect("source-read", insert)
    return {"parallel_read_safe": True}
