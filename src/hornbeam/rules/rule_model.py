"""Weighted rules and their semantics, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from hornbeam.base.choices import CollectiveMethod, Relaxation, Sampling
from hornbeam.base.dates import TimeUnit
from hornbeam.language.rule_texts import identifiers
from hornbeam.language.syntax import CountedBracket
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause
from hornbeam.rules.provenance import Provenance
from hornbeam.rules.weighing import Counts, Weighing

if TYPE_CHECKING:
    from hornbeam.rules.candidates import RuleLimits


#: Begins the name of a predicate of beliefs.
BELIEVED = "believed_"
#: Smoothing constant added to predictions, which lowers confidences with little support.
SMOOTHING = 5.0


def believed(target: str) -> str:
    """Name of the predicate of beliefs in a target.

    Beliefs are the scores of the first step of a two-step collective model. Rules of its second
    step have `believed_t` in bodies; its atoms are the pairs that are scored together, with the
    scores of the first step as truth values:

        0.5: cites(A, B) & believed_mentions(B, C) -> mentions(A, C)
        0.9: believed_mentions(A, C) -> !mentions(A, B)

    The second is about *rivals*: other pairs of the same subject. The first step's rules have
    `believed_t` for their head.

    Examples
    --------
    >>> believed("mentions")
    'believed_mentions'
    """
    return BELIEVED + target


def mentions_beliefs(body: Body) -> bool:
    """Whether a body has a predicate of beliefs, by its name."""
    return any(name.startswith(BELIEVED) for name in body.predicates)


@dataclass(frozen=True)
class Rule:
    """A clause with a weight of at least 0."""

    weight: float
    clause: Clause


@dataclass(frozen=True)
class CountedRule(Rule):
    """A rule of a whole graph: its weight is its confidence, hits / (predicted + 5).

    It proposed `predicted` answers of training queries that were not known otherwise, and `hits` of
    them were right. `own_weight` is what the ranking adds where the rule fires.
    """

    hits: int = 0
    predicted: int = 0
    own_weight: float = 0.0

    @classmethod
    def of(cls, clause: Clause, hits: int, predicted: int, own_weight: float = 0.0) -> CountedRule:
        """The rule of a clause with what was counted of it."""
        return cls(hits / (predicted + SMOOTHING), clause, hits, predicted, own_weight)

    @property
    def confidence(self) -> float:
        """Hits / (predicted + 5), the weight."""
        return self.weight

    @property
    def bracket(self) -> CountedBracket:
        """What was counted, as it stands after the rule's text."""
        return CountedBracket(self.hits, self.predicted, self.own_weight)


@dataclass(frozen=True)
class PairDensity:
    """How densely the pairs scored together share entities; rules about other pairs depend on it.

    Mean pairs per subject and per object, and the share of pairs that have neither end in common
    with another.
    """

    per_subject: float
    per_object: float
    alone: float


@dataclass(frozen=True)
class Semantics:
    """What a model's scores depend on in addition to its rules; the first line of a model file.

    `distinct_variables` and `max_fanout` limit how rules walk the graph, as in `RuleLimits`;
    `threshold` is the score from which a target is called true. With `cross_evidence` the true
    training pairs were evidence for one another, and known pairs should be facts when it scores. A
    `collective` model scores pairs together, by that method; one of two steps has the density of
    its training pairs, `asked`. `sampled_negatives` is how false training pairs were sampled, None
    where all labels were given. A model over facts with a `time` scores pairs with a time of that
    unit, each by the facts before it.
    """

    counts: Counts = Counts.RAW
    relaxation: Relaxation = Relaxation.BOOLEAN
    collective: CollectiveMethod | None = None
    max_fanout: int | None = None
    distinct_variables: bool = False
    threshold: float = 0.5
    cross_evidence: bool = False
    asked: PairDensity | None = None
    sampled_negatives: Sampling | None = None
    time: TimeUnit | None = None

    @property
    def decides(self) -> bool:
        """Whether a pair is called true or false by its score.

        Not where negatives were sampled: their number, which nobody observed, moves every score
        across the threshold. Such a score has a place among those of known links instead.
        """
        return self.sampled_negatives is None

    @property
    def recursive(self) -> bool:
        """Whether its rules have the targets themselves in their bodies."""
        return self.collective is not None and not self.two_steps

    @property
    def two_steps(self) -> bool:
        """Whether its rules have beliefs of a first step in their bodies."""
        return self.collective is CollectiveMethod.TWO_STEP


