"""The explorer of a PSL program in a real browser: mouse, keyboard, phone, no JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

import hornbeam as hb
from hornbeam.serve.program_explorer import open_program_explorer
from tests.support.browsers import check_pages, every_look, opened
from tests.support.served_programs import write_program
from tests.support.servers import SCRIPT, serving

pytestmark = pytest.mark.browser

PAGES = [
    "/", "/search?q=o", "/rules", "/rules?rule=2&page=2", "/atoms?order=error", "/entity?name=ann",
    f"/entity?name={quote(SCRIPT)}", f"/atom?predicate=Trusts&a1=ann&a2={quote(SCRIPT)}",
    "/atom?predicate=Lent&a1=cy&a2=bob&a3=ann",
]  # fmt: skip


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of a running server."""
    inference = hb.infer(write_program(tmp_path_factory.mktemp("served")))
    with open_program_explorer(inference) as explorer, serving(explorer) as client:
        yield client.port


@pytest.mark.parametrize("scripts", [True, False])
def test_from_a_rule_to_the_pulls_of_an_atom(browser: Browser, port: int, scripts: bool) -> None:
    for page in opened(browser, port, java_script_enabled=scripts):
        page.goto("/")
        page.get_by_role("link", name="Knows(A, B)").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Ground rules of rule 1")
        page.get_by_role("link", name="Trusts('ann', 'bob')").click()
        expect(page).to_have_title("Trusts('ann', 'bob') · Hornbeam")
        up = page.locator("section.card", has=page.get_by_role("heading", name="Pulls it up"))
        expect(up.locator("td.pulled").first).to_contain_text("+")
        page.get_by_role("link", name="bob", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("bob")


@every_look
def test_pages_fit_and_can_be_read(
    browser: Browser, port: int, size: tuple[int, int], scheme: str
) -> None:
    """No page scrolls sideways, every field has a name, and text stands out from its ground."""
    check_pages(browser, port, PAGES, size, scheme)
