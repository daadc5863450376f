"""The declarations of a PSL program besides its rules: predicates, and options of inference.

A predicate's declaration says whether it is closed, and where its atoms are. Options have the
defaults of PSL 2.4.1. Options that inference does not honour are ignored and reported. They concern
PSL's database, its log, its other reasoners or its weight learning, none of which change the state
of least energy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.texts import number_in, whole_number_in
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
    """Check the list of evaluators; it changes nothing, as all evaluations that apply are made."""
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


# Options of inference -----------------------------------------------------------------------------

#: PSL's reasoners that look for the MAP state; Hornbeam's solvers replace all of them.
METHODS = (
    "ADMMInference",
    "SGDInference",
    "SGDStreamingInference",
    "DualBCDInference",
    "DistributedDualBCDInference",
)
#: Options that cannot change the answer and are not reported as ignored: inference is not random,
#: the scale of weights does not move the optimum, and inference runs anyway.
WITHOUT_EFFECT = ("random.seed", "inference.normalize", "runtime.inference")
INITIAL_VALUES = ("RANDOM", "ZERO", "HALF", "ONE", "ATOM")


@dataclass(frozen=True)
class InferenceOptions:
    """Options of a program's inference."""

    #: Size and maximum number of ADMM's steps.
    step_size: float = 1.0
    max_iterations: int = 25_000
    #: Tolerances of ADMM; None if the program does not set them.
    epsilon_absolute: float | None = None
    epsilon_relative: float | None = None
    #: Whether hard rules become weighted rules, their weight as a multiple of the largest weight,
    #: and whether they are squared.
    relax: bool = False
    relax_multiplier: float = 100.0
    relax_squared: bool = True
    #: PSL's initial value of targets. ZERO and HALF start at 0 and ½, all others at 1.
    initial_value: str = "RANDOM"
    #: Whether it is an error if a rule needs an atom of an open predicate that is neither observed
    #: nor a target; otherwise the atom is false.
    require_targets: bool = True
    close_truth: bool = False  #: whether evaluation takes targets without truth for false
    ignored: tuple[str, ...] = ()  #: names of the program's options that are not honoured


class _OptionError(Exception):
    """The error of an option's value; its text says what was expected."""


def _number(least: float, above: bool = False) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = number_in(text)
        except ValueError:
            value = math.nan
        if not (least <= value <= MAX_NUMBER and (value >= 1 / MAX_NUMBER or not above)):
            lower = f"a number {'above' if above else 'of at least'} {least:g}"
            raise _OptionError(f"{lower}, and at most {MAX_NUMBER:g}")
        return value

    return read


def _positive(text: str) -> int:
    try:
        value = whole_number_in(text)
    except ValueError:
        raise _OptionError("a whole number") from None
    if value < 1:
        raise _OptionError("a whole number of at least 1")
    return value


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise _OptionError("true or false")
    return text.lower() == "true"


def _initial_value(text: str) -> str:
    if text.upper() not in INITIAL_VALUES:
        raise _OptionError(f"one of {', '.join(INITIAL_VALUES)}")
    return text.upper()


#: PSL's name of every option that is honoured, with the field it sets and the function to read it.
_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "admmreasoner.stepsize": ("step_size", _number(0, above=True)),
    "admmreasoner.maxiterations": ("max_iterations", _positive),
    "admmreasoner.epsilonabs": ("epsilon_absolute", _number(0)),
    "admmreasoner.epsilonrel": ("epsilon_relative", _number(0)),
    "inference.relax": ("relax", _flag),
    "inference.relax.multiplier": ("relax_multiplier", _number(0)),
    "inference.relax.squared": ("relax_squared", _flag),
    "inference.initialvalue": ("initial_value", _initial_value),
    "pam.throw": ("require_targets", _flag),
    "eval.closetruth": ("close_truth", _flag),
}


def inference_options(
    program: str, options: Mapping[str, str], predicates: Iterable[ProgramPredicate] = ()
) -> InferenceOptions:
    """Read the options of a program; options of its predicates are ignored and reported.

    Examples
    --------
    >>> options = {"admmreasoner.maxiterations": "100", "parallel.numthreads": "4"}
    >>> found = inference_options("program.json", options)
    >>> found.max_iterations, found.ignored
    (100, ('parallel.numthreads',))
    """
    found: dict[str, Any] = {}
    ignored = [f"{name} of {one.name}" for one in predicates for name in one.options]
    for name, text in options.items():
        if name == "runtime.inference.method":
            if _method(text, program) != METHODS[0]:
                ignored.append(name)
        elif name in _READERS:
            field, read = _READERS[name]
            try:
                found[field] = read(text.strip())
            except _OptionError as wrong:
                problem = f"the option {name!r} is {text!r}; expected {wrong}"
                raise DataError(program, problem) from None
        elif name not in WITHOUT_EFFECT:
            ignored.append(name)
    return InferenceOptions(**found, ignored=tuple(sorted(ignored)))


def _method(text: str, program: str) -> str:
    """The class name of PSL's inference method, without its package."""
    method = text.strip().rsplit(".", 1)[-1]
    if method not in METHODS:
        problem = f"the option 'runtime.inference.method' is {text!r}"
        raise DataError(program, f"{problem}; expected one of {', '.join(METHODS)}")
    return method