@dataclass(frozen=True)
class RuleModel:
    """Rules and their semantics.

    `beliefs` are the rules of the first step of a collective model of two: a plain model of the
    same targets. `provenance` says where the rules come from, None where nothing is known of it.
    """

    rules: tuple[Rule, ...]
    semantics: Semantics = field(default_factory=Semantics)
    beliefs: tuple[Rule, ...] = ()
    provenance: Provenance | None = field(default=None, compare=False, repr=False)

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What was computed from the rules alone, by its name; it lives as long as the model."""
        return {}

    @property
    def first_step(self) -> RuleModel:
        """The plain model whose scores are the beliefs."""
        plain = replace(self.semantics, collective=None, asked=None)
        return RuleModel(self.beliefs, plain)

    @cached_property
    def targets(self) -> list[str]:
        """Target predicates."""
        return sorted({rule.clause.target for rule in self.rules})

    @cached_property
    def target_arities(self) -> dict[str, int]:
        """Target predicates with the number of their arguments."""
        heads = {rule.clause.target: rule.clause.body.head_arity for rule in self.rules}
        return dict(sorted(heads.items()))

    @property
    def symmetric(self) -> bool:
        """Whether every rule has its mirror image among the rules, with the same weight.

        This holds for a symmetric target: t(a, b) implies t(b, a). A target on one entity is none.
        """
        if 1 in self.target_arities.values():
            return False
        mirrored = (Rule(rule.weight, rule.clause.mirror) for rule in self.rules)
        return len(self.targets) == 1 and set(self.rules).issuperset(mirrored)

    @cached_property
    def language(self) -> RuleLimits:
        """How the rules walk the graph."""
        # imported late: it needs NumPy, and the help of commands only the enumerations above
        from hornbeam.rules.candidates import RuleLimits

        semantics = self.semantics
        return RuleLimits(
            distinct_variables=semantics.distinct_variables,
            max_fanout=semantics.max_fanout,
            shares=self.shares,
        )

    @cached_property
    def bodies(self) -> Sequence[Body]:
        """The distinct bodies that scoring counts, in the order of the rules; priors have none."""
        parts = (part for rule in self.rules for part in rule.clause.body.parts)
        return list(dict.fromkeys(part.body for part in parts))

    def counts_of(self, clause: Clause) -> Weighing:
        """How the groundings of a clause weigh."""
        return clause.weighing or self._weighing

    @cached_property
    def _weighing(self) -> Weighing:
        """How groundings weigh where a clause has no weighing."""
        return Weighing(self.semantics.counts)

    @cached_property
    def shares(self) -> bool:
        """Whether some rule needs shares of paths or sums of values, not only their number."""
        return any(
            self.counts_of(rule.clause).counts in (Counts.SHARE, Counts.Z)
            or any(part.threshold and part.threshold.share for part in rule.clause.body.parts)
            for rule in self.rules
            if not rule.clause.is_prior
        )

    @cached_property
    def identifiers(self) -> Mapping[str, str]:
        """PSL identifier of every predicate that the rules use."""
        names = {*self.targets, *self.believed}
        rules = (*self.rules, *self.beliefs)
        bodies = [rule.clause.body for rule in rules]
        return identifiers(names.union(*(body.predicates | body.attributes for body in bodies)))

    def clause_text(self, clause: Clause) -> str:
        """PSL text of a rule's clause, as in the model file, without weight."""
        return clause.text(self.identifiers, distinct=self.semantics.distinct_variables)

    @cached_property
    def clause_texts(self) -> Sequence[str]:
        """PSL text of every rule's clause."""
        return [self.clause_text(rule.clause) for rule in self.rules]

    @property
    def believed(self) -> list[str]:
        """Predicates of beliefs."""
        return sorted({believed(rule.clause.target) for rule in self.beliefs})

    @property
    def belief_texts(self) -> list[str]:
        """PSL text of the first step's clauses, whose heads are beliefs."""
        clauses = (rule.clause.with_target(believed(rule.clause.target)) for rule in self.beliefs)
        return [self.clause_text(clause) for clause in clauses]

    def with_rules(self, rules: Iterable[Rule]) -> Self:
        """Other rules under the same semantics."""
        return replace(self, rules=tuple(rules))

    def of_target(self, target: str) -> Self:
        """The rules of one target predicate."""
        rules = [rule for rule in self.rules if rule.clause.target == target]
        # the model itself has kept its bodies and texts
        return self if len(rules) == len(self.rules) else self.with_rules(rules)
