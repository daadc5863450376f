"""`hornbeam evaluate`: how good is a model on labelled pairs?"""

from __future__ import annotations

from contextlib import ExitStack

from hornbeam.cli import options
from hornbeam.cli.console import print_json, progress_shown, read_files, screen
from hornbeam.cli.evidence import open_evidence


def evaluate(
    model: options.ModelFile,
    facts: options.FactFiles,
    labels: options.LabelFiles,
    score: options.ScoreOption = options.ScoreName.MEAN,
    engine: options.EngineOption = options.EngineName.MEMORY,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
    spill_dir: options.SpillDir = None,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Score labelled pairs and say how well the scores agree with the labels.

    [dim]Examples:[/dim]

      hornbeam evaluate model.psl --facts observed.tsv --labels test.tsv

      hornbeam evaluate model.psl --facts observed.tsv --labels test.tsv --json
    """
    import hornbeam as hb

    with progress_shown(quiet, verbose) as progress, ExitStack() as stack:
        loaded = hb.Model.load(model)
        evidence = stack.enter_context(
            open_evidence(
                facts, engine, progress, threads=threads, memory_limit=memory_limit,
                spill_dir=spill_dir, master=master, spark_conf=spark_conf,
            )
        )  # fmt: skip
        labelled = read_files(hb.read_labels, labels, progress)
        result = loaded.evaluate(
            evidence,
            labelled,
            score=score.value,
            threads=threads,
            progress=progress,
        )
    if as_json:
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
