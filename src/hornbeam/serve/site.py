"""All addresses of the explorer, and how they answer: pages in HTML and in JSON, and edits.

A visit has the visitor's edits; an answer may have new edits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

from hornbeam.base.texts import number_in
from hornbeam.errors import InputError, UnknownNameError
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.explorer import Explorer, ModelExplorer
from hornbeam.serve.pages import Pages, search_view
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.templating import PageWriter
from hornbeam.serve.visits import (
    EDITS_KEY,
    Page,
    PageAnswer,
    View,
    ViewOf,
    Visit,
    json_answer,
    own_address,
    page_to_continue,
    triple_in,
    whole_number,
)
from hornbeam.serve.weight_pages import WeightPages

NO_WEIGHTS = (
    "A model of a whole graph has no edits, no listed pairs, no flips and no second model: its "
    "ranks come from weights that were fitted together."
)

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Address:
    """The address of a page; for visits that are not `at_once`, making it may take seconds."""

    path: str
    page: Page
    at_once: Callable[[Visit], bool]
    method: str = "GET"


@dataclass(frozen=True, eq=False)
class AnySite(ABC):
    """The addresses of an explorer: every view in HTML and in JSON."""

    explorer: Explorer

    @property
    def has_weights(self) -> bool:
        """Whether pages show rules with weights that visitors edit."""
        return False

    @cached_property
    def writer(self) -> PageWriter:
        """Fills the templates."""
        return PageWriter.of(self.explorer, self.views, weights=self.has_weights)

    @property
    @abstractmethod
    def views(self) -> Mapping[str, tuple[ViewOf, Callable[[Visit], bool]]]:
        """The view at each path, and whether it is made at once, as a function of the visit."""

    @property
    def changes(self) -> Sequence[Address]:
        """The addresses that change something, or download a file."""
        return ()

    @cached_property
    def addresses(self) -> Mapping[str, Address]:
        """All pages by their paths: every view in HTML and in JSON, and what changes something."""
        addresses = list(self.changes)
        for path, (view, at_once) in self.views.items():
            addresses.append(Address(path, self.html(view), at_once))
            in_json = f"{'/index' if path == '/' else path}.json"
            addresses.append(Address(in_json, self.json(view), at_once))
        return {address.path: address for address in addresses}

    def prerender(self) -> None:
        """Fill caches by rendering some pages, before pages are made in processes."""
        return

    def html(self, view: ViewOf) -> Page:
        """The HTML page of a view."""

        def page(visit: Visit) -> PageAnswer:
            shown = view(visit)
            return self.writer.page(shown.template, visit, **shown.values)

        return self.found(page)

    def json(self, view: ViewOf) -> Page:
        """The JSON page of a view."""

        def page(visit: Visit) -> PageAnswer:
            try:
                return json_answer(view(visit).plain())
            except UnknownNameError as error:
                return json_answer({"error": str(error)}, 404)
            except InputError as error:
                return json_answer({"error": str(error)}, 400)

        return page

    def found(self, page: Page) -> Page:
        """A page that answers with status 404 if it does not find a requested name."""

        def answer(visit: Visit) -> PageAnswer:
            try:
                return page(visit)
            except UnknownNameError as error:
                return self.writer.not_found(visit, str(error))

        return answer


@dataclass(frozen=True, eq=False)
class Site(AnySite):
    """The addresses of a model's explorer."""

    explorer: ModelExplorer

    @cached_property
    def pages(self) -> Pages:
        """The pages at the addresses."""
        return Pages(self.explorer)

    @property
    def has_weights(self) -> bool:
        """Whether the rules of the model have weights."""
        return self.pages.weighted is not None

    @cached_property
    def views(self) -> Mapping[str, tuple[ViewOf, Callable[[Visit], bool]]]:
        """The view at each path, and whether it is made at once, as a function of the visit."""
        pages = self.pages
        return {
            "/": (pages.home, self._scores_at_once),
            "/search": (partial(search_view, self.explorer), _at_once),
            "/entity": (pages.entity, self._answers_at_once),
            "/query": (pages.query, self._answers_at_once),
            "/link": (pages.link, self._explains_at_once),
            "/reasons": (pages.link, self._explains_at_once),
            "/links": (pages.links, self._explains_at_once),
            "/flip": (self._with_weights(WeightPages.flip), lambda _: False),
            "/rules": (pages.rules, self._scores_at_once),
            "/relation": (pages.rules, self._scores_at_once),
            "/pairs": (self._with_weights(WeightPages.pairs), self._scores_at_once),
            "/compare": (self._with_weights(WeightPages.compare), self._scores_at_once),
            "/around": (pages.around, _at_once),
        }

    @property
    def changes(self) -> Sequence[Address]:
        """Pins, edits, and the file of the edited model."""
        edit, download = map(self._with_weights, (self.edit, WeightPages.download))
        return [
            Address("/pin", self.found(self.pages.pin), _at_once, "POST"),
            # a collective model infers all pairs again after an edit
            Address("/edit", self.found(edit), lambda _: not self.explorer.collective, "POST"),
            Address("/edited.psl", self.found(download), _at_once),
        ]

    def prerender(self) -> None:
        """Fill caches by rendering some pages."""
        facts, relations = self.explorer.facts, self.explorer.relations
        queries: dict[str, dict[str, str]] = {"/": {}, "/search": {"q": "a"}, "/rules": {}}
        if len(facts.binary) and relations:
            subject, object_ = (facts.entities[int(ids[0])] for ids in facts.binary.arguments)
            relation = relations[0].relation
            object_ = subject if relation in self.explorer.unary else object_
            link = {"subject": subject, "relation": relation, "object": object_}
            queries |= {"/entity": {"name": subject}, "/link": link}
        for path, query in queries.items():
            self.addresses[path].page(Visit(query))

    # -- which pages may take seconds -------------------------------------------------------------

    def _scores_at_once(self, visit: Visit) -> bool:
        """Whether scores exist already: no pairs have to be inferred first."""
        return self.explorer.is_ready(visit.edits)

    def _answers_at_once(self, visit: Visit) -> bool:
        """Whether scores exist already, and no walk begins at very many facts."""
        typed = (visit.query.get(key, "") for key in ("name", "subject", "object"))
        entities = map(self.explorer.search.called, typed)
        return all(map(self.explorer.answers_at_once, entities)) and self._scores_at_once(visit)

    def _explains_at_once(self, visit: Visit) -> bool:
        """Whether scores exist already, and all links of the visit are explained at once."""
        triples = (triple_in(visit, which) for which in ("", "2"))
        at_once = all(self.explorer.explains_at_once(*triple) for triple in triples)
        return at_once and self._scores_at_once(visit)

    # -- how views become answers -----------------------------------------------------------------

    def _with_weights(
        self, page: Callable[[WeightPages, Visit], Answer]
    ) -> Callable[[Visit], Answer]:
        """A page of a model whose rules have weights; any other model has no such page."""

        def answer(visit: Visit) -> Answer:
            if self.pages.weighted is None:
                raise UnknownNameError(NO_WEIGHTS)
            return page(self.pages.weighted, visit)

        return answer

    def html(self, view: ViewOf) -> Page:
        """The HTML page of a view; an address with edits shows the edits first."""
        without_edits = super().html(view)

        def page(visit: Visit) -> PageAnswer:
            if EDITS_KEY in visit.query and self.pages.weighted is not None:
                return self.shared(self.pages.weighted, visit)
            return without_edits(visit)

        return page

    def json(self, view: ViewOf) -> Page:
        """The JSON page of a view, under the edits in the address, if there are any."""

        def edited(visit: Visit) -> View:
            if EDITS_KEY in visit.query and isinstance(self.explorer, RuleExplorer):
                visit = replace(visit, edits=edits_in_address(visit, self.explorer))
            return view(visit)

        return super().json(edited)

    # -- edits ------------------------------------------------------------------------------------

    def edit(self, weights: WeightPages, visit: Visit) -> PageAnswer:
        """Change one rule, take over the edits of an address, or undo all; shows the effects."""
        rule, edits = changed_edits(visit, weights.explorer)
        if visit.is_htmx and visit.query.get("what") != "take":
            shown = replace(visit, edits=edits)
            rows = weights.rule_rows(edits) if rule is None else [weights.rule_row(rule, edits)]
            answer = self.writer.page("_edited.html", shown, rows=rows, **weights.effects(edits))
            return replace(answer, edits=edits)
        page = "/rules" if rule is None else f"/rules#rule-{rule}"
        if visit.query.get("what") == "take":
            page = page_to_continue(visit.query.get("place", ""), self.views)
        return PageAnswer(status=303, go_to=page, edits=edits)

    def shared(self, weights: WeightPages, visit: Visit) -> PageAnswer:
        """Show the edits in an address before they are taken over."""
        edits = edits_in_address(visit, weights.explorer)
        if edits == visit.edits:
            return PageAnswer(status=303, go_to=own_address(visit))
        rows = [row for row in weights.rule_rows(edits) if row["edited"]]
        return self.writer.page("shared.html", visit, rows=rows, text=visit.query[EDITS_KEY],
                                place=own_address(visit))  # fmt: skip


