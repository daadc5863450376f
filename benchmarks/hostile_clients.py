"""Clients that mean no good, as a process of their own; `bench_serve.py` starts it.

    python benchmarks/hostile_clients.py PORT --connections 500 --dear 2 --hubs FILE

So many connections are open all the time; one that the server closes is opened again. Of a hundred,
70 send a header byte by byte (slowloris), 20 ask and never read, 4 send megabytes, 6 send noise.
Those that are `dear` come on top: each asks without a pause for what costs most. Ends with its
standard input.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

Link = tuple[asyncio.StreamReader, asyncio.StreamWriter]

#: Seconds before a connection is opened again.
PAUSE = 0.05


async def drip(_: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
    """A header a byte at a time, for ever."""
    out.write(b"GET / HTTP/1.1\r\nX-Drip: ")
    while not out.is_closing():
        await asyncio.sleep(1.0)
        out.write(b"a")
        await out.drain()


async def never_read(_: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
    """Many requests whose answers are not taken."""
    out.write(b"GET /rules HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)
    await out.drain()
    await asyncio.sleep(5.0)


async def huge(_: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
    """Megabytes of headers."""
    out.write(b"POST /edit HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 2_000_000)
    await out.drain()
    await asyncio.sleep(1.0)


async def noise(_: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
    """What is no HTTP."""
    out.write(os.urandom(1000))
    await out.drain()
    await asyncio.sleep(1.0)


def dear(
    hubs: list[str],
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """The dearest pages: hubs, searches that find nothing, what would flip a decision."""

    async def ask(into: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        one, other = (quote(name) for name in random.sample(hubs, 2))
        for address in (
            f"/entity?name={one}",
            f"/search?q={os.urandom(100).hex()}",
            f"/flip?subject={one}&predicate=target&object={other}",
        ):
            request = f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            out.write(request.encode())
            head = await into.readuntil(b"\r\n\r\n")
            fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            await into.readexactly(int(fields[b"content-length"]))

    return ask


async def again(port: int, kind: Callable[..., Awaitable[None]]) -> None:
    """One connection after the other."""
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            opened = socket.create_connection(("127.0.0.1", port), 10)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            into, out = await asyncio.open_connection(sock=opened, limit=65536)
            if kind is never_read:
                out.transport.pause_reading()  # type: ignore[attr-defined]
            try:
                await kind(into, out)
            finally:
                out.transport.abort()
        await asyncio.sleep(PAUSE)


async def attack(port: int, connections: int, n_dear: int, hubs: list[str]) -> None:
    """Run until the standard input ends."""
    kinds = [*[drip] * 70, *[never_read] * 20, *[huge] * 4, *[noise] * 6]
    random.Random(0).shuffle(kinds)
    chosen: list[Callable[..., Awaitable[None]]] = [
        kinds[i % len(kinds)] for i in range(connections)
    ]
    tasks = [asyncio.create_task(again(port, kind)) for kind in [*chosen, *[dear(hubs)] * n_dear]]
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--dear", type=int, default=0)
    parser.add_argument("--hubs", type=Path, required=True, help="names of entities, one per line")
    given = parser.parse_args()
    hubs = given.hubs.read_text().splitlines()
    asyncio.run(attack(given.port, given.connections, given.dear, hubs))


if __name__ == "__main__":
    main()
