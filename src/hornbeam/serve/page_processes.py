"""Pages made by forked copies of the server, so that pages are made on all cores.

A copy shares the facts and all arrays with the server (copy on write). It has a socket to the
server, but no connection of a visitor. It makes one page at a time, and ends when the socket is
closed, however the server ended. A process that has ended is forked again when needed.

Processes are worth it where cores are idle. On two otherwise idle cores, 20 clients without a pause
get 333 pages per second of a million facts and a mixed model, at 5.0 ms of CPU per page
(`benchmarks/RESULTS.md`). That is 1.7 cores; threads of one interpreter use one core. At 200 pages
per second, the 20 clients would wait 100 ms on average. So threads alone would miss the required
110 ms at the 95th percentile beside hostile clients. On two cores that eight other jobs share,
threads are as fast or faster: with 300,000 facts, 196 pages per second in threads and 160 in
processes, or 210 and 135 beside 500 hostile connections (medians of five rounds in turn). Threads
then hold 0.55 instead of 0.69 GB.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import socket
import struct
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import NoReturn

from hornbeam.errors import InputError
from hornbeam.serve.visits import Page, PageAnswer, Visit

#: Maximum number of processes for quick pages: each process has its own caches.
MAX_PROCESSES = 4
#: Header of a response: its size.
SIZE = struct.Struct("!Q")
#: Maximum number of bytes per read.
CHUNK = 1 << 18


class PageFaultError(Exception):
    """An error in a process that makes pages; the message is its traceback."""


def can_fork() -> bool:
    """Whether a process with threads can be forked: the libraries of macOS forbid it."""
    return sys.platform not in ("win32", "darwin")


class PageProcess:
    """A forked copy of the server that makes pages: a `PageMaker` without a thread in the server.

    Parameters
    ----------
    pages
        All pages that may be requested, which must be known when the process is forked.
    """

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = pages
        self._process = 0
        self._loop: asyncio.AbstractEventLoop | None = None  # watches the idle process
        self._start()

    async def __call__(self, page: Page, visit: Visit) -> PageAnswer:
        """Have a page made in the process; raises the error that making the page raises."""
        self._unwatch()  # from now on a readable link may also mean that the page is made
        if self._has_ended():
            self._start()
        try:
            made = await self._response((self._pages.index(page), visit))
        except BaseException:
            # an unread response would be delivered to the next request
            self.end()
            raise
        self.watch()
        if isinstance(made, PageAnswer):
            return made
        raise made

    def watch(self) -> None:
        """Let the running event loop notice the end of the idle process, or a zombie would stay."""
        self._loop = asyncio.get_running_loop()
        # the link of an idle process becomes readable only when the process ends
        self._loop.add_reader(self._link, self.end)

    def _unwatch(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._link)
        self._loop = None

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._unwatch()
        if self._process:
            self._link.close()
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._process = 0

    async def _response(self, request: tuple[int, Visit]) -> PageAnswer | Exception:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._link, pickle.dumps(request, pickle.HIGHEST_PROTOCOL))
        received = bytearray()
        while not _is_whole(received):
            part = await loop.sock_recv(self._link, CHUNK)
            if not part:
                raise PageFaultError("the process that made the page has ended")
            received += part
        made: PageAnswer | Exception = pickle.loads(memoryview(received)[SIZE.size :])
        return made

    def _has_ended(self) -> bool:
        if self._process and os.waitpid(self._process, os.WNOHANG)[0]:
            self._link.close()
            self._process = 0
        return not self._process

    def _start(self) -> None:
        self._link, child_end = socket.socketpair()
        # the processes share all present objects: garbage collection would write to and copy them
        gc.freeze()
        with warnings.catch_warnings():
            # newer versions of Python warn of threads with locks: no thread makes a page now
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                self._process = os.fork()
            except OSError:
                self._link.close()
                child_end.close()
                raise
        if not self._process:
            _make_pages(child_end, self._pages)
        child_end.close()
        self._link.setblocking(False)


def _make_pages(link: socket.socket, pages: Sequence[Page]) -> NoReturn:
    """Make pages until the server has ended."""
    try:
        # Ctrl-C in a terminal goes to all processes, as does SIGTERM from a manager of services:
        # this process ignores them and finishes its page, the server ends it
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        own = link.fileno()
        os.closerange(3, own)
        os.closerange(own + 1, os.sysconf("SC_OPEN_MAX"))
        requests = link.makefile("rb")
        while True:
            number, visit = pickle.load(requests)
            made = pickle.dumps(_made(pages[number], visit), pickle.HIGHEST_PROTOCOL)
            link.sendall(SIZE.pack(len(made)) + made)
    finally:
        # os._exit: skip the clean-up handlers of the server process
        os._exit(0)


def _made(page: Page, visit: Visit) -> PageAnswer | Exception:
    try:
        return page(visit)
    except InputError as error:
        return InputError(str(error))
    except Exception:
        return PageFaultError(traceback.format_exc())


def _is_whole(received: bytearray) -> bool:
    return len(received) >= SIZE.size and len(received) == SIZE.size + SIZE.unpack_from(received)[0]
