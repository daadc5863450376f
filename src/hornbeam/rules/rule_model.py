"""Weighted rules and what scoring needs to know besides them, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from hornbeam.language.naming import identifiers
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause
from hornbeam.rules.weighing import Counts, Weighing

if TYPE_CHECKING:
    from hornbeam.rules.candidates import Language


class Relaxation(StrEnum):
    """What values a target may take, and the power of the hinge."""

    BOOLEAN = "boolean"  #: y in {0, 1}
    LINEAR = "linear"  #: y in [0, 1], hinges of power 1
    SQUARED = "squared"  #: y in [0, 1], hinges of power 2 (written ^2)


@dataclass(frozen=True)
class Rule:
    """A clause with a weight of at least 0."""

    weight: float
    clause: Clause


@dataclass(frozen=True)
class Semantics:
    """What a model's scores depend on besides its rules; the first line of a model file.

    `distinct_variables` and `max_fanout` say how rules walk the graph, as in `Language`;
    `threshold` is the score from which a target is called true. With `cross_evidence` the true
    training pairs were evidence for one another, and known pairs should be facts when it scores.
    """

    counts: Counts = Counts.RAW
    relaxation: Relaxation = Relaxation.BOOLEAN
    collective: bool = False
    max_fanout: int | None = None
    distinct_variables: bool = False
    threshold: float = 0.5
    cross_evidence: bool = False


@dataclass(frozen=True)
class RuleModel:
    """Rules and their semantics."""

    rules: tuple[Rule, ...]
    semantics: Semantics = field(default_factory=Semantics)

    @property
    def targets(self) -> list[str]:
        """Target predicates."""
        return sorted({rule.clause.target for rule in self.rules})

    @property
    def language(self) -> Language:
        """How the rules walk the graph."""
        # it brings NumPy, and the help of commands needs only the choices above
        from hornbeam.rules.candidates import Language

        semantics = self.semantics
        return Language(
            distinct_variables=semantics.distinct_variables,
            max_fanout=semantics.max_fanout,
            shares=self.shares,
        )

    @property
    def bodies(self) -> list[Body]:
        """The distinct bodies that scoring counts, in the order of the rules; priors have none."""
        parts = (part for rule in self.rules for part in rule.clause.body.parts)
        return list(dict.fromkeys(part.body for part in parts))

    def counts_of(self, clause: Clause) -> Weighing:
        """How the groundings of a clause weigh."""
        return clause.weighing or Weighing(self.semantics.counts)

    @property
    def shares(self) -> bool:
        """Whether some rule asks for shares of paths, not for their number alone."""
        return any(
            self.counts_of(rule.clause).counts is Counts.SHARE
            or any(part.threshold and part.threshold.share for part in rule.clause.body.parts)
            for rule in self.rules
            if not rule.clause.is_prior
        )

    @property
    def identifiers(self) -> Mapping[str, str]:
        """PSL identifier of every predicate that the rules use."""
        names = set(self.targets)
        return identifiers(names.union(*(rule.clause.body.predicates for rule in self.rules)))

    @property
    def clause_texts(self) -> list[str]:
        """PSL text of every rule's clause, as it stands in the model file, without weight."""
        spelt, distinct = self.identifiers, self.semantics.distinct_variables
        return [rule.clause.text(spelt, distinct=distinct) for rule in self.rules]

    def with_rules(self, rules: Iterable[Rule]) -> Self:
        """Other rules under the same semantics."""
        return replace(self, rules=tuple(rules))

    def of_target(self, target: str) -> Self:
        """The rules of one target predicate."""
        return self.with_rules(rule for rule in self.rules if rule.clause.target == target)

    def _repr_html_(self) -> str:
        from hornbeam.rules.rule_words import rule_table

        return rule_table(self).html()
