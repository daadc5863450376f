"""Groups of options as dataclasses, which commands take as one argument each.

    def count(*, facts: FactFiles, console: ConsoleOptions) -> None: ...

With `with_options` around the command, Typer sees one option per field of `ConsoleOptions`, and
the command gets an instance of it. A field of a group may be a group itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Self, get_args, get_type_hints


class Options:
    """Options that commands share: a frozen dataclass with one field per option."""

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """List the options as parameters that Typer reads."""
        hints = get_type_hints(cls, include_extras=True)
        return _expanded(
            Parameter(
                one.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if one.default is MISSING else one.default,
                annotation=hints[one.name],
            )
            for one in fields(cls)  # type: ignore[arg-type]  # of the dataclass below this one
        )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The group with the values from the command line."""
        return cls(**_gathered(get_type_hints(cls, include_extras=True), given))

    def changed(self) -> Iterator[str]:
        """Yield the names of options that differ from their defaults."""
        for one in fields(self):  # type: ignore[arg-type]  # of the dataclass below this one
            value = getattr(self, one.name)
            if isinstance(value, Options):
                yield from value.changed()
            elif value != one.default:
                yield one.name


class Word(StrEnum):
    """Base of the enumerations that Typer sees; commands get the value as str."""


@dataclass(frozen=True)
class OneOf:
    """Annotation of a str option: its allowed values."""

    words: Callable[[], Sequence[str]]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let Typer see the fields of a command's groups instead of the groups."""
    hints = get_type_hints(command, include_extras=True)
    parameters = signature(command).parameters
    expanded = [
        one.replace(annotation=_with_choices(one.annotation))
        for one in _expanded(
            one.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[one.name])
            for one in parameters.values()
        )
    ]

    @wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401
        words = {
            name: value.value if isinstance(value, Word) else value for name, value in given.items()
        }
        command(**_gathered({name: hints[name] for name in parameters}, words))

    called.__signature__ = Signature(expanded)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in expanded}
    return called


def _expanded(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Replace every group by its options."""
    found: list[Parameter] = []
    for one in parameters:
        found += one.annotation.parameters() if _is_group(one.annotation) else [one]
    return found


def _gathered(hints: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Combine the given values into groups; other parameters stay unchanged."""
    return {
        name: kind.of({one.name: given[one.name] for one in kind.parameters()})
        if _is_group(kind)
        else given[name]
        for name, kind in hints.items()
    }


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)


def _with_choices(annotation: Any) -> Any:  # noqa: ANN401
    """Annotate with an enumeration of the allowed values, from which Typer makes choices."""
    _, *notes = get_args(annotation) or [annotation]
    for one in notes:
        if isinstance(one, OneOf):
            choice = Word("Choice", {word: word for word in one.words()})  # type: ignore[call-arg]
            return Annotated[choice, *notes]
    return annotation
