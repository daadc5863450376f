"""`hornbeam export`: a model as a program for PSL's own runtime."""

from __future__ import annotations

from pathlib import Path

from hornbeam.cli import options
from hornbeam.cli.console import print_sentence
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.option_groups import option
from hornbeam.errors import DataError


def export(
    *,
    model: str = options.model_file(),
    facts: options.FactOptions,
    known: list[str] | None = options.known_files(),
    pairs: list[str] | None = option("Pairs that PSL is to infer.", metavar="FILE"),
    output: Path = option(
        "Folder of the program; of the rules of a whole graph a file: .csv, .jsonl, or "
        ".anyburl in AnyBURL's format.",
        "--output",
        "-o",
        metavar="PATH",
        default=...,
    ),
    plain: bool = option("Refuse rules that plain PSL cannot say.", "--plain", default=False),
    run: RunOptions,
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
    from hornbeam.programs.exported_rules import RuleNotPlainError
    from hornbeam.rules.model_file import rule_lines

    loaded = hb.load(model)
    with run.started() as inputs:
        evidence = inputs.facts(facts) if facts.files else None
        if evidence is not None:
            evidence = inputs.with_known(evidence, loaded, known)
        listed = inputs.read_given(hb.read_pairs, pairs)
        try:
            written = loaded.export(evidence, listed, output, plain=plain)
        except RuleNotPlainError as error:
            raise DataError(model, str(error), line=rule_lines(model)[error.place]) from None
    is_program = isinstance(loaded, hb.Model)
    how = f"; run it with: java -jar psl-runtime.jar {written.name} (in its folder), "
    how += f"or: hornbeam infer {written}"
    run.console.print(
        lambda: {"program" if is_program else "rules": str(written)},
        lambda: print_sentence(f"Wrote {written}{how if is_program else '.'}"),
    )
