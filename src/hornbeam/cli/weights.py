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
        "joint: the pseudolikelihood of all weights together; ppll: of each rule alone; map: the "
        "truth has less energy than MAP states, by a margin; search: guided random search, scored "
        "by an evaluator. map and search also learn weights of arithmetic rules.",
        default=WeightMethod.JOINT,
    ),
    fix: list[str] | None = option(
        "A rule that keeps its weight: its number in the program, from 1, or its text. Repeatable.",
        metavar="RULE",
    ),
    latent: bool = option(
        "Targets without truth get their MAP state, in turns with learning; otherwise they are "
        "refused, except by search, which scores the others.",
        default=False,
    ),
    evaluator: str | None = option(
        "Scores map and search: AUCEvaluator, DiscreteEvaluator, ContinuousEvaluator or "
        "CategoricalEvaluator; by default the program's primary evaluator, or AUC-ROC.",
        metavar="NAME",
    ),
    trials: int = option("Number of weights that search tries.", min=1, metavar="N", default=50),
    weight_variance: float = option("Variance of the Gaussian prior on weights.", default=100.0),
    seed: int = options.seed_option(),
    split: str | None = split_option(),
    max_ground_rules: int | None = ground_rules_option(),
    threads: int | None = options.threads_option(),
    console: options.ConsoleOptions,
) -> None:
    """Learn the weights of a PSL program's rules from the truth of its targets.

    Pseudolikelihood (joint, ppll) is quick and exact for logical rules. Where it leaves a model
    empty, and for arithmetic rules, map and search compare MAP states with the truth. Hard rules
    stay as they are.

    [dim]Examples:[/dim]

      hornbeam weights program.json -o learned.psl

      hornbeam weights program.json --method search --evaluator AUCEvaluator --fix 3 -o learned.psl
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
            fix=fix or (),
            latent=latent,
            evaluator=evaluator,
            trials=trials,
            seed=seed,
            max_ground_rules=max_ground_rules,
            threads=threads,
            progress=progress,
        )
    learned.save(output)
    console.print(learned.as_dict, lambda: _show(learned, output))


def _show(learned: LearnedWeights, output: Path) -> None:
    rows = []
    for row in learned.as_dict()["rules"]:
        shown = ["hard" if w is None else f"{w:.4g}" for w in (row["before"], row["weight"])]
        rows.append([*shown, row["rule"]])
    print_table(["before", "learned", "rule"], rows, total=len(rows), rest="")
    print_sentence(f"{_figures(learned)}. Wrote {output}.")


def _figures(learned: LearnedWeights) -> str:
    """The figures of the learner, as a sentence without its full stop."""
    if learned.score is not None:
        score = learned.score
        return (
            f"{score.evaluator}, of the {learned.targets - learned.unknown:,} targets with truth: "
            f"{score.before:.4f} before, {score.after:.4f} now, after {score.trials:,} MAP states"
        )
    return (
        f"log pseudolikelihood of {learned.targets:,} targets: "
        f"{learned.log_likelihood_before:z.2f} before, {learned.log_likelihood:z.2f} now"
    )
