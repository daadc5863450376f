"""The web application of a model of a whole graph: its addresses, in HTML and in JSON."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.base.progress import Progress
from hornbeam.serve.access import Access
from hornbeam.serve.graph_pages import GraphPages
from hornbeam.serve.graph_state import GraphExplorer
from hornbeam.serve.page_queues import PageQueue
from hornbeam.serve.visits import Visit
from hornbeam.serve.web_app import Address, WebApp


class GraphApp(WebApp):
    """Binds the pages of the explorer of a graph to addresses."""

    def __init__(self, explorer: GraphExplorer, access: Access) -> None:
        self.explorer = explorer
        self.pages = GraphPages(explorer)
        super().__init__(self.pages.writer, access)

    def warm_up(self, progress: Progress) -> None:
        """Build what visitors would otherwise wait for."""
        self.explorer.warm_up(progress)

    def addresses(self, quick: PageQueue, slow: PageQueue) -> Sequence[Address]:
        """All pages, each a second time in JSON."""
        pages = self.pages

        def explaining(visit: Visit) -> PageQueue:
            """The quick queue, unless a fact has to be taken out of the graph first."""
            triple = (visit.query.get(key, "") for key in ("subject", "relation", "object"))
            return slow if self.explorer.is_fact(*triple) else quick

        views = [
            ("/", "/index.json", pages.home, lambda _: quick),
            ("/search", "/search.json", pages.search, lambda _: quick),
            ("/entity", "/entity.json", pages.entity, lambda _: quick),
            ("/query", "/query.json", pages.query, lambda _: quick),
            ("/reasons", "/reasons.json", pages.reasons, explaining),
            ("/relation", "/relation.json", pages.relation, lambda _: quick),
            ("/around", "/around.json", pages.around, lambda _: quick),
            ("/links", "/links.json", pages.links, lambda _: slow),
        ]
        pin = Address("/pin", pages.pin, lambda _: quick, "POST")
        return [pin] + [
            address
            for path, json_path, view, queue in views
            for address in (
                Address(path, pages.html(view), queue),
                Address(json_path, pages.json(view), queue),
            )
        ]
