"""The report in a real browser, with names in the data that would love to run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

import hornbeam as hb
from hornbeam.base.files import save_text
from tests.support.accessibility import grave_findings
from tests.support.report_worlds import NASTY, nasty_world, world

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PHONE, DESKTOP = 360, 1280


@dataclass
class Watched:
    """A page with a note of everything that it should not do."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def quiet(self) -> bool:
        """Whether nothing ran, nothing was fetched, and the browser had nothing to say."""
        own = [url for url in self.requests if not url.startswith("file:")]
        return not (self.dialogs or own or self.complaints) and len(self.requests) == 1


def opened(
    browser: Browser, path: Path, width: int = DESKTOP, scheme: Literal["light", "dark"] = "light"
) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    watched = Watched(context.new_page())

    def dismiss(dialog: object) -> None:
        watched.dialogs.append(str(dialog))
        dialog.dismiss()  # type: ignore[attr-defined]

    watched.page.on("dialog", dismiss)
    watched.page.on("request", lambda request: watched.requests.append(request.url))
    watched.page.on("console", lambda message: watched.complaints.append(message.text))
    watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    watched.page.goto(path.as_uri())
    yield watched
    context.close()


@pytest.fixture(scope="module")
def nasty_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "nasty.html"
    model, data = nasty_world(NASTY)
    save_text(path, model.report(*data))
    return path


@pytest.fixture(scope="module")
def learned_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "learned.html"
    facts, labels = world()
    model = hb.learn(facts, labels, language=hb.RuleLimits(max_length=2, min_coverage=1))
    save_text(path, model.report(facts, labels))
    return path


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_hostile_names_run_nothing_and_break_nothing(
    browser: Browser, nasty_page: Path, width: int
) -> None:
    for watched in opened(browser, nasty_page, width):
        page = watched.page
        for summary in page.query_selector_all("summary"):
            summary.click()
        assert page.evaluate("document.scripts.length") == 1
        assert page.evaluate("document.images.length") == 0
        assert "<script>alert(1)</script>" in page.inner_text("body")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert watched.quiet(), watched


def test_tables_are_whole_on_a_phone(browser: Browser, learned_page: Path) -> None:
    """Rows become blocks with a name before every figure: nothing hides beyond a scroller."""
    for watched in opened(browser, learned_page, PHONE):
        page = watched.page
        for summary in page.query_selector_all("summary"):
            summary.click()
        cut = """() => [...document.querySelectorAll(".table")]
            .filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)"""
        assert page.evaluate(cut) == []
        figures = page.locator(".table.stack tbody td.n:visible")
        assert figures.count() == figures.and_(page.locator("[data-name]")).count() > 0


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_nothing_sticks_out(browser: Browser, learned_page: Path, width: int) -> None:
    """Wide tables scroll within themselves; all else fits the screen."""
    for watched in opened(browser, learned_page, width):
        page = watched.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.evaluate(
            """width => [...document.querySelectorAll("body *")]
                .filter(e => !e.closest(".table") && !e.closest("svg") && !e.matches(".skip"))
                .filter(e => e.getBoundingClientRect().right > width + 0.5)
                .map(e => e.outerHTML.slice(0, 80))""",
            width,
        )
        assert outside == []
        for chart in page.query_selector_all("svg.chart"):
            box = chart.bounding_box()
            assert box is not None
            assert box["width"] > 250
        assert watched.quiet(), watched


def test_texts_in_charts_stay_inside(browser: Browser, learned_page: Path) -> None:
    for watched in opened(browser, learned_page, PHONE):
        cut = watched.page.evaluate(
            """() => [...document.querySelectorAll("svg.chart")].flatMap(svg => {
                const frame = svg.getBoundingClientRect();
                return [...svg.querySelectorAll("text")].filter(text => {
                    const box = text.getBoundingClientRect();
                    return box.left < frame.left - 1 || box.right > frame.right + 1;
                }).map(text => text.textContent);
            })"""
        )
        assert cut == []


def test_dark_and_light_differ_and_keep_nobody_out(browser: Browser, learned_page: Path) -> None:
    colours = set()
    for width, scheme in ((DESKTOP, "light"), (PHONE, "dark")):
        for watched in opened(browser, learned_page, width, scheme):  # type: ignore[arg-type]
            ground = "getComputedStyle(document.body).backgroundColor"
            colours.add(watched.page.evaluate(ground))
            assert grave_findings(watched.page) == []
    assert len(colours) == 2


def test_lists_and_tables_are_sorted_and_filtered(browser: Browser, tmp_path: Path) -> None:
    names = [f"r{k:03}" for k in range(30)]
    facts = [("a", name, f"b{i}") for k, name in enumerate(names) for i in range(k + 1)]
    text = "".join(f"{k + 1}: {name}(A, B) -> t(A, B)\n" for k, name in enumerate(names))
    labels = [("a", "t", "b0", 1.0), ("b0", "t", "a", 0.0)]
    save_text(tmp_path / "many.html", hb.Model.parse(text).report(facts, labels))
    for watched in opened(browser, tmp_path / "many.html"):
        page = watched.page
        cards = page.locator("ol.rules > li:visible")
        assert cards.count() == 20
        page.get_by_role("button", name="show all 30").first.click()
        assert cards.count() == 30
        page.get_by_role("searchbox", name="Filter rules").fill("R007")
        assert cards.count() == 1
        table = page.get_by_role("region", name="Predicates of the facts")
        facts_of = table.locator("tbody tr:visible td:nth-child(3)")
        table.get_by_role("button", name="facts", exact=True).click()
        assert facts_of.all_inner_texts()[:3] == ["30", "29", "28"]
        table.get_by_role("button", name="facts", exact=True).click()
        assert facts_of.all_inner_texts()[:3] == ["1", "2", "3"]
        assert table.locator("th[aria-sort=ascending]").inner_text() == "facts"
        assert watched.quiet(), watched


def test_charts_say_what_is_under_the_pointer(browser: Browser, learned_page: Path) -> None:
    for watched in opened(browser, learned_page):
        page = watched.page
        page.locator("svg.chart [data-say]").first.hover()
        assert page.locator(".tip").inner_text().startswith("share of false pairs called true ")
        page.locator("h2").first.hover()
        assert not page.locator(".tip").is_visible()


def test_the_keyboard_opens_what_is_folded(browser: Browser, learned_page: Path) -> None:
    for watched in opened(browser, learned_page):
        page = watched.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent").startswith("Skip to")
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.parentElement.open") is True


def test_paper_shows_what_is_folded_and_no_navigation(browser: Browser, learned_page: Path) -> None:
    for watched in opened(browser, learned_page):
        page = watched.page
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
        folded = "document.querySelector('details table').getBoundingClientRect().height"
        assert page.evaluate(folded) > 0
        assert page.pdf(format="A4").startswith(b"%PDF")
