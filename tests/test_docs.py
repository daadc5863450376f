"""The documentation is true: its commands and code run, its site builds, its references are whole.

In README.md and docs/**.md the language of a fenced block says what happens to it here:

* ```console: lines after `$ ` run in a shell, in order, in one folder a page; the lines below a
  command are what it prints, where `...` stands for anything. No lines: it only has to succeed.
* ```python runs, and ```pycon is a doctest; the blocks of a page share their names and its folder.
* A second word, `not-run`, and every other language (```bash, ```text) are for reading only; with
  `java` a block is for reading only where there is no Java or no PySpark.

Our own commands run in this process, which has loaded everything already; the demo that most pages
begin with runs once.
"""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

import hornbeam
from hornbeam.cli.commands import COMMANDS
from hornbeam.programs.evaluators import EVALUATION_OPTIONS
from hornbeam.programs.program_options import IGNORED, INFERENCE, WITHOUT_EFFECT
from tests.conftest import ROOT
from tests.support.commands import Ended, hornbeam_

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)[ ]*(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
#: A command of ours that needs no shell, and where the shell takes its output to.
OURS = re.compile(r"(hornbeam (?:[^|&;<>$`*?~\\\n]|\\\n)*)((?<= )(?:2?>|\|).*)?")
#: What most pages begin with.
DEMO = "hornbeam demo --keep countries -q"
#: What the shell of a reader would be.
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block and what it should print."""

    words: str
    expected: str


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page that are run."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[3], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
        if found[1] in ("console", "python", "pycon") and found[2] not in for_reading()
    ]


def for_reading() -> set[str]:
    """Second words of the blocks that are not run here."""
    required = os.environ.get("HORNBEAM_REQUIRE_ALL") == "1"
    there = shutil.which("java") and importlib.util.find_spec("pyspark")
    return {"not-run"} if required or there else {"not-run", "java"}


def commands_of(block: str) -> Iterator[Command]:
    """Take a console block apart; `> ` continues a command, as shells show it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        words, *lines = part.splitlines()
        while lines and lines[0].startswith("> "):
            words += "\n" + lines.pop(0)[2:]
        yield Command(words, "".join(f"{line}\n" for line in lines))


@dataclass
class Shell:
    """A shell that remembers its folder from command to command."""

    folder: Path
    scratch: Path
    demo: Path | None

    def run(self, command: Command) -> None:
        """Run a command and hold its output to what the page says."""
        ours = OURS.fullmatch(command.words)
        ended = self._ours(*ours.groups()) if ours else self._bash(command.words)
        assert ended.code == 0, f"$ {command.words}\n{ended.stdout}{ended.stderr}"
        if command.expected:
            assert doctest.OutputChecker().check_output(command.expected, ended.stdout, FLAGS), (
                f"$ {command.words}\nthe page says:\n{command.expected}\nit prints:\n{ended.stdout}"
            )

    def _ours(self, words: str, leads_to: str | None) -> Ended:
        """Run a command here; a shell takes what it printed to a file or another program."""
        if words.strip() == DEMO and self.demo:
            shutil.copytree(self.demo, self.folder / self.demo.name)
            return Ended(0, "", "")
        with chdir(self.folder), patch.dict(os.environ, TERMINAL):
            ended = hornbeam_(*shlex.split(words.replace("\\\n", " "))[1:])
        if leads_to is None:
            return ended
        out, err = self.scratch / "stdout", self.scratch / "stderr"
        out.write_text(ended.stdout)
        err.write_text(ended.stderr)
        return self._bash(f"(cat {out}; cat {err} >&2; exit {ended.code}) {leads_to}")

    def _bash(self, words: str) -> Ended:
        state = self.scratch / "folder"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f"{words}\n(exit $?) && pwd > '{state}'"],
            cwd=self.folder,
            env={**os.environ, **TERMINAL, "PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode == 0:
            self.folder = Path(state.read_text().strip())
        return Ended(done.returncode, done.stdout, done.stderr)


def run_page(page: Path, folder: Path, demo: Path | None = None) -> None:
    """Run the blocks of a page in order; `demo` is a folder that the demo has left."""
    work = folder / "work"
    work.mkdir()
    shell = Shell(work, folder, demo)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.language == "console":
            for command in commands_of(block.text):
                shell.run(command)
            continue
        with chdir(shell.folder):
            if block.language == "python":
                exec(compile(block.text, f"{page.name}, line {block.line}", "exec"), names)
            else:
                test = doctest.DocTestParser().get_doctest(
                    block.text, names, page.name, str(page), block.line
                )
                runner = doctest.DocTestRunner(optionflags=FLAGS)
                said: list[str] = []
                runner.run(test, out=said.append, clear_globs=False)
                assert not runner.failures, "".join(said)
                names |= test.globs


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the demo leaves."""
    kept = tmp_path_factory.mktemp("demo") / "countries"
    assert hornbeam_("demo", "--keep", kept, "-q").code == 0
    return kept


def needs_spark(page: Path) -> bool:
    """Whether a page has blocks that need Java, which are run here."""
    return "java" not in for_reading() and "\n```console java\n" in page.read_text(encoding="utf-8")


def group_of(page: Path) -> str:
    """Pages come early, and those that need the same run in one worker."""
    if needs_spark(page):
        return "spark"
    return "kernels" if "--all-relations" in page.read_text(encoding="utf-8") else page.stem


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=str(page.relative_to(ROOT)), marks=pytest.mark.xdist_group(group_of(page))
        )
        for page in PAGES
        if blocks_of(page)
    ],
)
@pytest.mark.slow
def test_what_a_page_shows_is_what_happens(
    page: Path, demo: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if needs_spark(page):
        from tests.support.sparks import given_for_started

        with given_for_started(request.getfixturevalue("spark")):
            run_page(page, tmp_path, demo)
    else:
        run_page(page, tmp_path, demo)


def test_a_wrong_page_is_found(tmp_path: Path) -> None:
    """The tests above can fail: on exit codes, output and code."""
    for number, text in enumerate(
        [
            "```console\n$ false\n```\n",
            "```console\n$ echo one\ntwo\n```\n",
            "```python\nassert False\n```\n",
            "```pycon\n>>> 1 + 1\n3\n```\n",
        ]
    ):
        page = tmp_path / f"{number}.md"
        page.write_text(text)
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(AssertionError):
            run_page(page, folder)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built site; a warning is a failure."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(DOCS), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_every_command_and_option(site: Path) -> None:
    page = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for name in (name for group in COMMANDS.values() for name in group):
        assert f'id="hornbeam-{name}"' in page
    text = re.sub(r"<[^>]+>", "", page)
    for option in ("--min-coverage N", "--quiet, -q", "--verbose, -v", "--score mean|map"):
        assert option in text


def test_the_site_has_every_option_of_programs(site: Path) -> None:
    page = (site / "reference" / "programs.html").read_text(encoding="utf-8")
    names = [*EVALUATION_OPTIONS, *WITHOUT_EFFECT, *(option.name for option in INFERENCE)]
    names += [f"{name}*" if name.endswith(".") else name for name in IGNORED]
    assert [name for name in names if f">{name}<" not in page] == []


def test_the_site_has_every_public_name(site: Path) -> None:
    inventory = (site / "objects.inv").read_bytes()
    listed = zlib.decompress(inventory.split(b"zlib.\n", 1)[1]).decode()
    documented = set(re.findall(r"^hornbeam\.(\w+) py:", listed, re.MULTILINE))
    assert documented == set(hornbeam.__all__) - {"__version__"}


def test_the_notebook_was_run(site: Path) -> None:
    """Its source has no results, and its page has them all."""
    notebook = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    page = (site / "notebook.html").read_text(encoding="utf-8")
    drawings = page.count('<div class="result"><svg')
    tables = page.count('<div class="result"><div>') + page.count('<div class="result"><table>')
    assert (drawings, tables) == (2, 6)
    assert "algeria located_in africa: score 0.6514" in page


def test_the_site_needs_no_network(site: Path) -> None:
    """Scripts, styles, fonts and pictures are all its own; links may lead anywhere."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*src=\"([^\"]+)", text)
        loaded += re.findall(r"<link[^>]*rel=\"stylesheet\"[^>]*href=\"([^\"]+)", text)
        assert not [name for name in loaded if "//" in name], page


def test_links_to_files_lead_somewhere() -> None:
    """Links of README and of the pages to files of the repository."""
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" not in link and not link.startswith("#"):
                assert (page.parent / link.split("#")[0]).exists(), f"{page}: {link}"
