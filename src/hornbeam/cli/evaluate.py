"""`hornbeam evaluate`: how good is a model on labelled pairs?"""

from __future__ import annotations

from hornbeam.choices import Score
from hornbeam.cli import options
from hornbeam.cli.console import print_json, read_files, screen
from hornbeam.cli.evidence import open_evidence, with_known_pairs


def evaluate(
    *,
    model: options.ModelFile,
    facts: options.FactFiles,
    labels: options.LabelFiles,
    known: options.KnownFiles = None,
    score: options.ScoreOption = Score.MEAN,
    engine: options.EngineOptions,
    console: options.ConsoleOptions,
) -> None:
    """Score labelled pairs and say how well the scores agree with the labels.

    [dim]Examples:[/dim]

      hornbeam evaluate model.psl --facts observed.tsv --labels test.tsv

      hornbeam evaluate model.psl --facts observed.tsv --labels test.tsv --json
    """
    import hornbeam as hb

    loaded = hb.Model.load(model)
    with console.progress() as progress, open_evidence(facts, engine, progress) as opened:
        evidence = with_known_pairs(opened, loaded, known, progress)
        labelled = read_files(hb.read_labels, labels, progress)
        result = loaded.evaluate(
            evidence, labelled, score=score, threads=engine.threads, progress=progress
        )
    if console.as_json:
        print_json(result.as_dict())
        return
    out = screen()
    for name, value in (
        ("AUC-ROC", result.auc_roc),
        ("AUC-PR", result.auc_pr),
        ("log-loss", result.log_loss),
        ("Brier", result.brier),
        ("best F1", result.best_f1),
    ):
        out.print(f"{name:10} {'undefined (one class only)' if value is None else f'{value:.4f}'}")
    out.print(f"{result.n:,} pairs, {result.positives:,} true")
