"""`hornbeam show`: the card of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam.cli import options
from hornbeam.cli.console import print_line, print_sentence, screen
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.option_groups import option

if TYPE_CHECKING:
    from hornbeam.reporting.model_card import ModelCard


def show(
    *,
    model: str = options.model_file(),
    names: list[str] | None = option(
        "Names to show for the ids of relations and entities: id TAB name [TAB type].",
        metavar="FILE",
    ),
    run: RunOptions,
) -> None:
    """Show the card of a model: where it comes from, figures, heaviest rules in words, its needs.

    All of it is in the model file: the version of Hornbeam, method, settings and seed, how many
    facts and labelled pairs it was learned from, with a fingerprint of each, and the figure of the
    internal validation. Data in another order have the same fingerprint.

    [dim]Examples:[/dim]

      hornbeam show model.psl

      hornbeam show graph.hornbeam --names labels.tsv --json
    """
    from hornbeam.opened_model import load_with_trace

    opened = load_with_trace(model)
    with run.started() as inputs:
        card = opened.card(inputs.names(names, None))
    run.console.print(card.as_dict, lambda: _show(card))


def _show(card: ModelCard) -> None:
    out = screen()
    print_sentence(f"{card.title}.")
    for heading, lines in card.sections.items():
        out.print()
        print_line(out, heading, style="bold")
        for line in lines:
            print_line(out, f"  {line}")
