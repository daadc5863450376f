"""`hornbeam infer`: the most probable values of a PSL program's targets."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hornbeam.base.choices import Solver
from hornbeam.cli import options
from hornbeam.cli.console import print_message, print_sentence, print_table
from hornbeam.cli.option_groups import argument, option

if TYPE_CHECKING:
    from hornbeam.programs.inference import Inference

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
        "admm as PSL does, exact by linear or quadratic programming, or auto: closed "
        "forms where targets do not interact, exact where that is quick, ADMM otherwise.",
        default=Solver.AUTO,
    ),
    tolerance: float | None = option(
        "Tolerance of ADMM, absolute and relative; by default 1e-6, or what the program sets.",
        min=0.0,
        metavar="X",
    ),
    split: str | None = split_option(),
    max_ground_rules: int | None = ground_rules_option(),
    threads: int | None = options.threads_option(),
    console: options.ConsoleOptions,
) -> None:
    """Infer the most probable values of a PSL program's targets, without Java.

    Grounds the rules, finds the MAP state and, where the program gives the truth, says how well
    the values fit it.

    [dim]Examples:[/dim]

      hornbeam infer program.json -o inferred

      hornbeam infer knows.psl --solver exact --json
    """
    import hornbeam as hb
    from hornbeam.programs.inference import check_results
    from hornbeam.programs.program import read_program

    with console.progress() as progress:
        read = read_program(program, split)
        if output is not None:
            check_results(output, read)
        inference = hb.infer(
            read,
            solver=solver,
            tolerance=tolerance,
            max_ground_rules=max_ground_rules,
            threads=threads,
            progress=progress,
        )
        written = inference.save(output) if output is not None else []
    console.print(
        lambda: {**inference.as_dict(), "written": [str(path) for path in written]},
        lambda: _show(inference, written),
    )


def _show(inference: Inference, written: list[Path]) -> None:
    if not written:
        rows = [
            (f"{value:.4f}", f"{name}({', '.join(arguments)})")
            for name in inference.open_predicates
            for arguments, value in zip(
                inference.atoms(name, options.SHOWN),
                inference.values(name)[: options.SHOWN].tolist(),
                strict=True,
            )
        ]
        print_table(["value", "atom"], rows[: options.SHOWN], text="atom")
        more = inference.ground.potentials.n_variables - options.SHOWN
        if more > 0:
            print_sentence(f"... and {more:,} more; -o DIR writes them all")
    state = inference.found
    print_sentence(
        f"objective {state.objective:.6f} (at least {state.bound:.6f}), "
        f"{inference.ground.potentials.n_variables:,} atoms, "
        f"{int(inference.ground.counts.sum()):,} ground rules; {state.solver}, "
        f"{state.iterations:,} iterations, residuals {state.primal_residual:.2g} and "
        f"{state.dual_residual:.2g}: {state.status.value}"
    )
    for name, agreement in inference.evaluations.items():
        figures = [
            ("AUC-ROC", agreement.auc_roc), ("AUC-PR", agreement.auc_pr), ("F1", agreement.f1),
            ("accuracy", agreement.accuracy), ("MAE", agreement.mae), ("MSE", agreement.mse),
        ]  # fmt: skip
        shown = ", ".join(f"{what} {value:.4f}" for what, value in figures if value is not None)
        print_sentence(f"{name}: {shown} ({agreement.n:,} targets with truth)")
    for row in state.violated[:SHOWN_BROKEN].tolist():
        print_message(f"hornbeam: broken constraint: {inference.ground.row_text(row)}")
    if len(state.violated) > SHOWN_BROKEN:
        print_message(
            f"hornbeam: and {len(state.violated) - SHOWN_BROKEN:,} more broken constraints"
        )
    for path in written:
        print_sentence(f"Wrote {path}.")
