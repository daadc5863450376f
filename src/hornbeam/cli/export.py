"""`hornbeam export`: a model as a program for PSL's own runtime, its rules for other tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hornbeam.base.choices import ExportFormat
from hornbeam.cli import options
from hornbeam.cli.console import print_sentence
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.option_groups import option
from hornbeam.errors import DataError, InputError

if TYPE_CHECKING:
    from hornbeam.base.result_table import ResultTable
    from hornbeam.model import AnyModel

#: Defaults of the library, which no command imports before it runs.
BASE, ID = "http://example.org/", "id"
#: Endings of tables of queries; any other file is one text.
TABLES = (".json", ".jsonl", ".csv", ".parquet")


@dataclass(frozen=True)
class _QueryOptions:
    """How rules are written as queries."""

    language: ExportFormat | None
    base: str | None
    id_property: str | None

    def __post_init__(self) -> None:
        if self.base is not None and self.language is not ExportFormat.SPARQL:
            raise InputError("`base` is for --format sparql")
        if self.id_property is not None and self.language is not ExportFormat.CYPHER:
            raise InputError("`id_property` is for --format cypher")

    def written(self, model: AnyModel, output: Path) -> ResultTable:
        """Write the queries of a model; returns them."""
        from hornbeam.base.files import save_text
        from hornbeam.programs.rule_queries import queries_text

        assert self.language is not None
        given = {"base": self.base or BASE, "id_property": self.id_property or ID}
        table = model.queries(self.language.value, **given)
        if output.suffix.lower() in TABLES:
            table.save(output)
        else:
            comment = "#" if self.language is ExportFormat.SPARQL else "//"
            save_text(output, queries_text(table, comment))
        return table


def export(
    *,
    model: str = options.model_file(),
    facts: options.FactOptions,
    known: list[str] | None = options.known_files(),
    pairs: list[str] | None = option("Pairs that PSL is to infer.", metavar="FILE"),
    output: Path = option(
        "Folder of the program; of the rules of a whole graph a file: .csv, .jsonl, or "
        ".anyburl in AnyBURL's format; of queries a text, or a table by its ending: .json, .jsonl, "
        ".csv, .parquet.",
        "--output",
        "-o",
        metavar="PATH",
        default=...,
    ),
    plain: bool = option("Refuse rules that plain PSL cannot say.", "--plain", default=False),
    format_: ExportFormat | None = option(
        "Write the rules as queries instead, each of which returns the groundings of a rule for a "
        "pair.",
        "--format",
    ),
    base: str | None = option(
        f"In SPARQL, what names that are no IRIs are appended to (default: {BASE}).", metavar="IRI"
    ),
    id_property: str | None = option(
        f"In Cypher, the property that has the name of a node (default: {ID}).", metavar="NAME"
    ),
    run: RunOptions,
) -> None:
    """Write a model as a PSL 2.4 program (rules, data, JSON) that the Java runtime runs as it is.

    Of a model of a whole graph the rules are written, for other tools. With --format the rules of
    any model become queries in SPARQL or Cypher, and no facts are needed.

    PSL's MAP state of the program is Hornbeam's. Rules without brackets are written as they are.
    PSL knows no other way of counting and no thresholds, so the others are written through
    observed predicates, which hold what these rules count for the given pairs.

    [dim]Examples:[/dim]

      hornbeam export model.psl --facts observed.tsv --pairs test.tsv -o program

      hornbeam export model.psl --facts observed.tsv --pairs test.tsv --plain -o program

      hornbeam export graph.hornbeam -o rules.csv

      hornbeam export model.psl --format cypher -o rules.cypher
    """
    import hornbeam as hb
    from hornbeam.programs.exported_rules import RuleNotPlainError
    from hornbeam.rules.model_file import rule_lines

    loaded = hb.load(model)
    queried = _QueryOptions(format_, base, id_property)
    if format_ is not None:
        if facts.files or known or pairs or plain:
            raise InputError("queries are about rules alone: leave out facts, pairs and --plain")
        table = queried.written(loaded, output)
        lacking = sum(bool(reason) for reason in table["reason"])
        left_out = f"; {lacking:,} rules have no query, for the reasons given there" * bool(lacking)
        run.console.print(
            lambda: {"queries": str(output), "rules": len(table), "without_query": lacking},
            lambda: print_sentence(f"Wrote {output}{left_out}."),
        )
        return
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
