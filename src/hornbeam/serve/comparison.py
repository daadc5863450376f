"""Side by side: two links with the effect of every rule on either, and two models with theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.reason import Reason
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.rule_words import Words, rule_words, said, with_plain_words
from hornbeam.scoring.evaluation import Evaluation
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.shown_values import ShownLink


@dataclass(frozen=True)
class ComparedRule:
    """A rule and its reason on either link, None where it has no grounding."""

    first: Reason | None
    second: Reason | None

    @property
    def reason(self) -> Reason:
        """The first reason of the two that exists."""
        reason = self.first or self.second
        assert reason is not None
        return reason

    @property
    def difference(self) -> float:
        """How much larger its effect on the first link is."""
        return (self.first.strength if self.first else 0.0) - (
            self.second.strength if self.second else 0.0
        )

    def as_dict(self) -> dict[str, Any]:
        """Its effect on either link, in log-odds or in how far it moves the score, for JSON."""
        first, second = (reason and reason.strength for reason in (self.first, self.second))
        return {
            "rule": self.reason.rule,
            "words": said(self.reason.words),
            "first": first,
            "second": second,
            "difference": self.difference,
        }


def compared_rules(first: Explanation, second: Explanation) -> list[ComparedRule]:
    """The rules of two links, those with the larger differences first, priors before all."""
    left, right = ({reason.index: reason for reason in link.reasons} for link in (first, second))
    rules = [ComparedRule(left.get(k), right.get(k)) for k in dict.fromkeys([*left, *right])]
    return sorted(rules, key=lambda rule: (not rule.reason.is_prior, -abs(rule.difference)))


@dataclass(frozen=True)
class RulePair:
    """A clause and its weight in either model, None where a model does not have it."""

    rule: str
    words: Words
    weight: float | None
    other_weight: float | None

    @property
    def difference(self) -> float:
        """Difference of the weights; a missing rule has weight 0."""
        return (self.weight or 0.0) - (self.other_weight or 0.0)


@dataclass(frozen=True)
class ModelComparison:
    """The edited model compared with another.

    `only_edited`, `only_other` and `shared` have the larger weights and differences first; `links`
    are the listed pairs whose scores differ most, each with the other model's score as `before`.
    """

    only_edited: Sequence[RulePair]
    only_other: Sequence[RulePair]
    shared: Sequence[RulePair]
    figures_edited: Evaluation | None
    figures_other: Evaluation | None
    links: Sequence[ShownLink]

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""

        def plain(pairs: Sequence[RulePair]) -> list[dict[str, Any]]:
            return [asdict(pair, dict_factory=with_plain_words) for pair in pairs]

        return {
            "figures": self.figures_edited and self.figures_edited.as_dict(),
            "other_figures": self.figures_other and self.figures_other.as_dict(),
            "shared": plain(self.shared),
            "only": plain(self.only_edited),
            "other_only": plain(self.only_other),
            "links": [link.as_dict() for link in self.links],
        }


def compare(explorer: RuleExplorer, other: RuleExplorer, edits: Edits, top: int) -> ModelComparison:
    """Compare the model as it is edited with the other one."""
    rules = paired_rules(edits.kept(explorer.model.rules), other.model.rules)
    return ModelComparison(
        [pair for pair in rules if pair.other_weight is None],
        [pair for pair in rules if pair.weight is None],
        [pair for pair in rules if pair.weight is not None and pair.other_weight is not None],
        explorer.figures(edits),
        other.figures(NO_EDITS),
        explorer.furthest(edits, other, top),
    )


def paired_rules(edited: Sequence[Rule], other: Sequence[Rule]) -> list[RulePair]:
    """Every clause of either model once, those whose weights differ most first."""
    weights, other_weights = _weights(edited), _weights(other)
    clauses = list(dict.fromkeys([*weights, *other_weights]))
    texts = RuleModel(tuple(Rule(0.0, clause) for clause in clauses)).clause_texts
    pairs = [
        RulePair(text, rule_words(clause), weights.get(clause), other_weights.get(clause))
        for clause, text in zip(clauses, texts, strict=True)
    ]
    return sorted(pairs, key=lambda pair: (-abs(pair.difference), pair.rule))


def _weights(rules: Sequence[Rule]) -> Mapping[Clause, float]:
    """Weight of every clause; the weights of a repeated clause are added up."""
    weights: dict[Clause, float] = {}
    for rule in rules:
        weights[rule.clause] = weights.get(rule.clause, 0.0) + rule.weight
    return weights
