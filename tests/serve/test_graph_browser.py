"""The explorer of a whole graph in a real browser: mouse, keyboard, phone, no JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browsers import check_pages, every_look, opened
from tests.support.commands import HOSTILE
from tests.support.servers import SCRIPT, graph_explorer, serving

pytestmark = pytest.mark.browser

WHY = "/reasons?subject=ann&relation=trusts&object=dora"
PAGES = [
    "/", "/search?q=o", "/entity?name=ann", f"/entity?name={quote(SCRIPT)}", WHY,
    "/query?subject=ann&relation=trusts", "/relation?name=trusts", "/rules",
    f"/relation?name={quote(SCRIPT)}", "/around?name=ann&open=bob",
    "/links?subject=ann&relation=trusts&object=dora&subject2=ann&relation2=trusts&object2=cy",
]  # fmt: skip


@pytest.fixture(scope="module")
def graph_port() -> Iterator[int]:
    """Port of a running server."""
    with serving(graph_explorer()) as client:
        yield client.port


@pytest.fixture
def page(browser: Browser, graph_port: int) -> Iterator[Page]:
    """A new visitor's window; nothing may go wrong in it."""
    yield from opened(browser, graph_port)


def test_from_a_few_letters_to_the_reasons(page: Page) -> None:
    page.goto("/")
    box = page.get_by_role("searchbox", name="Search an entity")
    expect(box).to_be_focused()
    box.press_sequentially("an")
    page.locator("#found").get_by_role("link", name="ann", exact=True).click()
    expect(page).to_have_title("ann · Hornbeam")
    page.get_by_role("link", name="ann trusts dora").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("ann trusts dora")
    expect(page.get_by_role("heading", level=2)).to_have_text(
        ["Asked as ann trusts ?", "Asked as ? trusts dora"]
    )
    path = page.locator("article.reason", has_text="knows(X, A) & trusts(A, Y) -> trusts(X, Y)")
    path.first.get_by_role("link", name="bob").first.click()
    expect(page).to_have_title("bob · Hornbeam")


def test_a_question_is_asked_by_a_form(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Subject").fill("ann")
    page.get_by_label("Relation").select_option("trusts")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("ann trusts ?")
    page.get_by_label("Subject").fill("")
    page.get_by_label("Object").fill("dora")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("? trusts dora")
    page.keyboard.press("/")
    page.keyboard.type("cy")
    expect(page.locator("#found").get_by_role("link", name="cy", exact=True)).to_be_visible()


def test_hostile_names_are_only_text(page: Page) -> None:
    heading = page.get_by_role("heading", level=1)
    for name in (SCRIPT, *HOSTILE):
        page.goto(f"/reasons?subject=ann&relation=trusts&object={quote(name, safe='')}")
        page.locator("h1 a").last.click()
        assert heading.evaluate("heading => heading.textContent") == name


@every_look
def test_pages_fit_and_can_be_read(
    browser: Browser, graph_port: int, size: tuple[int, int], scheme: str
) -> None:
    """No page scrolls sideways, every field has a name, and text stands out from its ground."""
    check_pages(browser, graph_port, PAGES, size, scheme)


def test_everything_reads_without_javascript(browser: Browser, graph_port: int) -> None:
    for window in opened(browser, graph_port, java_script_enabled=False):
        window.goto("/")
        window.get_by_role("searchbox").fill("ann")
        window.get_by_role("searchbox").press("Enter")
        window.get_by_role("link", name="ann", exact=True).click()
        window.get_by_role("link", name="ann trusts dora").first.click()
        expect(window.locator("article.reason").first).to_be_visible()
