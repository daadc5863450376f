"""The card of a model: where it comes from, figures, its heaviest rules in words, what it needs.

Everything on it is in the model file; no facts are needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from hornbeam.base.texts import counted_list
from hornbeam.explaining.known_scores import cautions
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.rules.model_file import rules_fingerprint
from hornbeam.rules.provenance import DataSummary, Provenance
from hornbeam.rules.rule_model import BELIEVED, Rule, RuleModel
from hornbeam.rules.rule_words import Words, rule_words, said, with_shown_names

if TYPE_CHECKING:
    from hornbeam.graphs.ranking_model import RankingModel

#: Number of rules on a card.
HEAVIEST = 10
_UNKNOWN = (
    "The file does not say: the model was written by hand, or by a version up to 0.9, "
    "or its first line was removed."
)


@dataclass(frozen=True)
class WeighedRule:
    """A rule of a card: its weight (of a whole graph, its confidence), its text, and its words."""

    weight: float
    rule: str
    words: Words


@dataclass(frozen=True)
class ModelCard:
    """What a model file says about itself.

    Attributes
    ----------
    kind
        "rules" or "graph".
    targets
        Predicates that the model has rules for.
    n_rules
        Number of rules.
    provenance
        Where it comes from; None where the file does not say.
    edited
        Whether its rules are others than were learned.
    heaviest
        The priors of a rule model and its rules of largest weight; of a whole graph, the path rules
        of highest confidence.
    predicates, attributes
        Predicates of facts that bodies have, and attributes whose numbers they compare.
    needs
        Sentences about what predictions need.
    cautions
        Caveats that hold wherever the model is used.
    """

    kind: str
    targets: Sequence[str]
    n_rules: int
    provenance: Provenance | None
    edited: bool
    heaviest: Sequence[WeighedRule]
    predicates: Sequence[str]
    attributes: Sequence[str]
    needs: Sequence[str]
    cautions: Sequence[str]

    @property
    def origin(self) -> list[str]:
        """Sentences about where the model comes from, and the figure of its validation."""
        learned = self.provenance
        if learned is None:
            return [_UNKNOWN]
        sentences = [
            f"Learned by Hornbeam {learned.hornbeam}: method {learned.method}, seed "
            f"{learned.seed}, {_settings_text(learned.settings)}."
        ]
        if learned.facts is not None:
            sentences.append(f"Facts: {_summary_text(learned.facts)}.")
        if learned.labels is not None:
            what = "Labels" if learned.labels.true is not None else "Held-out facts"
            sentences.append(f"{what}: {_summary_text(learned.labels)}.")
        if learned.validation is not None:
            sentences.append(f"Internal validation: {learned.validation.sentence}.")
        else:
            sentences.append("No internal validation: its figures need labelled pairs of a test.")
        if self.edited:
            sentences.append("Its rules were edited after learning.")
        return sentences

    def as_dict(self) -> dict[str, Any]:
        """The card for JSON."""
        return {
            "kind": self.kind,
            "targets": list(self.targets),
            "rules": self.n_rules,
            "learned": None if self.provenance is None else self.provenance.as_dict(),
            "edited": self.edited,
            "heaviest": [
                {"weight": rule.weight, "rule": rule.rule, "words": said(rule.words)}
                for rule in self.heaviest
            ],
            "needs": {
                "predicates": list(self.predicates),
                "attributes": list(self.attributes),
                "sentences": list(self.needs),
            },
            "cautions": list(self.cautions),
        }

    @property
    def sections(self) -> dict[str, list[str]]:
        """Lines of text by their heading."""
        weight = "confidence" if self.kind == "graph" else "weight"
        return {
            "Where it comes from": self.origin,
            f"Heaviest rules, by {weight}": [
                f"{rule.weight:.3g}  {said(rule.words)}" for rule in self.heaviest
            ],
            "What it needs": [*self.needs, *self.cautions],
        }

    @property
    def title(self) -> str:
        """The kind of the model, its number of rules, and its targets."""
        of = "path rules for" if self.kind == "graph" else "rules for"
        return f"{self.n_rules:,} {of} {counted_list(self.targets, HEAVIEST)}"

    def __str__(self) -> str:
        parts = [self.title]
        for heading, lines in self.sections.items():
            parts += ["", heading, *(f"  {line}" for line in lines)]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [f"<b>{escape(self.title)}</b>"]
        for heading, lines in self.sections.items():
            listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
            parts.append(f"<p>{escape(heading)}</p><ul>{listed}</ul>")
        return "".join(parts)


def model_card(model: RuleModel | RankingModel, names: EntityNames = NO_NAMES) -> ModelCard:
    """The card of a model; relations and entities in words are shown by their names."""
    if isinstance(model, RuleModel):
        return _card_of_rules(model, names)
    return _card_of_graph(model, names)


def _card_of_rules(model: RuleModel, names: EntityNames) -> ModelCard:
    texts = dict(zip(model.rules, model.clause_texts, strict=True))
    order = sorted(model.rules, key=lambda rule: (not rule.clause.is_prior, -rule.weight))
    bodies = [rule.clause.body for rule in (*model.rules, *model.beliefs)]
    # beliefs are no facts: the model makes them
    predicates = {
        name for body in bodies for name in body.predicates if not name.startswith(BELIEVED)
    }
    attributes = set[str]().union(*(body.attributes for body in bodies))
    learned = model.provenance
    return ModelCard(
        "rules", model.targets, len(model.rules) + len(model.beliefs), learned,
        learned is not None and learned.rules != rules_fingerprint(model),
        [
            _weighed(rule, texts[rule], rule_words(rule.clause), names)
            for rule in order[:HEAVIEST]
        ],
        sorted(predicates), sorted(attributes),
        list(_needs(model, sorted(predicates), sorted(attributes))), cautions(model),
    )  # fmt: skip


def _needs(model: RuleModel, predicates: Sequence[str], attributes: Sequence[str]) -> list[str]:
    semantics = model.semantics
    has_priors_only = all(rule.clause.is_prior for rule in model.rules)
    about = "that mention the entities"
    if predicates:
        about = f"of {counted_list(predicates, 2 * HEAVIEST)}"
    needs = ["No facts: it has priors only." if has_priors_only else f"Facts {about}."]
    if attributes:
        needs.append(f"Numbers or dates of {counted_list(attributes, 2 * HEAVIEST)}.")
    if semantics.time is not None:
        needs.append(f"A time of every fact and pair, in {semantics.time.value}s.")
    if semantics.cross_evidence:
        needs.append("Known pairs of the target among the facts, as while it was learned.")
    if semantics.collective:
        needs.append("All pairs at once: it scores pairs together.")
    if semantics.max_fanout is not None:
        needs.append(f"It does not walk from hubs of more than {semantics.max_fanout:,} links.")
    return needs


def _card_of_graph(model: RankingModel, names: EntityNames) -> ModelCard:
    # imported late: the card of a rule model needs none of these modules
    from hornbeam.graphs.graph_text import graph_rule_words, rule_text, rules_fingerprint

    rows = [(part, rule) for part in model.relations for rule in part.rules]
    best = sorted(rows, key=lambda row: -row[1].confidence)[:HEAVIEST]
    bodies = [rule.clause.body for _, rule in rows]
    predicates = sorted(set[str]().union(*(body.predicates for body in bodies)))
    learned = model.provenance
    return ModelCard(
        "graph", model.targets, len(rows), learned,
        learned is not None and learned.rules != rules_fingerprint(model),
        [
            _weighed(
                rule,
                rule_text(rule.clause, part.direction, model.identifiers),
                graph_rule_words(rule.clause, part.direction),
                names,
            )
            for part, rule in best
        ],
        predicates, [],
        [
            f"Facts of {counted_list(predicates, 2 * HEAVIEST)}.",
            "Rules with constants are counted again from the facts that it is used with."
            if model.time is None
            else f"A time of every fact, in {model.time.unit.value}s.",
        ],
        model.cautions,
    )  # fmt: skip


def _weighed(rule: Rule, text: str, words: Words, names: EntityNames) -> WeighedRule:
    return WeighedRule(rule.weight, text, with_shown_names(words, names.shown))


def _settings_text(settings: Mapping[str, Any]) -> str:
    if not settings:
        return "default settings"
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in settings.items()
    )


def _summary_text(data: DataSummary) -> str:
    true = "" if data.true is None else f", {data.true:,} of them true"
    return f"{data.number:,}{true} (fingerprint {data.fingerprint})"
