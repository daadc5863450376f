"""The pages: functions from a visit to HTML, independent of the server.

A visit has the visitor's edits; an answer may have new ones. Every page works without JavaScript;
with it, htmx requests the same addresses and gets the parts that change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from hornbeam.base.plain_numbers import number_in
from hornbeam.errors import InputError
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.named_facts import Fact
from hornbeam.explaining.shown_names import fact_in_names
from hornbeam.facts.entity_names import EntityNames
from hornbeam.reporting.cautions import cautions
from hornbeam.rules.rule_words import rule_words
from hornbeam.serve.around import around_values
from hornbeam.serve.comparison import compare
from hornbeam.serve.drawing import draw
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.entity_facts import edge_groups, is_edge, other_groups
from hornbeam.serve.filters import FILTERS, link_url
from hornbeam.serve.link_comparison import compare_links
from hornbeam.serve.pins import KEYS, Pin
from hornbeam.serve.shared_edits import KEY, own_address, page_to_continue, shared_address
from hornbeam.serve.state import Explorer
from hornbeam.serve.templating import PageWriter, page_writer
from hornbeam.serve.unfolding import Unfolding
from hornbeam.serve.vertical_drawing import draw_vertical
from hornbeam.serve.visits import LONGEST_QUERY, PageAnswer, Visit, pinned, whole_number

#: Maximum numbers of items on a page.
FOUND = 20
PREDICTED = 20
LISTED = 50
REASONS = 40
STEPS = 12
CHANGED = 8
DIFFERENT = 25
EXAMPLES = 8
STRONGEST = 8


@dataclass(frozen=True, eq=False)
class Pages:
    """Every page of one explorer."""

    explorer: Explorer

    @cached_property
    def writer(self) -> PageWriter:
        """Fills the templates."""
        names = self.explorer.entity_names
        filters = FILTERS | {
            "shown_atom": partial(shown_atom, names),
            "shared_address": partial(shared_address, fingerprint=self._fingerprint),
        }
        return page_writer(names, filters, base="base.html", explorer=self.explorer)

    def prerender(self) -> None:
        """Warm up caches by rendering some pages."""
        facts, model = self.explorer.facts, self.explorer.model
        self.home(Visit())
        self.search(Visit({"q": "a"}))
        self.rules(Visit(path="/rules"))
        for target in model.targets[:1] if len(facts.binary) else ():
            subject, object_ = (facts.entities[int(ids[0])] for ids in facts.binary.arguments)
            self.entity(Visit({"name": subject}, path="/entity"))
            pair = dict(zip(KEYS, (subject, target, object_), strict=True))
            self.link(Visit(pair, path="/link"))

    def home(self, visit: Visit) -> PageAnswer:
        """The start page: search, figures, the strongest rules, example entities."""
        rows = [row for row in self._rule_rows(visit.edits) if row["on"]]
        strongest = sorted(rows, key=lambda row: -row["weight"])
        priors = [row for row in strongest if row["prior"]]
        others = [row for row in strongest if not row["prior"]][:STRONGEST]
        caveats = cautions(self.explorer.model, self.explorer.model.trace)
        return self.writer.page("home.html", visit, examples=self._examples, priors=priors,
                                strongest=others, cautions=caveats)  # fmt: skip

    def search(self, visit: Visit) -> PageAnswer:
        """Entities that match the typed text."""
        typed = visit.query.get("q", "")[:LONGEST_QUERY]
        found = self.explorer.search.find(typed, FOUND + 1)
        values = {"typed": typed, "found": found[:FOUND], "more": len(found) > FOUND}
        return self.writer.page("_found.html" if visit.is_htmx else "search.html", visit, **values)

    def entity(self, visit: Visit) -> PageAnswer:
        """One entity: its new links, its listed pairs, its facts."""
        name = visit.query.get("name", "")
        entity = self.explorer.facts.entities.index(name)
        listed, n_listed = self.explorer.listed(name, visit.edits, PREDICTED)
        if entity < 0 and not n_listed:
            return self.writer.not_found(visit, f"No fact and no listed pair names “{name[:100]}”.")
        values: dict[str, object] = {"name": name, "listed": listed, "n_listed": n_listed}
        values |= {"predicted": [], "known": [], "stated": []}
        values["known_scores"] = self.explorer.served.known(visit.edits)
        if entity >= 0:
            values["predicted"] = self._predicted(entity, visit.edits)
            values["known"] = edge_groups(self.explorer, entity)
            values["stated"] = other_groups(self.explorer.facts, entity)
        return self.writer.page("entity.html", visit, **values)

    def link(self, visit: Visit) -> PageAnswer:
        """One pair: its score, its reasons, and a drawing of what is behind them."""
        subject, predicate, object_ = self._pair(visit)
        explained = self.explorer.explain(subject, predicate, object_, visit.edits)
        before = explained.score
        if visit.edits:
            before = self.explorer.score_before(subject, predicate, object_)
        return self.writer.page(
            "link.html",
            visit,
            explained=explained,
            before=before,
            label=self.explorer.label(subject, predicate, object_),
            is_fact=is_edge(self.explorer.engine, subject, predicate, object_),
            reasons=sorted(explained.reasons, key=lambda one: not one.is_prior)[:REASONS],
            waterfall=explained.waterfall(STEPS),
            drawing=draw(explained, self.explorer.entity_names),
            vertical=draw_vertical(explained, self.explorer.entity_names),
            inferred=self._inferred(explained),
        )

    def around(self, visit: Visit) -> PageAnswer:
        """The graph around an entity, as far as it is unfolded."""
        view = Unfolding.of(visit.query)
        if self.explorer.facts.entities.index(view.root) < 0:
            return self.writer.not_found(visit, f"No fact names “{view.root[:100]}”.")
        template = "_around.html" if visit.is_htmx else "around.html"
        return self.writer.page(template, visit, **around_values(view, self.explorer))

    def links(self, visit: Visit) -> PageAnswer:
        """Two links side by side."""
        pairs = self._pair(visit), self._pair(visit, "2")
        first, second = (self.explorer.explain(*pair, visit.edits) for pair in pairs)
        return self.writer.page("links.html", visit, compared=compare_links(first, second),
                                labels=[self.explorer.label(*pair) for pair in pairs])  # fmt: skip

    def pin(self, visit: Visit) -> PageAnswer:
        """Pin a link, or unpin it, and go back to it."""
        pin = Pin(*self._pair(visit))
        return pinned(visit, pin, link_url(pin))

    def flip(self, visit: Visit) -> PageAnswer:
        """What would flip the decision on a pair."""
        subject, predicate, object_ = self._pair(visit)
        explained = self.explorer.explain(subject, predicate, object_, visit.edits, flip=True)
        template = "_flip.html" if visit.is_htmx else "flip.html"
        return self.writer.page(template, visit, explained=explained)

    def rules(self, visit: Visit) -> PageAnswer:
        """All rules, with switches and weights."""
        return self.writer.page("rules.html", visit, rows=self._rule_rows(visit.edits),
                                **self._effects(visit.edits))  # fmt: skip

    def edit(self, visit: Visit) -> PageAnswer:
        """Change one rule, take the edits of an address, or undo all; shows the effects."""
        rule, edits = self._changed(visit)
        if visit.query.get("what") == "take":
            return PageAnswer(
                status=303, go_to=page_to_continue(visit.query.get("place", "")), edits=edits
            )
        if not visit.is_htmx:
            return PageAnswer(status=303, go_to="/rules" if rule is None else f"/rules#rule-{rule}",
                              edits=edits)  # fmt: skip
        shown = replace(visit, edits=edits)
        rows = self._rule_rows(edits) if rule is None else [self._rule_row(rule, edits)]
        answer = self.writer.page("_edited.html", shown, rows=rows, **self._effects(edits))
        return PageAnswer(answer.body, edits=edits)

    def shared(self, visit: Visit) -> PageAnswer:
        """Show the edits in an address before they are taken over."""
        edits = self._in_address(visit)
        if edits == visit.edits:
            return PageAnswer(status=303, go_to=own_address(visit))
        rows = [row for row in self._rule_rows(edits) if row["edited"]]
        return self.writer.page("shared.html", visit, rows=rows, text=visit.query[KEY],
                                place=own_address(visit))  # fmt: skip

    def pairs(self, visit: Visit) -> PageAnswer:
        """The listed pairs, by score or by error."""
        order = visit.query.get("order", "score")
        page = max(whole_number(visit.query.get("page", "1"), 1), 1)
        links, total = self.explorer.listed_page(
            visit.edits, "error" if order == "error" else "score", (page - 1) * LISTED, LISTED
        )
        pages = max((total + LISTED - 1) // LISTED, 1)
        return self.writer.page("pairs.html", visit, links=links, total=total, order=order,
                                page=page, pages=pages,
                                known_scores=self.explorer.served.known(visit.edits))  # fmt: skip

    def compare(self, visit: Visit) -> PageAnswer:
        """The edited model compared with the other one."""
        if self.explorer.other is None:
            return self.writer.not_found(
                visit, "There is no second model: start the explorer with one to see two."
            )
        comparison = compare(self.explorer, visit.edits, DIFFERENT)
        return self.writer.page("compare.html", visit, comparison=comparison,
                                known_scores=self.explorer.served.known(visit.edits),
                                other_known_scores=self.explorer.other.known())  # fmt: skip

    def download(self, visit: Visit) -> PageAnswer:
        """The model as it is edited."""
        return PageAnswer(
            self.explorer.edited_text(visit.edits),
            media_type="text/plain",
            headers={"content-disposition": 'attachment; filename="edited.psl"'},
        )

    # -- parts ------------------------------------------------------------------------------------

    @property
    def _fingerprint(self) -> str:
        return self.explorer.served.fingerprint

    @cached_property
    def _examples(self) -> list[str]:
        """Example entities for the home page."""
        return self.explorer.scorer.examples(EXAMPLES)

    def _predicted(self, entity: int, edits: Edits) -> list[dict[str, Any]]:
        """New links by target and side, those without any left out."""
        found = []
        for target in self.explorer.model.targets:
            for forward in (True, False):
                new = self.explorer.new_links(entity, target, forward, edits, PREDICTED)
                if new.links:
                    found.append({"target": target, "forward": forward, "new": new})
        return found

    def _pair(self, visit: Visit, which: str = "") -> tuple[str, str, str]:
        pair = tuple(visit.query.get(key + which, "") for key in KEYS)
        if not all(pair) or pair[1] not in self.explorer.model.targets:
            raise InputError("A link needs a subject, a target predicate of the model, an object.")
        return pair[0], pair[1], pair[2]

    def _inferred(self, explained: Explanation) -> frozenset[Fact]:
        """Facts in the paths that are inferred pairs of a collective model, not observed facts."""
        if not self.explorer.scorer.collective:
            return frozenset()
        engine = self.explorer.engine
        paths = (path for reason in explained.reasons for path in reason.groundings)
        steps = {fact for path in paths for fact in path.facts}
        return frozenset(
            s for s in steps if s.object and not is_edge(engine, s.subject, s.predicate, s.object)
        )

    def _rule_rows(self, edits: Edits) -> list[dict[str, Any]]:
        return [self._rule_row(i, edits) for i in range(len(self.explorer.model.rules))]

    def _rule_row(self, i: int, edits: Edits) -> dict[str, Any]:
        rule = self.explorer.model.rules[i]
        return {
            "number": i,
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
        """Upper end of the sliders."""
        largest = max((rule.weight for rule in self.explorer.model.rules), default=1.0)
        return max(2 * largest, 1.0)

    @cached_property
    def _missing(self) -> frozenset[int]:
        """Rules that have no grounding because the facts lack a predicate or constant."""
        return frozenset(filter(self.explorer.scorer.lacks, range(len(self.explorer.model.rules))))

    def _effects(self, edits: Edits) -> dict[str, object]:
        """The effects of edits on the figures and the listed pairs."""
        return {
            "figures": self.explorer.figures(edits),
            "figures_before": self.explorer.figures(NO_EDITS),
            "changed": self.explorer.changed(edits, CHANGED) if edits else [],
            "known_scores": self.explorer.served.known(edits),
        }

    def _in_address(self, visit: Visit) -> Edits:
        """The edits in an address or in its form."""
        text, n_rules = visit.query.get(KEY, ""), len(self.explorer.model.rules)
        edits = Edits.decoded(text, self._fingerprint, n_rules)
        if not edits:
            raise InputError(
                "The edits in this address belong to another model, or are incomplete."
            )
        return edits

    def _changed(self, visit: Visit) -> tuple[int | None, Edits]:
        """The rule that a form changes, None for all rules, and the edits afterwards."""
        what = visit.query.get("what", "")
        if what == "reset-all":
            return None, NO_EDITS
        if what == "take":
            return None, self._in_address(visit)
        rule = whole_number(visit.query.get("rule", ""), -1)
        if not 0 <= rule < len(self.explorer.model.rules):
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
            if weight == self.explorer.model.rules[rule].weight:
                kept = visit.edits.without(rule)
                return rule, kept.switched(rule, on=rule not in visit.edits.off)
            return rule, visit.edits.with_weight(rule, weight)
        raise InputError("A change is a switch, a weight or a reset.")


def shown_atom(names: EntityNames, fact: Fact) -> str:
    """A fact as an atom, with names instead of ids."""
    return fact_in_names(fact, names).atom
