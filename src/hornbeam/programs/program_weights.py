"""Learning the weights of a program's logical rules by exact pseudolikelihood.

Given the truth of all other atoms, a ground rule is a hinge in the remaining atom
(`hornbeam.hlmrf.potentials`), of power 1 or 2.

* joint: maximise sum_i log p(y_i | all other y) over all weights at once;
* ppll: the same for each rule alone, as if it were the only rule (piecewise).

Both objectives are concave, with a Gaussian prior on the weights, and are maximised by Newton's
method. Hard rules have no weight and are left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import WeightMethod
from hornbeam.base.compiled import announced
from hornbeam.base.files import save_text
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import DataError, InputError
from hornbeam.hlmrf.potentials import PotentialKind, Potentials, conditional_hinges
from hornbeam.language.arithmetic_rules import ArithmeticRule, PslRule
from hornbeam.language.syntax import LogicalRule, error_at, weight_text
from hornbeam.learning.hinge_problem import HingeProblem
from hornbeam.learning.newton import Newton
from hornbeam.programs.grounding.ground import ground
from hornbeam.programs.program import Program, read_program
from hornbeam.programs.program_data import ProgramData, atom_places


@dataclass(frozen=True, eq=False)
class LearnedWeights:
    """A program's rules with learned weights, and log pseudolikelihoods of the truth.

    The log pseudolikelihoods are those of all rules together, with the old and the new weights.
    """

    rules: tuple[PslRule, ...]
    before: tuple[PslRule, ...]
    log_likelihood_before: float
    log_likelihood: float
    targets: int
    seconds: dict[str, float]

    @property
    def text(self) -> str:
        """The rules as a `.psl` file."""
        return "".join(f"{rule}\n" for rule in self.rules)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rules to a file; if that fails, an existing file is left as it was."""
        save_text(path, self.text)

    def as_dict(self) -> dict[str, Any]:
        """Rules, weights and figures, ready for JSON."""
        return {
            "rules": [
                {"rule": _unweighted(rule), "weight": rule.weight, "before": old.weight}
                for rule, old in zip(self.rules, self.before, strict=True)
            ],
            "log_likelihood": {"before": self.log_likelihood_before, "after": self.log_likelihood},
            "targets": self.targets,
            "seconds": self.seconds,
        }


def learn_weights(
    program: Program | str | os.PathLike[str],
    *,
    method: WeightMethod | str = WeightMethod.JOINT,
    split: str | None = None,
    weight_variance: float = 100.0,
    max_ground_rules: int | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> LearnedWeights:
    """Learn the weights of a program's logical rules from the truth of its targets.

    Parameters
    ----------
    program
        A program, or the path of one.
    method
        "joint" (all weights together) or "ppll" (each rule alone).
    split
        The split to learn from, in addition to the data of all splits; "learn" by default.
    weight_variance
        Variance of the Gaussian prior on weights.
    """
    method = WeightMethod(method)
    if not weight_variance >= 1 / MAX_NUMBER:
        raise InputError(f"`weight_variance` is {weight_variance:g}; expected a number above 0")
    clock = time.perf_counter()
    seconds = {}
    if not isinstance(program, Program):
        program = read_program(program, split or "learn")
    _refuse_arithmetic(program)
    data = program.load()
    seconds["load"] = time.perf_counter() - clock
    clock = time.perf_counter()
    y = _truth(program, data)
    unit = [rule if rule.weight is None else replace(rule, weight=1.0) for rule in program.rules]
    grounded = ground(
        unit,
        data,
        program.closed,
        missing_is_false=not program.inference_options.require_targets,
        limit=max_ground_rules,
        threads=threads,
        progress=progress,
    )
    problem = ground_problem(unit, grounded.potentials, y)
    seconds["ground"] = time.perf_counter() - clock
    clock = time.perf_counter()
    with announced(progress):
        weights = fit_weights(problem, method, weight_variance)
    old = np.array([rule.weight or 0.0 for rule in program.rules])
    learned = tuple(
        rule if rule.weight is None else replace(rule, weight=weight)
        for rule, weight in zip(program.rules, weights.tolist(), strict=True)
    )
    seconds["learn"] = time.perf_counter() - clock
    return LearnedWeights(
        learned,
        program.rules,
        problem.log_likelihood(old),
        problem.log_likelihood(weights),
        len(y),
        seconds,
    )


def _unweighted(rule: PslRule) -> str:
    """Text of a rule without its weight."""
    return str(rule).removeprefix("" if rule.weight is None else f"{weight_text(rule.weight)}: ")


def _refuse_arithmetic(program: Program) -> None:
    for rule, source in zip(program.rules, program.sources, strict=True):
        if isinstance(rule, ArithmeticRule) and rule.weight is not None:
            problem = f"weights are learned for logical rules only, not for {rule}"
            raise error_at(rule.place, source, f"{problem}; make it a hard rule or leave it out")


def _truth(program: Program, data: ProgramData) -> Floats:
    """Truth of every target, in the order of the random variables; refuse targets without truth."""
    parts = []
    for name, tables in data.predicates.items():
        place = atom_places(tables.targets, tables.truth)
        if (place < 0).any():
            first = int(np.argmax(place < 0))
            atom = ", ".join(repr(data.names[int(c[first])]) for c in tables.targets.arguments)
            raise DataError(
                program.name,
                f"{int((place < 0).sum()):,} targets of {name} have no truth, the first is "
                f"{name}({atom}); learning needs the truth of every target",
            )
        parts.append(tables.truth.values[place])
    if not sum(map(len, parts)):
        raise DataError(program.name, "no predicate has targets; expected some to learn from")
    return np.concatenate(parts)


def ground_problem(
    rules: Sequence[PslRule], potentials: Potentials, y: Floats
) -> HingeProblem[PslRule]:
    """The learning problem of rules that were grounded with weight 1, given the truth y."""
    row, is_squared = potentials.row, potentials.kind == PotentialKind.SQUARED
    hinges = conditional_hinges(potentials, y, is_squared)
    keep = (hinges.height > 0.0) & ~potentials.is_constraint[row]
    lengths = [len(rule.body) if isinstance(rule, LogicalRule) else 0 for rule in rules]
    return HingeProblem(
        rules,
        np.array(lengths, dtype=np.int64),
        np.array([rule.squared for rule in rules], dtype=np.bool_),
        y,
        hinges.variable[keep].astype(np.int64),
        potentials.rule[row][keep].astype(np.int64),
        hinges.height[keep],
        hinges.down[keep],
        hinges.strength[keep],
    )


def fit_weights(
    problem: HingeProblem[PslRule], method: WeightMethod, weight_variance: float = 100.0
) -> Floats:
    """Fit the weights of all rules; a rule without ground rules gets weight 0."""
    alone = method is not WeightMethod.JOINT
    parts = [piece(problem, k) for k in range(len(problem.clauses))] if alone else [problem]
    newton, ridge = Newton(tolerance=1e-9), 1.0 / weight_variance
    return np.concatenate([newton.fit(part, 0.0, ridge).weights for part in parts])


def piece(problem: HingeProblem[PslRule], k: int) -> HingeProblem[PslRule]:
    """The problem of rule k alone, over the targets that its ground rules contain."""
    return problem.only(np.array([k])).subset(problem.targets_of(k))
