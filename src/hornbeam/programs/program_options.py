"""The options of PSL programs: which of PSL's options are honoured, and why others are not.

Every honoured option is a `ProgramOption`: PSL's name, the field that the option sets, and a
function that reads its text. Options have the defaults of PSL 2.4.1, but for `NOT_SET`. Options
that are not honoured concern PSL's database, its log, its other reasoners or its weight learning,
none of which change the state of least energy. They are named once. The tables in the reference of
programs are written from this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.texts import did_you_mean, number_in, whole_number_in
from hornbeam.errors import DataError


class _OptionError(Exception):
    """The error of an option's value; its text says what was expected."""


@dataclass(frozen=True)
class ProgramOption:
    """An option that is honoured: its name, the field that it sets, its reader, its meaning."""

    name: str
    field: str
    read: Callable[[str], Any]
    meaning: str


def number(least: float, most: float = MAX_NUMBER, above: bool = False) -> Callable[[str], float]:
    """A reader of numbers from `least` on, or `above` it, up to `most`."""

    def read(text: str) -> float:
        try:
            value = number_in(text)
        except ValueError:
            value = math.nan
        if not (least <= value <= most and (value >= 1 / MAX_NUMBER or not above)):
            lower = f"a number {'above' if above else 'of at least'} {least:g}"
            raise _OptionError(f"{lower}, and at most {most:g}")
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


def whole_numbers(text: str) -> tuple[int, ...]:
    """Read whole numbers with colons between them, as PSL writes lists."""
    try:
        return tuple(whole_number_in(part) for part in text.split(":"))
    except ValueError:
        raise _OptionError("whole numbers with ':' between them") from None


def flag(text: str) -> bool:
    """Read true or false."""
    if text.lower() not in ("true", "false"):
        raise _OptionError("true or false")
    return text.lower() == "true"


def choice(names: Collection[str]) -> Callable[[str], str]:
    """A reader of names in any case; returns them in upper case."""

    def read(text: str) -> str:
        if text.upper() not in names:
            raise _OptionError(f"one of {', '.join(names)}")
        return text.upper()

    return read


def option_text(value: object) -> str:
    """An option's value as programs write it."""
    if isinstance(value, tuple):
        return ":".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_options(
    program: str, options: Mapping[str, str], known: Iterable[ProgramOption]
) -> dict[str, Any]:
    """Values of the known options among a program's options, by field."""
    values = {}
    for option in known:
        text = options.get(option.name)
        if text is None:
            continue
        try:
            values[option.field] = option.read(text.strip())
        except _OptionError as wrong:
            problem = f"the option {option.name!r} is {text!r}; expected {wrong}"
            raise DataError(program, problem) from None
    return values


# Options of inference -----------------------------------------------------------------------------

#: PSL's initial values of targets; `RANDOM` and `ATOM` are the given values, or 1.
INITIAL_VALUES = {"RANDOM": None, "ATOM": None, "ZERO": 0.0, "HALF": 0.5, "ONE": 1.0}


@dataclass(frozen=True)
class InferenceOptions:
    """The options of inference, with PSL's defaults."""

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
    initial_value: str = "RANDOM"  #: a name in `INITIAL_VALUES`
    skip: bool = False  #: whether targets keep their initial values
    #: Whether it is an error if a rule needs an atom of an open predicate that is neither observed
    #: nor a target; otherwise the atom is false.
    require_targets: bool = True
    ignored: tuple[str, ...] = ()  #: names of the program's options that are not honoured
    unknown: tuple[str, ...] = ()  #: names of the program's options that PSL does not have, either


INFERENCE = (
    ProgramOption("admmreasoner.stepsize", "step_size", number(0, above=True),
                  "size of ADMM's steps, in units of the largest weight"),
    ProgramOption("admmreasoner.maxiterations", "max_iterations", _positive,
                  "maximum number of ADMM's iterations"),
    ProgramOption("admmreasoner.epsilonabs", "epsilon_absolute", number(0),
                  "absolute tolerance of ADMM, unless `infer` is given one"),
    ProgramOption("admmreasoner.epsilonrel", "epsilon_relative", number(0),
                  "relative tolerance of ADMM, unless `infer` is given one"),
    ProgramOption("inference.relax", "relax", flag, "hard rules become weighted rules"),
    ProgramOption("inference.relax.multiplier", "relax_multiplier", number(0),
                  "their weight, as a multiple of the largest weight, and at least that"),
    ProgramOption("inference.relax.squared", "relax_squared", flag,
                  "whether they are squared"),
    ProgramOption("inference.initialvalue", "initial_value", choice(INITIAL_VALUES),
                  "where closed forms and ADMM start, which decides between several optimal "
                  "states: `ZERO`, `HALF`, `ONE`; with `RANDOM` and `ATOM` at the given values of "
                  "the targets, or 1. Targets in no ground rule keep their given values"),
    ProgramOption("inference.skip", "skip", flag,
                  "targets keep their initial values, which are evaluated as they are"),
    ProgramOption("pam.throw", "require_targets", flag,
                  "refuse a rule that needs an open atom that is neither observed nor a target; "
                  "with `false` such an atom is false"),
)  # fmt: skip

