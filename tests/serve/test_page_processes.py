"""Pages made in forked copies of the server: the same pages, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

import hornbeam as hb
from hornbeam.base.progress import SILENT
from hornbeam.errors import InputError
from hornbeam.serve.edits import Edits
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.guard import Access
from hornbeam.serve.page_processes import PageFaultError, PageProcess, can_fork
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.visits import PageAnswer, Pin, Visit
from hornbeam.serve.web_app import WebApp
from tests.support.servers import Client, collective_explorer, graph_explorer, serving

pytestmark = pytest.mark.skipif(not can_fork(), reason="no copies of processes with threads here")


def whole(visit: Visit) -> PageAnswer:
    return PageAnswer(
        f"{os.getpid()} {visit.query['name']}" + "x" * int(visit.query.get("size", "0")),
        edits=visit.edits,
        pin=visit.pinned,
    )


def wrong(visit: Visit) -> PageAnswer:
    raise InputError("There is no such thing.")


def broken(visit: Visit) -> PageAnswer:
    raise RuntimeError("secret detail")


def deadly(visit: Visit) -> PageAnswer:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def slow(visit: Visit) -> PageAnswer:
    time.sleep(0.3)
    return PageAnswer("of somebody else")


def open_files(visit: Visit) -> PageAnswer:
    return PageAnswer(" ".join(os.listdir("/proc/self/fd")))


@pytest.fixture
def process() -> Iterator[PageProcess]:
    one = PageProcess([whole, wrong, broken, deadly, slow, open_files])
    yield one
    one.end()


def made(
    process: PageProcess, page: Callable[[Visit], PageAnswer], *, within: float = 20.0, **query: str
) -> PageAnswer:
    """A page as a server gets it: in a loop that runs in another thread."""
    visit = Visit(
        query, Edits().with_weight(2, 0.5).switched(1, on=False), pinned=Pin("a", "p", "b")
    )

    async def ask() -> PageAnswer:
        return await asyncio.wait_for(process(page, visit), within)

    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, ask()).result()


def test_a_page_is_made_elsewhere_and_comes_back_whole(process: PageProcess) -> None:
    answer = made(process, whole, name="\udc80 ünï", size="3000000")
    maker, _, rest = answer.body.partition(" ")
    assert int(maker) != os.getpid()
    assert rest == "\udc80 ünï" + "x" * 3_000_000
    assert answer.edits == Edits({2: 0.5}, frozenset({1}))
    assert answer.pin == Pin("a", "p", "b")


def test_what_a_page_raises_is_raised_here(process: PageProcess) -> None:
    with pytest.raises(InputError, match=r"no such thing"):
        made(process, wrong)
    with pytest.raises(PageFaultError, match=r"in broken[\s\S]*RuntimeError: secret detail"):
        made(process, broken)
    assert made(process, whole, name="still there").body.endswith("still there")


def test_a_process_that_ended_is_forked_anew(process: PageProcess) -> None:
    with pytest.raises(PageFaultError, match="has ended"):
        made(process, deadly)
    first = int(made(process, whole, name="").body)
    os.kill(first, signal.SIGKILL)  # while nobody asks: nobody notices
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert int(made(process, whole, name="").body) != first


def test_a_process_that_is_killed_is_no_zombie(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it has made a page or not, and though nobody asks for another."""
    children, fork = list[int](), os.fork

    def forked() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", forked)
    with serving(explorer, processes=True) as client:
        assert client.get("/rules").status == 200
        killed = list(children)
        for child in killed:
            os.kill(child, signal.SIGKILL)
        for _ in range(1000):
            if not any(map(is_child, killed)):
                break
            time.sleep(0.01)
        assert not any(map(is_child, killed))
        assert client.get("/pairs").status == 200
        assert len(children) == len(killed) + 1


