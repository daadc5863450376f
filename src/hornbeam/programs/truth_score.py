"""One number for how well a state fits the truth: what a search for weights improves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.errors import InputError
from hornbeam.programs.evaluators import (
    EVALUATORS,
    AucEvaluator,
    EvaluatedAtoms,
    Evaluator,
    evaluator_named,
)
from hornbeam.programs.program import Program
from hornbeam.programs.program_data import ProgramData
from hornbeam.programs.truth_evaluation import evaluated_atoms


@dataclass(frozen=True, eq=False)
class TruthScore:
    """Evaluators of predicates with truth; the score of a state is the mean of their scores."""

    parts: tuple[_ScoredPredicate, ...]

    @property
    def name(self) -> str:
        """The evaluators and their predicates."""
        shown = (f"{one.evaluator.name} ({one.figure}) of {one.predicate}" for one in self.parts)
        return ", ".join(shown)

    def of(self, state: Floats) -> float:
        """Score of a state: higher is better; -inf where a figure is undefined."""
        return float(np.mean([one.score(state) for one in self.parts]))


@dataclass(frozen=True, eq=False)
class _ScoredPredicate:
    """A predicate, its evaluator, its targets' places in a state, and its atoms."""

    predicate: str
    evaluator: Evaluator
    first: int
    targets: int
    atoms: EvaluatedAtoms

    @property
    def figure(self) -> str:
        """Name of the figure that represents the evaluator's others."""
        return self.evaluator.REPRESENTATIVES[self.evaluator.representative]

    def score(self, state: Floats) -> float:
        values = np.clip(state[self.first : self.first + self.targets], 0.0, 1.0)
        observed = self.atoms.value[self.targets :]
        return self.evaluator.score(replace(self.atoms, value=np.concatenate([values, observed])))


def truth_score(program: Program, data: ProgramData, evaluator: str | None = None) -> TruthScore:
    """The score of a program's states.

    `evaluator` names the evaluator of all predicates that have targets and truth. By default the
    program's primary evaluator scores its predicate; without an evaluator in the program, AUC-ROC
    scores all predicates that have targets and truth.
    """
    if evaluator is not None and evaluator not in EVALUATORS:
        known = ", ".join(EVALUATORS)
        raise InputError(f"unknown `evaluator` {evaluator!r}; expected one of {known}")
    primary = program.primary_evaluator if evaluator is None else None
    arities = {one.name: one.arity for one in program.predicates}
    parts = []
    for name, tables in data.predicates.items():
        chosen = _chosen(program, name, arities[name], evaluator, primary)
        if len(tables.targets) and len(tables.truth) and chosen is not None:
            nothing = np.zeros(len(tables.targets))
            atoms = evaluated_atoms(tables, nothing, chosen.include_observed)
            first, targets = data.first_variable[name], len(tables.targets)
            parts.append(_ScoredPredicate(name, chosen, first, targets, atoms))
    if not parts:
        raise InputError(
            f"{program.name} has no truth to score weights by; expected a predicate with targets "
            "and truth" + (f", such as {primary[0]}, which it evaluates" if primary else "")
        )
    return TruthScore(tuple(parts))


def _chosen(
    program: Program,
    name: str,
    arity: int,
    evaluator: str | None,
    primary: tuple[str, Evaluator] | None,
) -> Evaluator | None:
    if evaluator is not None:
        return evaluator_named(program.name, evaluator, arity, program.options, {})
    if primary is None:
        return AucEvaluator()
    return primary[1] if primary[0] == name else None
