"""`hornbeam learn --rules PROGRAM`: learn rules beside those of a PSL program."""

from __future__ import annotations

from os.path import splitext
from pathlib import Path
from typing import TYPE_CHECKING

from hornbeam.base.files import refuse_inputs
from hornbeam.cli import options
from hornbeam.cli.console import print_sentence, print_table
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.learner_options import FitOptions, OwnRuleOptions
from hornbeam.cli.outputs import check_output
from hornbeam.errors import InputError
from hornbeam.rules.weighing import Counts

if TYPE_CHECKING:
    from hornbeam.programs.extended_program import ExtendedProgram

#: Options of a fit that mean the same beside the rules of a program.
SHARED = ("method", "relaxation", "refit", "counts")


def given_program(own: OwnRuleOptions, training: options.TrainingOptions) -> str | None:
    """The program whose rules are given, with its split; None if the rules are of no program.

    A program is a JSON or YAML file, or a `.psl` file whose `.data` file has the facts.
    """
    if own.rules is None:
        return None
    from hornbeam.facts.reading.psl_data import PROGRAM_SUFFIXES, split_of

    rules = Path(split_of(own.rules)[0])
    data = Path(f"{splitext(rules)[0]}.data")
    listed = [split_of(name) for name in (*training.facts.files, *(training.labels or ()))]
    is_program = rules.suffix.lower() in PROGRAM_SUFFIXES
    if not is_program and data not in {Path(name) for name, _ in listed}:
        return None
    others = [name for name, _ in listed if Path(name) not in (rules, data)]
    if others or not training.labels or not training.facts.facts:
        raise InputError(
            f"{own.rules}: rules are learned beside those of a PSL program from its own data: give "
            "the program as --facts and --labels too, and nothing else (or a file of rules alone)"
        )
    splits = {split for _, split in [*listed, split_of(own.rules)] if split is not None}
    if len(splits) > 1:
        raise InputError(f"the splits {' and '.join(sorted(splits))} are named; expected one")
    return f"{rules}#{splits.pop()}" if splits else str(rules)


def learn_beside(
    named: str,
    training: options.TrainingOptions,
    output: Path,
    fitting: FitOptions,
    rules: options.LanguageOptions,
    own: OwnRuleOptions,
    seed: int,
    threads: int | None,
    run: RunOptions,
) -> None:
    """Learn rules beside those of a program, write the program, and show a summary."""
    from hornbeam.facts.reading.psl_data import split_of
    from hornbeam.flow import learn_program
    from hornbeam.programs.extended_program import check_data_path, data_path
    from hornbeam.programs.program import read_program

    for name in fitting.changed():
        if name not in SHARED and name not in fitting.settings.given:
            raise InputError(f"`{name}` has no meaning in PSL: leave it out beside a program")
    if fitting.evidence.counts not in ("auto", Counts.RAW):
        raise InputError("PSL counts every grounding: leave out `counts` beside a program")
    program, split = split_of(named)
    with run.started() as inputs:
        read = read_program(program, split or "learn")
        if output.suffix.lower() != ".json":
            check_output(data_path(output))
            refuse_inputs(data_path(output), read.files)
            check_data_path(data_path(output))
        refuse_inputs(output, read.files)
        extended = learn_program(
            read,
            target=training.target,
            method=fitting.learner(seed),
            language=rules.language(),
            relaxation=fitting.relaxation,
            keep=own.keep,
            guard=own.guard,
            refit=fitting.refit,
            seed=seed,
            threads=threads,
            progress=inputs.progress,
        )
    extended.save(output)
    run.console.print(extended.as_dict, lambda: _show(extended, output))


def _show(extended: ExtendedProgram, output: Path) -> None:
    listed = extended.as_dict()["rules"]
    listed.sort(key=lambda row: -(row["weight"] or 0.0))
    rows = [
        (
            "hard" if row["weight"] is None else f"{row['weight']:.4g}",
            "given" if row["own"] else "learned",
            row["rule"],
        )
        for row in listed
    ]
    print_table(["weight", "", "rule"], rows, total=len(rows), rest=f", all in {output}")
    seconds = extended.seconds
    files = " and ".join(map(str, extended.outputs(output)))
    print_sentence(
        f"{len(extended.given)} given rules, {len(extended.learned)} learned of "
        f"{extended.candidates:,} candidate bodies for {extended.targets:,} targets; load "
        f"{seconds['load']:.2f} s, generate {seconds['generate']:.2f} s, learn "
        f"{seconds['learn']:.2f} s. Wrote {files}."
    )
