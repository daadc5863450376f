"""`hornbeam explain`: why does a pair score as it does, and what would flip it?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hornbeam.cli import options
from hornbeam.cli.console import print_line, screen
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.option_groups import Options, argument, option
from hornbeam.cli.outputs import TableOptions
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.facts.entity_names import EntityNames
    from hornbeam.graph_model import GraphModel
    from hornbeam.model import Model

#: Colours of lines by their role, on terminals only. As on pages, blue is for a pair and orange
#: against it: colours that people with red-green blindness can distinguish.
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
    """The pair, or the entity, with its relation as an argument or as an option."""

    words: list[str] = argument(
        "The pair; its relation where the model has several. Of a target on one entity: ENTITY "
        "[RELATION].",
        metavar="SUBJECT [RELATION] OBJECT",
        default=...,
    )
    target: str | None = option("The relation, as an option.", metavar="PREDICATE")

    def triple(self, model: Model | GraphModel, names: EntityNames) -> tuple[str, str, str]:
        """Subject, relation and object; the entity is both where the relation is about one."""
        from hornbeam.scoring.model_checks import named_atom

        words, arities = self.words, set(model.target_arities.values())
        relation = self.target if len(words) < 3 else words[1]
        as_pair = len(words) in (2, 3) and self.target in (None, relation)
        named = names.relation(words[-1], model.targets)
        as_entity = len(words) == 1 or (len(words) == 2 and named in model.targets)
        if not ((as_pair and 2 in arities) or (as_entity and 1 in arities)):
            forms = {2: "SUBJECT [RELATION] OBJECT", 1: "ENTITY [RELATION]"}
            expected = " or ".join(forms[arity] for arity in forms if arity in arities)
            raise InputError(f"found {' '.join(words)!r}; expected {expected}")
        return named_atom(model, words, self.target, names)


def explain(
    *,
    given: options.ModelOptions,
    pair: PairOptions,
    paths: int = option("Paths to name for every rule.", min=0, metavar="N", default=5),
    pairs: list[str] | None = option(
        "For a collective model: all pairs that are scored together.", metavar="FILE"
    ),
    at: str | None = option(
        "Of facts with a time: when the question is asked; it sees the facts before (default: "
        "right after the last fact).",
        metavar="TIME",
    ),
    names: list[str] | None = options.name_files(),
    table: TableOptions,
    run: RunOptions,
) -> None:
    """Say why a pair scores as it does: the rules for and against it, and what would flip it.

    First comes how the score adds up: the prior, from which every pair starts, and what each rule
    adds to the log-odds (a model of another relaxation than boolean has no such sum). Then every
    rule with its [bold]pull[/bold]: how far the score moves when that rule alone is taken away.
    Below it stand its weight, the number of paths by which it connects the two entities, and the
    first of them in the order of names. At the end come the fewest facts whose removal would flip
    the decision. A model whose negatives were sampled decides nothing: its scores come with their
    place among those of known links.

    A model of a whole graph explains a rank instead, from both ends: what each class of rules adds
    to the score, the best rules of every class, the largest class first, and the answers above. If
    its facts have a time, earlier facts are named with their times.

    [dim]Examples:[/dim]

      hornbeam explain model.psl --facts observed.tsv ukraine europe

      hornbeam explain model.psl --facts observed.tsv ukraine europe --paths 20 --json

      hornbeam explain model.psl --facts observed.tsv ukraine europe -o reasons.csv

      hornbeam explain churn.psl --facts observed.tsv customer17

      hornbeam explain graph.hornbeam --facts train.tsv ukraine located_in europe

      hornbeam explain events.hornbeam --facts events.tsv --time 4 --at 2014-11-30 ann visits rome
    """
    import hornbeam as hb
    from hornbeam.facts.names import unknown_entity

    table.check(run.console.as_json)
    model = hb.load(given.model)
    with run.started() as inputs:
        evidence = inputs.facts_for(model, given)
        called = inputs.names(names, evidence)
        subject, target, object_ = pair.triple(model, called)
        together = None
        if pairs and model.is_collective:
            together = inputs.read(hb.read_pairs, pairs)
        elif pairs:
            inputs.progress.message("The model is not collective: --pairs changes nothing.")
        ends = [called.entity(name, evidence.entities) for name in (subject, object_)]
        for name in evidence.entities.missing(ends):
            if together is None or together.entities.index(name) < 0:
                raise unknown_entity(name, evidence.entities, called=called.names.values())
        triple = ends[0], target, ends[1]
        if isinstance(model, hb.GraphModel):
            explained = model.explain(evidence, triple, paths=paths, at=at)
        else:
            explained = model.explain(
                evidence, triple, pairs=together, paths=paths, at=at, progress=inputs.progress
            )
    shown = explained.in_names(called)
    described = {"names": called.described(explained.mentioned)} if names else {}
    decision = None if explained.place is not None else explained.decision
    table.write_or_show(
        shown.to_table,
        lambda: explained.as_dict() | described,
        lambda: _show_lines(shown.lines(), decision),
        run.console,
    )


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
