"""The protocol of learners: from a problem to weights; see `registry` for the implementations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hornbeam.base.choices import Relaxation
from hornbeam.base.progress import SILENT, Progress
from hornbeam.learning.newton import Fit
from hornbeam.learning.pieces import PieceLearner
from hornbeam.learning.problem import Problem
from hornbeam.learning.trace import Choice
from hornbeam.rules.body import Kind
from hornbeam.rules.weighing import Counts


@dataclass(frozen=True, eq=False)
class Learned:
    """A problem and the weights of its clauses.

    `choice` reports how a learner that chooses among strengths did so. The problem may have other
    clauses than the given one: fewer, or conjunctions that the learner made.
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
    #: Its name for users.
    name: ClassVar[str]
    #: The relaxation with which it is best.
    relaxation: ClassVar[Relaxation]
    #: Kinds of bodies with which it is best.
    bodies: ClassVar[tuple[Kind, ...]]
    #: Default ways of counting: every body gets one clause per way.
    counts: ClassVar[tuple[Counts, ...]]
    #: Whether bodies of a symmetric target share a column with their mirror images.
    ties_mirrors: ClassVar[bool]
    #: Why a candidate gets no weight, in the words of the report.
    dropped: ClassVar[str]
    #: Name of its longest stage in progress reports.
    stage: ClassVar[str]

    @property
    def weight_variance(self) -> float:
        """Variance of the Gaussian prior on weights."""

    @property
    def piecewise(self) -> PieceLearner | None:
        """The learner of single clauses with the same result; None where clauses compete.

        Histograms of counts are then enough, and clauses with equal counts are all kept.
        """

    def learn(self, problem: Problem, progress: Progress = SILENT) -> Learned:
        """Learn the weights of all clauses, 0 for those that are not kept."""
