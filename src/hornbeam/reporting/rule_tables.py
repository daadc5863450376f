"""Tables of rules, of both kinds of models, and the quality of rules on labelled pairs.

The quality of a rule is its coverage, its precision with an interval, and perhaps a warning.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids
from hornbeam.base.files import save_text
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.columns import Columns
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.explaining.explainer import RuleExplainer, open_explainer
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Kind
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.rule_words import Words, rule_words, said
from hornbeam.rules.weighing import Counts, Weighing
from hornbeam.scoring.evaluation import Evaluation, evaluate
from hornbeam.scoring.independent_scores import CachedCounts, RuleLayout
from hornbeam.scoring.model_checks import labels_for

if TYPE_CHECKING:
    from hornbeam.graphs.ranking_model import RankingModel

#: Minimum share of true pairs that are covered, and of covered pairs that are true, for a body of
#: one atom to be called a copy of the target.
COPY_SHARE = 0.9
#: Figures that tables have without each rule.
WORTH = ("auc_roc", "auc_pr", "log_loss", "brier")
#: Standard normal quantile of a two-sided 95 % interval.
Z95 = 1.959963984540054


# --- tables ---------------------------------------------------------------------------------------


def rule_table(model: RuleModel | RankingModel) -> ResultTable:
    """The rules of a model of either kind, one per row.

    A rule of a rule model has its text, words and weight, and how its groundings count. A rule of a
    whole graph has its relation, direction, kind, text, confidence, hits and predictions.
    """
    return ResultTable(_weighted(model) if isinstance(model, RuleModel) else _counted(model))


def _weighted(model: RuleModel) -> dict[str, Sequence[Any] | Array]:
    rules = model.rules
    return {
        "rule": model.clause_texts,
        "words": [said(rule_words(rule.clause)) for rule in rules],
        "weight": np.array([rule.weight for rule in rules], dtype=np.float64),
        "counts": [
            "" if rule.clause.is_prior else model.counts_of(rule.clause).counts.value
            for rule in rules
        ],
    }


def _counted(model: RankingModel) -> dict[str, Sequence[Any] | Array]:
    # imported late, here and below: opening a rule model needs none of these modules
    from hornbeam.graphs.graph_text import rule_text
    from hornbeam.graphs.ranking_model import is_path_rule

    rows = [(part, rule) for part in model.relations for rule in part.all_rules]
    return {
        "relation": [part.relation for part, _ in rows],
        "direction": [str(part.direction) for part, _ in rows],
        "kind": ["path" if is_path_rule(rule) else "constant" for _, rule in rows],
        "rule": [rule_text(rule.clause, part.direction, model.identifiers) for part, rule in rows],
        "confidence": [rule.confidence for _, rule in rows],
        "hits": [rule.hits for _, rule in rows],
        "predicted": [rule.predicted for _, rule in rows],
    }


def judged_rules(
    model: RuleModel,
    engine: MemoryEngine | None = None,
    labels: Input | None = None,
    *,
    worth: bool = False,
    progress: Progress = SILENT,
) -> ResultTable:
    """The rules as a table; with labels also their coverage and precision.

    With `worth` also the figures that the model has without each rule.
    """
    table = rule_table(model)
    if engine is None or labels is None:
        if worth:
            raise InputError("what rules are worth is measured: give `facts` and `labels`")
        return table
    known = labels_for(model, labels)
    explainer = open_explainer(model, engine, known)
    counted = explainer.count(known, progress)
    qualities = rule_qualities(model, counted, known)
    precision = [math.nan if rule.precision is None else rule.precision for rule in qualities]
    table = table.with_columns(
        {
            "coverage": np.array([rule.coverage for rule in qualities], dtype=np.int64),
            "precision": np.array(precision),
        }
    )
    if not worth:
        return table
    figures, without = figures_without(explainer, known, counted), list[Evaluation]()
    for k in range(len(model.rules)):
        without.append(figures(k))
        progress.advance("Leaving out rules", k + 1, len(model.rules))
    return table.with_columns(
        {f"{name}_without": [getattr(figures, name) for figures in without] for name in WORTH}
    )


def save_rules(model: RankingModel, path: str | os.PathLike[str]) -> None:
    """Write all rules of a model as `.csv`, `.jsonl`, or AnyBURL's format (`.anyburl`, `.txt`)."""
    from hornbeam.graphs.rule_files import anyburl_text

    writers = {
        ".csv": lambda: _full_csv(rule_table(model)),
        ".jsonl": lambda: rule_table(model).json_lines(),
        ".anyburl": lambda: anyburl_text(model),
        ".txt": lambda: anyburl_text(model),
    }
    suffix = Path(path).suffix.lower()
    if suffix not in writers:
        raise InputError(f"{os.fspath(path)}: expected a name that ends in {', '.join(writers)}")
    save_text(path, writers[suffix]())


