"""`hornbeam crossval`: compare learners over folds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from hornbeam.base.terminal_progress import print_message
from hornbeam.cli import options
from hornbeam.cli.console import print_table, screen
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.learner_options import EvidenceOptions, OwnRuleOptions
from hornbeam.cli.option_groups import Options, argument, option
from hornbeam.cli.outputs import TableOptions
from hornbeam.errors import HornbeamError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hornbeam.crossval import Learn, MethodResult, World
    from hornbeam.learning.learner import Learner


@dataclass(frozen=True)
class TaskOptions(Options):
    """The learners that are compared, and the folds."""

    facts: options.FactOptions
    task_dir: str | None = argument("A folder with fold0, fold1, ...", metavar="[TASK_DIR]")
    methods: str = option("Learners to compare, with commas between.", default="ppll,greedy,joint")
    folds: int | None = option("How many folds (default: all, or 5 for --labels).", min=1)
    labels: list[str] | None = options.label_files()
    target: str | None = option(
        "Instead of --labels: a predicate of the facts. Its facts are the true pairs; false pairs "
        "are those that facts state, else they are sampled.",
        metavar="PREDICATE",
    )

    @property
    def method_names(self) -> list[str]:
        """Learners from comma-separated names."""
        from hornbeam.learning.registry import learner_names

        known = learner_names()
        names = [name.strip() for name in self.methods.split(",") if name.strip()]
        if unknown := [name for name in names or [self.methods] if name not in known]:
            raise InputError(f"unknown method {unknown[0]!r}; expected some of: {', '.join(known)}")
        return names

    def worlds(self, seed: int, run: RunOptions) -> Iterator[World]:
        """Read the folds of the task, or split the labels into folds."""
        import hornbeam as hb
        from hornbeam.crossval import label_worlds, own_labels, task_worlds

        if self.task_dir is not None:
            if self.facts.facts or self.labels or self.target:
                raise InputError("give a TASK_DIR, or --facts and --labels, not both")
            for name in [*run.reading.changed(), *["arguments"] * bool(self.facts.arguments)]:
                raise InputError(f"`{name}` is for --facts and --labels")
            tables = self.facts.entity_tables
            return task_worlds(self.task_dir, self.folds, tables=tables, **self.facts.further)
        if not self.facts.files or bool(self.labels) == bool(self.target):
            raise InputError("give a TASK_DIR, or --facts and either --labels or --target")
        with run.started() as inputs:
            evidence = inputs.facts(self.facts)
            if self.labels:
                labelled = inputs.read(hb.read_labels, self.labels)
            else:
                labelled = own_labels(evidence, self.target, seed)
        return label_worlds(evidence, labelled, self.folds or 5, seed)


def crossval(
    *,
    task: TaskOptions,
    rules: options.LanguageOptions,
    evidence: EvidenceOptions,
    own: OwnRuleOptions,
    max_rules: int | None = options.learner_option(
        "Maximum number of rules, for learners that have a limit.", min=0, metavar="N"
    ),
    seed: int = options.seed_option(),
    threads: int | None = options.threads_option(),
    table: TableOptions,
    run: RunOptions,
) -> None:
    """Learn and evaluate on every fold of a task; mean, spread, significance, rules, seconds.

    TASK_DIR holds observed.tsv and fold0/train.tsv, fold0/test.tsv (and fold0/obs.tsv), or folds
    that are worlds of their own with train_observed.tsv and test_observed.tsv. Without it,
    --facts and --labels are split into --folds, or the facts of --target. With --collective two
    baselines are evaluated too: the same method without it (NAME-plain), and one in which every
    pair counts as true (NAME-asked). A method that fails on a fold is named with the reason at the
    end, after the figures of the others and of its other folds; the exit code is then 2.

    [dim]Examples:[/dim]

      hornbeam crossval countries --methods ppll,joint

      hornbeam crossval --facts observed.tsv --labels all.tsv --folds 5

      hornbeam crossval --tables shop.duckdb --target churned
    """
    import hornbeam as hb
    from hornbeam.crossval import (
        cross_validate_worlds,
        fold_table,
        significance,
        with_comparisons,
    )

    table.check(run.console.as_json)
    collective = evidence.collective_asked
    names = task.method_names
    worlds = task.worlds(seed, run)
    cross_evidence = evidence.cross_evidence or task.target is not None
    learners: dict[str, Learn] = {
        name: partial(
            hb.learn, method=_learner(name, seed, max_rules), language=rules.language(),
            counts=evidence.counts, cross_evidence=cross_evidence, collective=collective,
            rules=own.rules, keep=own.keep, guard=own.guard, seed=seed,
        )
        for name in names
    }  # fmt: skip
    if collective:
        learners = {
            name: learn
            for method, given in learners.items()
            for name, learn in with_comparisons(method, given).items()
        }
    with run.console.progress() as progress:
        results = cross_validate_worlds(
            worlds,
            learners,
            lambda fold: progress.message(f"{fold} ..."),
            cross_evidence=cross_evidence,
            threads=threads,
        )
    chances = significance(results)
    table.write_or_show(
        lambda: fold_table(results),
        lambda: _as_dict(results, chances),
        lambda: _show(results, chances),
        run.console,
    )
    _raise_failures(results)


def _learner(name: str, seed: int, max_rules: int | None) -> Learner:
    """A learner, with the limit on rules if the learner has that setting."""
    from hornbeam.learning.registry import learner_class, make_learner

    limited = any(setting.name == "max_rules" for setting in fields(learner_class(name)))
    given = {"max_rules": max_rules} if limited and max_rules is not None else {}
    return make_learner(name, seed, **given)


def _raise_failures(results: list[MethodResult]) -> None:
    """Raise an error that names the methods that failed; an error by a bug is raised unchanged."""
    from hornbeam.crossval import failures_text

    errors = [failure.error for result in results for failure in result.failures]
    for error in errors:
        if not isinstance(error, HornbeamError):
            print_message(f"hornbeam: {failures_text(results)}")
            raise error
    if errors:
        raise InputError(failures_text(results))


def _as_dict(results: list[MethodResult], chances: dict[tuple[str, str], float]) -> dict[str, Any]:
    return {
        "methods": {result.name: result.as_dict() for result in results},
        "significance": [
            {"methods": list(pair), "p_value": p, "significant": p < 0.05}
            for pair, p in chances.items()
        ],
    }


def _show(results: list[MethodResult], chances: dict[tuple[str, str], float]) -> None:
    rows = []
    for result in results:
        if not result.folds:
            rows.append((result.name, "failed", *[""] * 5))
            continue
        row = result.as_dict()
        figures = (
            row["auc_roc"]["mean"], row["auc_roc"]["sd"], row["auc_pr"]["mean"],
            row["log_loss"]["mean"],
        )  # fmt: skip
        shown = ("undefined" if value is None else f"{value:.4f}" for value in figures)
        rows.append((result.name, *shown, f"{row['rules']:.1f}", f"{row['seconds']:.2f}"))
    columns = ["method", "AUC-ROC", "sd", "AUC-PR", "log-loss", "rules", "seconds"]
    print_table(columns, rows, text="method")
    out = screen()
    for (method, other), p in chances.items():
        verdict = "differ" if p < 0.05 else "do not differ"
        test = f"at 0.05 (paired t-test, p = {p:.3g})"
        out.print(f"{method} and {other} {verdict} significantly {test}")
