"""The server: opens its socket before anything is loaded, and holds connections to deadlines.

A client has limited time to send a request and to take the answer. A client that sends a byte now
and then, or does not read, is cut off. The number of connections is limited, too. At the limit, the
connection that has been idle longest is closed, so that many silent connections cannot lock out
other clients. (Uvicorn's own `limit_concurrency` would reject the newest connection instead.) A
connection has one request at a time: requests that are sent before the answer is complete are not
read, so that pipelined requests get one answer.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.terminal_progress import print_message
from hornbeam.errors import InputError
from hornbeam.serve.guard import MAX_HEADERS
from hornbeam.serve.web_app import MAX_SECONDS, WebApp

#: Deadlines in seconds: for sending a whole request, for the answer and reading it, for being idle.
REQUEST_SECONDS = 10.0
ANSWER_SECONDS = 60.0
IDLE_SECONDS = 15
#: Maximum open connections and maximum backlog (fewer where the limit on open files is low), and
#: files reserved for the server itself, its page processes included.
MAX_CONNECTIONS = 1000
MAX_BACKLOG = 250
OTHER_FILES = 20
#: Errors of `accept` when files or memory for one more connection are missing.
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
#: Seconds that running requests get when Ctrl-C stops the server. After SIGTERM, which a manager of
#: services sends, they have as long as a request may take.
SHUTDOWN_SECONDS = 2
#: Seconds to wait for the warm-up thread at that time: ending it midway would print tracebacks.
WARM_UP_GRACE_SECONDS = 0.5


class DeadlineProtocol(H11Protocol):
    """HTTP with a deadline for every phase of a connection."""

    deadline: asyncio.TimerHandle | None = None

    @property
    def is_answering(self) -> bool:
        """Whether a request has arrived and its answer is not complete yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close another connection if there are too many, and start the deadline."""
        leaving = _longest_idle(self.connections) or self if _is_full(self.connections) else None
        super().connection_made(transport)
        self._expect(REQUEST_SECONDS)
        if leaving is not None:
            leaving.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read data; the deadline is reset when a request is complete, not with every byte."""
        was_answering = self.is_answering
        super().data_received(data)
        if self.is_answering and not was_answering:
            self._expect(ANSWER_SECONDS)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP in the form of all errors of the service."""
        told = json.dumps({"error": {"status": 400, "message": msg}}).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=told)):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
        self.transport.close()

    def on_response_complete(self) -> None:
        """Start the deadline of the next request; an early request ends the connection."""
        if self.conn.trailing_data[0]:
            self.transport.close()
        super().on_response_complete()
        self._expect(IDLE_SECONDS + REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        if self.deadline is not None:
            self.deadline.cancel()
        super().connection_lost(exc)

    def _expect(self, seconds: float) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
        self.deadline = self.loop.call_later(seconds, self.transport.abort)


def _is_full(connections: Any) -> bool:  # noqa: ANN401
    """Whether the limit is reached; connections that are being closed do not count."""
    limit = _max_connections()
    # counted exactly (without connections being closed) only if the limit is reached
    return len(connections) >= limit <= sum(not c.transport.is_closing() for c in connections)


def _max_connections() -> int:
    """Maximum number of connections: half of the files, so that four backlogs fit beside them.

    Asyncio accepts a whole backlog at once, and three steps of its loop pass until a connection
    beyond the limit is closed: three more backlogs may be accepted meanwhile.
    """
    return max(1, min(MAX_CONNECTIONS, _connection_files() // 2))


def _backlog() -> int:
    """Maximum number of connections that wait to be accepted."""
    return max(1, min(MAX_BACKLOG, _connection_files() // 8))


def _connection_files() -> int:
    """Number of open files that are left for connections."""
    if sys.platform == "win32":
        return 4 * MAX_CONNECTIONS
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return files - OTHER_FILES if files != resource.RLIM_INFINITY else 4 * MAX_CONNECTIONS


def _longest_idle(connections: Any) -> DeadlineProtocol | None:  # noqa: ANN401
    """The idle connection whose deadline comes first; None if all are answering."""
    waiting = [c for c in connections if not c.is_answering and not c.transport.is_closing()]
    return min(waiting, key=lambda c: c.deadline.when(), default=None)


def listen(host: str, port: int) -> socket.socket:
    """Open the socket; if that fails, an `InputError` says why."""
    try:
        addresses = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG
        )
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot listen on `host` {host!r}: {reason}; expected an address of this machine"
        ) from None
    family, kind, protocol, _, address = addresses[0]
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_backlog())
    except OSError as error:
        opened.close()
        raise InputError(_why_not(error, host, port)) from None
    return opened


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken by another program: try `port=0` for a free one"
    if error.errno == errno.EACCES:
        return f"port {port} is not allowed for you: try `port=0` for a free one"
    if error.errno == errno.EADDRNOTAVAIL:
        return f'{host!r} is not an address of this machine: try `host="0.0.0.0"`'
    return f"cannot listen on {host}, port {port}: {error.strerror}"


def run(
    app: WebApp, opened: socket.socket, started: Callable[[], None], progress: Progress
) -> None:
    """Serve until Ctrl-C or SIGTERM, which both raise `KeyboardInterrupt`.

    `started` is called when the first visitor may come.

    Then a thread builds what the first page does not need. When it has ended, pages are made in
    processes if possible.
    """
    warming, moving = list[Thread](), list[asyncio.Task[None]]()

    def begun() -> None:
        started()
        loop = asyncio.get_running_loop()
        if hasattr(signal, "SIGHUP"):
            loop.add_signal_handler(signal.SIGHUP, lambda: moving.append(loop.create_task(again())))
        warming.append(Thread(target=prepare, args=[loop], daemon=True))
        warming[0].start()

    async def again() -> None:
        try:
            await app.reload(progress)
            progress.message("Reloaded.")
        except InputError as error:
            # never silent, not even the second time: the server goes on with old data
            print_message(f"hornbeam: warning: nothing was reloaded: {error}")

    def prepare(loop: asyncio.AbstractEventLoop) -> None:
        try:
            app.shown.warm_up(progress)
        except OSError as error:
            progress.message(f"Pages are prepared when they are asked for: {error}")
        with suppress(RuntimeError):  # the server may have stopped meanwhile
            loop.call_soon_threadsafe(
                lambda: moving.append(loop.create_task(app.shown.move_to_processes()))
            )

    server = make_server(app.guarded(), begun, progress)
    before = signal.signal(signal.SIGTERM, _interrupt)  # the server raises it again at its end
    # present objects stay: checking them at every garbage collection would delay all visitors
    gc.collect()
    gc.freeze()
    try:
        server.run(sockets=[opened])
    finally:
        for thread in warming:
            thread.join(WARM_UP_GRACE_SECONDS)
        app.shown.end_processes()
        signal.signal(signal.SIGTERM, before)
        gc.unfreeze()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End the server as Ctrl-C does."""
    raise KeyboardInterrupt


