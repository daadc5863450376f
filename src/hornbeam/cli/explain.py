"""`hornbeam explain`: why does a pair score as it does, and what would flip it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from hornbeam.cli import options
from hornbeam.cli.console import print_json, print_line, screen
from hornbeam.cli.evidence import entity_names, facts_with_known
from hornbeam.cli.table_output import TableOptions
from hornbeam.errors import InputError

#: Colours of the lines by their role; colours show on terminals only. As on pages, blue is for
#: and orange against: people tell them apart who do not see red and green.
STYLES = {
    "pair": "bold",
    "note": "dim",
    "heading": "bold",
    "total": "bold",
    "for": "dodger_blue1",
    "against": "dark_orange3",
    "fact": "yellow",
}


def explain(
    *,
    model: options.ModelFile,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="SUBJECT [RELATION] OBJECT",
            help="The pair; its relation where the model has several.",
        ),
    ],
    facts: options.FactFiles,
    known: options.KnownFiles = None,
    target: Annotated[
        str | None, typer.Option(metavar="PREDICATE", help="The relation, as an option.")
    ] = None,
    paths: Annotated[
        int, typer.Option(min=0, metavar="N", help="Paths to name for every rule.")
    ] = 5,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="For a collective model: all pairs that are scored together."
        ),
    ] = None,
    names: options.NameFiles = None,
    table: TableOptions,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> None:
    """Say why a pair scores as it does: the rules for and against it, and what would flip it.

    First comes how the score adds up: the prior, from which every pair starts, and what each rule
    adds to the log-odds (a model of another relaxation than boolean has no such sum). Then every
    rule with its [bold]pull[/bold]: how far the score moves when that rule alone is taken away.
    Below it stand its weight, the number of paths by which it connects the two entities, and the
    first of them in the order of names. At the end come the fewest facts whose removal would flip
    the decision.

    [dim]Examples:[/dim]

      hornbeam explain model.psl --facts observed.tsv ukraine europe

      hornbeam explain model.psl --facts observed.tsv ukraine europe --paths 20 --json

      hornbeam explain model.psl --facts observed.tsv ukraine europe -o reasons.csv

      hornbeam explain graph.hornbeam --facts train.tsv ukraine located_in europe
    """
    import hornbeam as hb
    from hornbeam.explaining.shown_names import explanation_in_names, mentioned
    from hornbeam.facts.names import unknown_entity
    from hornbeam.opened_model import is_graph_model, open_model

    table.check(console.as_json)
    subject, target, object_ = _triple(words, target)
    if is_graph_model(model):
        if target is None:
            raise InputError(f"{model} has many relations: give SUBJECT RELATION OBJECT")
        _explain_graph(
            model, facts, (subject, target, object_), paths, names, table, reading, console
        )
        return
    with console.progress() as progress:
        loaded = open_model(model)
        evidence = facts_with_known(facts, loaded, known, reading, progress)
        called = entity_names(names, evidence, progress)
        together = None
        if pairs and loaded.semantics.collective:
            together = reading.read(hb.read_pairs, pairs, progress)
        elif pairs:
            progress.message("The model is not collective: --pairs changes nothing.")
        found = loaded.explain(
            evidence,
            [called.entity(name, evidence.entities) for name in (subject, object_)],
            target=target,
            pairs=together,
            paths=paths,
            progress=progress,
        )
        for name in found.unseen:
            if together is None or together.entities.index(name) < 0:
                raise unknown_entity(name, evidence.entities, called=called.names.values())
    shown = explanation_in_names(found, called)
    if table.wanted:
        table.write(shown.to_table())
    if console.as_json:
        named = {"names": called.described(mentioned(found))} if names else {}
        print_json(found.as_dict() | named)
    elif not table.wanted:
        _show_lines(shown.lines(), found.decision)


def _triple(words: list[str], target: str | None) -> tuple[str, str | None, str]:
    """Subject, relation and object from what was given, one way or the other."""
    match words:
        case [subject, object_]:
            return subject, target, object_
        case [subject, relation, object_] if target in (None, relation):
            return subject, relation, object_
    raise InputError(f"found {' '.join(words)!r}; expected SUBJECT [RELATION] OBJECT")


def _explain_graph(
    model: str,
    facts: list[str],
    triple: tuple[str, str, str],
    paths: int,
    names: list[str] | None,
    table: TableOptions,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> None:
    """Explain an answer of a model of a whole graph."""
    import hornbeam as hb
    from hornbeam.graphs.graph_explanation import graph_explanation_in_names

    with console.progress() as progress:
        known = reading.read(hb.read_facts, facts, progress)
        called = entity_names(names, known, progress)
        ends = (triple[0], triple[2])
        subject, object_ = (called.known_entity(one, known.entities) for one in ends)
        triple = (subject, triple[1], object_)
        found = hb.GraphModel.load(model).explain(known, triple, groundings=paths)
    shown = graph_explanation_in_names(found, called)
    if table.wanted:
        table.write(shown.to_table())
    if console.as_json:
        named = {"names": called.described([found.subject, found.object])} if names else {}
        print_json(found.as_dict() | named)
    elif not table.wanted:
        _show_lines(shown.lines(), decision=True)


def _show_lines(lines: Iterable[tuple[str, str]], decision: bool) -> None:
    """Print the lines of an explanation in the colours of their roles."""
    out = screen()
    for role, line in lines:
        if role == "heading":
            out.print()
        style = STYLES.get(role, "")
        if role == "verdict":
            style = f"bold {STYLES['for' if decision else 'against']}"
        print_line(out, line, style)
