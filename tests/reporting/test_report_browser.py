"""The report in a real browser, with names in the data that would love to run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

import hornbeam as hb
from hornbeam.files import save_text
from tests.reporting.test_report import NASTY, nasty_world, world

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
    model = hb.learn(facts, labels, language=hb.Language(max_length=2, min_coverage=1))
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
        assert page.evaluate("document.scripts.length") == 0
        assert page.evaluate("document.images.length") == 0
        assert "<script>alert(1)</script>" in page.inner_text("body")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert watched.quiet(), watched


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


def test_dark_and_light_differ(browser: Browser, learned_page: Path) -> None:
    colours = {
        watched.page.evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
        for watched in opened(browser, learned_page, scheme=scheme)
    }
    assert len(colours) == 2


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
