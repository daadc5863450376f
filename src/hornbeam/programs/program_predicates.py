"""The predicates of a PSL program: what is closed, and where the atoms are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hornbeam.errors import DataError
from hornbeam.facts.reading.psl_data import (
    AtomList,
    PredicateDeclaration,
    declared,
    kind_of,
    partitions,
)
from hornbeam.facts.reading.workspace import File

#: Properties of a predicate of a 2.4 program.
PROPERTIES = (
    "name", "type", "arity", "types", "force-open", "observations", "targets", "truth", "function",
    "evaluations", "options",
)  # fmt: skip
#: The type of predicate that is supported, by both its names.
_STANDARD = ("StandardPredicate", "org.linqs.psl.model.predicate.StandardPredicate")


@dataclass(frozen=True)
class ProgramPredicate:
    """One predicate of a program, in one split."""

    name: str  #: as declared; rules may spell it in another case
    arity: int
    #: Whether atoms that are not observed are false. An open predicate's atoms are observed or
    #: targets.
    closed: bool
    #: Where its atoms are.
    observations: AtomList = field(default_factory=AtomList)
    targets: AtomList = field(default_factory=AtomList)
    truth: AtomList = field(default_factory=AtomList)
    options: Mapping[str, str] = field(default_factory=dict)  #: options of the predicate alone


def program_predicates(file: File, document: dict[str, Any], split: str) -> list[ProgramPredicate]:
    """Predicates of a program (or `.data` file), with the data of a split and of all splits."""
    known = declared(file, document)
    found = partitions(file, document, known)
    lists: dict[str, dict[str, AtomList]] = {name: {} for name in known}
    for wanted, listed in found.items():
        for partition in listed:
            atoms = AtomList.of(file, partition, ("all", split))
            lists[partition.predicate.casefold()][wanted] = atoms
    return [_predicate(file, one, lists[key]) for key, one in known.items()]


def _predicate(
    file: File, one: PredicateDeclaration, lists: dict[str, AtomList]
) -> ProgramPredicate:
    where = f"predicate {one.name!r}"
    for key in one.about:
        if key not in PROPERTIES:
            problem = f"{where}: unknown property {key!r}; expected {', '.join(PROPERTIES[1:])}"
            raise DataError(file.name, problem)
    if one.about.get("type", _STANDARD[0]) not in _STANDARD:
        problem = (
            f"{where} is of type {one.about['type']!r}; only standard predicates are supported"
        )
        raise DataError(file.name, problem)
    if one.about.get("function"):
        problem = f"{where} is a function of Java code, which cannot be called here"
        advice = "expected its values as observations"
        raise DataError(file.name, f"{problem}; {advice}")
    if "closed" in one.flags and lists.get("targets"):
        problem = f"{where} is closed and has targets; expected it to be open"
        raise DataError(file.name, problem)
    _check_evaluations(file, one)
    forced = "open" in one.flags or str(one.about.get("force-open", "")).lower() == "true"
    return ProgramPredicate(
        one.name,
        one.arity,
        not (forced or lists.get("targets")),
        **lists,
        options=text_options(file, one.about.get("options"), f"options of {one.name}"),
    )


def _check_evaluations(file: File, one: PredicateDeclaration) -> None:
    """Check the list of evaluators; all that apply are reported, whichever are listed."""
    where = f"evaluations of {one.name}"
    listed = one.about.get("evaluations") or []
    if not isinstance(listed, list):
        raise DataError(file.name, f"{where}: expected a list, found {kind_of(listed)}")
    for item in listed:
        about = {"evaluator": item} if isinstance(item, str) else item
        if not isinstance(about, dict) or not isinstance(about.get("evaluator"), str):
            problem = f"{where}: expected names of evaluators, found {kind_of(item)}"
            raise DataError(file.name, problem)
        text_options(file, about.get("options"), where)


def text_options(file: File, value: object, where: str) -> dict[str, str]:
    """Options by their names in lower case: PSL ignores case."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DataError(file.name, f"{where}: expected a mapping, found {kind_of(value)}")
    found = {}
    for key, setting in value.items():
        if isinstance(setting, dict | list):
            problem = f"{where}: {key!r} is {kind_of(setting)}; expected text or a number"
            raise DataError(file.name, problem)
        if setting is not None:
            found[str(key).lower()] = str(setting).lower() if isinstance(setting, bool) else setting
    return found
