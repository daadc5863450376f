"""The predicates that a PSL program declares.

A predicate's declaration says whether it is closed, where its atoms are, and how its values are
evaluated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hornbeam.errors import DataError, InputError
from hornbeam.facts.reading.psl_data import (
    AtomList,
    PredicateDeclaration,
    declared,
    kind_of,
    partitions,
)
from hornbeam.facts.reading.workspace import File
from hornbeam.programs.evaluators import (
    STANDARD,
    PredicateEvaluator,
    evaluator_named,
    predicate_evaluators,
)
from hornbeam.programs.similarities import AtomFunction, Similarity

#: Properties of a predicate of a 2.4 program.
PROPERTIES = (
    "name", "type", "arity", "types", "force-open", "observations", "targets", "truth", "function",
    "evaluations", "options",
)  # fmt: skip
#: PSL's types of arguments; here every argument is text.
TYPES = ("String", "Integer", "Double", "Long", "UniqueIntID", "UniqueStringID")
#: Both names of the one type of predicate that is supported.
_STANDARD = ("StandardPredicate", "org.linqs.psl.model.predicate.StandardPredicate")


@dataclass(frozen=True)
class ProgramPredicate:
    """A predicate of a program, with its atoms in one split."""

    name: str  #: as declared; rules may spell it in another case
    arity: int
    #: Whether atoms that are not observed are false. Atoms of an open predicate are observed or
    #: targets.
    closed: bool
    #: Where the atoms of each partition are.
    observations: AtomList = field(default_factory=AtomList)
    targets: AtomList = field(default_factory=AtomList)
    truth: AtomList = field(default_factory=AtomList)
    options: Mapping[str, str] = field(default_factory=dict)  #: options of this predicate only
    evaluators: tuple[PredicateEvaluator, ...] = STANDARD
    function: AtomFunction | None = None  #: gives the values of a functional predicate

    def with_function(self, function: AtomFunction, program: str) -> ProgramPredicate:
        """The predicate with a function, which makes it closed; `program` is for messages."""
        if not callable(function):
            raise InputError(f"`functions` has {function!r} for {self.name!r}; expected a function")
        if self.observations or self.targets or self.truth:
            problem = f"predicate {self.name!r} has a function and atoms; expected one of both"
            raise DataError(program, problem)
        return replace(self, closed=True, function=function)


def program_predicates(
    file: File,
    document: dict[str, Any],
    split: str,
    options: Mapping[str, str],
    functions: Collection[str] = (),
) -> list[ProgramPredicate]:
    """Predicates of a program (or `.data` file), with the data of a split and of all splits.

    `options` are the program's own, which evaluators of all predicates share. Predicates in
    `functions` (in lower case) get Python functions afterwards.
    """
    known = declared(file, document)
    found = partitions(file, document, known)
    lists: dict[str, dict[str, AtomList]] = {name: {} for name in known}
    for wanted, listed in found.items():
        for partition in listed:
            atoms = AtomList.of(file, partition, ("all", split))
            lists[partition.predicate.casefold()][wanted] = atoms
    predicates = [
        _predicate(file, one, lists[key], options, one.name.lower() in functions)
        for key, one in known.items()
    ]
    primary = [one.name for one in predicates for way in one.evaluators if way.primary]
    if len(primary) > 1:
        problem = f"primary evaluators of {' and '.join(primary)}; expected at most one in all"
        raise DataError(file.name, problem)
    return predicates


def _predicate(
    file: File,
    one: PredicateDeclaration,
    lists: dict[str, AtomList],
    options: Mapping[str, str],
    gets_function: bool,
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
    for kind in one.about.get("types") or []:
        if kind not in TYPES:
            problem = f"{where} has an argument of type {kind!r}; expected {', '.join(TYPES)}"
            raise DataError(file.name, problem)
    if "closed" in one.flags and lists.get("targets"):
        problem = f"{where} is closed and has targets; expected it to be open"
        raise DataError(file.name, problem)
    forced = "open" in one.flags or str(one.about.get("force-open", "")).lower() == "true"
    predicate = ProgramPredicate(
        one.name,
        one.arity,
        not (forced or lists.get("targets")),
        **lists,
        options=text_options(file, one.about.get("options"), f"options of {one.name}"),
        evaluators=predicate_evaluators(file.name, options, _evaluators(file, one, options)),
        function=None,
    )
    function = None if gets_function else _named_function(file, one)
    return predicate if function is None else predicate.with_function(function, file.name)


def _named_function(file: File, one: PredicateDeclaration) -> AtomFunction | None:
    """The similarity that a declaration names; None if it names no function."""
    name = one.about.get("function")
    if not name:
        return None
    where = f"predicate {one.name!r}"
    if name not in list(Similarity):
        problem = f"{where} has the function {name!r}, which cannot be called here"
        known = ", ".join(Similarity)
        expected = f"expected {known}, or a Python function: infer(..., functions={{...}})"
        raise DataError(file.name, f"{problem}; {expected}")
    if one.arity != 2:
        raise DataError(file.name, f"{where}: {name} is of two texts; expected the arity 2")
    return Similarity(name).function


def _evaluators(
    file: File, one: PredicateDeclaration, options: Mapping[str, str]
) -> list[PredicateEvaluator]:
    """The evaluators that the program lists for a predicate."""
    where = f"evaluations of {one.name}"
    listed = one.about.get("evaluations") or []
    if not isinstance(listed, list):
        raise DataError(file.name, f"{where}: expected a list, found {kind_of(listed)}")
    found = []
    for item in listed:
        about = {"evaluator": item} if isinstance(item, str) else item
        if not isinstance(about, dict) or not isinstance(about.get("evaluator"), str):
            problem = f"{where}: expected names of evaluators, found {kind_of(item)}"
            raise DataError(file.name, problem)
        for key in about:
            if key not in ("evaluator", "options", "primary"):
                problem = f"{where}: unknown key {key!r}; expected evaluator, options, primary"
                raise DataError(file.name, problem)
        own = text_options(file, about.get("options"), where)
        evaluator = evaluator_named(file.name, about["evaluator"], one.arity, options, own)
        primary = str(about.get("primary", "")).lower() == "true"
        found.append(PredicateEvaluator(evaluator, listed=True, primary=primary))
    return found


def text_options(file: File, value: object, where: str) -> dict[str, str]:
    """Options by their names in lower case, since PSL ignores case; `where` is for messages."""
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
