"""The pages in a real browser, as people use them: mouse, keyboard, phone, no JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

import hornbeam as hb
from hornbeam.serve.pair_explorers import open_rule_explorer
from tests.support.accessibility import grave_findings
from tests.support.browsers import DESKTOP, FAINT, PHONE, check_pages, every_look, opened
from tests.support.commands import HOSTILE
from tests.support.servers import RULES, SCRIPT, collective_explorer, serving

pytestmark = pytest.mark.browser

PAGES = [
    "/", "/search?q=o", "/entity?name=ann", "/link?subject=ann&predicate=trusts&object=dora",
    f"/link?subject=ann&predicate=trusts&object={quote(SCRIPT)}", "/rules", "/pairs", "/compare",
    f"/around?name=ann&open={quote('bob' + chr(9) + 'cy')}",
    "/links?subject=ann&predicate=trusts&object=dora&subject2=ann&predicate2=trusts&object2=cy",
]  # fmt: skip


@pytest.fixture
def page(browser: Browser, port: int) -> Iterator[Page]:
    """A new visitor's window; nothing may go wrong in it."""
    yield from opened(browser, port)


def test_from_a_few_letters_to_the_reasons(page: Page) -> None:
    page.goto("/")
    box = page.get_by_role("searchbox", name="Search an entity")
    expect(box).to_be_focused()
    box.press_sequentially("an")
    page.locator("#found").get_by_role("link", name="ann", exact=True).click()
    expect(page).to_have_title("ann · Hornbeam")
    page.locator("section", has_text="New links: ann trusts").get_by_role(
        "link", name="ann trusts dora"
    ).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("ann trusts dora")
    fall = page.locator("table.waterfall")
    expect(fall.locator("tbody tr").first).to_contain_text("Starting point.")
    expect(fall.locator("tbody td.number:nth-child(2)")).to_have_text(["−1.00", "+4.00"])
    expect(fall.locator("tfoot")).to_contain_text("+3.00")
    reasons = page.locator("article.reason")
    expect(reasons).to_have_count(2)
    expect(reasons.first).to_contain_text("Starting point.")
    expect(reasons.last).to_contain_text("If A knows B and B trusts C, then A trusts C")
    expect(reasons.last).to_contain_text("knows(A, B) & trusts(B, C) -> trusts(A, C)")
    expect(reasons.last.get_by_role("listitem")).to_have_count(2)
    drawing = page.get_by_role("group", name="What connects ann and dora", exact=True)
    expect(drawing.locator("text.node-label")).to_have_text(["ann", "bob", "cy", "dora"])
    expect(drawing.locator("path.edge")).to_have_count(4)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_graph_unfolds_node_by_node(browser: Browser, port: int, size: tuple[int, int]) -> None:
    viewport = {"width": size[0], "height": size[1]}
    for page in opened(browser, port, viewport=viewport):
        page.goto("/link?subject=ann&predicate=trusts&object=dora")
        page.get_by_role("link", name="Neighbours of bob").first.click()
        around = page.locator("#around")
        expect(around.get_by_role("heading")).to_have_text("Around bob")
        # a hub shows some of its neighbours, and pages of others
        shown = around.get_by_role("link", name=re.compile("^Neighbours of"))
        before = shown.evaluate_all("links => links.map(link => link.ariaLabel)")
        around.get_by_role("link", name="More: trusts").click()
        expect(around.get_by_role("link", name="Before: trusts")).to_be_visible()
        assert shown.evaluate_all("links => links.map(link => link.ariaLabel)") != before
        around.get_by_role("link", name="Address of this view").click()
        expect(page).to_have_title("Around bob · Hornbeam")
        expect(around.get_by_role("link", name="Before: trusts")).to_be_visible()
        # what is opened stands in the address, and going back closes it
        page.goto("/around?name=ann")
        around.get_by_role("link", name="Neighbours of cy").first.click()
        expect(around.get_by_role("link", name="Close cy").first).to_be_visible()
        expect(page).to_have_url(re.compile("open=cy"))
        page.reload()
        expect(around.get_by_role("link", name="Neighbours of dora").first).to_be_visible()
        page.go_back()
        expect(around.get_by_role("link", name="Neighbours of dora")).to_have_count(0)
        around.get_by_role("link", name="Page of ann").first.click()
        expect(page).to_have_title("ann · Hornbeam")


