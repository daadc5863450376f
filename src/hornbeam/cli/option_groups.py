"""Groups of options as dataclasses, which commands take as one argument each.

    def count(*, facts: FactFiles, console: ConsoleOptions) -> None: ...

With `with_options` around the command, Typer sees one option per field of `ConsoleOptions`, and
the command gets an instance of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Self, get_args, get_type_hints


class Options:
    """Options that commands share: a frozen dataclass with a field per option."""

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """List the options as parameters that Typer reads."""
        hints = get_type_hints(cls, include_extras=True)
        return [
            Parameter(
                one.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if one.default is MISSING else one.default,
                annotation=hints[one.name],
            )
            for one in fields(cls)  # type: ignore[arg-type]  # of the dataclass below this one
        ]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Make the group from what was given on the command line."""
        return cls(**given)


class Word(StrEnum):
    """One of several words; commands are given it as text."""


@dataclass(frozen=True)
class OneOf:
    """In the annotation of a text: the words that it may be."""

    words: Callable[[], Sequence[str]]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let Typer see the fields of a command's groups instead of the groups."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Options]] = {}
    expanded: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        kind = hints[parameter.name]
        if isinstance(kind, type) and issubclass(kind, Options):
            groups[parameter.name] = kind
            expanded += kind.parameters()
        else:
            kept = parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind)
            expanded.append(kept)
    expanded = [one.replace(annotation=_with_choices(one.annotation)) for one in expanded]

    @wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401
        given = {
            name: value.value if isinstance(value, Word) else value for name, value in given.items()
        }
        made = {
            name: group.of({one.name: given.pop(one.name) for one in group.parameters()})
            for name, group in groups.items()
        }
        command(**given, **made)

    called.__signature__ = Signature(expanded)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in expanded}
    return called


def _with_choices(annotation: Any) -> Any:  # noqa: ANN401
    """Annotate with an enumeration of the words, from which Typer makes choices."""
    _, *notes = get_args(annotation) or [annotation]
    for one in notes:
        if isinstance(one, OneOf):
            choice = Word("Choice", {word: word for word in one.words()})  # type: ignore[call-arg]
            return Annotated[choice, *notes]
    return annotation
