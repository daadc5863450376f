"""The pages of the explorer: functions from a visit to a view, independent of the server.

A view is a template with values, and plain values for programs. An address answers in HTML, and
with the suffix `.json` in JSON, which has both ids and names of entities. The pages are the same
for every kind of model; pages that need rules with weights are in `hornbeam.serve.weight_pages`.
Every page works without JavaScript. With JavaScript, htmx requests the same addresses and gets the
parts that change. `hornbeam.serve.site` lists all addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from hornbeam.errors import InputError, UnknownNameError
from hornbeam.explaining.explanation import Explanation
from hornbeam.ranking.queries import Direction
from hornbeam.rules.rule_words import with_plain_words
from hornbeam.serve.explorer import Explorer, ModelExplorer
from hornbeam.serve.filters import link_url
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.shown_values import (
    EdgeGroup,
    QueryAnswers,
    edge_groups,
    number_texts,
    other_groups,
)
from hornbeam.serve.unfolded_drawing import draw_columns, draw_outline
from hornbeam.serve.unfolding import Unfolding, unfold
from hornbeam.serve.visits import (
    LONGEST_QUERY,
    PageAnswer,
    Pin,
    View,
    Visit,
    asked_page,
    triple_in,
)
from hornbeam.serve.weight_pages import WeightPages, compared_rules, link_in

#: Maximum numbers of items on a page.
FOUND = 20
LISTED = 20
RELATIONS = 50
ANSWERS = 50
#: Number of queries that are answered on an entity's page; further queries are only named.
QUERIES = 12


def search_view(explorer: Explorer, visit: Visit) -> View:
    """Entities that match the typed text."""
    typed = visit.query.get("q", "")[:LONGEST_QUERY]
    entities = explorer.search.find(typed, FOUND + 1)
    values = {"typed": typed, "found": entities[:FOUND], "more": len(entities) > FOUND}

    def plain() -> dict[str, Any]:
        return {**values, "names": explorer.entity_names.described(entities[:FOUND])}

    return View("_found.html" if visit.is_htmx else "search.html", values, plain)


@dataclass(frozen=True, eq=False)
class Pages:
    """The pages of an explorer."""

    explorer: ModelExplorer

    @cached_property
    def weighted(self) -> WeightPages | None:
        """Pages that need rules with weights; None for a model of a whole graph."""
        return WeightPages(self.explorer) if isinstance(self.explorer, RuleExplorer) else None

    # -- views ------------------------------------------------------------------------------------

    def home(self, visit: Visit) -> View:
        """The start page: search, a query, and the rules or the relations with rules."""
        explorer = self.explorer
        values: dict[str, Any] = self._relation_page(visit)
        if self.weighted is not None:
            values |= self.weighted.home_values(visit.edits)

        def plain() -> dict[str, Any]:
            return {
                "model": explorer.name,
                "editable": self.weighted is not None,
                "facts": len(explorer.facts),
                "entities": len(explorer.facts.entities),
                "relations": self._plain_relations(),
                "cautions": list(explorer.cautions),
                "examples": list(explorer.examples),
                "figures": values.get("figures") and values["figures"].as_dict(),
            }

        return View("home.html", values, plain)

    def entity(self, visit: Visit) -> View:
        """One entity: its best new links, its listed pairs, its facts."""
        explorer, name = self.explorer, visit.query.get("name", "")
        entity = explorer.facts.entities.index(name)
        listed, n_listed = explorer.listed(name, visit.edits, LISTED)
        if entity < 0 and not n_listed:
            raise UnknownNameError(f"No fact and no listed pair names “{name[:100]}”.")
        queries = explorer.missing(name, visit.edits) if entity >= 0 else []
        missing, others = queries[:QUERIES], queries[QUERIES:]
        known = self._edge_groups(entity) if entity >= 0 else []
        stated = other_groups(explorer.facts, entity) if entity >= 0 else []
        numbers = number_texts(explorer.facts, entity) if entity >= 0 else {}

        def plain() -> dict[str, Any]:
            named = [
                name,
                *(entity for query in missing for entity in query.asked.entities),
                *(end for link in listed for end in (link.subject, link.object)),
                *(end for group in known for end in group.first),
            ]
            return {
                "entity": name,
                "missing": [
                    {**query.asked.as_dict(explorer.score_name), "expected": query.expected}
                    for query in missing
                ],
                "listed": [link.as_dict() for link in listed],
                "known": [asdict(group) for group in known],
                "stated": [asdict(group) for group in stated],
                "numbers": numbers,
                "names": self._names(named),
            }

        values = {
            "name": name,
            "missing": missing,
            "others": others,
            "listed": listed,
            "n_listed": n_listed,
            "known": known,
            "stated": stated,
            "numbers": numbers,
            "timeline": explorer.timeline(name),
        }
        return View("entity.html", values, plain)

    def query(self, visit: Visit) -> View:
        """The answers of one query."""
        subject, relation, object_ = triple_in(visit)
        relation = relation and self.explorer.relation_summary(relation).relation
        if relation in self.explorer.unary and (entity := subject or object_):
            name = self.explorer.search.called(entity)
            return self.link(replace(visit, query={"subject": name, "relation": relation}))
        if not relation or bool(subject) == bool(object_):
            raise InputError("A query needs a relation and either a subject or an object.")
        asks = Direction.OBJECT if subject else Direction.SUBJECT
        known = self.explorer.search.called(subject or object_)
        asked = self.explorer.ask(known, relation, asks, visit.edits, ANSWERS)

        def plain() -> dict[str, Any]:
            names = self._names([known, *asked.entities])
            return {**asked.as_dict(self.explorer.score_name), "names": names}

        timeline = self.explorer.timeline(known)
        values = {"asked": asked, "known": self._known_answers(asked), "timeline": timeline}
        return View("query.html", values, plain)

    def link(self, visit: Visit) -> View:
        """One link: its score, its reasons, and the facts behind them."""
        link = link_in(visit, self.explorer)
        explained = self.explorer.explain(*link.triple, visit.edits)
        is_fact = self.explorer.is_fact(*link.triple)
        timeline = self.explorer.timeline(link.subject, link.object)
        values: dict[str, Any] = {
            "link": link, "explained": explained, "is_fact": is_fact, "timeline": timeline,
        }  # fmt: skip
        if self.weighted is not None:
            values |= self.weighted.link_values(explained, visit.edits)

        def plain() -> dict[str, Any]:
            told = self._plain_explanation(link, explained)
            told |= {key: values[key] for key in ("label", "before") if key in values}
            return {**told, "names": self._names(explained.mentioned)}

        return View("link.html", values, plain)

    def links(self, visit: Visit) -> View:
        """Two links side by side."""
        links = [link_in(visit, self.explorer, which) for which in ("", "2")]
        first, second = (self.explorer.explain(*link.triple, visit.edits) for link in links)
        values: dict[str, Any] = {"links": links, "first": first, "second": second}
        if self.weighted is not None:
            values["rules"] = compared_rules(first, second)
            values["adds_up"] = None not in (first.waterfall(), second.waterfall())
            values["labels"] = [self.weighted.explorer.label(*link.triple) for link in links]

        def plain() -> dict[str, Any]:
            told: dict[str, Any] = {
                "first": self._plain_explanation(links[0], first),
                "second": self._plain_explanation(links[1], second),
                "names": self._names([*first.mentioned, *second.mentioned]),
            }
            if "rules" in values:
                told["rules"] = [rule.as_dict() for rule in values["rules"]]
                told["adds_up"] = values["adds_up"]
            return told

        return View("links.html", values, plain)

    def rules(self, visit: Visit) -> View:
        """The rules, of one relation or of all."""
        name = visit.query.get("relation") or visit.query.get("name", "")
        summary = self.explorer.relation_summary(name) if name else None
        directions = self.explorer.counted_rules(name) if name else []
        values = {"summary": summary, "directions": directions, **self._relation_page(visit)}
        if self.weighted is not None:
            values |= self.weighted.rules_values(name, visit.edits)

        def plain() -> dict[str, Any]:
            if summary is None:
                told: dict[str, Any] = {"relations": self._plain_relations()}
            else:
                told = {"relation": name, "facts": summary.facts}
            if self.weighted is not None:
                return told | self.weighted.plain_rules(values)
            return told | {
                "directions": [asdict(part, dict_factory=with_plain_words) for part in directions]
            }

        return View("rules.html", values, plain)

    def around(self, visit: Visit) -> View:
        """The unfolded part of the graph around an entity: in columns, and as an outline."""
        explorer, view = self.explorer, Unfolding.of(visit.query)
        explorer.entity_id(view.root)
        root = unfold(view, explorer.facts.entities, explorer.known_edges)
        drawings = {
            "columns": draw_columns(root, view, explorer.entity_names),
            "outline": draw_outline(root, view, explorer.entity_names),
        }
        values = {"view": view, "root": root, "drawings": drawings}
        template = "_around.html" if visit.is_htmx else "around.html"
        return View(
            template,
            values,
            lambda: {"entity": view.root, "neighbours": asdict(root)["groups"]},
        )

    def pin(self, visit: Visit) -> PageAnswer:
        """Pin a link or unpin it, and go back to the page of the link."""
        pin = link_in(visit, self.explorer)
        if not pin.fits:
            raise InputError("The names of this link are too long to pin it.")
        unpins = visit.query.get("what") == "unpin"
        return PageAnswer(status=303, go_to=link_url(pin).unescape(), pin="" if unpins else pin)

    # -- parts ------------------------------------------------------------------------------------

    def _relation_page(self, visit: Visit) -> dict[str, object]:
        """The requested page of the list of relations with rules, and its page number."""
        relations = self.explorer.relations
        place = asked_page(visit, len(relations), RELATIONS)
        end = place["page"] * RELATIONS
        return {"relations": relations[end - RELATIONS : end], **place}

    def _plain_relations(self) -> list[dict[str, Any]]:
        keys = ("relation", "facts", "rules")
        return [{key: getattr(part, key) for key in keys} for part in self.explorer.relations]

    def _known_answers(self, asked: QueryAnswers) -> list[str]:
        """The first answers of a query that are known facts."""
        inverse = asked.asks is Direction.SUBJECT
        for group in self._edge_groups(self.explorer.entity_id(asked.known)):
            if (group.predicate, group.inverse) == (asked.relation, inverse):
                return list(group.first)
        return []

    def _edge_groups(self, entity: int) -> list[EdgeGroup]:
        """Known facts between an entity and other entities."""
        return edge_groups(self.explorer.known_edges(entity), self.explorer.facts.entities)

    def _plain_explanation(self, link: Pin, explained: Explanation) -> dict[str, Any]:
        """An explanation for JSON, with the relation and whether the link is a fact."""
        is_fact = self.explorer.is_fact(*link.triple)
        return {**explained.as_dict(), "relation": link.predicate, "is_fact": is_fact}

    def _names(self, entities: Iterable[str]) -> dict[str, dict[str, str | None]]:
        return self.explorer.entity_names.described(entities)
