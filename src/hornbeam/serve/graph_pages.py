"""The pages of a whole graph: entities, their missing facts, queries and reasons.

A page is a template with values, and the same as plain values for programs: every address answers
in HTML, and with the suffix `.json` in JSON. JSON has both ids and names of entities.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from hornbeam.errors import InputError
from hornbeam.explaining.shown_names import mentioned
from hornbeam.graphs.graph_rule_words import rule_in_names
from hornbeam.graphs.graph_text import rule_text
from hornbeam.graphs.ranking_model import RelationRules
from hornbeam.ranking.named_queries import ASKED
from hornbeam.ranking.queries import Direction
from hornbeam.serve.around import around_values
from hornbeam.serve.entity_facts import edge_groups, other_groups
from hornbeam.serve.graph_filters import GRAPH_FILTERS, reasons_url
from hornbeam.serve.graph_state import (
    GraphExplorer,
    QueryAnswers,
    RelationSummary,
    UnknownNameError,
)
from hornbeam.serve.pins import KEYS, Pin
from hornbeam.serve.templating import PageWriter, page_writer
from hornbeam.serve.unfolding import Unfolding
from hornbeam.serve.visits import LONGEST_QUERY, Page, PageAnswer, Visit, pinned, whole_number

#: Maximum numbers of items on a page.
FOUND = 20
RELATIONS = 50
RULES = 30
ANSWERS = 50
#: Queries that are answered on an entity's page, and answers per query.
MISSING, FIRST_MISSING = 12, 5


@dataclass(frozen=True)
class View:
    """What a page shows: a template with its values, and the same as plain values."""

    template: str
    values: Mapping[str, object]
    plain: Mapping[str, Any]


@dataclass(frozen=True)
class ShownRule:
    """The text of a rule, its confidence, and its hits among all predictions."""

    rule: str
    confidence: float
    hits: int
    predicted: int


@dataclass(frozen=True)
class ShownDirection:
    """Rules of one direction of a relation: paths, and with constants; and how many paths."""

    asks: Direction
    queries: int
    total: int
    paths: tuple[ShownRule, ...]
    constants: tuple[ShownRule, ...]


@dataclass(frozen=True, eq=False)
class GraphPages:
    """Every page of the explorer of one graph."""

    explorer: GraphExplorer

    @cached_property
    def writer(self) -> PageWriter:
        """Fills the templates."""
        names = self.explorer.entity_names
        filters = GRAPH_FILTERS | {"named_rule": lambda rule: rule_in_names(rule, names)}
        return page_writer(names, filters, base="graph_base.html", explorer=self.explorer)

    # -- how views become answers -----------------------------------------------------------------

    def html(self, view: Callable[[Visit], View]) -> Page:
        """The page of a view."""

        def page(visit: Visit) -> PageAnswer:
            try:
                shown = view(visit)
            except UnknownNameError as error:
                return self.writer.not_found(visit, str(error))
            return self.writer.page(shown.template, visit, **shown.values)

        return page

    def json(self, view: Callable[[Visit], View]) -> Page:
        """The same as JSON."""

        def page(visit: Visit) -> PageAnswer:
            try:
                return _json(view(visit).plain)
            except UnknownNameError as error:
                return _json({"error": str(error)}, 404)
            except InputError as error:
                return _json({"error": str(error)}, 400)

        return page

    # -- views ------------------------------------------------------------------------------------

    def home(self, visit: Visit) -> View:
        """The start page: search, a query, the relations with their best rules."""
        known = self.explorer.relations
        pages = max((len(known) + RELATIONS - 1) // RELATIONS, 1)
        page = min(max(whole_number(visit.query.get("page", "1"), 1), 1), pages)
        rows = [
            {"summary": one, "best": self._best_rule(one)}
            for one in known[(page - 1) * RELATIONS : page * RELATIONS]
        ]
        facts, model = self.explorer.facts, self.explorer.model
        plain = {
            "model": self.explorer.name,
            "facts": len(facts),
            "entities": len(facts.entities),
            "relations": [
                {"relation": one.relation, "facts": one.facts, "rules": one.rules} for one in known
            ],
        }
        values = {
            "rows": rows,
            "page": page,
            "pages": pages,
            "n_rules": sum(one.rules for one in known),
            "caution": model.linked.caution,
        }
        return View("graph_home.html", values, plain)

    def search(self, visit: Visit) -> View:
        """Entities that match the typed text."""
        typed = visit.query.get("q", "")[:LONGEST_QUERY]
        found = self.explorer.search.find(typed, FOUND + 1)
        values = {"typed": typed, "found": found[:FOUND], "more": len(found) > FOUND}
        plain = {**values, "names": self._names(found[:FOUND])}
        return View("_found.html" if visit.is_htmx else "search.html", values, plain)

    def entity(self, visit: Visit) -> View:
        """One entity: its most probable missing facts, and its known facts."""
        name = visit.query.get("name", "")
        number = self.explorer.entity(name)
        found = self.explorer.missing(name, FIRST_MISSING)
        missing, others = found[:MISSING], found[MISSING:]
        known = edge_groups(self.explorer, number)
        stated = other_groups(self.explorer.facts, number)
        plain = {
            "entity": name,
            "missing": [{**_plain_query(one.asked), "expected": one.expected} for one in missing],
            "known": [asdict(group) for group in known],
            "stated": [asdict(group) for group in stated],
            "names": self._names(
                [
                    name,
                    *_named_in(one.asked for one in missing),
                    *(end for group in known for end in group.first),
                ]
            ),
        }
        values = {
            "name": name,
            "missing": missing,
            "others": others,
            "known": known,
            "stated": stated,
        }
        return View("graph_entity.html", values, plain)

    def query(self, visit: Visit) -> View:
        """The answers of one query."""
        subject, relation, object_ = self._triple(visit)
        if bool(subject) == bool(object_):
            raise InputError("A query needs a relation and either a subject or an object.")
        asks = Direction.OBJECT if subject else Direction.SUBJECT
        known = self.explorer.called(subject or object_)
        found = self.explorer.ask(known, relation, asks, ANSWERS)
        plain = {**_plain_query(found), "names": self._names([found.known, *_named_in([found])])}
        values = {"asked": found, "known": self._known_answers(found)}
        return View("graph_query.html", values, plain)

    def reasons(self, visit: Visit) -> View:
        """Reasons for a triple, from both ends."""
        subject, relation, object_ = self._triple(visit)
        if not subject or not object_:
            raise InputError("Reasons need a subject, a relation and an object.")
        found = self.explorer.explain(subject, relation, object_)
        plain = {**found.as_dict(), "names": self._names(mentioned(found))}
        return View("graph_reasons.html", {"explained": found}, plain)

    def relation(self, visit: Visit) -> View:
        """One relation: its rules in both directions."""
        summary = self.explorer.relation(visit.query.get("name", ""))
        parts = [self._shown(part) for part in summary.parts]
        plain = {
            "relation": summary.relation,
            "facts": summary.facts,
            "directions": [asdict(part) for part in parts],
        }
        return View("graph_relation.html", {"summary": summary, "parts": parts}, plain)

    def around(self, visit: Visit) -> View:
        """The graph around an entity, as far as it is unfolded."""
        view = Unfolding.of(visit.query)
        self.explorer.entity(view.root)
        values = around_values(view, self.explorer)
        plain = {"entity": view.root, "neighbours": asdict(values["root"])["groups"]}
        return View("_around.html" if visit.is_htmx else "around.html", values, plain)

    def links(self, visit: Visit) -> View:
        """Two triples side by side."""
        asked = [self._triple(visit, which) for which in ("", "2")]
        if not all(all(triple) for triple in asked):
            raise InputError("Two links need a subject, a relation and an object each.")
        first, second = (self.explorer.explain(*triple) for triple in asked)
        plain = {"first": first.as_dict(), "second": second.as_dict()}
        return View("graph_links.html", {"first": first, "second": second}, plain)

    def pin(self, visit: Visit) -> PageAnswer:
        """Pin a triple, or unpin it, and go back to it."""
        pin = Pin(*(visit.query.get(key, "") for key in KEYS))
        return pinned(visit, pin, reasons_url(pin.subject, pin.predicate, pin.object))

    # -- parts ------------------------------------------------------------------------------------

    def _triple(self, visit: Visit, which: str = "") -> tuple[str, str, str]:
        """The triple of a visit; the queried argument may be "" or a question mark."""
        keys = (f"{key}{which}" for key in ("subject", "relation", "object"))
        given = [visit.query.get(key, "") for key in keys]
        subject, relation, object_ = ("" if text == ASKED else text for text in given)
        if not relation:
            raise InputError("A relation is needed.")
        return subject, relation, object_

    def _best_rule(self, summary: RelationSummary) -> ShownRule | None:
        """The path rule of highest confidence of a relation."""
        best = (self._shown(part, 1).paths for part in summary.parts)
        rules = [rule for paths in best for rule in paths]
        return max(rules, key=lambda rule: rule.confidence, default=None)

    def _shown(self, part: RelationRules, most: int = RULES) -> ShownDirection:
        """The best rules of a relation in one direction."""
        paths, constants = (
            tuple(
                ShownRule(
                    rule_text(part.relation, part.direction, rule),
                    rule.confidence, rule.hits, rule.predicted,
                )
                for rule in rules[:most]
            )
            for rules in (part.rules, part.constants)
        )  # fmt: skip
        return ShownDirection(part.direction, part.queries, len(part.rules), paths, constants)

    def _known_answers(self, asked: QueryAnswers) -> list[str]:
        """Some answers that are known facts."""
        inverse = asked.asks is Direction.SUBJECT
        for group in edge_groups(self.explorer, self.explorer.entity(asked.known)):
            if (group.predicate, group.inverse) == (asked.relation, inverse):
                return list(group.first)
        return []

    def _names(self, entities: Iterable[str]) -> dict[str, dict[str, str | None]]:
        return self.explorer.entity_names.described(entities)


def _plain_query(one: QueryAnswers) -> dict[str, Any]:
    asks_object = one.asks is Direction.OBJECT
    return {
        "subject": one.known if asks_object else ASKED,
        "relation": one.relation,
        "object": ASKED if asks_object else one.known,
        "candidates": one.candidates,
        "answers": [asdict(answer) for answer in one.answers],
    }


def _named_in(asked: Iterable[QueryAnswers]) -> list[str]:
    answers = [answer for one in asked for answer in one.answers]
    return [name for answer in answers for name in (answer.subject, answer.object)]


def _json(values: Mapping[str, Any], status: int = 200) -> PageAnswer:
    return PageAnswer(json.dumps(values), status, "application/json")
