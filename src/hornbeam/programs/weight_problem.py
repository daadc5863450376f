"""What learners of weights share: ground rules of weight 1, the truth, and which weights stay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import DataError, InputError
from hornbeam.hlmrf.reweighted import ReweightedRules
from hornbeam.language.arithmetic_rules import PslRule, core_text
from hornbeam.language.rule_texts import parse_rules
from hornbeam.programs.grounding.ground import GroundProgram, ground
from hornbeam.programs.program import Program
from hornbeam.programs.program_data import ProgramData
from hornbeam.programs.program_rules import normal_rules

#: Matches the text of a rule with a weight, or with the full stop of hard rules.
WEIGHTED_OR_HARD = re.compile(r"^[^('\"]*:|\.\s*$")


@dataclass(frozen=True, eq=False)
class WeightProblem:
    """A program's ground rules with weight 1, the truth of its targets, and its given weights."""

    rules: tuple[PslRule, ...]  #: the program's rules, the weighted ones with weight 1
    ground: ReweightedRules
    truth: Floats  #: of every target; 0 where it is unknown
    known: Bools  #: which targets have truth
    given: Floats  #: weight of every rule; 0 for hard rules
    free: Bools  #: which rules' weights are to be learned

    def completed(self, weights: Floats) -> Floats:
        """The truth; unknown targets get their MAP state given the truth and the weights."""
        if self.known.all():
            return self.truth
        start = np.where(self.known, self.truth, 0.5)
        state = self.ground.given(self.truth, self.known).map_state(weights, start).state
        return np.where(self.known, self.truth, state)


def weight_problem(
    program: Program,
    data: ProgramData,
    fix: Sequence[str | int] = (),
    limit: int | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> WeightProblem:
    """Ground a program's rules with weight 1; `fix` names rules whose weights stay."""
    weighted = np.array([rule.weight is not None for rule in program.rules])
    free = weighted & ~_fixed(program, fix)
    if not free.any():
        raise InputError(
            f"{program.name} has no weight to learn: its {len(program.rules):,} rules are hard or "
            "named by `fix`"
        )
    truth, known = _truth(program, data)
    grounded = ground_with_unit_weights(program, data, limit, threads, progress)
    given = np.array([rule.weight or 0.0 for rule in program.rules])
    reweighted = ReweightedRules(grounded.potentials, len(grounded.rules), threads)
    return WeightProblem(tuple(grounded.rules), reweighted, truth, known, given, free)


def ground_with_unit_weights(
    program: Program,
    data: ProgramData,
    limit: int | None,
    threads: int | None,
    progress: Progress,
) -> GroundProgram:
    """Ground a program's rules, those that have a weight with weight 1."""
    return ground(
        program.reweighted_rules([1.0] * len(program.rules)),
        data,
        program.closed,
        functions=program.functions,
        missing_is_false=not program.inference_options.require_targets,
        limit=limit,
        threads=threads,
        progress=progress,
    )


def _truth(program: Program, data: ProgramData) -> tuple[Floats, Bools]:
    """Truth of every target in the order of the random variables, and which targets have it."""
    known = ~np.isnan(data.truth)
    if not len(known):
        raise DataError(program.name, "no predicate has targets; expected some to learn from")
    if not known.any():
        raise DataError(program.name, "no target has a truth value; expected some to learn from")
    return np.where(known, data.truth, 0.0), known


def target_truth(program: Program, data: ProgramData) -> Floats:
    """Truth of every target, in the order of the random variables; refuse targets without truth."""
    refuse_unknown(program, data)
    return _truth(program, data)[0]


def refuse_unknown(program: Program, data: ProgramData, advice: str = "") -> None:
    """Refuse targets without truth, and name the first; the message ends with `advice`."""
    for name, tables in data.predicates.items():
        unknown = np.isnan(tables.truth_of(tables.targets))
        if unknown.any():
            first = int(np.argmax(unknown))
            atom = ", ".join(repr(data.names[int(c[first])]) for c in tables.targets.arguments)
            raise DataError(
                program.name,
                f"{int(unknown.sum()):,} targets of {name} have no truth, the first is "
                f"{name}({atom}); learning needs the truth of every target{advice}",
            )


def _fixed(program: Program, fix: Sequence[str | int]) -> Bools:
    """Which rules `fix` names, by their numbers from 1 or by their texts with or without weight."""
    found = np.zeros(len(program.rules), dtype=np.bool_)
    names = {one.name.lower(): one.name for one in program.predicates}
    texts = [core_text(rule) for rule in program.rules]
    expected = f"expected a rule of the program, or a number from 1 to {len(texts)}"
    for named in fix:
        if str(named).strip().isdecimal():
            number = int(named)
            if not 1 <= number <= len(texts):
                raise InputError(f"`fix` names rule {number}; expected 1 to {len(texts)}")
            found[number - 1] = True
            continue
        text = str(named) if WEIGHTED_OR_HARD.search(str(named)) else f"1: {named}"
        try:
            written = parse_rules(text, "`fix`")
        except DataError:  # its line and column are those of `text`, which nobody wrote
            raise InputError(f"`fix` names {str(named)!r}, which is no rule; {expected}") from None
        for core in (core_text(r) for one in written for r in normal_rules(one, names)):
            if core not in texts:
                raise InputError(
                    f"`fix` names the rule {core}, which {program.name} does not have; {expected}"
                )
            found |= np.array([text == core for text in texts])
    return found