def test_two_links_are_held_against_each_other(page: Page) -> None:
    page.goto("/link?subject=ann&predicate=trusts&object=dora")
    page.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("complementary", name="Pinned link")).to_contain_text("ann trusts dora")
    page.goto("/link?subject=ann&predicate=trusts&object=cy")
    page.keyboard.press("p")
    expect(page).to_have_title("Two links · Hornbeam")
    rows = page.locator("tbody tr")
    expect(rows.first).to_contain_text("Starting point.")
    expect(rows).to_have_count(4)
    expect(page.locator("tfoot td")).to_have_text(["+0.00", "+3.00", "−3.00"])
    address = page.url
    page.get_by_role("button", name="unpin").click()
    expect(page.get_by_role("complementary", name="Pinned link")).to_have_count(0)
    page.goto(address)
    expect(page.locator("tfoot td")).to_have_text(["+0.00", "+3.00", "−3.00"])


def test_long_names_lose_their_middle_and_keep_their_ends(browser: Browser) -> None:
    name = "Compound::" + "x" * 40 + "::DB00945"
    facts = hb.read_facts([("ann", "knows", name), (name, "trusts", "dora")])
    with serving(open_rule_explorer(facts, hb.Model.parse(RULES), "model.psl")) as client:
        for page in opened(browser, client.port):
            page.goto("/link?subject=ann&predicate=trusts&object=dora")
            node = page.get_by_role("link", name=f"Neighbours of {name}")
            expect(node.locator("title")).to_have_text(name)
            assert re.fullmatch("Compound.*…x*::DB00945", node.locator("text").text_content() or "")
            page.goto("/entity?name=ann")
            pill = page.locator(".known").get_by_role("link", name=name)
            expect(pill.locator("bdi").first).to_have_attribute("title", name)
            assert "…" in pill.locator("bdi").first.inner_text()


def test_the_keyboard_is_enough(page: Page) -> None:
    page.goto("/rules")
    page.keyboard.press("/")
    box = page.get_by_role("searchbox", name="Search an entity")
    expect(box).to_be_focused()
    page.keyboard.type("dor")
    expect(page.get_by_role("link", name="dora", exact=True)).to_be_visible()
    expect(page.locator("#found [role=status]")).to_have_text("1 found")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_title("dora · Hornbeam")
    page.goto("/rules")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).not_to_be_visible()
    page.goto("/around?name=ann")
    page.get_by_role("link", name="Neighbours of bob").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="Neighbours of cy").last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Close cy").last).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_title("Rules · Hornbeam")
    page.get_by_role("switch", name="Rule 1 is on").focus()
    page.keyboard.press("Space")
    expect(page.locator("#tools")).to_contain_text("1 of 4 rules edited")
    expect(page.get_by_role("switch", name="Rule 1 is on")).to_be_focused()


def figure(page: Page) -> str:
    text = page.locator("#figures dd").first.inner_text()
    found = re.match(r"[0-9.]+", text)
    assert found
    return found[0]


