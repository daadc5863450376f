"""Looking at pages in a browser: nothing may go wrong, and everyone can read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser, Page

from tests.support.accessibility import grave_findings
from tests.support.commands import PATIENCE

PHONE, DESKTOP = (390, 844), (1200, 900)


#: Colours do not depend on the size of the window, so each scheme is looked at in one.
every_look = pytest.mark.parametrize(
    ("size", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")], ids=["phone", "desktop"]
)


def opened(browser: Browser, port: int, **options: object) -> Iterator[Page]:
    context = browser.new_context(base_url=f"http://127.0.0.1:{port}", **options)  # type: ignore[arg-type]
    context.set_default_timeout(1000 * PATIENCE)
    window = context.new_page()
    wrong: list[str] = []
    window.on("pageerror", lambda error: wrong.append(str(error)))
    window.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
    window.on(
        "console", lambda message: wrong.append(message.text) if message.type == "error" else None
    )
    window.on(
        "request",
        lambda request: None if f":{port}/" in request.url else wrong.append(request.url),
    )
    yield window
    context.close()
    assert wrong == []


def check_pages(
    browser: Browser, port: int, pages: Sequence[str], size: tuple[int, int], scheme: str
) -> None:
    """Look at pages in a window of a size and a colour scheme."""
    viewport = {"width": size[0], "height": size[1]}
    for window in opened(browser, port, viewport=viewport, color_scheme=scheme):
        for address in pages:
            window.goto(address)
            assert window.evaluate(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            ), address
            assert window.locator("h1").count() == 1
            assert window.evaluate(UNNAMED) == [], address
            assert window.evaluate(FAINT) == [], address
            assert grave_findings(window) == [], address


UNNAMED = """() => [...document.querySelectorAll("input:not([type=hidden]), button, a, select")]
  .filter(e => !(e.ariaLabel || e.labels?.length || e.textContent.trim()))
  .map(e => e.outerHTML)"""


#: Elements whose text has less than 4.5 times the luminance of its ground, or is under 12 px.
FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b]
    .map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color[3] === 255) return color;
    }
    return rgb(getComputedStyle(document.body).backgroundColor);
  };
  const holdsText = e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  return [...document.querySelectorAll("body *:not(svg *)")]
    .filter(e => holdsText(e) && e.getClientRects().length && !e.closest(".hidden, .skip"))
    .filter(e => {
      const style = getComputedStyle(e);
      const [one, two] = [light(rgb(style.color)), light(ground(e))].sort((a, b) => b - a);
      return (one + 0.05) / (two + 0.05) < 4.5 || parseFloat(style.fontSize) < 12;
    })
    .map(e => e.outerHTML.slice(0, 200));
}"""
