"""What axe-core finds wrong with a page for people who use it by ear or by keyboard."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

#: Findings that keep people out; minor ones are matters of taste.
GRAVE = ("serious", "critical")


def grave_findings(page: Page) -> list[str]:
    """Rules that a page breaks, each with the elements that break it."""
    found = Axe().run(page).response["violations"]
    return [
        f"{finding['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})"
        for finding in found
        if finding["impact"] in GRAVE
        for node in finding["nodes"]
    ]
