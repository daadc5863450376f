"""The web application: addresses to pages, work to threads or processes, edits to cookies.

Pages are made in a few worker threads, so that no page blocks the event loop. Once all shared data
is built, pages are made in processes. Pages that may take seconds have a queue of their own, which
pauses while the queue of quick pages is in use. If too many requests wait, the answer is that the
server is busy. Recent responses are cached.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from urllib.parse import parse_qsl

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InputError
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.explorer import Explorer, ModelExplorer
from hornbeam.serve.graph_explorer import GraphExplorer
from hornbeam.serve.guard import Access, Guard, read_body
from hornbeam.serve.page_processes import MAX_PROCESSES, PageProcess, can_fork
from hornbeam.serve.page_queues import PageQueue
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.service import BODY, Service, answered, error_answer
from hornbeam.serve.service_schema import MAX_BYTES, PREFIX, is_of_service
from hornbeam.serve.site import Address, AnySite, Site, edits_in
from hornbeam.serve.templating import PageWriter
from hornbeam.serve.visits import PageAnswer, Visit, decoded_pin, json_answer

#: Number of threads for quick pages, and for pages that may take seconds. They share one
#: interpreter: more threads would only wait for each other.
THREADS = 3
SLOW_THREADS = 1
#: Maximum number of waiting requests, for quick and for slow pages; further requests get 503.
MAX_WAITING = 100
MAX_SLOW_WAITING = 4
#: Maximum number of characters of all cached pages, and maximum length of a cached page's key.
KEPT_PAGES = 32_000_000
#: Maximum seconds until a request of the JSON service is answered.
MAX_SECONDS = 30.0
LONGEST_KEY = 2000

STATIC = {
    "explorer.css": "text/css",
    "explorer.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

log = logging.getLogger("hornbeam.serve")


class ShownModel:
    """Everything that belongs to one explorer: its pages, their cache, and who makes them.

    After a reload another one takes its place, and this one answers the requests that it has.
    """

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.site: AnySite = _site_of(explorer)
        self.writer = self.site.writer
        self.addresses = {**self.site.addresses, **service_addresses(explorer)}
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

    async def move_to_processes(self) -> None:
        """From now on make pages in processes, if the system and the explorer allow it."""
        if not (self.explorer.forks and can_fork()):
            return
        pages = [address.page for address in self.addresses.values()]
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

    async def retire(self) -> None:
        """End the processes when the requests that have come so far are answered."""
        async with self._slow.paused_makers(), self._quick.paused_makers():
            self.end_processes()

    async def answer(self, address: Address, visit: Visit) -> PageAnswer:
        """A cached page, or a page made in its queue."""
        key = (address.path, *visit.key)
        kept = self._kept.peek(key) if address.method == "GET" else None
        if kept is not None:
            return kept
        queue = self._quick if address.at_once(visit) else self._slow
        if queue.is_full:
            raise BusyError(503, "The server is busy. Try again in a moment.")
        try:
            async with asyncio.timeout(MAX_SECONDS if is_of_service(address.path) else None):
                answer = await queue.run(address.page, visit)
        except TimeoutError:
            much = f"The answer took more than {MAX_SECONDS:.0f} seconds: ask for less at a time."
            raise BusyError(504, much) from None
        plain = answer.status == 200 and answer.edits is None and answer.pin is None
        if address.method == "GET" and plain and len(repr(key)) <= LONGEST_KEY:
            self._kept.get(key, lambda: answer)
        return answer


class BusyError(Exception):
    """A request that is not answered for lack of time; has the status of the response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class WebApp:
    """Binds the pages of an explorer to addresses.

    `reopen` reads the model and the facts again and makes their explorer, for a reload.
    """

    def __init__(
        self,
        explorer: Explorer,
        access: Access,
        reopen: Callable[[], Explorer] | None = None,
    ) -> None:
        self.access = access
        self.shown = ShownModel(explorer)
        self._reopen = reopen
        self._reloading = asyncio.Lock()
        folder = files("hornbeam.serve") / "static"
        self._static = {name: (folder / name).read_bytes() for name in STATIC}

    @property
    def explorer(self) -> Explorer:
        """The explorer whose pages are shown now."""
        return self.shown.explorer

    @property
    def writer(self) -> PageWriter:
        """Fills the templates."""
        return self.shown.writer

    def guarded(self) -> ASGIApp:
        """The application inside its guard, which also sets the headers of error responses."""
        routes = [
            Route("/static/{name}", self._file),
            Route(f"{PREFIX}/reload", self._reload, methods=["POST"]),
            Route("/{path:path}", self._page, methods=["GET", "POST"]),
        ]
        app = Starlette(
            routes=routes,
            exception_handlers={404: self._not_found, 405: self._not_found, Exception: self._fault},
        )
        return Guard(app, self.access, lambda: self.response(self.writer.ask_token()))

    async def reload(self, progress: Progress = SILENT) -> None:
        """Read everything again; requests that have come before are answered from the old data.

        Nothing changes where reading fails.
        """
        if self._reopen is None:
            raise InputError("this server cannot read its model again")
        reopen = self._reopen

        def opened() -> ShownModel:
            shown = ShownModel(reopen())
            shown.warm_up(progress)
            return shown

        async with self._reloading:
            new = await anyio.to_thread.run_sync(opened)
            old, self.shown = self.shown, new
            await new.move_to_processes()
            await old.retire()

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

    async def _page(self, request: Request) -> Response:
        """The page at an address, by the model that is shown now."""
        shown, path = self.shown, request.scope["path"]
        address = shown.addresses.get(path)
        method = "GET" if request.method == "HEAD" else request.method
        if address is None or address.method != method:
            return await self._not_found(request, None)
        if method == "GET":
            query = dict(request.query_params)
        elif is_of_service(path):
            query = {BODY: (await read_body(request.receive, MAX_BYTES)).decode("utf-8", "replace")}
        else:
            query = await _form(request)
        visit = self.visit(request, query)
        try:
            return self.response(await shown.answer(address, visit))
        except InputError as error:
            return self.refusal(visit, 400, str(error))
        except BusyError as error:
            response = self.refusal(visit, error.status, str(error))
            response.headers["retry-after"] = "2"
            return response

    def refusal(self, visit: Visit, status: int, text: str) -> Response:
        """A page, or for programs JSON, that says why there is no other answer."""
        if is_of_service(visit.path):
            return self.response(error_answer(status, text))
        return self.response(self.writer.message(visit, status, text))

    async def _reload(self, request: Request) -> Response:
        if self.access.token is None:
            how = "start the server with a token, or send SIGHUP to its process"
            return self.response(error_answer(403, f"A reload needs the token: {how}."))
        try:
            await self.reload()
        except InputError as error:
            return self.response(error_answer(409, f"nothing was reloaded: {error}"))
        return self.response(json_answer({"status": "reloaded"}))

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return await self._not_found(request, None)
        headers = {"cache-control": "public, max-age=3600"}
        return Response(self._static[name], 200, headers, STATIC[name])

    async def _not_found(self, request: Request, _: object) -> Response:
        if is_of_service(request.scope["path"]):
            text = f"no such endpoint: see {PREFIX}/openapi.json"
            if self.explorer.is_program:
                text = (
                    "this service is for models; a program answers at /index.json, /atom.json, ..."
                )
            return self.response(error_answer(404, text))
        return self.response(self.writer.not_found(self.visit(request, {})))

    async def _fault(self, request: Request, error: Exception) -> Response:
        log.error("hornbeam: a fault of the explorer at %s", request.url.path, exc_info=error)
        text = "Internal error. See the terminal that runs the explorer."
        return self.refusal(self.visit(request, {}), 500, text)


def service_addresses(explorer: Explorer) -> dict[str, Address]:
    """The addresses of the JSON service, for an explorer of a model."""
    if not isinstance(explorer, RuleExplorer | GraphExplorer):
        return {}
    return {
        endpoint.path: Address(
            endpoint.path, partial(answered, endpoint), lambda _: True, endpoint.method
        )
        for endpoint in Service(explorer).endpoints
    }


def _site_of(explorer: Explorer) -> AnySite:
    """The addresses of an explorer of any kind."""
    if isinstance(explorer, ModelExplorer):
        return Site(explorer)
    # models need no programs
    from hornbeam.serve.program_explorer import ProgramExplorer
    from hornbeam.serve.program_pages import ProgramSite

    assert isinstance(explorer, ProgramExplorer)
    return ProgramSite(explorer)


async def _form(request: Request) -> dict[str, str]:
    body = await read_body(request.receive)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except (UnicodeDecodeError, ValueError):
        return {}
