"""What a rule is worth on labelled pairs: coverage, precision with its interval, warnings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.counting.statistics import Statistics
from hornbeam.facts.table import Targets
from hornbeam.rules.body import VARIABLES
from hornbeam.rules.rule_model import RuleModel

#: From this share on, of the true pairs covered and of the covered pairs true, a body of one
#: atom is a copy of the target.
COPY_SHARE = 0.9
#: Standard normal quantile of a two-sided 95 % interval.
Z95 = 1.959963984540054

#: An atom in words: variable, predicate, variable.
Words = tuple[str, str, str]


@dataclass(frozen=True)
class RuleQuality:
    """One rule of a model and how it does on labelled pairs.

    Attributes
    ----------
    index, text, weight, negated
        The rule and its place in the model.
    body, head
        Its atoms as (variable, predicate, variable); the body of a prior is empty.
    coverage
        Labelled pairs that it connects; those of its target for a prior.
    right
        How many of those have the label of its head: true, or false where it is negated.
    low, high
        Wilson's 95 % interval of the precision; 0 and 1 where nothing is covered.
    warning
        What to beware of, or nothing.
    """

    index: int
    text: str
    weight: float
    negated: bool
    body: tuple[Words, ...]
    head: Words
    coverage: int
    right: int
    low: float
    high: float
    warning: str = ""

    @property
    def precision(self) -> float | None:
        """Share of the covered pairs with the label of the head; None where none is covered."""
        return self.right / self.coverage if self.coverage else None


def rule_qualities(model: RuleModel, statistics: Statistics, labels: Targets) -> list[RuleQuality]:
    """Judge every rule on labelled pairs whose paths have been counted."""
    texts = model.clause_texts
    positive = labels.positive
    column = {body: j for j, body in enumerate(statistics.bodies)}
    found = []
    for k, rule in enumerate(model.rules):
        clause = rule.clause
        body = tuple(clause.body.triples)
        head = (VARIABLES[0], clause.target, clause.body.last_variable)
        mine = labels.predicate == labels.predicates.index(clause.target)
        if clause.is_prior:
            covered = np.flatnonzero(mine)
        else:
            covered = np.unique(statistics.target[statistics.column(column[clause.body])])
        true = int(positive[covered].sum())
        right = len(covered) - true if clause.negated else true
        warning = _warning(body, head, clause.negated, true, len(covered), positive[mine])
        figures = (len(covered), right, *wilson(right, len(covered)))
        found.append(
            RuleQuality(k, texts[k], rule.weight, clause.negated, body, head, *figures, warning)
        )
    return found


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


def _warning(
    body: tuple[Words, ...],
    head: Words,
    negated: bool,
    true: int,
    covered: int,
    positive: npt.NDArray[np.bool_],
) -> str:
    """Warn of a rule whose body is the target itself, or a copy of it."""
    if len(body) != 1 or negated:
        return ""
    inverse = body[0][0] != head[0]
    if body[0][1] == head[1]:
        if inverse:
            return "the target's own inverse: this rule only says that the relation is symmetric"
        return "the target itself: no pair is evidence for itself, so this rule never speaks"
    wide = true >= COPY_SHARE * int(positive.sum())
    if covered and wide and true >= COPY_SHARE * covered:
        kind = "the inverse" if inverse else "a copy"
        return (
            f"almost {kind} of the target under another name: it covers {true:,} of "
            f"{int(positive.sum()):,} true pairs. Check that it would be known when you predict"
        )
    return ""
