"""The web application of a model of rules: its addresses, and edits in a cookie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from hornbeam.base.progress import Progress
from hornbeam.serve.access import Access
from hornbeam.serve.edits import Edits
from hornbeam.serve.page_queues import PageQueue
from hornbeam.serve.pages import Pages
from hornbeam.serve.shared_edits import KEY, PLACES
from hornbeam.serve.state import Explorer
from hornbeam.serve.visits import Page, PageAnswer, Visit
from hornbeam.serve.web_app import Address, WebApp

#: Number of facts of an entity above which its page goes to the slow queue.
MANY_FACTS = 1000


class RuleApp(WebApp):
    """Binds the pages of an explorer to addresses."""

    def __init__(self, explorer: Explorer, access: Access) -> None:
        self.explorer = explorer
        self.pages = Pages(explorer)
        super().__init__(self.pages.writer, access)
        self._fingerprint = explorer.served.fingerprint
        self._n_rules = len(explorer.model.rules)
        # collective models cache the state inferred for an edit, so their pages stay in one process
        self.forks = not explorer.scorer.collective

    def addresses(self, quick: PageQueue, slow: PageQueue) -> Sequence[Address]:
        """All pages."""
        pages = self.pages
        editing = slow if self.explorer.scorer.collective else quick

        def scoring(visit: Visit) -> PageQueue:
            """The quick queue, unless all pairs have to be inferred first."""
            return quick if self.explorer.is_ready(visit.edits) else slow

        def exploring(visit: Visit) -> PageQueue:
            """The quick queue, unless the walks from an entity begin at very many facts."""
            many = self.explorer.n_facts_of(visit.query.get("name", "")) > MANY_FACTS
            return slow if many else scoring(visit)

        every = [
            Address("/", pages.home, scoring),
            Address("/search", pages.search, lambda _: quick),
            Address("/entity", pages.entity, exploring),
            Address("/link", pages.link, scoring),
            Address("/flip", pages.flip, lambda _: slow),
            Address("/rules", pages.rules, scoring),
            Address("/edit", pages.edit, lambda _: editing, "POST"),
            Address("/pairs", pages.pairs, scoring),
            Address("/compare", pages.compare, scoring),
            Address("/around", pages.around, lambda _: quick),
            Address("/links", pages.links, scoring),
            Address("/pin", pages.pin, lambda _: quick, "POST"),
            Address("/edited.psl", pages.download, lambda _: quick),
        ]
        return [
            replace(one, page=self._with_shared(one.page)) if one.path in PLACES else one
            for one in every
        ]

    def warm_up(self, progress: Progress) -> None:
        """Compile and build what pages need; all of it if they are made in forked processes."""
        self.explorer.warm_up(progress)
        if self.forks:
            self.pages.prerender()

    def _with_shared(self, page: Page) -> Page:
        """A page, or the edits in its address."""
        return lambda visit: self.pages.shared(visit) if KEY in visit.query else page(visit)

    def visit(self, request: Request, query: dict[str, str]) -> Visit:
        """The visit of a request, with the visitor's edits."""
        cookie = request.cookies.get(self.access.cookie("edits"), "")
        edits = Edits.decoded(cookie, self._fingerprint, self._n_rules)
        return replace(super().visit(request, query), edits=edits)

    def response(self, answer: PageAnswer, headers: dict[str, str] | None = None) -> Response:
        """The response of an answer; new edits go to the visitor's cookie."""
        response = super().response(answer, headers)
        if answer.edits is not None:
            text = answer.edits.encoded(self._fingerprint) if answer.edits else ""
            self.keep(response, "edits", text)
        return response