def test_scores_follow_a_switch_a_number_and_a_slider(page: Page, tmp_path: Path) -> None:
    page.goto("/rules")
    expect(page.locator("#figures")).to_have_attribute("aria-live", "polite")
    before = figure(page)
    page.get_by_role("switch", name="Rule 1 is on").uncheck()
    expect(page.locator("#changed")).to_contain_text("ann trusts dora")
    assert figure(page) != before
    page.get_by_role("switch", name="Rule 1 is on").check()
    expect(page.locator("#tools")).to_contain_text("as learned")
    assert figure(page) == before
    weight = page.get_by_role("spinbutton", name="Weight of rule 2")
    weight.fill("0.125")
    weight.press("Enter")
    expect(page.get_by_role("button", name="Reset rule 2 to 1.5")).to_be_visible()
    slider = page.get_by_role("slider", name="Weight of rule 3, slider")
    slider.focus()
    page.keyboard.press("End")
    expect(page.get_by_role("spinbutton", name="Weight of rule 3")).to_have_value("4")
    expect(slider).to_be_focused()
    expect(page.locator("#tools")).to_contain_text("2 of 4 rules edited")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download edited model").click()
    download.value.save_as(tmp_path / "edited.psl")
    assert [r.weight for r in hb.Model.load(tmp_path / "edited.psl").rules] == [2, 0.125, 4, 1]
    page.reload()
    expect(weight).to_have_value("0.125")
    page.goto("/link?subject=ann&predicate=trusts&object=bob")
    expect(page.get_by_role("main")).to_contain_text("With your edits; without them")
    page.goto("/rules")
    page.get_by_role("button", name="Reset all").click()
    expect(weight).to_have_value("1.5")
    expect(page.locator("#tools")).to_contain_text("as learned")


def test_a_wrong_weight_is_told(browser: Browser, port: int) -> None:
    # not by the fixture: a refused request is an error in the browser's console
    page = browser.new_page(base_url=f"http://127.0.0.1:{port}")
    page.goto("/rules")
    weight = page.get_by_role("spinbutton", name="Weight of rule 2")
    weight.evaluate("field => { field.min = ''; field.form.noValidate = true; }")
    weight.fill("-3")
    weight.blur()
    expect(page.get_by_role("alert")).to_contain_text("a weight is a number")
    weight.fill("3")
    weight.blur()
    expect(page.get_by_role("alert")).to_be_empty()
    page.close()


def test_what_would_change_its_mind(page: Page) -> None:
    page.goto("/link?subject=ann&predicate=trusts&object=dora")
    page.get_by_role("link", name="Find the fewest facts").click()
    expect(page.locator("#flip-answer")).to_contain_text("Without")
    expect(page.locator("#flip-answer li").first).to_be_visible()


def test_two_models_side_by_side(page: Page) -> None:
    page.goto("/compare")
    expect(page.get_by_role("heading", level=1)).to_have_text("model.psl compared with other.psl")
    only = page.locator("section", has_text="Only in other.psl")
    expect(only.get_by_role("row")).to_have_count(2)
    expect(only).to_contain_text("knows(B, A) -> trusts(A, B)")
    expect(only).to_contain_text("If B knows A, then A trusts B.")
    expect(page.locator("section", has_text="Figures")).to_contain_text("AUC-ROC")
    expect(
        page.locator("section", has_text="differ most").get_by_role("link").first
    ).to_be_visible()


def test_tables_stay_within_their_cards_on_a_small_phone(browser: Browser, port: int) -> None:
    """What is beyond the edge of a card looks cut off, though the page itself does not scroll."""
    outside = """() => [...document.querySelectorAll(".card table")]
      .filter(table => table.getBoundingClientRect().right
        > table.closest(".card").getBoundingClientRect().right)
      .map(table => table.outerHTML.slice(0, 80))"""
    for window in opened(browser, port, viewport={"width": 320, "height": 700}):
        for address in PAGES:
            window.goto(address)
            assert window.evaluate(outside) == [], address


def test_hostile_names_are_only_text(page: Page) -> None:
    heading = page.get_by_role("heading", level=1)
    for name in (SCRIPT, *HOSTILE):
        page.goto(f"/link?subject=ann&predicate=trusts&object={quote(name, safe='')}")
        ends = page.locator("h1 a bdi").evaluate_all("ends => ends.map(end => end.textContent)")
        assert ends == ["ann", name]
        page.locator("h1 a").last.click()
        assert heading.evaluate("heading => heading.textContent") == name
        page.locator("#q").fill(name)
        expect(page.locator("#found a").first).to_be_visible()
        hits = page.locator("#found a").evaluate_all("links => links.map(link => link.textContent)")
        assert name in hits