#: Honoured options whose defaults are not PSL's, and the default of each.
NOT_SET = {"admmreasoner.epsilonabs": "1e-6", "admmreasoner.epsilonrel": "1e-6"}

#: PSL's reasoners that look for the MAP state; Hornbeam's solvers replace all of them.
METHODS = (
    "ADMMInference",
    "SGDInference",
    "SGDStreamingInference",
    "DualBCDInference",
    "DistributedDualBCDInference",
)
#: Options that cannot change the answer, which nobody needs to hear of, and why.
WITHOUT_EFFECT = {
    "random.seed": "inference is not random",
    "inference.normalize": "the scale of the weights does not move the optimum",
    "runtime.inference": "`hornbeam infer` infers",
    "runtime.inference.method": "all of PSL's methods look for one state; the solvers here replace "
    "them. Methods other than ADMM are named as ignored",
}
#: Options that are named and ignored, by how their names begin, and why.
IGNORED = {
    "admmreasoner.primaldualbreak": "residuals within the tolerance always end ADMM",
    "admmreasoner.computeperiod": "ADMM chooses its own period",
    "reasoner.": "they stop PSL's reasoner short of the optimum, or let it run on",
    "sgd.": "settings of a reasoner that the solvers here replace",
    "duallcqp.": "settings of a reasoner that the solvers here replace",
    "executablereasoner.": "settings of a reasoner that the solvers here replace",
    "runtime.inference.output.": "`infer` is told itself where values and ground rules go",
    "runtime.inference.": "no database to write to, no learning before inference",
    "runtime.learn": "`hornbeam weights` learns, and has options of its own",
    "runtime.validation": "`hornbeam weights` learns, and has options of its own",
    "runtime.output.": "targets are written, no other atoms",
    "runtime.db.": "no database; ids are text, also integers",
    "runtime.log.": "progress goes to the standard error",
    "runtime.help": "every command has its help",
    "runtime.version": "`hornbeam` says its version",
    "runtimestats.": "no Java machine",
    "parallel.": "`infer` is told itself how many threads it may use",
    "grounding.": "grounding chooses its own way",
    **dict.fromkeys(
        ("atomstore.", "memorytermstore.", "memoryvariabletermstore.", "streamingtermstore.",
         "rdbmsdatabase.", "postgres."),
        "PSL's storage",
    ),
    **dict.fromkeys(
        ("weightlearning.", "gradientdescent.", "minimizer.", "pairedduallearner.", "search.",
         "gridsearch.", "randomgridsearch.", "continuousrandomgridsearch.",
         "guidedrandomgridsearch.", "hyperband.", "gpp.", "gppker."),
        "PSL's weight learning",
    ),
    **dict.fromkeys(("predicate.deep.", "modelpredicate."), "PSL's neural predicates"),
    **dict.fromkeys(("git.", "project."), "PSL's own build"),
}  # fmt: skip


def inference_options(
    program: str,
    options: Mapping[str, str],
    of_predicates: Iterable[str] = (),
    known: Iterable[str] = (),
) -> InferenceOptions:
    """Read the options of a program that concern inference.

    `of_predicates` are the program's options of single predicates, which are ignored and reported.
    `known` are names of options that are read elsewhere.

    Examples
    --------
    >>> options = {"admmreasoner.maxiterations": "100", "parallel.numthreads": "4", "admm": "1"}
    >>> found = inference_options("program.json", options)
    >>> found.max_iterations, found.ignored, found.unknown
    (100, ('parallel.numthreads',), ('admm',))
    """
    values = read_options(program, options, INFERENCE)
    read = {option.name for option in INFERENCE} | set(known) | WITHOUT_EFFECT.keys()
    ignored, unknown = list(of_predicates), list[str]()
    if _method(options.get("runtime.inference.method", METHODS[0]), program) != METHODS[0]:
        ignored.append("runtime.inference.method")
    for name in options:
        if name not in read:
            (ignored if name.startswith(tuple(IGNORED)) else unknown).append(name)
    return InferenceOptions(**values, ignored=tuple(sorted(ignored)), unknown=tuple(unknown))


def notes_about(options: InferenceOptions) -> list[str]:
    """Sentences about options that are ignored or unknown."""
    names = [option.name for option in INFERENCE]
    notes = [f"Ignored options: {', '.join(options.ignored)}."] if options.ignored else []
    return notes + [
        f"Unknown option {name!r}, which PSL does not have, either.{did_you_mean(name, names)}"
        for name in options.unknown
    ]


def _method(text: str, program: str) -> str:
    """The class name of PSL's inference method, without its package."""
    method = text.strip().rsplit(".", 1)[-1]
    if method not in METHODS:
        problem = f"the option 'runtime.inference.method' is {text!r}"
        raise DataError(program, f"{problem}; expected one of {', '.join(METHODS)}")
    return method
