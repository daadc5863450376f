"""`hornbeam export`: a model as a program for PSL's own runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli import options
from hornbeam.cli.console import print_json, read_files, screen
from hornbeam.cli.evidence import facts_with_known
from hornbeam.errors import DataError


def export(
    *,
    model: options.ModelFile,
    facts: options.FactFiles,
    known: options.KnownFiles = None,
    pairs: Annotated[list[str], typer.Option(metavar="FILE", help="Pairs that PSL is to infer.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the program.")
    ],
    plain: Annotated[
        bool, typer.Option("--plain", help="Refuse rules that plain PSL cannot say.")
    ] = False,
    console: options.ConsoleOptions,
) -> None:
    """Write a model as a PSL 2.4 program (rules, data, JSON) that the Java runtime runs as it is.

    PSL's MAP state of the program is Hornbeam's. Rules without brackets are written as they are.
    PSL knows no other way of counting and no thresholds, so the others are written through
    observed predicates, which hold what these rules count for the given pairs.

    [dim]Examples:[/dim]

      hornbeam export model.psl --facts observed.tsv --pairs test.tsv -o program

      hornbeam export model.psl --facts observed.tsv --pairs test.tsv --plain -o program
    """
    import hornbeam as hb
    from hornbeam.opened_model import open_model
    from hornbeam.programs.plain_rules import RuleNotPlainError
    from hornbeam.rules.model_file import rule_lines

    with console.progress() as progress:
        loaded = open_model(model)
        evidence = facts_with_known(facts, loaded, known, progress)
        listed = read_files(hb.read_pairs, pairs, progress)
        try:
            program = loaded.export(evidence, listed, output, plain=plain)
        except RuleNotPlainError as error:
            raise DataError(model, str(error), line=rule_lines(model)[error.place]) from None
    if console.as_json:
        print_json({"program": str(program)})
    else:
        from rich.markup import escape

        screen().print(
            f"Wrote {escape(str(program))}; run it with: java -jar psl-runtime.jar "
            f"{escape(program.name)} (in its folder), or: hornbeam infer {escape(str(program))}",
            soft_wrap=True,
        )