def edits_in(text: str, explorer: Explorer) -> Edits:
    """The edits in a text; no edits if it is invalid or belongs to another model."""
    if not isinstance(explorer, RuleExplorer):
        return NO_EDITS
    return Edits.decoded(text, explorer.fingerprint, len(explorer.model.rules))


def edits_in_address(visit: Visit, explorer: RuleExplorer) -> Edits:
    """The edits in an address or in a form; an error if they are invalid for the model."""
    edits = edits_in(visit.query.get(EDITS_KEY, ""), explorer)
    if not edits:
        raise InputError("The edits in this address belong to another model, or are incomplete.")
    return edits


def changed_edits(visit: Visit, explorer: RuleExplorer) -> tuple[int | None, Edits]:
    """The number of the rule that a form changes (None: all rules), and the edits afterwards."""
    what = visit.query.get("what", "")
    if what == "reset-all":
        return None, NO_EDITS
    if what == "take":
        return None, edits_in_address(visit, explorer)
    rule = whole_number(visit.query.get("rule", ""), -1)
    if not 0 <= rule < len(explorer.model.rules):
        raise InputError("There is no such rule.")
    if what == "reset":
        return rule, visit.edits.without(rule)
    if what == "switch":
        return rule, visit.edits.switched(rule, on=visit.query.get("on") == "1")
    if what == "weight":
        try:
            weight = number_in(visit.query.get("weight", ""))
        except ValueError:
            raise InputError("A weight is a number such as 0.8.") from None
        if weight == explorer.model.rules[rule].weight:
            kept = visit.edits.without(rule)
            return rule, kept.switched(rule, on=rule not in visit.edits.off)
        return rule, visit.edits.with_weight(rule, weight)
    raise InputError("A change is a switch, a weight or a reset.")


def _at_once(visit: Visit) -> bool:
    """True, for any visit."""
    return True
