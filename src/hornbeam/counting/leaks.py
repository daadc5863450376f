"""Leaks: relations among the facts that copy the target or its inverse."""

from __future__ import annotations

import numpy as np

from hornbeam.errors import warn
from hornbeam.facts.table import Targets
from hornbeam.rules.candidates import Candidates

#: Least share of the true pairs, and largest share of the false ones, that a copy covers.
NEARLY_ALL, HARDLY_ANY = 0.9, 0.01
#: Minimum number of true (and of false) pairs for the warning.
MIN_PAIRS = 30


def warn_of_leaks(candidates: Candidates, labels: Targets) -> None:
    """Warn of a relation that links nearly all true pairs and hardly any false one."""
    for p, target in enumerate(labels.predicates):
        true = labels.positive[labels.predicate == p]
        positives, negatives = int(true.sum()), int((~true).sum())
        if min(positives, negatives) < MIN_PAIRS:
            continue
        false = candidates.coverage - candidates.coverage_true
        copies = (candidates.target == p) & (candidates.lengths == 1)
        copies &= candidates.coverage_true >= NEARLY_ALL * positives
        copies &= false <= HARDLY_ANY * negatives
        for row in np.flatnonzero(copies).tolist():
            body = candidates.body(row)
            if body.is_path and body.steps[0].predicate != target:
                name = body.steps[0].predicate
                warn(
                    f"{name!r} links {int(candidates.coverage_true[row]):,} of the {positives:,} "
                    f"true pairs of {target!r} and {int(false[row]):,} of the {negatives:,} false "
                    "ones: if it only restates the target, leave it out by "
                    f'`exclude=["{name}"]`'
                )
