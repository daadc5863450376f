"""A command's docstring as its help: paragraphs that fill the width, examples line by line.

In a docstring an indented line is an example. Everything else is running text, in which Typer
would keep the line breaks of the source.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc


def help_text(command: Callable[..., None]) -> str:
    r"""Give every paragraph and every example of a docstring a line of its own.

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
