"""`hornbeam candidates`: which rules could explain the target relation?"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from hornbeam.base.choices import EngineName
from hornbeam.cli import options
from hornbeam.cli.console import print_table, screen
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.outputs import TableOptions

if TYPE_CHECKING:
    from hornbeam.counting.engine import Discovery
    from hornbeam.facts.entity_names import EntityNames
    from hornbeam.rules.candidates import Candidate


def candidates(
    *,
    training: options.TrainingOptions,
    rules: options.LanguageOptions,
    names: list[str] | None = options.name_files(),
    table: TableOptions,
    engine: options.EngineOptions,
    run: RunOptions,
) -> None:
    """List the candidate rules for labelled pairs, with exact counts.

    Pairs are those that learn learns from: with [bold]--labels[/bold] the labelled ones, without
    the facts of [bold]--target[/bold] and sampled false ones.

    From the subject of every pair, true or false, Hornbeam walks all relations and their
    inverses; each sequence that reaches the object is a candidate, and with [bold]--bodies[/bold]
    so are conditions on one of the two. With [bold]--numbers[/bold] or [bold]--dates[/bold] so are
    comparisons of numbers. [bold]coverage[/bold] is the number of pairs that a
    candidate has groundings for, [bold]count[/bold] the number of groundings in all of them.

    [dim]Examples:[/dim]

      hornbeam candidates --facts observed.tsv --labels train.tsv --top 20

      hornbeam candidates --facts graph.tsv --target works_for

      hornbeam candidates --facts observed.tsv --labels train.tsv --bodies paths,open,unary

      hornbeam candidates --facts graph.nt --labels train.tsv --max-length 2 --json
    """
    import hornbeam as hb

    table.check(run.console.as_json)
    started = time.perf_counter()
    with run.started() as inputs, ExitStack() as stack:
        labelled = inputs.read_given(hb.read_labels, training.labels)
        # sampling false pairs by types needs facts in memory, as types do
        typed_by = names if engine.engine is EngineName.MEMORY else None
        evidence = stack.enter_context(inputs.engine(training.facts, engine, typed_by))
        called = inputs.names(names, evidence.facts)
        loaded = time.perf_counter()
        discovery = hb.counting.discover(
            evidence, labelled, rules.language(), statistics=False, progress=inputs.progress,
            target=training.targets_in(evidence.predicates, called),
        )  # fmt: skip
        seconds = {"load": loaded - started, "generate": time.perf_counter() - loaded}
    table.write_or_show(
        discovery.candidates.to_table,
        lambda: _as_dict(discovery, seconds, called if names else None),
        lambda: _show(discovery, seconds, called),
        run.console,
    )


def _as_dict(
    discovery: Discovery, seconds: dict[str, float], called: EntityNames | None
) -> dict[str, Any]:
    table = discovery.candidates
    renamed = {spelt: name for name, spelt in table.identifiers.items() if spelt != name}
    constants = (
        candidate.body.constant for candidate in table if candidate.body.constant is not None
    )
    return {
        "candidates": table.to_table().dicts(),
        "found": discovery.found,
        "targets": len(discovery.targets),
        "predicates": renamed,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        **({} if called is None else {"names": called.described(constants)}),
    }


def _text(candidate: Candidate, called: EntityNames) -> str:
    """Text of a candidate, with the readable name of its constant, if any."""
    constant = candidate.body.constant
    if constant is None or constant not in called.names:
        return candidate.text
    return f"{candidate.text}  ({constant!r} is {called.named(constant)})"


def _show(discovery: Discovery, seconds: dict[str, float], called: EntityNames) -> None:
    kept = discovery.candidates
    rows = (
        (
            _text(candidate, called), f"{candidate.coverage:,}", f"{candidate.coverage_true:,}",
            f"{candidate.coverage_false:,}", f"{candidate.paths:,}",
        )
        for candidate in kept
    )  # fmt: skip
    if len(kept):
        columns = ["candidate rule", "coverage", "true", "false", "count"]
        rest = " (--top N for fewer, --json for all)"
        print_table(columns, rows, text=columns[0], total=len(kept), rest=rest)
    out = screen()
    of_all = "" if discovery.found is None else f" of {discovery.found:,}"
    out.print(
        f"{len(kept):,}{of_all} bodies kept, over {len(discovery.targets):,} targets; "
        f"with negations and prior {2 * len(kept) + len(kept.targets):,} clauses. "
        f"Loaded in {seconds['load']:.2f} s, counted in {seconds['generate']:.2f} s."
    )
