"""The quality of rules on labelled pairs: coverage, precision with its interval, warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Bools, Ids
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.columns import Columns
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.explainer import open_explainer
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Kind
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.rule_words import Words, rule_table, rule_words
from hornbeam.rules.weighing import Counts, Weighing
from hornbeam.scoring.model_checks import labels_for

#: Minimum share of true pairs that are covered, and of covered pairs that are true, for a body of
#: one atom to be called a copy of the target.
COPY_SHARE = 0.9
#: Standard normal quantile of a two-sided 95 % interval.
Z95 = 1.959963984540054


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
    coverage: int  #: labelled pairs that it has a grounding for; those of its target for a prior
    right: int  #: how many of those have the label of its head: true, or false where it is negated
    #: Wilson's 95 % interval of the precision; 0 and 1 where nothing is covered.
    low: float
    high: float
    warning: str = ""  #: a caveat, or ""

    @property
    def precision(self) -> float | None:
        """Share of the covered pairs with the label of the head; None where none is covered."""
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


def judged_rules(
    model: RuleModel, engine: MemoryEngine | None = None, labels: Input | None = None
) -> ResultTable:
    """The rules as a table; with labels also their coverage and precision."""
    table = rule_table(model)
    if engine is None or labels is None:
        return table
    known = labels_for(model, labels)
    counted = open_explainer(model, engine, known).count(known)
    qualities = rule_qualities(model, counted, known)
    precision = [math.nan if one.precision is None else one.precision for one in qualities]
    return table.with_columns(
        {
            "coverage": np.array([one.coverage for one in qualities], dtype=np.int64),
            "precision": np.array(precision),
        }
    )


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