def make_server(
    app: ASGIApp, started: Callable[[], None], progress: Progress = SILENT
) -> uvicorn.Server:
    """The server, not yet running."""
    config = uvicorn.Config(
        app,
        http=DeadlineProtocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # bad requests are not logged; the application logs its errors
        access_log=False,
        server_header=False,
        proxy_headers=False,  # forwarded headers are ignored
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=MAX_HEADERS,
        backlog=_backlog(),
    )
    return _RoomyServer(config, started, progress)


class _RoomyServer(uvicorn.Server):
    """Calls `started` when it is ready, and makes room when the system has no more open files.

    The limit on connections leaves room for the files of the server. That these are more than
    expected is no reason to stop answering.
    """

    def __init__(
        self, config: uvicorn.Config, started: Callable[[], None], progress: Progress
    ) -> None:
        super().__init__(config)
        self._announce = started
        self._progress = progress
        self._was_short = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then call `started`."""
        asyncio.get_running_loop().set_exception_handler(self._handle)
        await super().startup(sockets)
        self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; after SIGTERM, requests that run are answered first."""
        if sig == signal.SIGTERM:
            self.config.timeout_graceful_shutdown = int(MAX_SECONDS)
        super().handle_exit(sig, frame)

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Close the longest idle half of connections; asyncio accepts again in a second."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in NO_ROOM and "socket" in context):
            loop.default_exception_handler(context)
            return
        if not self._was_short:
            self._progress.message(
                "The limit on open files (`ulimit -n`) is reached: idle connections are closed."
            )
        self._was_short = True
        connections = self.server_state.connections
        while 2 * sum(c.transport.is_closing() for c in connections) < len(connections) and (
            idle := _longest_idle(connections)
        ):
            idle.transport.abort()
