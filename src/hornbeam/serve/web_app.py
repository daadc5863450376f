"""The web application: addresses to pages, work to threads or processes, edits to cookies.

Pages are made in a few worker threads, so that no page blocks the event loop. Once all shared data
is built, pages are made in processes. Pages that may take seconds have a queue of their own, which
pauses while the queue of quick pages is in use. If too many requests wait, the answer is that the
server is busy. Recent responses are cached.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib.resources import files
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import Progress
from hornbeam.errors import InputError
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.explorer import Explorer
from hornbeam.serve.guard import Access, Guard, read_body
from hornbeam.serve.page_processes import MAX_PROCESSES, PageProcess, can_fork
from hornbeam.serve.page_queues import PageQueue
from hornbeam.serve.site import Address, Site, edits_in
from hornbeam.serve.visits import PageAnswer, Visit, decoded_pin

#: Number of threads for quick pages, and for pages that may take seconds. They share one
#: interpreter: more threads would only wait for each other.
THREADS = 3
SLOW_THREADS = 1
#: Maximum number of waiting requests, for quick and for slow pages; further requests get 503.
MAX_WAITING = 100
MAX_SLOW_WAITING = 4
#: Maximum number of characters of all cached pages, and maximum length of a cached page's key.
KEPT_PAGES = 32_000_000
LONGEST_KEY = 2000

STATIC = {
    "explorer.css": "text/css",
    "explorer.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

log = logging.getLogger("hornbeam.serve")


class WebApp:
    """Binds the pages of an explorer to addresses."""

    def __init__(self, explorer: Explorer, access: Access) -> None:
        self.explorer = explorer
        self.site = Site(explorer)
        self.writer = self.site.writer
        self.access = access
        folder = files("hornbeam.serve") / "static"
        self._static = {name: (folder / name).read_bytes() for name in STATIC}
        self._kept = BoundedCache[PageAnswer](
            KEPT_PAGES, lambda answer: len(answer.body) + LONGEST_KEY
        )
        self._quick = PageQueue(THREADS, MAX_WAITING)
        self._slow = PageQueue(SLOW_THREADS, MAX_SLOW_WAITING, others=self._quick)
        self._processes = list[PageProcess]()

    def warm_up(self, progress: Progress) -> None:
        """Compile and build what pages need; before forking, also render some pages."""
        self.explorer.warm_up(progress)
        if self.explorer.forks:
            self.site.prerender()

    def guarded(self) -> ASGIApp:
        """The application inside its guard, which also sets the headers of error responses."""
        routes = [self._route(address) for address in self.site.addresses.values()]
        app = Starlette(
            routes=[*routes, Route("/static/{name}", self._file)],
            exception_handlers={404: self._not_found, 405: self._not_found, Exception: self._fault},
        )
        return Guard(app, self.access, lambda: self.response(self.writer.ask_token()))

    async def move_to_processes(self) -> None:
        """From now on make pages in processes, if the system and the explorer allow it."""
        if not (self.explorer.forks and can_fork()):
            return
        pages = [address.page for address in self.site.addresses.values()]
        # no thread may make a page during a fork: its locks would be held forever in the copy
        async with self._slow.paused_makers() as slow, self._quick.paused_makers() as quick:
            try:
                for _ in range(min(worker_threads(), MAX_PROCESSES) + SLOW_THREADS):
                    self._processes.append(PageProcess(pages))
            except OSError as error:
                log.warning("hornbeam: pages are made in threads: %s", error)
                self.end_processes()
                return
            for process in self._processes:
                process.watch()
            slow[:] = self._processes[:SLOW_THREADS]
            quick[:] = self._processes[SLOW_THREADS:]

    def end_processes(self) -> None:
        """End the processes that make pages."""
        for process in self._processes:
            process.end()
        self._processes.clear()

    def visit(self, request: Request, query: dict[str, str]) -> Visit:
        """The visit of a request, with the visitor's edits."""
        htmx = "hx-request" in request.headers
        pinned = decoded_pin(request.cookies.get(self.access.cookie("pin"), ""))
        part = request.headers.get("hx-trigger", "")
        path = request.scope["path"]
        edits = edits_in(request.cookies.get(self.access.cookie("edits"), ""), self.explorer)
        return Visit(query, edits, is_htmx=htmx, part=part, pinned=pinned, path=path)

    def response(self, answer: PageAnswer) -> Response:
        """The response of an answer; new edits and a new pin go to the visitor's cookies."""
        if answer.go_to is not None:
            response: Response = RedirectResponse(answer.go_to, answer.status)
        else:
            # names may contain surrogates, which UTF-8 cannot encode
            body = answer.body.encode("utf-8", "replace")
            response = Response(body, answer.status, dict(answer.headers), answer.media_type)
        if answer.pin is not None:
            self.keep(response, "pin", answer.pin.encoded if answer.pin else "")
        if answer.edits is not None:
            text = answer.edits.encoded(self.explorer.fingerprint) if answer.edits else ""
            self.keep(response, "edits", text)
        return response

    def keep(self, response: Response, what: str, text: str) -> None:
        """Store a text in a cookie that no script reads and no other site sends; "" deletes it."""
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
                return self.response(self.writer.message(visit, 400, str(error)))

        return Route(address.path, endpoint, methods=[address.method])

    async def _answer(self, address: Address, visit: Visit) -> PageAnswer:
        """A cached page, or a page made in its queue."""
        key = (address.path, *visit.key)
        kept = self._kept.peek(key) if address.method == "GET" else None
        if kept is not None:
            return kept
        queue = self._quick if address.at_once(visit) else self._slow
        if queue.is_full:
            busy = self.writer.message(visit, 503, "The server is busy. Try again in a moment.")
            return replace(busy, headers={**busy.headers, "retry-after": "2"})
        answer = await queue.run(address.page, visit)
        plain = answer.status == 200 and answer.edits is None and answer.pin is None
        if address.method == "GET" and plain and len(repr(key)) <= LONGEST_KEY:
            self._kept.get(key, lambda: answer)
        return answer

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return await self._not_found(request, None)
        headers = {"cache-control": "public, max-age=3600"}
        return Response(self._static[name], 200, headers, STATIC[name])

    async def _not_found(self, request: Request, _: object) -> Response:
        return self.response(self.writer.not_found(self.visit(request, {})))

    async def _fault(self, request: Request, error: Exception) -> Response:
        log.error("hornbeam: a fault of the explorer at %s", request.url.path, exc_info=error)
        text = "Internal error. See the terminal that runs the explorer."
        return self.response(self.writer.message(self.visit(request, {}), 500, text))


async def _form(request: Request) -> dict[str, str]:
    body = await read_body(request.receive)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except (UnicodeDecodeError, ValueError):
        return {}
