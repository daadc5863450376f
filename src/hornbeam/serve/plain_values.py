"""Values of pages as plain values, for JSON: the same keys for every kind of model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hornbeam.explaining.known_scores import KnownScores
from hornbeam.ranking.named_queries import ASKED
from hornbeam.ranking.queries import Direction
from hornbeam.rules.rule_words import said
from hornbeam.scoring.evaluation import Evaluation
from hornbeam.serve.comparison import LinkComparison, ModelComparison, RulePair
from hornbeam.serve.shown_values import QueryAnswers, ShownLink


def plain_link(
    link: ShownLink, known: KnownScores | None = None, score_name: str = "score"
) -> dict[str, Any]:
    """A link with its score, also under the `score_name`, and what else is shown of it.

    A score that decides nothing has its place among the `known` ones.
    """
    plain: dict[str, Any] = {
        "subject": link.subject,
        "relation": link.predicate,
        "object": link.object,
        "score": link.score,
        score_name: link.score,
    }
    further = {"rank": link.rank, "label": link.label, "before": link.before}
    plain |= {key: value for key, value in further.items() if value is not None}
    if known is not None:
        plain["place"] = known.place(link.predicate, link.score).as_dict()
    return plain


def plain_query(asked: QueryAnswers, known: KnownScores | None, score_name: str) -> dict[str, Any]:
    """A query with its answers; the argument that it asks for is a question mark."""
    asks_object = asked.asks is Direction.OBJECT
    return {
        "subject": asked.known if asks_object else ASKED,
        "relation": asked.relation,
        "object": ASKED if asks_object else asked.known,
        "candidates": asked.candidates,
        "left_out": asked.left_out,
        "answers": [plain_link(answer, known, score_name) for answer in asked.answers],
    }


def plain_rule(row: Mapping[str, Any]) -> dict[str, Any]:
    """A rule with weights, as the page of rules shows it."""
    keys = ("number", "relation", "weight", "learned", "on", "edited", "prior", "negated")
    return {
        "rule": row["text"],
        "words": said(row["words"]),
        **{key: row[key] for key in keys},
    }


def plain_figures(figures: Evaluation | None) -> dict[str, Any] | None:
    """Figures on the labelled pairs; None without labels."""
    return None if figures is None else figures.as_dict()


def plain_comparison(comparison: ModelComparison, known: KnownScores | None) -> dict[str, Any]:
    """Two models: their figures, their rules, and the links on which they differ most."""

    def plain(pairs: Sequence[RulePair]) -> list[dict[str, Any]]:
        return [
            {"rule": pair.text, "words": said(pair.words), "weight": pair.weight,
             "other_weight": pair.other_weight}
            for pair in pairs
        ]  # fmt: skip

    return {
        "figures": plain_figures(comparison.figures_edited),
        "other_figures": plain_figures(comparison.figures_other),
        "shared": plain(comparison.shared),
        "only": plain(comparison.only_edited),
        "other_only": plain(comparison.only_other),
        "links": [plain_link(link, known) for link in comparison.links],
    }


def plain_compared_rules(compared: LinkComparison) -> list[dict[str, Any]]:
    """What every rule adds to two links, in log-odds or in how far it moves the score."""
    return [
        {
            "rule": rule.reason.rule,
            "words": said(rule.reason.words),
            "first": None if rule.first is None else rule.first.strength,
            "second": None if rule.second is None else rule.second.strength,
            "difference": rule.difference,
        }
        for rule in compared.rules
    ]


def entities_in(queries: Iterable[QueryAnswers]) -> list[str]:
    """Entities that queries and their answers name."""
    links = [answer for asked in queries for answer in asked.answers]
    return [name for link in links for name in (link.subject, link.object)]
