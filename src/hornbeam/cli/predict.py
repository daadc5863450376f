"""`hornbeam predict`: score pairs, or propose the best new links."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.choices import Score
from hornbeam.cli import options
from hornbeam.cli.console import print_json, read_files
from hornbeam.cli.evidence import open_evidence, with_known_pairs
from hornbeam.errors import InputError
from hornbeam.files import save_text

if TYPE_CHECKING:
    from hornbeam.arrays import Floats
    from hornbeam.cli.console import TerminalProgress
    from hornbeam.counting.opening import Evidence
    from hornbeam.facts.table import Targets
    from hornbeam.model import Model


def predict(
    *,
    model: options.ModelFile,
    facts: options.FactFiles,
    known: options.KnownFiles = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Pairs to score; without it, new links are proposed."),
    ] = None,
    score: options.ScoreOption = Score.MEAN,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of stdout.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many new links to propose.")] = 20,
    per_subject: Annotated[
        bool, typer.Option("--per-subject", help="The best --top links of every subject.")
    ] = False,
    subject: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Propose links of this subject only.")
    ] = None,
    target: options.Target = None,
    engine: options.EngineOptions,
    console: options.ConsoleOptions,
) -> None:
    """Score pairs (their columns, then the score), or propose the best new links.

    New links are found by following the rules forward from the known subjects of the target, so
    not every pair has to be scored. Scores are conditional means, between 0 and 1.

    [dim]Examples:[/dim]

      hornbeam predict model.psl --facts observed.tsv --pairs test.tsv -o scores.tsv

      hornbeam predict model.psl --facts observed.tsv --top 10
    """
    import hornbeam as hb
    from hornbeam.counting.opening import facts_in_memory

    loaded = hb.Model.load(model)
    with console.progress() as progress, open_evidence(facts, engine, progress) as opened:
        evidence = with_known_pairs(opened, loaded, known, progress)
        if pairs:
            wanted = read_files(hb.read_pairs, pairs, progress)
            if output is not None and output.suffix == ".parquet":
                _write_parquet(loaded, evidence, wanted, output, score, progress)
                return
            found = loaded.predict(
                evidence, wanted, score=score, threads=engine.threads, progress=progress
            )
        else:
            why = f"--engine {engine.engine} scores given pairs: give --pairs"
            wanted, found = loaded.propose(
                facts_in_memory(evidence, why),
                target=target,
                top=top,
                per_subject=per_subject,
                subjects=subject,
                score=score,
                threads=engine.threads,
                progress=progress,
            )
            if not len(wanted):
                progress.message("No rule reaches a new link.")
    rows = _rows(wanted, found)
    lines = ("\t".join([*row[:3], f"{row[3]:.6g}"]) + "\n" for row in rows)
    if output is not None:
        save_text(output, "".join(lines))
    elif not console.as_json:
        sys.stdout.writelines(lines)
    if console.as_json:
        print_json({"predictions": [dict(zip(KEYS, row, strict=True)) for row in rows]})


def _write_parquet(
    model: Model,
    evidence: Evidence,
    pairs: Targets,
    output: Path,
    score: str,
    progress: TerminalProgress,
) -> None:
    """Let the engine write the scores, block by block."""
    from hornbeam.counting.opening import sql_engine
    from hornbeam.scoring.batches import write_scores

    why = f"{output}: Parquet is written by --engine duckdb or spark; or name a .tsv"
    writer = sql_engine(evidence, why)
    if not output.parent.is_dir():
        raise InputError(f"{output}: the folder {output.parent} does not exist; make it first")
    write_scores(writer, model, pairs, output, Score(score), progress)


KEYS = ("subject", "predicate", "object", "score")


def _rows(pairs: Targets, found: Floats) -> list[tuple[str, str, str, float]]:
    return [
        (pairs.entities[s], pairs.predicates[p], pairs.entities[o], value)
        for p, s, o, value in zip(
            pairs.predicate.tolist(), pairs.subject.tolist(), pairs.object.tolist(),
            found.tolist(), strict=True,
        )
    ]  # fmt: skip
