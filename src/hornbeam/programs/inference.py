"""Inference in PSL programs: read, ground, solve.

program -> rules and atoms -> potentials -> MAP state -> files and evaluations
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Solver
from hornbeam.base.files import (
    cannot_be_written,
    check_folder,
    refuse_inputs,
    save_folder,
    save_text,
)
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.base.result_table import html_table, save_query, table_format
from hornbeam.errors import InfeasibleError, InputError
from hornbeam.hlmrf.admm import Admm
from hornbeam.hlmrf.map_inference import solve
from hornbeam.hlmrf.map_state import MapState, MapStatus, assess, start_at
from hornbeam.hlmrf.potentials import Potentials
from hornbeam.language.arithmetic_rules import PslRule
from hornbeam.programs.grounding.ground import GroundProgram, ground
from hornbeam.programs.grounding.listed_rules import SORTED, listed_rules, with_enough_memory
from hornbeam.programs.program import Program, read_program
from hornbeam.programs.program_data import AtomTable
from hornbeam.programs.program_options import INITIAL_VALUES, InferenceOptions, notes_about
from hornbeam.programs.similarities import AtomFunction
from hornbeam.programs.truth_evaluation import TruthEvaluation, evaluate_truth

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Tolerance of ADMM if neither the user nor the program sets one. PSL's tolerances (1e-5 absolute,
#: 1e-3 relative) leave single values up to 0.05 away from the optimum. This tolerance takes a few
#: more iterations and leaves values less than 0.001 away.
TOLERANCE = 1e-6
#: Maximum number of conflicting ground rules that a message shows.
SHOWN_CONFLICTS = 6


@dataclass(frozen=True, eq=False)
class Inference:
    """The inferred values of a program's targets.

    Examples
    --------
    >>> import hornbeam as hb
    >>> found = hb.infer("knows.json")  # doctest: +SKIP
    >>> found.values("Knows"), found.evaluations  # doctest: +SKIP
    """

    program: Program
    ground: GroundProgram
    found: MapState
    seconds: dict[str, float]

    def values(self, predicate: str) -> Floats:
        """Inferred values of a predicate's targets, in their order."""
        targets, first = self._targets(predicate)
        return self.found.state[first : first + len(targets)]

    def atoms(self, predicate: str, most: int | None = None) -> list[tuple[str, ...]]:
        """Arguments of a predicate's targets (the first `most`), in their order."""
        names = self.ground.data.names
        columns = (names.take(ids[:most]) for ids in self._targets(predicate)[0].arguments)
        return list(zip(*columns, strict=True))

    def _targets(self, predicate: str) -> tuple[AtomTable, int]:
        """A predicate's targets, and the random variable of the first target."""
        data = self.ground.data
        for name, tables in data.predicates.items():
            if name.lower() == predicate.lower():
                return tables.targets, data.first_variable[name]
        raise InputError(f"the program has no predicate {predicate!r}")

    @property
    def open_predicates(self) -> list[str]:
        """Names of the predicates that have targets."""
        return [name for name, one in self.ground.data.predicates.items() if len(one.targets)]

    @cached_property
    def evaluations(self) -> dict[str, TruthEvaluation]:
        """For every predicate with targets and truth, how well its values fit the truth."""
        tables = self.ground.data.predicates
        found = {
            one.name: evaluate_truth(tables[one.name], self.values(one.name), one.evaluators)
            for one in self.program.predicates
            if len(tables[one.name].targets)
        }
        return {name: one for name, one in found.items() if one is not None}

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the values of each open predicate as PSL does: NAME.txt, columns separated by tabs.

        Several files are written together or not at all: their folder is replaced as a whole.
        """
        check_results(folder, self.program, self.open_predicates)
        return save_results(folder, {name: self._lines(name) for name in self.open_predicates})

    def _lines(self, predicate: str) -> str:
        rows = zip(self.atoms(predicate), self.values(predicate).tolist(), strict=True)
        return "".join("\t".join([*arguments, f"{value:.10g}"]) + "\n" for arguments, value in rows)

    @contextmanager
    def listed_rules(
        self, *, texts: bool, threads: int | None = None, progress: Progress = SILENT
    ) -> Iterator[DuckDBPyConnection]:
        """The table `listed` of all ground rules at the inferred state; see `listed_rules`."""
        with listed_rules(
            self.ground,
            self.found.state,
            self.program.closed,
            missing_is_false=not self.program.inference_options.require_targets,
            texts=texts,
            threads=threads,
            progress=progress,
        ) as connection:
            yield connection

    def save_ground_rules(
        self,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> None:
        """Write every ground rule with its cost, the most expensive first, and broken constraints.

        The ending of the file selects the form: .tsv, .csv, .json, .jsonl or .parquet. The columns
        are `cost` and `weight` (empty in a hard rule), `distance` to satisfaction, `satisfaction`
        (1 - distance, at least 0), `rule` (its number in the program, from 1) and `ground_rule`.
        """
        form = table_format(path)
        refuse_inputs(path, self.program.files)
        with self.listed_rules(texts=True, threads=threads, progress=progress) as connection:
            with_enough_memory(connection, lambda: save_query(connection, SORTED, path, form))

    def as_dict(self) -> dict[str, Any]:
        """Figures of the inference, ready for JSON."""
        return {
            "objective": self.found.objective,
            "bound": self.found.bound,
            "iterations": self.found.iterations,
            "atoms": self.ground.potentials.n_variables,
            "ground_rules": int(self.ground.counts.sum()),
            "potentials": len(self.ground.potentials),
            "solver": self.found.solver,
            "status": self.found.status.name.lower(),
            "primal_residual": self.found.primal_residual,
            "dual_residual": self.found.dual_residual,
            "violated_constraints": [
                {"rule": self.ground.row_text(row), "violation": far}
                for row, far in zip(
                    self.found.violated.tolist(), self.found.violation.tolist(), strict=True
                )
            ],
            "evaluations": {name: one.as_dict() for name, one in self.evaluations.items()},
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return (
            f"Inference({self.ground.potentials.n_variables:,} atoms, "
            f"{int(self.ground.counts.sum()):,} ground rules, "
            f"objective {self.found.objective:.6g}, {self.found.status.name.lower()})"
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[str, ...]] = []
        for name in self.open_predicates:
            some = zip(self.atoms(name, 10), self.values(name)[:10].tolist(), strict=True)
            rows += [
                (f"{name}({', '.join(arguments)})", f"{value:.4f}") for arguments, value in some
            ]
        return html_table(repr(self), ["atom", "value"], rows)


def infer(
    program: Program | str | os.PathLike[str],
    *,
    split: str | None = None,
    solver: Solver | str = Solver.AUTO,
    tolerance: float | None = None,
    max_ground_rules: int | None = None,
    functions: Mapping[str, AtomFunction] | None = None,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
) -> Inference:
    """Find the most probable values of a PSL program's targets.

    Parameters
    ----------
    program
        A program, or the path of one (JSON, YAML, `.psl` with `.data`).
    split
        The program's split to read; "infer" by default.
    solver
        "auto", "admm" or "exact"; see `hornbeam.base.choices.Solver`.
    tolerance
        Absolute and relative tolerance of ADMM; by default the program's own, or `TOLERANCE`.
    max_ground_rules
        Maximum number of ground rules; by default as many as fit into memory.
    functions
        Python functions by the names of their predicates: `{"Similar": similar}` calls
        `similar("ann", "anna")` once for the atom `Similar('ann', 'anna')`, if a ground rule needs
        its value, a number from 0 to 1.
    progress
        Callback that is given the progress of the work, or True for a bar on stderr.
    """
    if tolerance is not None and not 0.0 <= tolerance <= MAX_NUMBER:
        raise InputError(f"`tolerance` is {tolerance:g}; expected 0 to {MAX_NUMBER:g}")
    clock = time.perf_counter()
    seconds = {}
    if not isinstance(program, Program):
        program = read_program(program, split, functions)
    else:
        program = program.with_functions(functions or {})
    options = program.inference_options
    with as_progress(progress) as shown:
        for note in notes_about(options):
            shown.message(note)
        data = program.load()
        seconds["load"] = time.perf_counter() - clock
        clock = time.perf_counter()
        grounded = ground(
            _relaxed(program.rules, options) if options.relax else program.rules,
            data,
            program.closed,
            functions=program.functions,
            missing_is_false=not options.require_targets,
            limit=max_ground_rules,
            threads=threads,
            progress=shown,
        )
        seconds["ground"] = time.perf_counter() - clock
        clock = time.perf_counter()
        admm = Admm(
            step=options.step_size,
            epsilon_abs=_first(tolerance, options.epsilon_absolute, TOLERANCE),
            epsilon_rel=_first(tolerance, options.epsilon_relative, TOLERANCE),
            max_iterations=options.max_iterations,
            threads=threads,
        )
        start = _start(grounded, options)
        try:
            if options.skip:
                found = _skipped(grounded.potentials, start, admm)
            else:
                found = solve(grounded.potentials, Solver(solver), start, admm, shown)
        except InfeasibleError as error:
            raise _explained(error, grounded) from None
    seconds["infer"] = time.perf_counter() - clock
    return Inference(program, grounded, found, seconds)


def _first(*values: float | None) -> float:
    """The first value that is set."""
    return next(value for value in values if value is not None)


def _relaxed(rules: Sequence[PslRule], options: InferenceOptions) -> list[PslRule]:
    """Give hard rules a multiple of the largest weight, and at least that (inference.relax)."""
    largest = max((rule.weight for rule in rules if rule.weight is not None), default=1.0)
    weight = max(options.relax_multiplier, 1.0) * largest
    return [
        rule
        if rule.weight is not None
        else replace(rule, weight=weight, squared=options.relax_squared)
        for rule in rules
    ]


def _start(grounded: GroundProgram, options: InferenceOptions) -> Floats | None:
    """The state to start from; None for all ones.

    Targets in no ground rule stay there, so that they keep the values that they are given, unless
    inference is skipped.
    """
    targets = [one.targets for one in grounded.data.predicates.values()]
    value = INITIAL_VALUES[options.initial_value]
    if value in (None, 1.0) and all(one.value is None for one in targets):
        return None
    given = np.concatenate([one.values for one in targets])
    if value is None:
        return given
    in_rules = np.bincount(grounded.potentials.variable, minlength=len(given)) > 0
    return np.where(in_rules | options.skip, value, given)


def _skipped(potentials: Potentials, start: Floats | None, admm: Admm) -> MapState:
    """The figures of the state to start from (PSL's option inference.skip)."""
    state, multiplier = start_at(potentials, start), np.zeros(len(potentials))
    return assess(potentials, state, multiplier, MapStatus.SKIPPED, "no solver", admm.max_violation)


def _explained(error: InfeasibleError, grounded: GroundProgram) -> InputError:
    """Name the ground rules that contradict each other."""
    shown = [f"  {grounded.row_text(row)}" for row in error.rows[:SHOWN_CONFLICTS]]
    if len(error.rows) > SHOWN_CONFLICTS:
        shown.append(f"  ... and {len(error.rows) - SHOWN_CONFLICTS} more")
    return InputError("\n".join([str(error), *shown]))


# Files of values ----------------------------------------------------------------------------------


def check_results(
    folder: str | os.PathLike[str], program: Program, predicates: Sequence[str] | None = None
) -> None:
    """Refuse a folder to which the values of open predicates cannot be written.

    A single file is replaced in place. Several files are written as one folder, which is replaced
    as a whole and must not contain other files. Input files of the program are never overwritten.
    Without `predicates`, all predicates with targets are checked.
    """
    if predicates is None:
        predicates = [one.name for one in program.predicates if one.targets]
    names = _names(predicates)
    for name in names.values():
        refuse_inputs(Path(folder) / name, program.files)
    if len(names) > 1:
        check_folder(folder, partial(_other_than, names.values()))


def save_results(folder: str | os.PathLike[str], texts: Mapping[str, str]) -> list[Path]:
    """Write the texts of open predicates, one file per predicate; returns the paths."""
    names = _names(texts)

    def write(place: Path) -> None:
        for predicate, name in names.items():
            (place / name).write_text(texts[predicate], encoding="utf-8", newline="\n")

    with cannot_be_written(folder):
        Path(folder).parent.mkdir(parents=True, exist_ok=True)
        if len(names) < 2:
            Path(folder).mkdir(exist_ok=True)
    if len(names) > 1:
        save_folder(folder, write, partial(_other_than, names.values()))
    else:
        for predicate, name in names.items():
            save_text(Path(folder) / name, texts[predicate])
    return [Path(folder) / name for name in names.values()]


def _names(predicates: Collection[str]) -> dict[str, str]:
    return {predicate: f"{predicate.upper()}.txt" for predicate in predicates}


def _other_than(names: Collection[str], folder: Path) -> str | None:
    """A description of a file in the folder whose name is not among `names`, or None."""
    others = (path.name for path in sorted(folder.iterdir()))
    found = next((name for name in others if name not in names), None)
    if found is None:
        return None
    return f"{found!r}, and the values of several predicates replace a folder as a whole"