def is_child(process: int) -> bool:
    """Whether a process is a child of this one, running or a zombie."""
    try:
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def test_nobody_gets_the_answer_of_another(process: PageProcess) -> None:
    with pytest.raises(TimeoutError):
        made(process, slow, within=0.05)
    assert made(process, whole, name="own").body.endswith(" own")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_process_has_no_connection_of_a_visitor(explorer: RuleExplorer) -> None:
    with serving(explorer) as client, client.connect():
        process = PageProcess([open_files])
        try:
            found = set(map(int, made(process, open_files).body.split()))
        finally:
            process.end()
    assert len(found - {0, 1, 2}) == 2, "its link to the server, and what lists the files"


PAGES = (
    "/", "/search?q=a", "/entity?name=ann", "/link?subject=ann&predicate=trusts&object=dora",
    "/flip?subject=ann&predicate=trusts&object=dora", "/rules", "/pairs", "/compare",
    "/around?name=ann", "/edited.psl", "/entity?name=nobody", "/link?subject=ann", "/no-such-page",
)  # fmt: skip


@pytest.mark.slow
def test_pages_are_the_same_in_threads_and_in_processes(explorer: RuleExplorer) -> None:
    edits = [{"what": "weight", "rule": 1, "weight": 0.25}, {"what": "switch", "rule": 0}]
    with serving(explorer) as one, serving(explorer, processes=True) as other:
        for page in PAGES:
            mine, theirs = one.get(page), other.get(page)
            assert (mine.status, mine.body) == (theirs.status, theirs.body)
        for edit in edits:
            shown = [client.post("/edit", edit, hx_request="true").body for client in (one, other)]
            assert shown[0] == shown[1]
        for page in PAGES:
            assert one.get(page).body == other.get(page).body
        assert list(one.cookies.values()) == list(other.cookies.values()) != []
        assert Client(other.port).get("/rules").body != other.get("/rules").body, "others' edits"


def test_pages_of_a_whole_graph_are_the_same_in_threads_and_in_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    explorer, forks, fork = graph_explorer(), list[int](), os.fork

    def forked() -> int:
        forks.append(1)
        return fork()

    monkeypatch.setattr(os, "fork", forked)
    name = quote(explorer.examples[0])
    pages = ("/", f"/entity?name={name}", f"/around?name={name}", "/rules", "/entity?name=nobody")
    with serving(explorer) as one:
        shown = [one.get(page) for page in pages]
    assert not forks
    with serving(explorer, processes=True) as other:
        for page, mine in zip(pages, shown, strict=True):
            assert other.get(page).body == mine.body
    assert forks


def test_a_fault_in_a_process_is_told_without_its_details(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(EntitySearch, "find", fails)
    with serving(explorer, processes=True) as client:
        reply = client.get("/search?q=a")
    assert (reply.status, "secret" in reply.body) == (500, False)
    assert "secret detail" in caplog.text


def test_pages_stay_in_threads_where_no_process_can_be_had(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    with serving(explorer, processes=True) as client:
        assert client.get("/entity?name=ann").status == 200
        assert client.get("/flip?subject=ann&predicate=trusts&object=dora").status == 200


def test_pairs_that_are_inferred_together_stay_in_one_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An edit leaves its scores behind for the pages that follow."""
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    with serving(collective_explorer(), processes=True) as client:
        assert client.get("/rules").status == 200


@pytest.mark.parametrize("facts", [[("a", "wise")], [("a", "knows", "b")]])
@pytest.mark.parametrize("rules", ["1.0: !trusts(A, B)", "1.0: knows(A, B) -> trusts(A, B)"])
def test_any_explorer_can_be_warmed_up(
    facts: list[tuple[str, ...]], rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is missing: an error there would leave all pages to threads."""
    explorer = open_rule_explorer(hb.read_facts(facts), hb.Model.parse(rules), threads=1)
    WebApp(explorer, Access("127.0.0.1", 8765, None)).shown.warm_up(SILENT)
    forks, fork = [], os.fork

    def forked() -> int:
        forks.append(explorer)
        return fork()

    monkeypatch.setattr(os, "fork", forked)
    with serving(explorer, processes=True) as client:
        assert client.get("/rules").status == 200
    assert forks
