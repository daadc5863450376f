"""The model of a whole graph as data: rules and ranking weights per relation and direction.

Path rules have their own hits and predictions, so that they apply to any facts with their
relations. Rules with constants, frequent answers and the ridge class are about single entities:
they are counted again from the facts that a model is used with, and the best are listed to read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from hornbeam.graphs.path_rules import SMOOTHING
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step

#: Difference between the fractions of linked pairs in train and valid above which to warn.
LINKED_APART = 0.15
#: What the MRR of held-out queries was measured on, by the facts that they are of.
MEASURED_ON = {
    "train": "hidden facts of train, where true answers that train lacks count as wrong (a "
    "filtered test usually shows more)",
    "valid": "facts of valid, where true answers that train and valid lack count as wrong (a "
    "filtered test usually shows more)",
}


class CountedRule(ABC):
    """A rule from the known argument to the answer, with its hits and predictions in training."""

    hits: int
    predicted: int
    #: The name of such rules in tables.
    kind: ClassVar[str]

    @property
    def confidence(self) -> float:
        """Hits / (predicted + 5)."""
        return self.hits / (self.predicted + SMOOTHING)

    @property
    @abstractmethod
    def steps(self) -> tuple[Step, ...]:
        """The body, from the known argument on."""

    @abstractmethod
    def ends(self, answer: str, quote: Callable[[str], str], wildcard: str) -> tuple[str, str]:
        """The answer in the head, and the last term of the body, as text.

        `answer` is the variable of the answer, `wildcard` one that occurs nowhere else, and `quote`
        turns names of entities into text.
        """


@dataclass(frozen=True)
class GraphRule(CountedRule):
    """A path from the known argument to the answer."""

    path: tuple[Step, ...]
    hits: int
    predicted: int
    weight: float = 0.0

    kind = "path"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The path."""
        return self.path

    def ends(self, answer: str, quote: Callable[[str], str], wildcard: str) -> tuple[str, str]:
        """The variable of the answer, twice."""
        return answer, answer


@dataclass(frozen=True)
class ConstantRule(CountedRule):
    """The answer is `answer` if `step` links the known argument to `constant`, or to any entity."""

    step: Step
    constant: str | None
    answer: str
    hits: int
    predicted: int

    kind = "constant"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The one step."""
        return (self.step,)

    def ends(self, answer: str, quote: Callable[[str], str], wildcard: str) -> tuple[str, str]:
        """Two entities, or one and the wildcard."""
        return quote(self.answer), wildcard if self.constant is None else quote(self.constant)


@dataclass(frozen=True)
class RelationRules:
    """Rules and ranking weights of one relation in one direction.

    `weights` belong to the model's features; None means the weights of the whole graph.
    `constants` are the best rules with constants, for reading only.
    """

    relation: str
    direction: Direction
    queries: int
    rules: tuple[GraphRule, ...] = ()
    constants: tuple[ConstantRule, ...] = ()
    weights: tuple[float, ...] | None = None

    @property
    def all_rules(self) -> tuple[CountedRule, ...]:
        """Path rules, then those with constants."""
        return (*self.rules, *self.constants)


@dataclass(frozen=True)
class Calibration:
    """Probability that an answer is right: 1 / (1 + exp(-(slope z + intercept))).

    z is the log odds of the answer's softmax share among the candidates of its query.
    """

    slope: float = 1.0
    intercept: float = 0.0


@dataclass(frozen=True)
class LinkedShares:
    """Fraction of pairs that have a further link in train: of train's own pairs, and of valid's.

    If they differ, the split was made by looking at links, and leaving out linked candidates would
    use knowledge of the split, not of the graph.
    """

    train: float
    valid: float | None = None

    @property
    def caution(self) -> str | None:
        """A warning if they differ, else None."""
        if self.valid is None or abs(self.train - self.valid) <= LINKED_APART:
            return None
        return (
            f"{self.train:.0%} of the pairs of the facts have a further link, and {self.valid:.0%} "
            "of the held-out ones: the split was made by looking at links, and figures on it say "
            "less about new facts. Evaluate without linked candidates, too, to see how much."
        )


@dataclass(frozen=True)
class RankingModel:
    """What ranks the missing links of a graph; `hornbeam.GraphModel` adds what users do with it.

    Attributes
    ----------
    relations
        Rules and weights, by relation and direction.
    features, weights
        The features that were chosen, and their weights for the whole graph.
    ridge
        The penalty of the ridge class, None if it is not used.
    constants, backward
        Whether rules with constants and backward rules are used.
    pool
        Maximum number of candidates per query.
    max_length
        Maximum length of the discovered paths.
    calibration
        From scores to probabilities.
    linked
        Fractions of linked pairs in train and valid.
    seed
        The seed of the random choices.
    chosen
        What else learning chose, and the MRR of held-out queries, None if it was not measured.
    """

    relations: tuple[RelationRules, ...]
    features: tuple[str, ...]
    weights: tuple[float, ...]
    ridge: float | None
    constants: bool
    backward: bool
    pool: int
    max_length: int
    calibration: Calibration
    linked: LinkedShares
    seed: int = 0
    chosen: Mapping[str, float | int | str | None] = field(default_factory=dict)

    @property
    def internal_validation(self) -> str | None:
        """The MRR of held-out queries and what it was measured on, None if it was not measured."""
        mrr, measured_on = self.chosen.get("held_out_mrr"), self.measured_on
        if measured_on is None or not isinstance(mrr, float | int):
            return None
        return f"MRR {mrr:.3f} on {measured_on}"

    @property
    def measured_on(self) -> str | None:
        """The facts that held-out queries are of, and what counts as wrong there."""
        return MEASURED_ON.get(str(self.chosen.get("held_out")))
