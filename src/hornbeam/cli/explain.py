"""`hornbeam explain`: why does a pair score as it does, and what would flip it?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornbeam.cli import options
from hornbeam.cli.console import print_line, screen
from hornbeam.cli.evidence import entity_names, facts_for
from hornbeam.cli.option_groups import Options
from hornbeam.cli.table_output import TableOptions
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.explaining.explanation import Explanation
    from hornbeam.graph_model import GraphModel
    from hornbeam.graphs.graph_explanation import GraphExplanation
    from hornbeam.model import Model

#: Colours of the lines by their role; colours show on terminals only. As on pages, blue is for and
#: orange against, which are distinct without seeing red and green.
STYLES = {
    "pair": "bold",
    "note": "dim",
    "heading": "bold",
    "total": "bold",
    "for": "dodger_blue1",
    "against": "dark_orange3",
    "fact": "yellow",
}


@dataclass(frozen=True)
class PairOptions(Options):
    """The pair, and its relation one way or the other."""

    words: Annotated[
        list[str],
        typer.Argument(
            metavar="SUBJECT [RELATION] OBJECT",
            help="The pair; its relation where the model has several.",
        ),
    ]
    target: Annotated[
        str | None, typer.Option(metavar="PREDICATE", help="The relation, as an option.")
    ] = None

    @property
    def triple(self) -> tuple[str, str | None, str]:
        """Subject, relation and object."""
        match self.words:
            case [subject, object_]:
                return subject, self.target, object_
            case [subject, relation, object_] if self.target in (None, relation):
                return subject, relation, object_
        raise InputError(f"found {' '.join(self.words)!r}; expected SUBJECT [RELATION] OBJECT")


def explain(
    *,
    given: options.ModelOptions,
    pair: PairOptions,
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
    the decision. A model whose negatives were sampled decides nothing: its scores come with their
    place among those of known links.

    [dim]Examples:[/dim]

      hornbeam explain model.psl --facts observed.tsv ukraine europe

      hornbeam explain model.psl --facts observed.tsv ukraine europe --paths 20 --json

      hornbeam explain model.psl --facts observed.tsv ukraine europe -o reasons.csv

      hornbeam explain graph.hornbeam --facts train.tsv ukraine located_in europe
    """
    from hornbeam.opened_model import with_model

    table.check(console.as_json)
    triple = pair.triple
    found = with_model(
        given.model,
        lambda model: _explained_pair(model, given, triple, paths, pairs, names, reading, console),
        lambda model: _explained_answer(model, given, triple, paths, names, reading, console),
    )
    table.write_or_show(
        found.named.to_table,
        lambda: found.by_ids.as_dict() | ({"names": found.names} if names else {}),
        lambda: _show_lines(found.named.lines(), found.decision),
        console.as_json,
    )


@dataclass(frozen=True)
class Explained:
    """An explanation by ids, the same by the entities' names, and these names."""

    by_ids: Explanation | GraphExplanation
    named: Explanation | GraphExplanation
    names: dict[str, Any]
    decision: bool | None = True  #: None where the model decides nothing


def _explained_pair(
    model: Model,
    given: options.ModelOptions,
    triple: tuple[str, str | None, str],
    paths: int,
    pairs: list[str] | None,
    names: list[str] | None,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> Explained:
    """Explain the score of a pair by a rule model."""
    import hornbeam as hb
    from hornbeam.explaining.shown_names import explanation_in_names, mentioned
    from hornbeam.facts.names import unknown_entity

    with console.progress() as progress:
        evidence = facts_for(model, given, reading, progress)
        called = entity_names(names, evidence, progress)
        together = None
        if pairs and model.semantics.collective:
            together = reading.read(hb.read_pairs, pairs, progress)
        elif pairs:
            progress.message("The model is not collective: --pairs changes nothing.")
        found = model.explain(
            evidence,
            [called.entity(name, evidence.entities) for name in (triple[0], triple[2])],
            target=triple[1],
            pairs=together,
            paths=paths,
            progress=progress,
        )
        for name in found.unseen:
            if together is None or together.entities.index(name) < 0:
                raise unknown_entity(name, evidence.entities, called=called.names.values())
    shown = explanation_in_names(found, called)
    decision = found.decision if found.place is None else None
    return Explained(found, shown, called.described(mentioned(found)), decision)


def _explained_answer(
    model: GraphModel,
    given: options.ModelOptions,
    triple: tuple[str, str | None, str],
    paths: int,
    names: list[str] | None,
    reading: options.ReadingOptions,
    console: options.ConsoleOptions,
) -> Explained:
    """Explain an answer of a model of a whole graph."""
    import hornbeam as hb
    from hornbeam.graphs.graph_explanation import graph_explanation_in_names

    subject, relation, object_ = triple
    if relation is None:
        raise InputError(f"{given.model} has many relations: give SUBJECT RELATION OBJECT")
    with console.progress() as progress:
        known = reading.read(hb.read_facts, given.facts, progress)
        called = entity_names(names, known, progress)
        ends = [called.known_entity(one, known.entities) for one in (subject, object_)]
        found = model.explain(known, (ends[0], relation, ends[1]), paths=paths)
    shown = graph_explanation_in_names(found, called)
    return Explained(found, shown, called.described([found.subject, found.object]))


def _show_lines(lines: Iterable[tuple[str, str]], decision: bool | None) -> None:
    """Print the lines of an explanation in the colours of their roles."""
    out = screen()
    for role, line in lines:
        if role == "heading":
            out.print()
        style = STYLES.get(role, "")
        if role == "verdict":
            side = "" if decision is None else STYLES["for" if decision else "against"]
            style = f"bold {side}"
        print_line(out, line, style)
