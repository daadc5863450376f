"""Groups of options: Typer sees their fields, the command gets the group."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, signature
from typing import get_args

import typer
from typer.main import get_command

from hornbeam.cli.option_groups import Options, argument, option, with_options


@dataclass(frozen=True)
class Size(Options):
    """How large."""

    width: int = option("How wide.", min=1, default=...)
    depth: int | None = option("How deep.")


@dataclass(frozen=True)
class Look(Options):
    """How it looks."""

    colour: str = option("Its colour.", words=lambda: ("red", "blue"), default="red")


@dataclass(frozen=True, kw_only=True)
class Wall(Options):
    """A group with a group in it."""

    bricks: int = option("How many.", "--bricks", default=9)
    size: Size
    look: Look


CALLS: list[tuple[str, Size, Look]] = []


def paint(*, name: str = argument("What.", "NAME", default=...), size: Size, look: Look) -> None:
    """Paint it."""
    CALLS.append((name, size, look))


def run(*words: str) -> tuple[str, Size, Look]:
    """Run the command as Typer does."""
    app = typer.Typer(add_completion=False)
    app.command()(with_options(paint))
    get_command(app)(list(words), standalone_mode=False)
    return CALLS.pop()


def test_the_command_gets_groups() -> None:
    assert run("wall", "--width", "3") == ("wall", Size(3), Look())
    assert run("wall", "--width", "3", "--depth", "2", "--colour", "blue") == (
        "wall",
        Size(3, 2),
        Look("blue"),
    )
    assert type(run("wall", "--width", "3")[2].colour) is str


def test_typer_sees_the_fields() -> None:
    command = with_options(paint)
    parameters = signature(command).parameters
    assert list(parameters) == ["name", "width", "depth", "colour"]
    assert parameters["width"].default is Parameter.empty
    assert parameters["depth"].default is None
    words = get_args(parameters["colour"].annotation)[0]
    assert [word.value for word in words] == ["red", "blue"]
    assert command.__doc__ == "Paint it."


def test_a_group_may_hold_groups() -> None:
    assert [one.name for one in Wall.parameters()] == ["bricks", "width", "depth", "colour"]
    given = {"bricks": 9, "width": 3, "depth": None, "colour": "blue"}
    wall = Wall.of(given)
    assert wall == Wall(size=Size(3), look=Look("blue"))
    assert list(wall.changed()) == ["width", "colour"]
