"""The protocol of engines, which find bodies and count their groundings exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from hornbeam.base.arrays import Ids
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.statistics import Histograms, Statistics
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Candidates, RuleLimits

Asked = TypeVar("Asked")
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Discovery:
    """What one search finds: the kept candidates and, row by row, their counts for the targets.

    `found` is the number of bodies before pruning, None where rare prefixes were pruned
    before the bodies were complete; `own_edges` the number of targets that are facts (and not
    evidence for themselves); `unseen` the number of targets with an entity that no fact has.
    `histograms` replace counts that do not fit in memory.
    """

    targets: Targets
    candidates: Candidates
    statistics: Statistics | None
    found: int | None
    own_edges: int
    unseen: int
    histograms: Histograms | None = None

    def _repr_html_(self) -> str:
        return self.candidates._repr_html_()


class LastLookup(Generic[Asked, Found]):
    """The last value that was looked up, such as a table of names, and what was found for it.

    The blocks of one list of pairs share a table of names, and predictions of one model its bodies.
    Threads may share a `LastLookup`: at worst one of them looks up again.
    """

    def __init__(self) -> None:
        self._last: tuple[Asked, Found] | None = None

    def found(self, asked: Asked, look_up: Callable[[Asked], Found]) -> Found:
        """What is found for a value, looked up unless it is the same object as last time."""
        last = self._last
        if last is None or last[0] is not asked:
            last = self._last = asked, look_up(asked)
        return last[1]


class BodyCounter(Protocol):
    """Counts groundings of bodies over one set of facts."""

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the groundings of the given bodies for the targets."""


class Engine(BodyCounter, Protocol):
    """Finds bodies and counts their groundings over one set of facts.

    All engines return the same integers for the same input, and shares that agree to nine digits.
    """

    @property
    def facts(self) -> Facts | None:
        """The facts themselves; None where they are not in memory."""

    def over(self, facts: Facts) -> Engine:
        """An engine of the same kind and settings over other facts in memory.

        Itself where these are its own. Not called for an engine without `facts`.
        """

    @property
    def predicates(self) -> Names:
        """Names of the predicates, and of the projections of those of three or more arguments."""

    @property
    def not_binary(self) -> Mapping[str, int]:
        """Arity of the predicates that are not binary."""

    @property
    def numbers(self) -> Numbers:
        """Numbers of the entities, by the ids that `locate` gives; in memory for every engine."""

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""

    def discover(
        self,
        targets: Targets,
        language: RuleLimits,
        *,
        statistics: bool = True,
        progress: Progress = SILENT,
    ) -> Discovery:
        """Find every body that has groundings for targets; with `statistics` keep the counts."""
