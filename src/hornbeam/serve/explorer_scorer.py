"""The protocol of scorers in the explorer, for independent or collective pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from hornbeam.base.arrays import Floats
from hornbeam.base.progress import Progress
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.known_scores import KnownScores
from hornbeam.rules.rule_model import Rule
from hornbeam.serve.links import ShownLink

#: Paths per rule that are shown and drawn.
PATHS_SHOWN = 12


class NewLinks(NamedTuple):
    """The best new links of an entity, how many there are, and how many were not scored."""

    links: list[ShownLink]
    total: int
    left_out: int


class ExplorerScorer(Protocol):
    """A model on facts and listed pairs.

    Rules come in as a visitor has weighted them: all rules of the model, in its order, those that
    are off with weight 0.
    """

    @property
    def collective(self) -> bool:
        """Whether pairs are scored together: then only listed ones are, and edits take longer."""

    @property
    def seconds(self) -> float:
        """Approximate seconds to score under other weights; 0 where it is not noticeable."""

    def warm_up(self, progress: Progress) -> None:
        """Compile and build what the first visitor would otherwise wait for."""

    def is_ready(self, rules: Sequence[Rule]) -> bool:
        """Whether scores under these rules are available at once."""

    def scores(self, rules: Sequence[Rule]) -> list[Floats]:
        """Scores of all pairs, listing by listing."""

    def explain(
        self, rules: Sequence[Rule], subject: str, target: str, object_: str, *, flip: bool = False
    ) -> Explanation:
        """Why a pair scores as it does; with `flip` what would flip the decision, without paths."""

    def known(self, rules: Sequence[Rule]) -> KnownScores:
        """Scores of known links, among which a score has its place."""

    def new_links(
        self, rules: Sequence[Rule], entity: int, target: str, forward: bool, top: int
    ) -> NewLinks:
        """Best new links of an entity as subject (`forward`) or object."""

    def examples(self, top: int) -> list[str]:
        """Entities with many facts or pairs, as examples."""

    def lacks(self, rule: int) -> bool:
        """Whether the facts lack a predicate or constant of a rule, so that it has no grounding."""
