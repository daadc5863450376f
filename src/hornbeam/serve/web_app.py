"""The web application: addresses to pages, work to threads.

Pages are made in a few worker threads, so that the loop that talks to clients is never busy with
one of them. What may take seconds has a lane of its own, which rests in between while others ask,
and where too many wait the answer is that the server is busy. What was shown lately is kept as it
went out: nobody costs more by asking for the same again.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from time import monotonic
from typing import Protocol
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
from hornbeam.serve.cache import Bounded
from hornbeam.serve.guard import Guard, read_body
from hornbeam.serve.pins import decoded_pin
from hornbeam.serve.visits import Answer, Page, Visit

#: Pages made at once, and those that may take seconds. They share one interpreter: more threads
#: than these make no more pages, and wait for each other.
THREADS = 3
SLOW_THREADS = 1
#: Requests that may wait for a thread before others are told to come back.
MOST_WAITING = 100
MOST_SLOW_WAITING = 4
#: How long the slow lane rests after a page while others ask: in units of what the page took, and
#: in seconds at most; and for how many seconds somebody who asked counts as asking.
REST, LONGEST_REST = 15.0, 5.0
STILL_ASKING = 1.0
#: Characters of pages that are kept, and of what a page may depend on to be kept.
KEPT_PAGES = 32_000_000
LONGEST_KEY = 2000

STATIC = {
    "explorer.css": "text/css",
    "explorer.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

log = logging.getLogger("hornbeam.serve")


class Lane:
    """A number of threads, and a queue that does not grow for ever.

    Pages share one interpreter, so one that takes a second makes all others wait. A lane that
    gives way to `others` rests after every page as long as these are asked.
    """

    def __init__(self, threads: int, most_waiting: int, others: Lane | None = None) -> None:
        self._limiter = anyio.CapacityLimiter(threads)
        self._room = threads + most_waiting
        self._others = others
        self._asked = self._rests_until = -math.inf

    @property
    def is_full(self) -> bool:
        """Whether no more may wait."""
        return self._room <= 0

    async def run(self, page: Page, visit: Visit) -> Answer:
        """Make a page in a thread."""
        self._asked = monotonic()
        self._room -= 1
        try:
            async with self._limiter:
                while self._gives_way:
                    await anyio.sleep(0.05)
                began = monotonic()
                try:
                    return await anyio.to_thread.run_sync(page, visit)
                finally:
                    ended = monotonic()
                    self._rests_until = ended + min(REST * (ended - began), LONGEST_REST)
        finally:
            self._room += 1

    @property
    def _gives_way(self) -> bool:
        """Whether it rests, for the sake of others who ask meanwhile."""
        now, others = monotonic(), self._others
        return others is not None and now < self._rests_until and now < others._asked + STILL_ASKING


#: Which lane a visit takes.
LaneOf = Callable[[Visit], Lane]


@dataclass(frozen=True)
class Address:
    """Where a page is found, and in which lane it is made."""

    path: str
    page: Page
    lane: LaneOf
    method: str = "GET"


class Messages(Protocol):
    """Pages that every application has."""

    def message(self, visit: Visit, status: int, text: str) -> Answer:
        """A page of one message."""

    def not_found(self, visit: Visit, text: str = ...) -> Answer:
        """Say that there is no such thing."""

    def ask_token(self) -> Answer:
        """Ask for the token."""


class WebApp(ABC):
    """Binds pages to addresses; what they are about is the business of those who extend it."""

    def __init__(self, messages: Messages, access: Access) -> None:
        self.messages = messages
        self.access = access
        folder = files("hornbeam.serve") / "static"
        self._static = {name: (folder / name).read_bytes() for name in STATIC}
        self._kept: Bounded[Answer] = Bounded(KEPT_PAGES, lambda one: len(one.body) + LONGEST_KEY)

    @abstractmethod
    def addresses(self, quick: Lane, slow: Lane) -> Sequence[Address]:
        """All pages; what may take seconds takes the slow lane."""

    def guarded(self) -> ASGIApp:
        """The application with its guard around it, outside of everything that may fail."""
        quick = Lane(THREADS, MOST_WAITING)
        slow = Lane(SLOW_THREADS, MOST_SLOW_WAITING, others=quick)
        routes = [self._route(address) for address in self.addresses(quick, slow)]
        app = Starlette(
            routes=[*routes, Route("/static/{name}", self._file)],
            exception_handlers={404: self._not_found, 405: self._not_found, Exception: self._fault},
        )
        return Guard(app, self.access, lambda: self.response(self.messages.ask_token()))

    def visit(self, request: Request, query: dict[str, str]) -> Visit:
        """What a request asks for."""
        htmx = "hx-request" in request.headers
        pinned = decoded_pin(request.cookies.get(self.access.cookie("pin"), ""))
        part = request.headers.get("hx-trigger", "")
        return Visit(query, is_htmx=htmx, part=part, pinned=pinned, path=request.url.path)

    def response(self, answer: Answer, headers: dict[str, str] | None = None) -> Response:
        """An answer as it is sent; a new pin goes to the visitor's cookie."""
        if answer.go_to is not None:
            response: Response = RedirectResponse(answer.go_to, answer.status)
        else:
            # names may hold what UTF-8 has no letter for
            body = answer.body.encode("utf-8", "replace")
            response = Response(
                body, answer.status, {**answer.headers, **(headers or {})}, answer.media_type
            )
        if answer.pin is not None:
            self.keep(response, "pin", answer.pin.encoded if answer.pin else "")
        return response

    def keep(self, response: Response, what: str, text: str) -> None:
        """Keep a text in a cookie that no script reads and no other site sends; "" forgets it."""
        name = self.access.cookie(what)
        if text:
            response.set_cookie(name, text, httponly=True, samesite="strict", path="/")
        else:
            response.delete_cookie(name, httponly=True, samesite="strict", path="/")

    def _route(self, address: Address) -> Route:
        async def endpoint(request: Request) -> Response:
            is_get = address.method == "GET"
            query = dict(request.query_params) if is_get else await _form(request)
            visit = self.visit(request, query)
            try:
                return self.response(await self._answer(address, visit))
            except InputError as error:
                return self.response(self.messages.message(visit, 400, str(error)))

        return Route(address.path, endpoint, methods=[address.method])

    async def _answer(self, address: Address, visit: Visit) -> Answer:
        """A page as it was shown before, or made in its lane."""
        key = (address.path, *visit.key)
        kept = self._kept.held(key) if address.method == "GET" else None
        if kept is not None:
            return kept
        lane = address.lane(visit)
        if lane.is_full:
            busy = self.messages.message(visit, 503, "The server is busy. Try again in a moment.")
            return replace(busy, headers={**busy.headers, "retry-after": "2"})
        answer = await lane.run(address.page, visit)
        plain = answer.status == 200 and answer.edits is None and answer.pin is None
        if address.method == "GET" and plain and len(repr(visit.key)) <= LONGEST_KEY:
            self._kept.get(key, lambda: answer)
        return answer

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return await self._not_found(request, None)
        headers = {"cache-control": "public, max-age=3600"}
        return Response(self._static[name], 200, headers, STATIC[name])

    async def _not_found(self, request: Request, _: object) -> Response:
        return self.response(self.messages.not_found(self.visit(request, {})))

    async def _fault(self, request: Request, error: Exception) -> Response:
        log.error("hornbeam: a fault of the explorer at %s", request.url.path, exc_info=error)
        text = "Something went wrong here. The terminal of the explorer says what."
        return self.response(self.messages.message(self.visit(request, {}), 500, text))


async def _form(request: Request) -> dict[str, str]:
    body = await read_body(request.receive)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except (UnicodeDecodeError, ValueError):
        return {}
