"""The features of candidates: the only place that says which feature a column of a pool has.

Rules that are counted individually form classes. A class has a name in `CLASSES`, with which the
names of its features begin, and a member of `EvidenceKind`, which names its part of a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.graphs.timed.timed_features import TIMED_FEATURES

#: Classes of rules: paths, rules with constants about the known argument, and about the answer.
CLASSES = ("path", "forward", "backward")
PATH, FORWARD, BACKWARD = range(len(CLASSES))
#: Columns of a class's evidence while rules fire: first its best confidences, then the sum of
#: -log(1 - confidence) and the number of rules.
N_BEST = 3
TOTAL, FIRED = N_BEST, N_BEST + 1
EVIDENCE_SHAPE = (len(CLASSES), FIRED + 1)
#: Columns of the other links of a pair while they are counted; the last is a sum of weights.
ALONG, AGAINST, REVERSE, TOGETHER = range(4)


class ClassColumns(NamedTuple):
    """Features of a class of rules; columns are numbered from the first column of the class.

    The features are the best confidences, the confidence of all rules if rules are independent
    (noisy or), the number of fired rules, and the sum of -log(1 - confidence). All are logarithms.
    """

    best: int
    second: int
    third: int
    noisy_or: int
    fired: int
    sum: int


class OtherColumns(NamedTuple):
    """Features that do not belong to one class of rules.

    Features `linked_...` count other links between the known argument and the answer: in the
    query's direction, against it, and of the relation itself against it. `linked_together` adds up
    weights of all other links, which are fitted together. If pairs have one link at most, other
    links are evidence against an answer, which no rule can express. `slot` says how well the
    relations of the answer fit (`hornbeam.graphs.slots`). The ridge's features are missing where
    constants are not fitted together.
    """

    best: int
    noisy_or: int
    frequency: int
    seen: int
    degree: int
    itself: int
    slot: int
    linked_along: int
    linked_against: int
    linked_reverse: int
    linked_together: int
    ridge_forward: int
    ridge_backward: int
    ridge_sum: int


OF_CLASS = ClassColumns(*range(len(ClassColumns._fields)))
_FIRST = len(CLASSES) * len(OF_CLASS)
COLUMN = OtherColumns(*range(_FIRST, _FIRST + len(OtherColumns._fields)))
#: Names of the features, in the order of columns.
FEATURES = (
    *(f"{name}_{feature}" for name in CLASSES for feature in ClassColumns._fields),
    *OtherColumns._fields,
)
N_PLAIN, N_FEATURES = COLUMN.ridge_forward, len(FEATURES)
WITHOUT_RIDGE, RIDGE = FEATURES[:N_PLAIN], FEATURES[N_PLAIN:]
SLOT = FEATURES[COLUMN.slot]
LINKED = FEATURES[COLUMN.linked_along : N_PLAIN]


class EvidenceKind(StrEnum):
    """Kinds of evidence that a score is the sum of."""

    PATH = "paths"
    FORWARD = "constants forward"
    BACKWARD = "constants backward"
    RIDGE = "constants together"
    OVERALL = "all rules"
    SLOT = "relations of the answer"
    LINKED = "other links between the two"
    PRIOR = "how common the answer is"

    @classmethod
    def of_feature(cls, name: str) -> EvidenceKind:
        """The kind that a feature of the ranking belongs to, by the first word of its name."""
        named = cls.__members__.get(name.partition("_")[0].upper())
        return named or (cls.OVERALL if name in ("best", "noisy_or") else cls.PRIOR)


#: The column of every feature. Graphs with time have pools of their own columns, and names of
#: features that no other pool has.
COLUMN_OF = {name: k for names in (FEATURES, TIMED_FEATURES) for k, name in enumerate(names)}
assert len(COLUMN_OF) == len(FEATURES) + len(TIMED_FEATURES), "two features have one name"


def columns_of(features: Sequence[str]) -> Ints:
    """Columns of features in a pool."""
    return np.array([COLUMN_OF[name] for name in features], dtype=np.int64)
