"""The web application: addresses to pages, cookies to edits, work to threads.

Pages are made in a few worker threads, so that the loop that talks to clients is never busy with
one of them. What may take seconds has a lane of its own, and where too many wait the answer is that
the server is busy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hornbeam.errors import InputError
from hornbeam.serve.access import Access
from hornbeam.serve.edits import Edits
from hornbeam.serve.guard import Guard, read_body
from hornbeam.serve.pages import Answer, Pages, Visit

if TYPE_CHECKING:
    from hornbeam.serve.state import Explorer

#: Pages made at once, and those that may take seconds. They share one interpreter: more threads
#: than these make no more pages, and wait for each other.
THREADS = 3
SLOW_THREADS = 1
#: Requests that may wait for a thread before others are told to come back.
MOST_WAITING = 100
MOST_SLOW_WAITING = 10

STATIC = {
    "explorer.css": "text/css",
    "explorer.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

log = logging.getLogger("hornbeam.serve")

Page = Callable[[Visit], Answer]


class Lane:
    """A number of threads, and a queue that does not grow for ever."""

    def __init__(self, threads: int, most_waiting: int) -> None:
        self._limiter = anyio.CapacityLimiter(threads)
        self._room = threads + most_waiting

    @property
    def is_full(self) -> bool:
        """Whether no more may wait."""
        return self._room <= 0

    async def run(self, page: Page, visit: Visit) -> Answer:
        """Make a page in a thread."""
        self._room -= 1
        try:
            return await anyio.to_thread.run_sync(page, visit, limiter=self._limiter)
        finally:
            self._room += 1


#: Which lane a visit takes.
LaneOf = Callable[[Visit], Lane]


class App:
    """Binds the pages of an explorer to addresses."""

    def __init__(self, explorer: Explorer, access: Access) -> None:
        self.explorer = explorer
        self.pages = Pages(explorer)
        self.access = access
        self._fingerprint = explorer.served.fingerprint
        self._n_rules = len(explorer.model.rules)
        folder = files("hornbeam.serve") / "static"
        self._static = {name: (folder / name).read_bytes() for name in STATIC}

    def guarded(self) -> ASGIApp:
        """The application with its guard around it, outside of everything that may fail."""
        pages, scorer = self.pages, self.explorer.scorer
        quick, slow = Lane(THREADS, MOST_WAITING), Lane(SLOW_THREADS, MOST_SLOW_WAITING)
        editing = slow if scorer.collective else quick

        def scoring(visit: Visit) -> Lane:
            """Quick, unless all pairs have to be inferred first."""
            return quick if self.explorer.is_ready(visit.edits) else slow

        routes = [
            self._route("/", pages.home, scoring),
            self._route("/search", pages.search, lambda _: quick),
            self._route("/entity", pages.entity, scoring),
            self._route("/link", pages.link, scoring),
            self._route("/flip", pages.flip, lambda _: slow),
            self._route("/rules", pages.rules, scoring),
            self._route("/edit", pages.edit, lambda _: editing, "POST"),
            self._route("/pairs", pages.pairs, scoring),
            self._route("/compare", pages.compare, scoring),
            self._route("/edited.psl", pages.download, lambda _: quick),
            Route("/static/{name}", self._file),
        ]
        app = Starlette(
            routes=routes,
            exception_handlers={404: self._not_found, 405: self._not_found, Exception: self._fault},
        )
        return Guard(app, self.access, lambda: self._response(pages.ask_token()))

    def _route(self, path: str, page: Page, lane: LaneOf, method: str = "GET") -> Route:
        async def endpoint(request: Request) -> Response:
            query = dict(request.query_params) if method == "GET" else await _form(request)
            return await self._answer(page, lane, self._visit(request, query))

        return Route(path, endpoint, methods=[method])

    def _visit(self, request: Request, query: dict[str, str]) -> Visit:
        cookie = request.cookies.get(self.access.cookie("edits"), "")
        return Visit(
            query,
            Edits.decoded(cookie, self._fingerprint, self._n_rules),
            "hx-request" in request.headers,
            request.headers.get("hx-trigger", ""),
        )

    async def _answer(self, page: Page, lane_of: LaneOf, visit: Visit) -> Response:
        lane = lane_of(visit)
        if lane.is_full:
            busy = self.pages.message(visit, 503, "The server is busy. Try again in a moment.")
            return self._response(busy, {"retry-after": "2"})
        try:
            return self._response(await lane.run(page, visit))
        except InputError as error:
            return self._response(self.pages.message(visit, 400, str(error)))

    def _response(self, answer: Answer, headers: dict[str, str] | None = None) -> Response:
        response: Response
        if answer.go_to is not None:
            response = RedirectResponse(answer.go_to, answer.status)
        else:
            # names may hold what UTF-8 has no letter for
            body = answer.body.encode("utf-8", "replace")
            response = Response(
                body, answer.status, {**answer.headers, **(headers or {})}, answer.media_type
            )
        if answer.edits is not None:
            name = self.access.cookie("edits")
            if answer.edits:
                text = answer.edits.encoded(self._fingerprint)
                response.set_cookie(name, text, httponly=True, samesite="strict", path="/")
            else:
                response.delete_cookie(name, httponly=True, samesite="strict", path="/")
        return response

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return await self._not_found(request, None)
        headers = {"cache-control": "public, max-age=3600"}
        return Response(self._static[name], 200, headers, STATIC[name])

    async def _not_found(self, request: Request, _: object) -> Response:
        return self._response(self.pages.not_found(self._visit(request, {})))

    async def _fault(self, request: Request, error: Exception) -> Response:
        log.error("hornbeam: a fault of the explorer at %s", request.url.path, exc_info=error)
        text = "Something went wrong here. The terminal of the explorer says what."
        return self._response(self.pages.message(self._visit(request, {}), 500, text))


async def _form(request: Request) -> dict[str, str]:
    body = await read_body(request.receive)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except (UnicodeDecodeError, ValueError):
        return {}


def make_app(explorer: Explorer, access: Access) -> ASGIApp:
    """Make the application of an explorer."""
    return App(explorer, access).guarded()
