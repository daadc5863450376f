"""`hornbeam export`: a model as a program for PSL's own runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli import options
from hornbeam.cli.console import print_json, screen, screen_text
from hornbeam.cli.evidence import with_known_pairs
from hornbeam.errors import DataError, InputError

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model


def export(
    *,
    model: options.ModelFile,
    facts: options.OptionalFactFiles = None,
    known: options.KnownFiles = None,
    pairs: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Pairs that PSL is to infer.")
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Folder of the program; of the rules of a whole graph a file: .csv, .jsonl, or "
            ".anyburl in AnyBURL's format.",
        ),
    ],
    plain: Annotated[
        bool, typer.Option("--plain", help="Refuse rules that plain PSL cannot say.")
    ] = False,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> None:
    """Write a model as a PSL 2.4 program (rules, data, JSON) that the Java runtime runs as it is.

    Of a model of a whole graph the rules are written, for other tools.

    PSL's MAP state of the program is Hornbeam's. Rules without brackets are written as they are.
    PSL knows no other way of counting and no thresholds, so the others are written through
    observed predicates, which hold what these rules count for the given pairs.

    [dim]Examples:[/dim]

      hornbeam export model.psl --facts observed.tsv --pairs test.tsv -o program

      hornbeam export model.psl --facts observed.tsv --pairs test.tsv --plain -o program

      hornbeam export graph.hornbeam -o rules.csv
    """
    import hornbeam as hb
    from hornbeam.opened_model import with_model

    def of_rules(loaded: Model) -> None:
        from hornbeam.programs.plain_rules import RuleNotPlainError
        from hornbeam.rules.model_file import rule_lines

        if not facts or not pairs:
            raise InputError(
                "a rule model is exported with its facts and pairs: give --facts, --pairs"
            )
        with console.progress() as progress:
            read = reading.read(hb.read_facts, facts, progress)
            evidence = with_known_pairs(read, loaded, known, reading, progress)
            listed = reading.read(hb.read_pairs, pairs, progress)
            try:
                program = loaded.export(evidence, listed, output, plain=plain)
            except RuleNotPlainError as error:
                raise DataError(model, str(error), line=rule_lines(model)[error.place]) from None
        if console.as_json:
            print_json({"program": str(program)})
        else:
            screen().print(
                f"Wrote {screen_text(program)}; run it with: java -jar psl-runtime.jar "
                f"{screen_text(program.name)} (in its folder), or: hornbeam infer "
                f"{screen_text(program)}",
                soft_wrap=True,
            )

    def of_graph(loaded: GraphModel) -> None:
        from hornbeam.graphs.rule_files import save_rules

        save_rules(loaded, output)
        if console.as_json:
            print_json({"rules": str(output)})
        else:
            screen().print(f"Wrote {screen_text(output)}.", soft_wrap=True)

    with_model(model, of_rules, of_graph)
