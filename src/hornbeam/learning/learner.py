"""The protocol of learners: from a problem to weights; see `registry` for those there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hornbeam.learning.newton import Fit
from hornbeam.learning.pieces import PieceLearner
from hornbeam.learning.problem import Problem
from hornbeam.learning.trace import Choice
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Kind
from hornbeam.rules.rule_model import Relaxation
from hornbeam.rules.weighing import Counts


@dataclass(frozen=True, eq=False)
class Learned:
    """A problem and the weights of its clauses.

    `choice` says how a learner that chooses among strengths came to them. The problem may have
    other clauses than the one that was given: fewer, or conjunctions that the learner made.
    `chosen` is the learner with what it chose by validation fixed, to be fitted to parts of the
    same problem; None where it chooses nothing.
    """

    problem: Problem
    fit: Fit
    choice: Choice | None = None
    chosen: Learner | None = None


class Learner(Protocol):
    """A frozen dataclass of settings that learns the weights of a problem's clauses."""

    #: A learner is a dataclass, so that its settings can be listed and replaced.
    __dataclass_fields__: ClassVar[dict[str, Any]]
    #: What users call it.
    name: ClassVar[str]
    #: The relaxation it is best with.
    relaxation: ClassVar[Relaxation]
    #: Kinds of bodies that it is best with.
    bodies: ClassVar[tuple[Kind, ...]]
    #: Ways of counting that every body has a clause for, side by side, where nobody names one.
    counts: ClassVar[tuple[Counts, ...]]
    #: Whether bodies of a symmetric target are to share a column with their mirror images.
    ties_mirrors: ClassVar[bool]
    #: Why a candidate gets no weight, as the report says it.
    dropped: ClassVar[str]
    #: What its progress calls the stage that takes longest.
    stage: ClassVar[str]

    @property
    def weight_variance(self) -> float:
        """Variance of the Gaussian prior on weights."""

    @property
    def piecewise(self) -> PieceLearner | None:
        """What learns every clause alone in the same way; None where clauses compete.

        Histograms of counts are then enough, and clauses with equal counts are all kept.
        """

    def learn(self, problem: Problem, progress: Progress = SILENT) -> Learned:
        """Learn the weights of all clauses, 0 for those that are not kept."""
