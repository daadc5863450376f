"""`hornbeam diff`: what differs between two models?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hornbeam.cli import options
from hornbeam.cli.console import print_sentence, print_table, screen
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.option_groups import argument
from hornbeam.cli.outputs import TableOptions

if TYPE_CHECKING:
    from hornbeam.reporting.model_diff import ModelDiff

#: Longest line of the old and the new value of a setting.
LONGEST = 160


def diff(
    *,
    old: str = argument("The model to compare with.", metavar="MODEL", default=...),
    new: str = argument("Another model, of the same kind.", metavar="MODEL", default=...),
    facts: options.FactOptions,
    known: list[str] | None = options.known_files(),
    labels: list[str] | None = options.label_files(),
    table: TableOptions,
    threads: int | None = options.threads_option(),
    run: RunOptions,
) -> None:
    """Compare two models: rules gone, new and changed; with labels, figures and pairs that differ.

    Rules are the same if they say the same, whatever their weights; of a whole graph, weights are
    confidences. With [bold]--facts[/bold] and [bold]--labels[/bold] both models score the labelled
    pairs: you see the figures of both, and the pairs that one of them calls true and the other
    false.

    [dim]Examples:[/dim]

      hornbeam diff yesterday.psl today.psl

      hornbeam diff yesterday.psl today.psl --facts observed.tsv --labels test.tsv
    """
    import hornbeam as hb

    table.check(run.console.as_json)
    models = hb.load(old), hb.load(new)
    with run.started() as inputs:
        labelled = inputs.read_given(hb.read_labels, labels)
        evidence = None
        if facts.files:
            evidence = inputs.with_known(inputs.facts(facts), models[1], known)
        found = models[0].diff(
            models[1], evidence, labelled, threads=threads, progress=inputs.progress
        )
    table.write_or_show(found.to_table, found.as_dict, lambda: _show(found), run.console)


def _show(found: ModelDiff) -> None:
    """Show the rules that differ, then settings, figures and pairs."""
    out, rules = screen(), found.to_table()
    if len(rules):
        print_table(
            ["change", "old", "new", "rule"],
            [
                (row["change"], _weight(row["old_weight"]), _weight(row["new_weight"]), row["rule"])
                for row in rules.dicts()
            ],
            total=len(rules),
        )
    print_sentence(
        f"Rules: {len(found.gone):,} gone, {len(found.new):,} new, {len(found.changed):,} changed, "
        f"{found.same:,} the same."
    )
    for name, (before, after) in found.settings.items():
        for line in _setting_lines(name, before, after):
            print_sentence(line)
    if found.old_figures is None or found.new_figures is None or found.sides is None:
        return
    out.print()
    before, after = (dict(figures.shown) for figures in (found.old_figures, found.new_figures))
    print_table(
        ["figure", "old", "new"], [(name, before[name], after[name]) for name in before], "figure"
    )
    print_sentence(f"{len(found.sides):,} of {found.old_figures.n:,} labelled pairs change sides.")
    shown = found.sides.names
    if len(found.sides):
        rows = (
            [f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row]
            for row in found.sides
        )
        print_table(shown, rows, shown[0], total=len(found.sides))


def _setting_lines(name: str, before: object, after: object) -> Iterator[str]:
    """A line per value of a setting that differs, without the values if these are long."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            if before.get(key) != after.get(key):
                yield from _setting_lines(f"{name} {key}", before.get(key), after.get(key))
        return
    shown = f"{before} before, now {after}"
    yield f"{name}: {shown if len(shown) <= LONGEST else 'differs (--json has both values)'}"


def _weight(weight: float | None) -> str:
    return "" if weight is None else f"{weight:.4f}"
