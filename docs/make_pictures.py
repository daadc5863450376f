"""Take the pictures of the report and of the explorer: `python docs/make_pictures.py`.

The bundled countries are learned in a temporary folder, `hornbeam report` and `hornbeam serve` are
run on them as a user would, and a headless Chromium looks at the pages. Needs the `dev` extra and
Debian's package `chromium`.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
HORNBEAM = [sys.executable, "-m", "hornbeam.cli.main"]
EVIDENCE = ["--facts", "observed.tsv", "--facts", "fold0/obs.tsv"]
TEST = ["--labels", "fold0/test.tsv"]
SIZE = {"width": 1100, "height": 1040}


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, browser() as chromium:
        folder = Path(scratch) / "countries"
        subprocess.run(
            [*HORNBEAM, "demo", "--keep", str(folder), "-q"], stdout=subprocess.DEVNULL, check=True
        )
        subprocess.run(
            [*HORNBEAM, "report", "model.psl", *EVIDENCE, *TEST, "-o", "report.html", "-q"],
            cwd=folder, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        take(chromium, (folder / "report.html").as_uri(), "report")
        with explorer(folder) as url:
            take(
                chromium,
                f"{url}link?subject=algeria&predicate=located_in&object=africa",
                "explorer",
            )
            take(chromium, f"{url}around?name=algeria&open=niger", "graph")


@contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium without a window."""
    path = shutil.which("chromium")
    if path is None:
        sys.exit("no chromium on the path: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextmanager
def explorer(folder: Path) -> Iterator[str]:
    """`hornbeam serve` on a free port, and its address."""
    words = [*HORNBEAM, "serve", "model.psl", *EVIDENCE, *TEST, "--port", "0", "--json", "-q"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
        server.terminate()


def take(chromium: Browser, url: str, name: str) -> None:
    """Take a picture of a page as it opens."""
    page = chromium.new_page(viewport=SIZE, color_scheme="light")
    page.goto(url)
    page.wait_for_load_state("networkidle")
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path)
    page.close()
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
