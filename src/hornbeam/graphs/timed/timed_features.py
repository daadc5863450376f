"""The features of candidates in a graph with time: the columns of their pools.

A fact that is about to be repeated, another link of the same pair, and how usual the answer is: all
are counted over the facts before the query, and old facts fade by a half-life (`TimeScale`). A
model has a short half-life, a long one, and counts that never fade.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

#: Columns of faded counts: by the short half-life, by the long one, and without fading.
SHORT, LONG, EVER = range(3)
N_FADED = 3


class TimedColumns(NamedTuple):
    """Columns of a pool; all but `same_entity` (is the candidate the known entity?) are logarithms.

    `again_...` is the share of the answer among the answers that the query had before, smoothed by
    `usual_...`, its share among all answers of the relation. `together_...` is the share of the
    pair among all facts of the known entity. The columns `rule_...` are about the rules that fire:
    the confidence of the relation's own earlier fact, the best two confidences, the sum of
    -log(1 - confidence), and their number. `partner_share` is the share of the answer among the
    answers of those who deal with the same entities (`partner_kernels`).
    """

    again_long: int
    again_ever: int
    usual_long: int
    usual_ever: int
    together_short: int
    together_long: int
    together_ever: int
    rule_same: int
    rule_best: int
    rule_second: int
    rule_sum: int
    rule_fired: int
    same_entity: int
    partner_share: int


TIMED = TimedColumns(*range(len(TimedColumns._fields)))
TIMED_FEATURES = TimedColumns._fields
#: The feature whose weight makes a model count answers beside partners; models up to 0.9 have none.
PARTNER_SHARE = TIMED_FEATURES[TIMED.partner_share]


class TimedEvidence(StrEnum):
    """Kinds of evidence that the score of an answer at a time is the sum of."""

    RULE = "what linked the two before"
    AGAIN = "how often it was the answer"
    TOGETHER = "how often the two were linked"
    PARTNER = "what others with the same partners did"
    USUAL = "how usual the answer is"

    @classmethod
    def of_feature(cls, name: str) -> TimedEvidence:
        """The kind that a feature belongs to, by the first word of its name."""
        return cls.__members__.get(name.partition("_")[0].upper(), cls.USUAL)
