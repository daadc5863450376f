"""The public surface: stable names stay, and the Python reference has all that they lead to."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest

import hornbeam

#: What users build upon. A name that goes needs a minor release and a line in the changelog.
STABLE = {
    "read_facts", "read_numbers", "read_table", "read_labels", "read_pairs", "read_queries",
    "read_names", "with_known", "Facts",
    "Targets", "datasets", "RuleLimits", "counting", "Candidates", "load",
    "open_duckdb", "open_spark", "learn", "Model", "Evaluation", "learn_graph", "GraphSettings",
    "GraphModel", "GraphEvaluation", "ResultTable", "Explanation",
    "cross_validate", "infer", "learn_weights", "read_program", "Joint", "Boost", "Ppll", "Greedy",
    "errors", "__version__",
}  # fmt: skip
REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PACKAGE = Path(hornbeam.__file__).parent
#: An entry of the page of Python, and whether it goes without its methods.
ENTRY = re.compile(r"^\.\. auto(?:class|function|module):: (\S+)(\n   :no-members:)?", re.MULTILINE)
ENTRIES = {
    name: not without_members
    for name, without_members in ENTRY.findall((REFERENCE / "python.md").read_text())
}
#: Classes of the package by their names, no two of which are equal, with their bases.
CLASSES = {
    name: bases
    for path in PACKAGE.rglob("*.py")
    for name, bases in re.findall(r"^class (\w+)(.*):$", path.read_text(), re.MULTILINE)
}


def test_the_stable_names_are_there_and_no_others() -> None:
    assert set(dir(hornbeam)) == STABLE
    assert set(hornbeam.__all__) == STABLE
    assert set(hornbeam._HOMES) == STABLE - {"counting", "datasets", "errors", "__version__"}
    for name in STABLE:
        assert getattr(hornbeam, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hornbeam.nothing  # noqa: B018


def test_the_reference_has_every_stable_name_and_no_others() -> None:
    listed = {name.removeprefix("hornbeam.") for name in ENTRIES}
    assert {name for name in listed if "." not in name} == STABLE - {"__version__"}


def _entry(name: str) -> object:
    """What an entry of the page documents: one of our modules, or what a module has."""
    module, _, last = name.rpartition(".")
    found: object = getattr(import_module(module), last)
    return found


def _signatures(entry: object, with_members: bool) -> Iterator[Callable[..., object]]:
    """A function, or the functions of a class that the page shows."""
    if not inspect.isclass(entry):
        yield from [entry] if inspect.isfunction(entry) else []
        return
    members = (member for kind in entry.__mro__ for member in vars(kind).items())
    for name, member in members if with_members else ():
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        elif isinstance(member, classmethod | staticmethod):
            member = member.__func__
        if inspect.isfunction(member) and not name.startswith("_") and member.__doc__:
            yield member


def test_every_class_that_they_take_or_return_is_documented() -> None:
    """Users are told what they get; a choice by name (a StrEnum) is given by its word."""
    documented = {name.rpartition(".")[2] for name in ENTRIES}
    missing = {
        (function.__qualname__, name)
        for entry, with_members in ENTRIES.items()
        for function in _signatures(_entry(entry), with_members)
        for annotation in inspect.get_annotations(function).values()
        for name in re.findall(r"\w+\b(?!\[)", str(annotation))  # typing's Literal[...] is not ours
        if name in CLASSES and "StrEnum" not in CLASSES[name]
        if name not in documented
    }
    assert not missing


def test_the_page_of_what_is_stable_names_what_is_outside_of_dir() -> None:
    """Classes that are no results, and have to be imported, are stable by name."""
    stability = (REFERENCE / "stability.md").read_text()
    for name in ("hornbeam.sklearn.RuleClassifier", "Reason", "Flip"):
        assert name in ENTRIES or any(entry.endswith(f".{name}") for entry in ENTRIES)
        assert f"`{name}`" in stability
