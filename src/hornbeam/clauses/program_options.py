"""The options of a PSL program that inference honours, with the defaults of PSL 2.4.1.

Any other option is ignored and reported: it concerns PSL's database, its log, its other reasoners
or its weight learning, none of which change the state of least energy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hornbeam.errors import DataError

if TYPE_CHECKING:
    from hornbeam.clauses.program import Program

#: Reasoners that look for the same state; ADMM stands for all of them.
METHODS = (
    "ADMMInference",
    "SGDInference",
    "SGDStreamingInference",
    "DualBCDInference",
    "DistributedDualBCDInference",
)
INITIAL_VALUES = ("RANDOM", "ZERO", "HALF", "ONE", "ATOM")


@dataclass(frozen=True)
class InferenceOptions:
    """How a program wants to be inferred.

    Parameters
    ----------
    step_size, max_iterations
        Of ADMM.
    epsilon_absolute, epsilon_relative, primal_dual_break
        The stopping rule on residuals, and whether it is used.
    objective_break, objective_tolerance
        Whether to stop once the objective hardly changes.
    movement_break, movement_tolerance
        Whether to stop once no variable moves by more.
    full_iterations
        Whether to go on to the last iteration whatever the other rules say.
    normalize
        Whether weights are divided by the largest; it changes the way, not the goal.
    relax, relax_multiplier, relax_squared
        Whether hard rules become weighted ones, with so many times the largest weight, squared.
    skip
        Whether to leave all targets at their initial values.
    initial_value
        Where targets start: at random, at 0, ½ or 1, or (ATOM) at the values given with them.
    seed
        Of everything random.
    require_targets
        Whether an open atom that a rule needs and that is neither observed nor a target is an
        error; else it is left out.
    close_truth, include_observed
        Whether evaluation takes targets without truth for false, and counts observed atoms.
    run_inference
        Whether the program asks for inference.
    output_results, results_folder
        Whether and where inferred values are written.
    output_ground_rules, ground_rules_path
        Whether and where ground rules are written.
    ignored
        Names of the program's options that are not honoured.
    """

    step_size: float = 1.0
    max_iterations: int = 25_000
    epsilon_absolute: float = 1e-5
    epsilon_relative: float = 1e-3
    primal_dual_break: bool = True
    objective_break: bool = False
    objective_tolerance: float = 1e-5
    movement_break: bool = False
    movement_tolerance: float = 1e-4
    full_iterations: bool = False
    normalize: bool = True
    relax: bool = False
    relax_multiplier: float = 100.0
    relax_squared: bool = True
    skip: bool = False
    initial_value: str = "RANDOM"
    seed: int | None = None
    require_targets: bool = True
    close_truth: bool = False
    include_observed: bool = False
    run_inference: bool = False
    output_results: bool = True
    results_folder: str | None = None
    output_ground_rules: bool = False
    ground_rules_path: str | None = None
    ignored: tuple[str, ...] = ()


class _WrongError(Exception):
    """What was expected of an option's value."""


def _number(least: float, above: bool = False) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and (value > least if above else value >= least)):
            raise _WrongError(f"a number {'above' if above else 'of at least'} {least:g}")
        return value

    return read


def _integer(least: int | None) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise _WrongError("a whole number") from None
        if least is not None and value < least:
            raise _WrongError(f"a whole number of at least {least}")
        return value

    return read


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise _WrongError("true or false")
    return text.lower() == "true"


def _initial_value(text: str) -> str:
    if text.upper() not in INITIAL_VALUES:
        raise _WrongError(f"one of {', '.join(INITIAL_VALUES)}")
    return text.upper()


#: PSL's name of every option that is honoured, the field it sets, and how it is read.
_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "admmreasoner.stepsize": ("step_size", _number(0, above=True)),
    "admmreasoner.maxiterations": ("max_iterations", _integer(1)),
    "admmreasoner.epsilonabs": ("epsilon_absolute", _number(0)),
    "admmreasoner.epsilonrel": ("epsilon_relative", _number(0)),
    "admmreasoner.primaldualbreak": ("primal_dual_break", _flag),
    "reasoner.objectivebreak": ("objective_break", _flag),
    "reasoner.objectivetolerance": ("objective_tolerance", _number(0)),
    "reasoner.variablemovementbreak": ("movement_break", _flag),
    "reasoner.variablemovementtolerance": ("movement_tolerance", _number(0)),
    "reasoner.runfulliterations": ("full_iterations", _flag),
    "inference.normalize": ("normalize", _flag),
    "inference.relax": ("relax", _flag),
    "inference.relax.multiplier": ("relax_multiplier", _number(0)),
    "inference.relax.squared": ("relax_squared", _flag),
    "inference.skip": ("skip", _flag),
    "inference.initialvalue": ("initial_value", _initial_value),
    "random.seed": ("seed", _integer(None)),
    "pam.throw": ("require_targets", _flag),
    "eval.closetruth": ("close_truth", _flag),
    "eval.includeobs": ("include_observed", _flag),
    "runtime.inference": ("run_inference", _flag),
    "runtime.inference.output.results": ("output_results", _flag),
    "runtime.inference.output.results.dir": ("results_folder", str),
    "runtime.inference.output.groundrules": ("output_ground_rules", _flag),
    "runtime.inference.output.groundrules.path": ("ground_rules_path", str),
}


def inference_options(program: Program) -> InferenceOptions:
    """Read the options of a program.

    Raises
    ------
    DataError
        Naming an option whose value cannot be read, and what was expected.

    Examples
    --------
    >>> from hornbeam.clauses.program import Program
    >>> options = {"admmreasoner.maxiterations": "100", "parallel.numthreads": "4"}
    >>> found = inference_options(Program("program.json", (), (), (), options))
    >>> found.max_iterations, found.ignored
    (100, ('parallel.numthreads',))
    """
    found: dict[str, Any] = {}
    ignored = [f"{name} of {one.name}" for one in program.predicates for name in one.options]
    for name, text in program.options.items():
        if name == "runtime.inference.method":
            if _method(text, program.name) != METHODS[0]:
                ignored.append(name)
        elif name in _READERS:
            field, read = _READERS[name]
            try:
                found[field] = read(text.strip())
            except _WrongError as wrong:
                problem = f"the option {name!r} is {text!r}; expected {wrong}"
                raise DataError(program.name, problem) from None
        else:
            ignored.append(name)
    return InferenceOptions(**found, ignored=tuple(sorted(ignored)))


def _method(text: str, program: str) -> str:
    """Class of PSL's inference, without its package."""
    method = text.strip().rsplit(".", 1)[-1]
    if method not in METHODS:
        problem = f"the option 'runtime.inference.method' is {text!r}"
        raise DataError(program, f"{problem}; expected one of {', '.join(METHODS)}")
    return method
