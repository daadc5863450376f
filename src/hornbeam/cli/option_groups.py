"""Options of commands, and groups of options: dataclasses that a command takes as one argument.

    @dataclass(frozen=True)
    class ConsoleOptions(Options):
        quiet: bool = option("No progress and no messages.", "--quiet", "-q", default=False)

    def count(*, facts: list[str] = option("Facts."), console: ConsoleOptions) -> None: ...

With `with_options` around the command, Typer sees one option per field of `ConsoleOptions`, and
the command gets an instance of it. A field of a group may be a group itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Self, get_type_hints

import typer


class Options:
    """Options that commands share: a frozen dataclass with one field per option."""

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """List the options as parameters that Typer reads."""
        hints = get_type_hints(cls)
        declared = fields(cls)  # type: ignore[arg-type]  # of the dataclass below this one
        return _expanded((entry.name, hints[entry.name], entry) for entry in declared)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Make the group from the values of the command line."""
        return cls(**_gathered(get_type_hints(cls), given))

    def changed(self) -> Iterator[str]:
        """Yield the names of options that differ from their defaults."""
        for entry in fields(self):  # type: ignore[arg-type]  # of the dataclass below this one
            value = getattr(self, entry.name)
            if isinstance(value, Options):
                yield from value.changed()
            elif value != entry.default:
                yield entry.name


class Word(StrEnum):
    """Base of the enumerations that Typer sees; commands get the value as str."""


def option(
    help: str,  # noqa: A002
    *flags: str,
    default: object = None,
    metavar: str | None = None,
    panel: str | None = None,
    min: float | None = None,  # noqa: A002
    max: float | None = None,  # noqa: A002
    words: Callable[[], Sequence[str]] | None = None,
    show_default: bool | str = True,
) -> Any:  # noqa: ANN401
    """Declare an option: the result is the default of a group's field or a command's parameter.

    Without `flags`, the option is named after the field. It is required if `default` is `...`.
    `words` lists the allowed values of a str; `panel` is the heading of the option in the help.
    """
    info = typer.Option(
        *flags, help=help, metavar=metavar, rich_help_panel=panel, min=min, max=max,
        show_default=show_default,
    )  # fmt: skip
    return _declared(default, info, words)


def argument(help: str, metavar: str, default: object = None) -> Any:  # noqa: A002, ANN401
    """Declare an argument, which is given by its position, without a flag; see `option`."""
    return _declared(default, typer.Argument(help=help, metavar=metavar))


def _declared(
    default: object, info: object, words: Callable[[], Sequence[str]] | None = None
) -> Any:  # noqa: ANN401
    metadata = {"info": info, "words": words}
    return field(default=MISSING if default is ... else default, metadata=metadata)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that Typer sees the fields of its groups instead of the groups."""
    hints = get_type_hints(command)
    parameters = signature(command).parameters
    expanded = _expanded((name, hints[name], given.default) for name, given in parameters.items())

    @wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401
        words = {
            name: value.value if isinstance(value, Word) else value for name, value in given.items()
        }
        command(**_gathered({name: hints[name] for name in parameters}, words))

    called.__signature__ = Signature(expanded)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in expanded}
    return called


def _expanded(declared: Iterable[tuple[str, Any, Any]]) -> list[Parameter]:
    """Parameters of declared options (name, type, declaration); a group gives one per field."""
    parameters: list[Parameter] = []
    for name, kind, declaration in declared:
        parameters += kind.parameters() if _is_group(kind) else [parameter(name, kind, declaration)]
    return parameters


def parameter(name: str, kind: Any, declaration: Field[Any]) -> Parameter:  # noqa: ANN401
    """An option as a parameter that Typer reads; a str with `words` becomes an enumeration."""
    default, info, words = declaration.default, *declaration.metadata.values()
    if words is not None:
        kind = Word("Choice", {word: word for word in words()})  # type: ignore[call-arg]
    return Parameter(
        name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind, info],
    )


def _gathered(hints: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Combine the given values into groups; other parameters stay unchanged."""
    return {
        name: kind.of({option.name: given[option.name] for option in kind.parameters()})
        if _is_group(kind)
        else given[name]
        for name, kind in hints.items()
    }


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)
