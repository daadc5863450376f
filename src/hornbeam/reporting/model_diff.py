"""Two models compared: rules that are gone, new or changed, and how both do on labelled pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.files import fingerprint
from hornbeam.base.result_table import ResultTable
from hornbeam.errors import InputError
from hornbeam.facts.table import Targets
from hornbeam.rules.rule_model import Rule, RuleModel, believed
from hornbeam.rules.rule_words import Words, rule_words, said
from hornbeam.scoring.evaluation import Evaluation, evaluate

if TYPE_CHECKING:
    from hornbeam.graphs.ranking_model import RankingModel

#: The probability from which a link is called true by a model of a whole graph.
EVEN = 0.5


@dataclass(frozen=True)
class RulePair:
    """A rule and its weights in two models; None for a model without the rule.

    The weight of a rule of a whole graph is its confidence.
    """

    rule: str
    words: Words
    weight: float | None
    other_weight: float | None

    @property
    def difference(self) -> float:
        """Difference of the weights; a missing rule has weight 0."""
        return (self.weight or 0.0) - (self.other_weight or 0.0)


@dataclass(frozen=True, repr=False)
class ModelDiff:
    """How a new model differs from an old one.

    Rules begin with those whose weights differ most, `weight` being the new and `other_weight` the
    old one. `sides` are the labelled pairs that one model calls true and the other false, each with
    its label and both scores. Figures and sides are None without labels.
    """

    gone: Sequence[RulePair]
    new: Sequence[RulePair]
    changed: Sequence[RulePair]
    same: int  #: number of rules that are in both models, with the same weight
    settings: Mapping[str, tuple[Any, Any]]  #: old and new value of what differs but for rules
    old_figures: Evaluation | None = None
    new_figures: Evaluation | None = None
    sides: ResultTable | None = None

    def to_table(self) -> ResultTable:
        """The rules that differ: change, rule, words, old and new weight."""
        kinds = {"gone": self.gone, "new": self.new, "changed": self.changed}
        rows = [(change, pair) for change, pairs in kinds.items() for pair in pairs]
        return ResultTable(
            {
                "change": [change for change, _ in rows],
                "rule": [pair.rule for _, pair in rows],
                "words": [said(pair.words) for _, pair in rows],
                "old_weight": [pair.other_weight for _, pair in rows],
                "new_weight": [pair.weight for _, pair in rows],
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """The comparison for JSON."""
        return {
            "rules": self.to_table().dicts(),
            "same": self.same,
            "settings": {name: {"old": a, "new": b} for name, (a, b) in self.settings.items()},
            "old_figures": self.old_figures and self.old_figures.as_dict(),
            "new_figures": self.new_figures and self.new_figures.as_dict(),
            "sides": None if self.sides is None else self.sides.dicts(),
        }

    def __repr__(self) -> str:
        return (
            f"ModelDiff({len(self.gone):,} rules gone, {len(self.new):,} new, "
            f"{len(self.changed):,} changed, {self.same:,} the same)"
        )


def model_diff(
    old: RuleModel | RankingModel,
    new: RuleModel | RankingModel,
    labels: Targets | None = None,
    scores: tuple[Floats, Floats] | None = None,
) -> ModelDiff:
    """Compare two models of one kind; the scores are those of labelled pairs by the old and new."""
    if isinstance(old, RuleModel) != isinstance(new, RuleModel):
        raise InputError("one is a rule model, the other of a whole graph; expected one kind")
    pairs = paired_rules(new, old)
    both = [pair for pair in pairs if None not in (pair.weight, pair.other_weight)]
    changed = [pair for pair in both if pair.difference]
    settings = dict(_settings(old, new))
    judged: dict[str, Any] = {}
    if labels is not None and scores is not None:
        called = [
            score >= (model.semantics.threshold if isinstance(model, RuleModel) else EVEN)
            for model, score in zip((old, new), scores, strict=True)
        ]
        rows = np.flatnonzero(called[0] != called[1])
        # the pairs whose scores differ most come first
        rows = rows[np.argsort(-np.abs(scores[1] - scores[0])[rows], kind="stable")]
        links = labels.select(rows).to_table().columns
        judged = {
            "old_figures": evaluate(labels.truth, scores[0]),
            "new_figures": evaluate(labels.truth, scores[1]),
            "sides": ResultTable(
                {**links, "old_score": scores[0][rows], "new_score": scores[1][rows]}
            ),
        }
    return ModelDiff(
        [pair for pair in pairs if pair.weight is None],
        [pair for pair in pairs if pair.other_weight is None],
        changed,
        len(both) - len(changed),
        settings,
        **judged,
    )


def paired_rules(
    model: RuleModel | RankingModel, other: RuleModel | RankingModel
) -> list[RulePair]:
    """Every rule of either model once; rules whose weights differ most come first.

    The weights of a rule that a model has twice are added up.
    """
    shown = dict[object, tuple[str, Words]]()
    weights: tuple[dict[object, float], ...] = {}, {}
    for listed, weight_of in zip((model, other), weights, strict=True):
        for key, text, words, rule in _listed(listed):
            shown.setdefault(key, (text, words))
            weight_of[key] = weight_of.get(key, 0.0) + rule.weight
    pairs = [RulePair(*shown[key], *(weight.get(key) for weight in weights)) for key in shown]
    return sorted(pairs, key=lambda pair: (-abs(pair.difference), pair.rule))


def _listed(model: RuleModel | RankingModel) -> Iterator[tuple[object, str, Words, Rule]]:
    """What a rule is known by in both models, its text, its words, and the rule itself."""
    if isinstance(model, RuleModel):
        for rule, text in zip(model.rules, model.clause_texts, strict=True):
            yield rule.clause, text, rule_words(rule.clause), rule
        for rule, text in zip(model.beliefs, model.belief_texts, strict=True):
            clause = rule.clause.with_target(believed(rule.clause.target))
            yield clause, text, rule_words(clause), rule
        return
    # imported late: rule models need none of these modules
    from hornbeam.graphs.graph_text import graph_rule_words, rule_text

    for part in model.relations:
        for rule in part.all_rules:
            text = rule_text(rule.clause, part.direction, model.identifiers)
            words = graph_rule_words(rule.clause, part.direction)
            yield (part.direction, rule.clause), text, words, rule


def _settings(
    old: RuleModel | RankingModel, new: RuleModel | RankingModel
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Old and new value of every setting that differs."""
    first, second = (_values(model) for model in (old, new))
    for name in first | second:
        if first.get(name) != second.get(name):
            yield name, (first.get(name), second.get(name))


def _values(model: RuleModel | RankingModel) -> dict[str, Any]:
    """Plain values by name of all that a model has but for its rules."""
    if isinstance(model, RuleModel):
        return asdict(model.semantics) | _origin(model)
    kept = (field.name for field in fields(model) if field.name not in ("relations", "provenance"))
    ranking = [(part.weights, [rule.own_weight for rule in part.rules]) for part in model.relations]
    own = {name: getattr(model, name) for name in kept}
    return {
        **{name: list(value) if isinstance(value, tuple) else value for name, value in own.items()},
        "calibration": asdict(model.calibration),
        "linked": asdict(model.linked),
        "chosen": dict(model.chosen),
        "ranking weights of relations": fingerprint(repr(ranking)),
        **_origin(model),
    }


def _origin(model: RuleModel | RankingModel) -> dict[str, Any]:
    """Where a model comes from, by name; the rules themselves are compared one by one."""
    if model.provenance is None:
        return {}
    written = model.provenance.as_dict()
    return {f"learned {name}": value for name, value in written.items() if name != "rules"}