@every_look
def test_pages_fit_and_can_be_read(
    browser: Browser, port: int, size: tuple[int, int], scheme: str
) -> None:
    """No page scrolls sideways, every field has a name, and text stands out from its ground."""
    check_pages(browser, port, PAGES, size, scheme)


def test_everything_reads_and_edits_without_javascript(browser: Browser, port: int) -> None:
    for window in opened(browser, port, java_script_enabled=False):
        window.goto("/")
        window.get_by_role("searchbox").fill("ann")
        window.get_by_role("searchbox").press("Enter")
        window.get_by_role("link", name="ann", exact=True).click()
        window.get_by_role("link", name="ann trusts dora").first.click()
        expect(window.locator("article.reason")).to_have_count(2)
        window.get_by_role("link", name="Find the fewest facts").click()
        expect(window.get_by_role("main")).to_contain_text("Without")
        window.goto("/rules")
        before = figure(window)
        window.get_by_role("switch", name="Rule 1 is on").uncheck()
        window.locator("#rule-0").get_by_role("button", name="set").first.click()
        assert figure(window) != before
        window.get_by_role("button", name="Reset rule 1").click()
        assert figure(window) == before
        window.get_by_role("spinbutton", name="Weight of rule 1").fill("0.01")
        window.locator("#rule-0").get_by_role("button", name="set").last.click()
        assert figure(window) != before


def test_visitors_do_not_see_each_others_edits(browser: Browser, port: int, page: Page) -> None:
    page.goto("/rules")
    page.get_by_role("switch", name="Rule 1 is on").uncheck()
    expect(page.locator("#tools")).to_contain_text("edited")
    for other in opened(browser, port):
        other.goto("/rules")
        expect(other.locator("#tools")).to_contain_text("as learned")


@every_look
def test_a_page_is_sent_with_its_edits(
    browser: Browser, port: int, page: Page, size: tuple[int, int], scheme: str
) -> None:
    page.goto("/rules")
    page.get_by_role("switch", name="Rule 1 is on").uncheck()
    expect(page.locator("#tools")).to_contain_text("edited")
    page.goto("/link?subject=ann&predicate=trusts&object=dora")
    shown = page.locator(".big .number").inner_text()
    link = page.get_by_role("link", name="Link to this page with them")
    address = link.get_attribute("href")
    assert address
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    link.press("Enter")
    expect(page.get_by_role("status").last).to_have_text("Link copied")
    width, height = size
    looks = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
    for other in opened(browser, port, **looks):
        other.goto(address)
        expect(other.get_by_role("main")).to_contain_text("1 edited rule")
        assert grave_findings(other) == []
        other.get_by_role("button", name="Show with these edits").press("Enter")
        expect(other.locator(".big .number")).to_have_text(shown)


def test_a_collective_model(browser: Browser) -> None:
    with serving(collective_explorer()) as client:
        for page in opened(browser, client.port):
            page.goto("/entity?name=ann")
            page.get_by_role("link", name="ann trusts eve").click()
            expect(page.locator(".inferred")).to_have_text("inferred 1")
            expect(page.locator("#flip")).to_have_count(0)
            page.goto("/rules")
            before = page.locator("#figures").inner_text()
            page.get_by_role("switch", name="Rule 2 is on").uncheck()
            expect(page.locator("#changed")).to_contain_text("ann trusts eve")
            assert page.locator("#figures").inner_text() != before
            slider = page.get_by_role("slider", name="Weight of rule 1, slider")
            slider.focus()
            page.keyboard.press("End")
            expect(page.get_by_role("spinbutton", name="Weight of rule 1")).to_have_value("5")
            expect(page.locator("#tools")).to_contain_text("2 of 4 rules edited")
            for address in ("/", "/pairs", "/link?subject=bob&predicate=trusts&object=fay"):
                page.goto(address)
                assert page.evaluate(FAINT) == [], address
