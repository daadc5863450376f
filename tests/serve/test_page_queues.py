"""Who waits for whom: lanes, pages that are kept, and clients that ask all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

import hornbeam as hb
from hornbeam.serve import page_queues, pair_explorers, web_app
from hornbeam.serve.guard import Access
from hornbeam.serve.page_queues import PageQueue
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.site import Address, Site
from hornbeam.serve.visits import Page, PageAnswer, Visit
from hornbeam.serve.web_app import WebApp
from tests.support.servers import Client, serving

Result = TypeVar("Result")
LOCAL = Access("127.0.0.1", 8765, None)


def run_apart(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end in a thread of its own: a browser's tests leave an event loop in this one."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, work).result()


@pytest.fixture
def explorer() -> RuleExplorer:
    facts = hb.read_facts([("hub", "p", f"b{i}") for i in range(20)] + [("b1", "p", "b2")])
    return open_rule_explorer(
        facts, hb.Model.parse("1.0: p(A, X) & p(X, B) -> t(A, B)\n"), threads=1
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which passes when somebody says so."""
    now = [100.0]
    monkeypatch.setattr("hornbeam.serve.page_queues.monotonic", lambda: now[0])
    return now


def test_dear_pages_rest_while_others_ask(clock: list[float]) -> None:
    quick = PageQueue(1, 5)
    slow = PageQueue(1, 5, others=quick)

    def page(_: Visit) -> PageAnswer:
        clock[0] += 0.2
        return PageAnswer("made")

    run_apart(slow.run(page, Visit()))
    assert not slow._must_wait, "nobody else asked"
    run_apart(quick.run(page, Visit()))
    assert slow._must_wait
    clock[0] += page_queues.IN_USE
    assert not slow._must_wait, "nobody asks any more"
    run_apart(slow.run(page, Visit()))
    quick._used_at = clock[0] + 1000.0  # asking all the time
    clock[0] += 0.2 * page_queues.PAUSE - 0.01
    assert slow._must_wait
    clock[0] += 0.02
    assert not slow._must_wait, "whoever waits gets a turn"


def test_a_queue_is_full_when_all_its_places_are_taken() -> None:
    """Two pages are made, three wait; when one leaves, there is a place again."""

    async def fill() -> list[bool]:
        queue, pages = PageQueue(2, 3), asyncio.Event()

        async def maker(_: Page, __: Visit) -> PageAnswer:
            await pages.wait()
            return PageAnswer("made")

        async with queue.paused_makers() as makers:
            makers[:] = [maker, maker]
        full, visits = [queue.is_full], []
        for _ in range(5):
            visits.append(asyncio.create_task(queue.run(lambda _: PageAnswer(""), Visit())))
            await asyncio.sleep(0)
            full.append(queue.is_full)
        pages.set()
        await asyncio.gather(*visits)
        return [*full, queue.is_full]

    assert run_apart(fill()) == [False] * 5 + [True, False]


def test_entities_with_very_many_facts_take_the_slow_lane(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_explorers, "MANY_FACTS", 10)
    entity = Site(explorer).addresses["/entity"]
    assert not entity.at_once(Visit({"name": "hub"}))
    assert entity.at_once(Visit({"name": "b1"}))
    assert entity.at_once(Visit({"name": "nobody"}))


def test_a_page_is_made_once_for_all_who_ask_for_the_same(explorer: RuleExplorer) -> None:
    app, made = WebApp(explorer, LOCAL), list[Visit]()

    def page(visit: Visit) -> PageAnswer:
        made.append(visit)
        return PageAnswer("page", status=200 if visit.query.get("name") else 404)

    address = Address("/page", page, lambda _: True)
    one, other, htmx = (
        Visit({"name": "a"}),
        Visit({"name": "b"}),
        Visit({"name": "a"}, is_htmx=True),
    )
    for visit in (one, other, one, htmx, one, Visit(), Visit()):
        run_apart(app.shown.answer(address, visit))
    assert made == [one, other, htmx, Visit(), Visit()]


@pytest.mark.slow
def test_any_number_of_visitors_needs_no_more_memory(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is bounded, whoever asks and for whatever; long questions are not kept."""
    monkeypatch.setattr(web_app, "KEPT_PAGES", 300_000)
    app = WebApp(explorer, LOCAL)
    address = Address("/page", lambda _: PageAnswer("x" * 1000), lambda _: True)

    async def crowd() -> None:
        for i in range(300):
            await app.shown.answer(address, Visit({"name": f"visitor {i}"}))
            await app.shown.answer(address, Visit({"name": f"{i}" * 3000}))

    run_apart(crowd())
    assert len(app.shown._kept) == 300_000 // (1000 + web_app.LONGEST_KEY)
    for i in range(100_000):
        app.shown._kept.get(("visitor", i), lambda: PageAnswer("x"))
    assert len(app.shown._kept) <= 300_000 // web_app.LONGEST_KEY


def test_requests_in_one_breath_get_one_answer(explorer: RuleExplorer) -> None:
    """Nobody gets twenty turns by not waiting for answers; nor is a second request smuggled in."""
    with serving(explorer) as client, client.connect() as link:
        link.sendall(b"GET /rules HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)
        received = b""
        while part := link.recv(65536):
            received += part
        assert received.count(b"HTTP/1.1 200") == 1
        assert Client(client.port).get("/rules").status == 200
