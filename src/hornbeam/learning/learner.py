"""The protocol of learners: from a problem to weights; see `registry` for the implementations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hornbeam.base.choices import Relaxation
from hornbeam.base.progress import SILENT, Progress
from hornbeam.learning.newton import Fit
from hornbeam.learning.problem import PieceLearner, Problem
from hornbeam.learning.trace import Choice
from hornbeam.rules.body import Kind
from hornbeam.rules.weighing import Counts


@dataclass(frozen=True, eq=False)
class Learned:
    """The result of a learner: a problem and the weights of its clauses.

    The clauses of `problem` may differ from those of the problem that was given to the learner:
    there may be fewer, or conjunctions that the learner made. `choice` reports how the strength was
    chosen. `chosen` is the same learner with the strengths fixed that validation chose. It can be
    fitted to parts of the problem. Both are None for a learner that does not choose a strength.
    """

    problem: Problem
    fit: Fit
    choice: Choice | None = None
    chosen: Learner | None = None


class Learner(Protocol):
    """A frozen dataclass of settings that learns the weights of a problem's clauses."""

    #: A learner is a dataclass, so that its settings can be listed and replaced.
    __dataclass_fields__: ClassVar[dict[str, Any]]
    #: Name of the learner for users.
    name: ClassVar[str]
    #: Default relaxation, with which the learner is best.
    relaxation: ClassVar[Relaxation]
    #: Default kinds of bodies, with which the learner is best.
    bodies: ClassVar[tuple[Kind, ...]]
    #: Default ways of counting: every body gets one clause per way.
    counts: ClassVar[tuple[Counts, ...]]
    #: Whether bodies of a symmetric target share a column with their mirror images.
    ties_mirrors: ClassVar[bool]
    #: Why a candidate gets no weight, in the words of the report.
    dropped: ClassVar[str]
    #: Name of the learner's longest stage in progress reports.
    stage: ClassVar[str]

    @property
    def weight_variance(self) -> float:
        """Variance of the Gaussian prior on weights."""

    @property
    def piecewise(self) -> PieceLearner | None:
        """The learner of single clauses with the same result; None where clauses compete.

        A learner of single clauses needs only histograms of counts, and keeps all clauses with
        equal counts.
        """

    def learn(self, problem: Problem, progress: Progress = SILENT) -> Learned:
        """Learn the weights of all clauses; a clause that is not kept has weight 0."""
