"""Two models side by side: which rules they share, and on which pairs they differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbeam.reporting.evaluation import Evaluation
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.rule_words import Words, rule_words
from hornbeam.serve.edits import Edits
from hornbeam.serve.links import ShownLink
from hornbeam.serve.rule_explorer import RuleExplorer


@dataclass(frozen=True)
class RulePair:
    """A clause and its weight in either model, None where a model does not have it."""

    text: str
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


def compare(explorer: RuleExplorer, edits: Edits, top: int) -> ModelComparison:
    """Compare the model as it is edited with the other one."""
    assert explorer.other is not None
    rules = paired_rules(edits.kept(explorer.model.rules), explorer.other.model.rules)
    return ModelComparison(
        [pair for pair in rules if pair.other_weight is None],
        [pair for pair in rules if pair.weight is None],
        [pair for pair in rules if pair.weight is not None and pair.other_weight is not None],
        explorer.figures(edits),
        explorer.other_figures,
        explorer.furthest(explorer.scores(edits), explorer.other.unedited, top),
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
    return sorted(pairs, key=lambda pair: (-abs(pair.difference), pair.text))


def _weights(rules: Sequence[Rule]) -> Mapping[Clause, float]:
    """Weight of every clause; the weights of a repeated clause are added up."""
    weights: dict[Clause, float] = {}
    for rule in rules:
        weights[rule.clause] = weights.get(rule.clause, 0.0) + rule.weight
    return weights
