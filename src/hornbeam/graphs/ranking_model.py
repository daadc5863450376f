"""The model of a whole graph as data: rules and ranking weights per relation and direction.

Path rules have their own hits and predictions, so that they apply to any facts with their
relations. Rules with constants, frequent answers and the ridge class are about single entities:
they are counted again from the facts that a model is used with. The best rules with constants are
listed for people to read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hornbeam.graphs.timed.time_scale import TimeScale
from hornbeam.language.rule_texts import identifiers
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.provenance import Provenance
from hornbeam.rules.rule_model import CountedRule, Rule

#: Difference between the fractions of linked pairs in train and valid above which to warn.
LINKED_APART = 0.15
#: What the MRR of held-out queries was measured on, by the facts that the queries come from.
MEASURED_ON = {
    "train": "hidden facts of train, where true answers that train lacks count as wrong (a "
    "filtered test usually shows more)",
    "later": "the latest fifth of the facts that weights were fitted to, where other answers of "
    "the same time do not count as wrong",
    "valid": "facts of valid, where true answers that train and valid lack count as wrong (a "
    "filtered test usually shows more)",
}


def path_clause(relation: str, direction: Direction, path: Sequence[Step]) -> Clause:
    """The clause of a path from the known argument of a relation to the answer."""
    body = Body(tuple(path), relation)
    return Clause(body if direction is Direction.OBJECT else body.mirror)


def constant_clause(
    relation: str, argument: int, step: Step, constant: str | None, other: str
) -> Clause:
    """The clause of a condition on one argument of a relation, whose other argument is an entity.

    The condition: `step` links the argument (0 for the subject) to `constant`, or to any entity.
    """
    kind = Kind.OPEN if constant is None else Kind.ANCHORED
    condition = Body((step,), relation, kind, argument, constant)
    entity = Body((), relation, Kind.ANCHORED, 1 - argument, other)
    return Clause(Conjunction((Part(condition), Part(entity))))


def path_of(rule: Rule, direction: Direction) -> tuple[Step, ...]:
    """The steps of a path rule from the known argument to the answer."""
    body = rule.clause.body
    assert isinstance(body, Body)
    return body.steps if direction is Direction.OBJECT else body.mirror.steps


def known_argument(direction: Direction) -> int:
    """The argument that queries give: 0 for the subject, 1 for the object."""
    return int(direction is Direction.SUBJECT)


def is_path_rule(rule: Rule) -> bool:
    """Whether a rule leads from the known argument to the answer, and names no entity."""
    return isinstance(rule.clause.body, Body)


@dataclass(frozen=True)
class RelationRules:
    """Rules and ranking weights of one relation in one direction.

    `weights` belong to the model's features; None means the weights of the whole graph.
    `constants` are the best rules with constants, for reading only. So are `parts`: how far every
    part of the score lifts right answers above other candidates, in log odds, the largest first.
    If the relation is `functional` in this direction, an entity has one answer at most
    (`hornbeam.graphs.functional`).
    """

    relation: str
    direction: Direction
    queries: int
    rules: tuple[CountedRule, ...] = ()
    constants: tuple[CountedRule, ...] = ()
    weights: tuple[float, ...] | None = None
    parts: tuple[tuple[str, float], ...] = ()
    functional: bool = False

    @property
    def rests_on(self) -> str:
        """The parts that lift right answers, with their shares, in words; empty if none does.

        Examples
        --------
        >>> parts = (("paths", 3.0), ("all rules", 1.0), ("how common the answer is", -0.5))
        >>> RelationRules("p", Direction.OBJECT, 9, parts=parts).rests_on
        'paths (75 %), all rules (25 %)'
        """
        lifts = [(name, lift) for name, lift in self.parts if lift > 0]
        total = sum(lift for _, lift in lifts)
        shares = [(name, round(100 * (lift / total))) for name, lift in lifts]
        return ", ".join(f"{name} ({share} %)" for name, share in shares if share)

    @property
    def all_rules(self) -> tuple[CountedRule, ...]:
        """Path rules, then rules with constants."""
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

    If the fractions differ, the split was made by looking at links. Then leaving out linked
    candidates would use knowledge of the split, not of the graph.
    """

    train: float
    valid: float | None = None

    @property
    def caution(self) -> str | None:
        """A warning if the fractions differ by more than `LINKED_APART`, else None."""
        if self.valid is None or abs(self.train - self.valid) <= LINKED_APART:
            return None
        return (
            f"{self.train:.0%} of the pairs of the facts have a further link, and {self.valid:.0%} "
            "of the held-out ones: the split was made by looking at links, and figures on it say "
            "less about new facts. Evaluate without linked candidates, too, to see how much."
        )


@dataclass(frozen=True)
class RankingModel:
    """A model that ranks the missing links of a graph; `hornbeam.GraphModel` adds users' methods.

    Attributes
    ----------
    relations
        Rules and weights, by relation and direction.
    features, weights
        The features that were chosen, and their weights for the whole graph.
    ridge
        The penalty of the ridge class, None if it is not used.
    constants, backward, slots
        Whether rules with constants, backward rules and slots are used.
    pool
        Maximum number of candidates per query.
    max_length
        Maximum length of the discovered paths.
    calibration
        The map from scores to probabilities.
    linked
        Fractions of linked pairs in train and valid.
    seed
        The seed of the random choices.
    chosen
        Other choices of learning, and the MRR of held-out queries, None if it was not measured.
    provenance
        Where the model comes from, None if nothing is known of it.
    time
        How time is measured if the facts have times, else None. Then rules have one atom in their
        body, and are counted by age (`hornbeam.graphs.timed`).
    """

    relations: tuple[RelationRules, ...]
    features: tuple[str, ...]
    weights: tuple[float, ...]
    ridge: float | None
    constants: bool
    backward: bool
    slots: bool
    pool: int
    max_length: int
    calibration: Calibration
    linked: LinkedShares
    seed: int = 0
    chosen: Mapping[str, float | int | str | None] = field(default_factory=dict)
    provenance: Provenance | None = field(default=None, compare=False, repr=False)
    time: TimeScale | None = None

    @property
    def targets(self) -> list[str]:
        """Relations that the model has rules for, in the order of their names."""
        return sorted({part.relation for part in self.relations})

    @cached_property
    def identifiers(self) -> Mapping[str, str]:
        """PSL identifier of every relation of the rules."""
        bodies = (rule.clause.body for part in self.relations for rule in part.all_rules)
        return identifiers(set(self.targets).union(*(body.predicates for body in bodies)))

    @property
    def cautions(self) -> list[str]:
        """Caveats that hold wherever the model is used."""
        return [self.linked.caution] if self.linked.caution else []

    @property
    def internal_validation(self) -> str | None:
        """The MRR of held-out queries and what it was measured on, None if it was not measured."""
        mrr, measured_on = self.chosen.get("held_out_mrr"), self.measured_on
        if measured_on is None or not isinstance(mrr, float | int):
            return None
        return f"MRR {mrr:.3f} on {measured_on}"

    @property
    def measured_on(self) -> str | None:
        """The facts that held-out queries come from, and which answers count as wrong there."""
        return MEASURED_ON.get(str(self.chosen.get("held_out")))