def _full_csv(table: ResultTable) -> str:
    """A table as CSV with all digits of its numbers."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.names, *table])
    return text.getvalue()


# --- figures without a rule -----------------------------------------------------------------------


def figures_without(
    explainer: RuleExplainer, labels: Targets, counted: Statistics
) -> Callable[[int], Evaluation]:
    """Finds the figures on counted labelled pairs without the rule of a number.

    The rule weighs nothing then, as if it were switched off in the explorer; no other weight
    changes. Where pairs are inferred together, they are inferred again for every rule.
    """
    model = explainer.model
    cached = CachedCounts(model, RuleLayout.of(model, counted.bodies), counted, labels)

    def without(k: int) -> Evaluation:
        rules = list(model.rules)
        rules[k] = replace(rules[k], weight=0.0)
        if model.semantics.recursive:
            reweighted = explainer.reweighted(model.with_rules(rules))
            return evaluate(labels.truth, reweighted.scores(labels, counted))
        return evaluate(labels.truth, cached.scores(rules))

    return without


# --- quality --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RuleQuality:
    """One rule of a model and its quality on labelled pairs."""

    index: int
    text: str
    words: Words
    weight: float
    target: str
    negated: bool
    is_prior: bool
    coverage: int  #: labelled pairs with a grounding of the rule; all of the target for a prior
    right: int  #: covered pairs with the label of the head: true, or false if it is negated
    #: Wilson's 95 % interval of the precision; 0 and 1 if no pair is covered.
    low: float
    high: float
    warning: str = ""  #: a caveat, or ""
    without: Evaluation | None = None  #: figures of the model without the rule

    @property
    def precision(self) -> float | None:
        """Share of the covered pairs with the label of the head; None if no pair is covered."""
        return self.right / self.coverage if self.coverage else None


def rule_qualities(model: RuleModel, statistics: Statistics, labels: Targets) -> list[RuleQuality]:
    """The quality of every rule on labelled pairs whose groundings have been counted."""
    texts = model.clause_texts
    columns = Columns(statistics)
    found = []
    for k, rule in enumerate(model.rules):
        clause = rule.clause
        of_target = labels.predicate == labels.predicates.index(clause.target)
        covered = np.flatnonzero(of_target) if clause.is_prior else covered_rows(columns, clause)
        true = int(labels.positive[covered].sum())
        right = len(covered) - true if clause.negated else true
        found.append(
            RuleQuality(
                k,
                texts[k],
                rule_words(clause),
                rule.weight,
                clause.target,
                clause.negated,
                clause.is_prior,
                len(covered),
                right,
                *wilson(right, len(covered)),
                _warning(clause, true, len(covered), labels.positive[of_target]),
            )
        )
    return found


def covered_rows(columns: Columns, clause: Clause) -> Ids:
    """The targets for which a clause with a body has a grounding of any truth value."""
    return columns.of(clause.body, Weighing(Counts.EXISTS))[0]


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share: (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n).

    Examples
    --------
    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.49, 0.943]
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if not n:
        return 0.0, 1.0
    p, z2 = right / n, Z95 * Z95 / n
    middle = (p + z2 / 2) / (1 + z2)
    half = Z95 * (p * (1 - p) / n + z2 / (4 * n)) ** 0.5 / (1 + z2)
    return (0.0 if right == 0 else middle - half), (1.0 if right == n else middle + half)


def _warning(clause: Clause, true: int, covered: int, positive: Bools) -> str:
    """A warning about a rule whose body is the target itself, or a copy of it; else ""."""
    steps = [step for part in clause.body.parts for step in part.body.steps]
    is_path = {part.body.kind for part in clause.body.parts} == {Kind.PATH}
    if len(steps) != 1 or not is_path or clause.negated:
        return ""
    [step] = steps
    if step.predicate == clause.target:
        if step.inverse:
            return "the target's own inverse: this rule only says that the relation is symmetric"
        return "the target itself: no pair is evidence for itself, so this rule has no groundings"
    wide = true >= COPY_SHARE * int(positive.sum())
    if covered and wide and true >= COPY_SHARE * covered:
        kind = "the inverse" if step.inverse else "a copy"
        return (
            f"almost {kind} of the target under another name: it covers {true:,} of "
            f"{int(positive.sum()):,} true pairs. Check that it would be known when you predict"
        )
    return ""
