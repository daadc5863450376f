"""`hornbeam demo`: a guided tour of the main job on the bundled countries."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornbeam.cli import options
from hornbeam.cli.console import print_json, screen, screen_text
from hornbeam.cli.option_groups import option

if TYPE_CHECKING:
    from rich.console import Console

EVIDENCE = ("--facts", "observed.tsv", "--facts", "fold0/obs.tsv")


@dataclass(frozen=True)
class DemoStep:
    """One command of the tour: the question it answers, its arguments, a remark on its output."""

    question: str
    words: tuple[str, ...]
    remark: str


STEPS = (
    DemoStep(
        "Which paths lead from a country to its region?",
        ("candidates", *EVIDENCE, "--labels", "fold0/train.tsv", "--top", "6"),
        "A rule that connects many true pairs and few false ones is promising.",
    ),
    DemoStep(
        "How much is each of them worth, given the others?",
        ("learn", *EVIDENCE, "--labels", "fold0/train.tsv", "-o", "model.psl"),
        "That is the whole model: PSL text that you can read and edit. The rule without a "
        "condition, !located_in(A, B), is the prior: without evidence a link is unlikely.",
    ),
    DemoStep(
        "How good is it on countries that it has not seen?",
        ("evaluate", "model.psl", *EVIDENCE, "--labels", "fold0/test.tsv"),
        "AUC-ROC is the chance that a true pair scores above a false one.",
    ),
    DemoStep(
        "Which region does it propose for three of them?",
        (
            "predict", "model.psl", *EVIDENCE, "--top", "1", "--per-subject",
            "--subject", "algeria", "--subject", "ukraine", "--subject", "vietnam",
        ),
        "No list of pairs was given: the rules are followed forward from the subjects.",
    ),
    DemoStep(
        "Why Africa for Algeria, and what would change that?",
        ("explain", "model.psl", *EVIDENCE, "algeria", "africa", "--paths", "2"),
        "A pull is how far the score moves when that rule alone is taken away.",
    ),
)  # fmt: skip


def demo(
    *,
    keep: Path | None = option("Leave the data and the model in a new folder.", metavar="DIR"),
    console: options.ConsoleOptions,
) -> None:
    """Take a tour: the whole flow on the bundled countries, with the commands you would type.

    The facts are neighbours, languages, currencies and subregions of 197 countries; the question
    is in which region of the world each lies.

    [dim]Examples:[/dim]

      hornbeam demo

      hornbeam demo --keep countries
    """
    verbosity = ["--quiet"] * console.quiet + ["--verbose"] * console.verbose
    with _folder(keep) as folder, chdir(folder):
        if console.as_json:
            print_json({"steps": [_result(step, verbosity) for step in STEPS]})
        else:
            _tour(screen(), verbosity)
    if not console.as_json:
        _show_next(screen(), keep)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Make a folder with the bundled data: `keep`, or a temporary folder, deleted at the end."""
    import shutil
    import tempfile
    from importlib.resources import as_file, files

    from hornbeam.errors import InputError

    with as_file(files("hornbeam.examples") / "countries") as bundled:
        if keep is None:
            with tempfile.TemporaryDirectory(prefix="hornbeam-demo-") as scratch:
                shutil.copytree(bundled, scratch, dirs_exist_ok=True)
                yield Path(scratch)
            return
        try:
            shutil.copytree(bundled, keep)
        except FileExistsError:
            raise InputError(f"{keep}: is there already; name a new folder") from None
        except OSError as error:
            raise InputError(f"{keep}: cannot be made: {error.strerror}") from None
        yield keep


def _run(words: list[str]) -> None:
    from hornbeam.cli.main import app

    app(words, standalone_mode=False)


def _result(step: DemoStep, verbosity: list[str]) -> dict[str, Any]:
    """Run a step with `--json` and return its output."""
    from contextlib import redirect_stdout
    from io import StringIO

    printed = StringIO()
    with redirect_stdout(printed):
        _run([*step.words, *verbosity, "--json"])
    return {"command": _command(step), "result": json.loads(printed.getvalue())}


def _command(step: DemoStep) -> str:
    return f"hornbeam {shlex.join(step.words)}"


def _tour(out: Console, verbosity: list[str]) -> None:
    out.print(
        "Facts about 197 countries: neighbours, languages, currencies, subregions. The region is "
        "known for some; where do the others lie?"
    )
    for number, step in enumerate(STEPS, start=1):
        out.print(f"\n[bold]{number}/{len(STEPS)}  {step.question}[/bold]")
        out.print(f"[cyan]$ {_command(step)}[/cyan]\n", soft_wrap=True)
        _run([*step.words, *verbosity])
        out.print(f"\n[dim]{step.remark}[/dim]")


def _show_next(out: Console, keep: Path | None) -> None:
    again = ("the same, with files to play with", "hornbeam demo --keep countries")
    own = ("your own facts", "hornbeam learn --help")
    if keep is None:
        advice: tuple[tuple[str, str], ...] = (again, own)
    else:
        model = shlex.join(("model.psl", *EVIDENCE, "--labels", "fold0/test.tsv"))
        advice = (
            ("data and model are here", f"cd {shlex.quote(str(keep))}"),
            ("a page about the model, to share", f"hornbeam report {model} -o report.html"),
            ("the model in a browser", f"hornbeam serve {model} --open"),
            ("all learners on all folds", "hornbeam crossval ."),
            own,
        )
    out.print("\n[bold]What to try next[/bold]")
    for purpose, command in advice:
        out.print(f"  {purpose}:\n    [cyan]{screen_text(command)}[/cyan]", soft_wrap=True)
