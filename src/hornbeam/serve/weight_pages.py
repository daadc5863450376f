"""Pages that need weights: effects of edits, listed pairs, flips, two links or two models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from hornbeam.errors import InputError, UnknownNameError
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.reason import Fact, Reason
from hornbeam.reporting.model_diff import RulePair, paired_rules
from hornbeam.rules.rule_words import rule_words, said, with_plain_words
from hornbeam.scoring.evaluation import Evaluation
from hornbeam.serve.drawing import draw, draw_vertical
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.explorer import ModelExplorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.shown_values import ShownLink
from hornbeam.serve.visits import PageAnswer, Pin, View, Visit, triple_in, whole_number

#: Maximum numbers of items on a page.
LISTED = 50
REASONS = 40
STEPS = 12
CHANGED = 8
DIFFERENT = 25
STRONGEST = 8


@dataclass(frozen=True, eq=False)
class WeightPages:
    """Values about weights for the pages of every model, and the pages that need weights."""

    explorer: RuleExplorer

    # -- parts of pages that every model has ------------------------------------------------------

    def home_values(self, edits: Edits) -> dict[str, Any]:
        """The strongest rules, the priors, and the figures."""
        rows = [row for row in self.rule_rows(edits) if row["on"]]
        rows.sort(key=lambda row: -float(row["weight"]))
        return {
            "priors": [row for row in rows if row["prior"]],
            "strongest": [row for row in rows if not row["prior"]][:STRONGEST],
            "figures": self.explorer.figures(edits),
        }

    def link_values(self, explained: Explanation, edits: Edits) -> dict[str, Any]:
        """The label of a pair, its score without edits, its strongest rules, and drawings."""
        pair = (explained.subject, explained.predicate, explained.object)
        names = self.explorer.entity_names
        return {
            "before": self.explorer.score_before(*pair) if edits else explained.score,
            "label": self.explorer.label(*pair),
            "reasons": sorted(explained.reasons, key=lambda reason: not reason.is_prior)[:REASONS],
            "waterfall": explained.waterfall(STEPS),
            "drawing": draw(explained, names),
            "vertical": draw_vertical(explained, names),
            "inferred": self._inferred(explained),
        }

    def rules_values(self, relation: str, edits: Edits) -> dict[str, Any]:
        """All rules, or the rules of one relation, with the effects of edits."""
        rows = [row for row in self.rule_rows(edits) if relation in ("", row["relation"])]
        return {"rows": rows, **self.effects(edits)}

    def plain_rules(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of `rules_values` as plain values for JSON."""
        keys = ("number", "relation", "weight", "learned", "on", "edited", "prior", "negated")
        return {
            "rules": [
                {"rule": row["text"], "words": said(row["words"])} | {key: row[key] for key in keys}
                for row in values["rows"]
            ],
            "figures": values["figures"] and values["figures"].as_dict(),
            "changed": [link.as_dict() for link in values["changed"]],
        }

    # -- pages ------------------------------------------------------------------------------------

    def flip(self, visit: Visit) -> View:
        """The facts that would flip the decision on a pair."""
        link = link_in(visit, self.explorer)
        explained = self.explorer.explain(*link.triple, visit.edits, flip=True)
        values = {"link": link, "explained": explained}
        template = "_flip.html" if visit.is_htmx else "flip.html"
        return View(template, values, lambda: explained.as_dict() | {"relation": link.predicate})

    def pairs(self, visit: Visit) -> View:
        """The listed pairs, by score or by error."""
        order = "error" if visit.query.get("order") == "error" else "score"
        page = max(whole_number(visit.query.get("page", "1"), 1), 1)
        links, total = self.explorer.listed_page(visit.edits, order, (page - 1) * LISTED, LISTED)
        place = {
            "order": order,
            "page": page,
            "pages": max((total + LISTED - 1) // LISTED, 1),
            "total": total,
        }

        def plain() -> dict[str, Any]:
            return {**place, "links": [link.as_dict() for link in links]}

        return View("pairs.html", {**place, "links": links}, plain)

    def compare(self, visit: Visit) -> View:
        """The edited model compared with the second model."""
        explorer, other = self.explorer, self.explorer.other
        if other is None:
            raise UnknownNameError(
                "There is no second model: start the explorer with one to see two."
            )
        comparison = compared_models(explorer, other, visit.edits, DIFFERENT)

        def plain() -> dict[str, Any]:
            return {"model": explorer.name, "other": other.name, **comparison.as_dict()}

        return View("compare.html", {"comparison": comparison}, plain)

    def download(self, visit: Visit) -> PageAnswer:
        """The file of the edited model."""
        return PageAnswer(
            self.explorer.edited_text(visit.edits),
            media_type="text/plain",
            headers={"content-disposition": 'attachment; filename="edited.psl"'},
        )

    # -- rules ------------------------------------------------------------------------------------

    def rule_rows(self, edits: Edits) -> list[dict[str, Any]]:
        """All rules with their edits, as rows of a table."""
        return [self.rule_row(i, edits) for i in range(len(self.explorer.model.rules))]

    def rule_row(self, i: int, edits: Edits) -> dict[str, Any]:
        """A rule with its edits, as a row of a table."""
        rule = self.explorer.model.rules[i]
        return {
            "number": i,
            "relation": rule.clause.target,
            "text": self.explorer.model.clause_texts[i],
            "words": rule_words(rule.clause),
            "negated": rule.clause.negated,
            "prior": rule.clause.is_prior,
            "weight": edits.weights.get(i, rule.weight),
            "learned": rule.weight,
            "on": i not in edits.off,
            "edited": i in edits.rules,
            "missing": i in self._missing,
            "largest": self._largest_weight,
        }

    @cached_property
    def _largest_weight(self) -> float:
        """Upper end of the sliders for weights."""
        largest = max((rule.weight for rule in self.explorer.model.rules), default=1.0)
        return max(2 * largest, 1.0)

    @cached_property
    def _missing(self) -> frozenset[int]:
        """Numbers of rules that have no grounding: the facts lack a predicate or constant."""
        return frozenset(filter(self.explorer.lacks, range(len(self.explorer.model.rules))))

    def effects(self, edits: Edits) -> dict[str, Any]:
        """The effects of edits on the figures and the listed pairs."""
        return {
            "figures": self.explorer.figures(edits),
            "figures_before": self.explorer.figures(NO_EDITS),
            "changed": self.explorer.changed(edits, CHANGED) if edits else [],
        }

    def _inferred(self, explained: Explanation) -> frozenset[Fact]:
        """Facts in the paths that are inferred pairs of a collective model, not observed facts."""
        if not self.explorer.collective:
            return frozenset()
        paths = (path for reason in explained.reasons for path in reason.groundings)
        steps = {fact for path in paths for fact in path.facts}
        return frozenset(
            step
            for step in steps
            if step.object and not self.explorer.is_fact(step.subject, step.predicate, step.object)
        )


def link_in(visit: Visit, explorer: ModelExplorer, which: str = "") -> Pin:
    """The link of a visit, whose relation must have rules."""
    subject, relation, object_ = triple_in(visit, which)
    relation = relation and explorer.relation_summary(relation).relation
    if relation in explorer.unary:
        object_ = object_ or subject
        if object_ != subject:
            raise InputError(f"“{relation[:100]}” is about one entity, and two were given.")
    if not (subject and relation and object_):
        raise InputError("A link needs a subject, a relation and an object.")
    return Pin(subject, relation, object_)


@dataclass(frozen=True)
class ComparedRule:
    """A rule with its reasons for two links; None for a link without a grounding of the rule."""

    first: Reason | None
    second: Reason | None

    @property
    def reason(self) -> Reason:
        """The reason for the first link, or else for the second."""
        reason = self.first or self.second
        assert reason is not None
        return reason

    @property
    def difference(self) -> float:
        """How much larger the rule's effect on the first link is than on the second."""
        return (self.first.strength if self.first else 0.0) - (
            self.second.strength if self.second else 0.0
        )

    def as_dict(self) -> dict[str, Any]:
        """The rule's effects on both links for JSON, in log-odds or as changes of the score."""
        first, second = (reason and reason.strength for reason in (self.first, self.second))
        return {
            "rule": self.reason.rule,
            "words": said(self.reason.words),
            "first": first,
            "second": second,
            "difference": self.difference,
        }


def compared_rules(first: Explanation, second: Explanation) -> list[ComparedRule]:
    """The rules of two links: priors first, then the rules with the largest differences."""
    left, right = ({reason.index: reason for reason in link.reasons} for link in (first, second))
    rules = [ComparedRule(left.get(k), right.get(k)) for k in dict.fromkeys([*left, *right])]
    return sorted(rules, key=lambda rule: (not rule.reason.is_prior, -abs(rule.difference)))


@dataclass(frozen=True)
class ModelComparison:
    """The edited model compared with another model.

    `only_edited`, `only_other` and `shared` begin with the largest weights or differences. `links`
    are the listed pairs whose scores differ most, each with the other model's score as `before`.
    """

    only_edited: Sequence[RulePair]
    only_other: Sequence[RulePair]
    shared: Sequence[RulePair]
    figures_edited: Evaluation | None
    figures_other: Evaluation | None
    links: Sequence[ShownLink]

    def as_dict(self) -> dict[str, Any]:
        """The comparison for JSON."""

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


def compared_models(
    explorer: RuleExplorer, other: RuleExplorer, edits: Edits, top: int
) -> ModelComparison:
    """Compare the edited model with the other model."""
    edited = explorer.model.with_rules(edits.kept(explorer.model.rules))
    rules = paired_rules(edited, other.model)
    return ModelComparison(
        [pair for pair in rules if pair.other_weight is None],
        [pair for pair in rules if pair.weight is None],
        [pair for pair in rules if pair.weight is not None and pair.other_weight is not None],
        explorer.figures(edits),
        other.figures(NO_EDITS),
        explorer.furthest(edits, other, top),
    )
