"""`hornbeam weights`: learn the weights of a PSL program's rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hornbeam.base.choices import WeightMethod
from hornbeam.cli import options
from hornbeam.cli.console import print_sentence, print_table
from hornbeam.cli.infer import ground_rules_option, program_file, split_option
from hornbeam.cli.option_groups import option

if TYPE_CHECKING:
    from hornbeam.programs.program_weights import LearnedWeights


def weights(
    *,
    program: str = program_file(),
    output: Path = option(
        "The rules with learned weights.", "--output", "-o", metavar="FILE", default=...
    ),
    method: WeightMethod = option(
        "All weights together, or each rule alone (piecewise).", default=WeightMethod.JOINT
    ),
    weight_variance: float = option("Variance of the Gaussian prior on weights.", default=100.0),
    split: str | None = split_option(),
    max_ground_rules: int | None = ground_rules_option(),
    threads: int | None = options.threads_option(),
    console: options.ConsoleOptions,
) -> None:
    """Learn the weights of a PSL program's logical rules by exact pseudolikelihood.

    The program must give the truth of its targets. Hard rules stay as they are.

    [dim]Example:[/dim]

      hornbeam weights program.json --method joint -o learned.psl
    """
    import hornbeam as hb
    from hornbeam.base.files import refuse_inputs
    from hornbeam.programs.program import read_program

    with console.progress() as progress:
        read = read_program(program, split or "learn")
        refuse_inputs(output, read.files)
        learned = hb.learn_weights(
            read,
            method=method,
            weight_variance=weight_variance,
            max_ground_rules=max_ground_rules,
            threads=threads,
            progress=progress,
        )
    learned.save(output)
    console.print(learned.as_dict, lambda: _show(learned, output))


def _show(learned: LearnedWeights, output: Path) -> None:
    rows = []
    for row in learned.as_dict()["rules"][: options.SHOWN]:
        shown = ["hard" if w is None else f"{w:.4g}" for w in (row["before"], row["weight"])]
        rows.append([*shown, row["rule"]])
    print_table(["before", "learned", "rule"], rows)
    if len(learned.rules) > options.SHOWN:
        print_sentence(f"... and {len(learned.rules) - options.SHOWN} more")
    print_sentence(
        f"log pseudolikelihood of {learned.targets:,} targets: {learned.log_likelihood_before:.2f} "
        f"before, {learned.log_likelihood:.2f} now. Wrote {output}."
    )
