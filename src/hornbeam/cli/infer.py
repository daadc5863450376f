"""`hornbeam infer`: the most probable values of a PSL program's targets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hornbeam.base.choices import Solver
from hornbeam.base.files import refuse_inputs
from hornbeam.base.terminal_progress import print_message
from hornbeam.cli import options
from hornbeam.cli.console import SHOWN, print_sentence, print_table
from hornbeam.cli.option_groups import argument, option
from hornbeam.cli.outputs import check_output

if TYPE_CHECKING:
    from hornbeam.programs.inference import Inference

#: Figures of an evaluation that are always shown, and what all figures are called.
MAIN_FIGURES = ("auc_roc", "auc_pr", "f1", "accuracy", "mae", "mse")
CALLED = {
    "auc_roc": "AUC-ROC",
    "auc_pr": "AUC-PR",
    "auc_pr_trapezoid": "AUC-PR by trapezoids",
    "auc_pr_negative": "AUC-PR of false atoms",
    "auc_pr_negative_trapezoid": "by trapezoids",
    "f1": "F1",
    "mae": "MAE",
    "mse": "MSE",
    "rmse": "RMSE",
    "negative_precision": "precision of false atoms",
    "negative_recall": "recall of false atoms",
    "categorical_accuracy": "categorical accuracy",
}
#: Maximum number of broken constraints that are shown; `--json` lists all of them.
SHOWN_BROKEN = 5


program_file = partial(
    argument,
    "A PSL program: JSON or YAML of PSL 2.4, or a .psl file with its .data next to it.",
    metavar="PROGRAM",
    default=...,
)
split_option = partial(option, "infer, learn or validation, where there are.", metavar="NAME")
ground_rules_option = partial(
    options.running_option,
    "Refuse to ground more; by default what the memory holds.",
    min=1,
    metavar="N",
)


def infer(
    *,
    program: str = program_file(),
    output: Path | None = option(
        "Write NAME.txt for every open predicate there.", "--output", "-o", metavar="DIR"
    ),
    solver: Solver = option(
        "admm as PSL does, exact by linear or quadratic programming, or auto: closed forms where "
        "targets do not interact, then ADMM or exact, whichever is quicker; ADMM that does not "
        "converge is finished exactly where that fits into memory.",
        default=Solver.AUTO,
    ),
    tolerance: float | None = option(
        "Tolerance of ADMM, absolute and relative; by default 1e-6, or what the program sets.",
        min=0.0,
        metavar="X",
    ),
    ground_rules: Path | None = option(
        "Write every ground rule there, the most expensive first: with its cost, weight, distance "
        "to satisfaction, satisfaction, number and text. The ending says the form: .tsv, .csv, "
        ".json, .jsonl or .parquet.",
        metavar="FILE",
    ),
    split: str | None = split_option(),
    max_ground_rules: int | None = ground_rules_option(),
    threads: int | None = options.threads_option(),
    console: options.ConsoleOptions,
) -> None:
    """Infer the most probable values of a PSL program's targets, without Java.

    Grounds the rules, finds the MAP state and, where the program gives the truth, says how well
    the values fit it, also by the evaluators that the program lists.

    [dim]Examples:[/dim]

      hornbeam infer program.json -o inferred

      hornbeam infer knows.psl --solver exact --json

      hornbeam infer program.json --ground-rules ground.tsv
    """
    import hornbeam as hb
    from hornbeam.base.result_table import table_format
    from hornbeam.programs.inference import check_results
    from hornbeam.programs.program import read_program

    with console.progress() as progress:
        read = read_program(program, split)
        if output is not None:
            check_results(output, read)
        if ground_rules is not None:
            check_output(ground_rules)
            table_format(ground_rules)
            refuse_inputs(ground_rules, read.files)
        inference = hb.infer(
            read,
            solver=solver,
            tolerance=tolerance,
            max_ground_rules=max_ground_rules,
            threads=threads,
            progress=progress,
        )
        written = inference.save(output) if output is not None else []
        if ground_rules is not None:
            inference.save_ground_rules(ground_rules, threads=threads, progress=progress)
            written.append(ground_rules)
    console.print(
        lambda: {**inference.as_dict(), "written": [str(path) for path in written]},
        lambda: _show(inference, written),
    )


def _show(inference: Inference, written: list[Path]) -> None:
    if not written:
        rows = (
            (f"{value:.4f}", f"{name}({', '.join(arguments)})")
            for name in inference.open_predicates
            for arguments, value in zip(
                inference.atoms(name, SHOWN), inference.values(name)[:SHOWN].tolist(), strict=True
            )
        )
        total = inference.ground.potentials.n_variables
        rest = "; -o DIR writes them all"
        print_table(["value", "atom"], rows, text="atom", total=total, rest=rest)
    state = inference.found
    print_sentence(
        f"objective {state.objective:z.6f} (at least {state.bound:z.6f}), "
        f"{inference.ground.potentials.n_variables:,} atoms, "
        f"{int(inference.ground.counts.sum()):,} ground rules; {state.solver}, "
        f"{state.iterations:,} iterations, residuals {state.primal_residual:.2g} and "
        f"{state.dual_residual:.2g}: {state.status.value}"
    )
    for name, agreement in inference.evaluations.items():
        main = {key: getattr(agreement, key) for key in MAIN_FIGURES}
        compared = f"{agreement.n:,} atoms compared with the truth"
        print_sentence(f"{name}: {_figures_text(main)} ({compared})")
        for evaluated in agreement.evaluators:
            which = [f"{option} {value}" for option, value in evaluated.options.items()]
            which += ["primary"] * evaluated.primary
            settings = f" ({', '.join(which)})" if which else ""
            figures = _figures_text(evaluated.figures)
            print_sentence(f"{name}, {evaluated.evaluator}{settings}: {figures}")
    for row in state.violated[:SHOWN_BROKEN].tolist():
        print_message(f"hornbeam: broken constraint: {inference.ground.row_text(row)}")
    if len(state.violated) > SHOWN_BROKEN:
        print_message(
            f"hornbeam: and {len(state.violated) - SHOWN_BROKEN:,} more broken constraints"
        )
    for path in written:
        print_sentence(f"Wrote {path}.")


def _figures_text(figures: Mapping[str, float | None]) -> str:
    return ", ".join(
        f"{CALLED.get(key, key)} {value:.4f}" for key, value in figures.items() if value is not None
    )
