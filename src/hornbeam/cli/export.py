"""`hornbeam export`: a model as a program for PSL's own runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli import options
from hornbeam.cli.console import print_json, read_files, screen


def export(
    *,
    model: options.ModelFile,
    facts: options.FactFiles,
    pairs: Annotated[list[str], typer.Option(metavar="FILE", help="Pairs that PSL is to infer.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the program.")
    ],
    console: options.ConsoleOptions,
) -> None:
    """Write a model as a PSL 2.4 program (rules, data, JSON) that the Java runtime runs as it is.

    Needs a model learned with [bold]--counts raw[/bold]: other counts cannot be said in plain PSL.

    [dim]Example:[/dim]

      hornbeam export model.psl --facts observed.tsv --pairs test.tsv -o program
    """
    import hornbeam as hb

    with console.progress() as progress:
        loaded = hb.Model.load(model)
        evidence = read_files(hb.read_facts, facts, progress)
        program = loaded.export(evidence, read_files(hb.read_pairs, pairs, progress), output)
    if console.as_json:
        print_json({"program": str(program)})
    else:
        from rich.markup import escape

        screen().print(
            f"Wrote {escape(str(program))}; run it with: java -jar psl-runtime.jar "
            f"{escape(program.name)} (in its folder), or: hornbeam infer {escape(str(program))}",
            soft_wrap=True,
        )
