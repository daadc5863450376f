"""`hornbeam demo`: the main job on the bundled countries, step by step."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path


def demo() -> None:
    """Run the whole flow on the bundled countries, showing the commands you would type."""
    from hornbeam.cli.console import screen
    from hornbeam.cli.main import app

    evidence = ["--facts", "observed.tsv", "--facts", "fold0/obs.tsv"]
    steps = [
        (
            "Which relation paths connect countries with regions?",
            ["candidates", *evidence, "--labels", "fold0/train.tsv"],
        ),
        (
            "Learn a weighted rule model from the labelled pairs.",
            ["learn", *evidence, "--labels", "fold0/train.tsv", "-o", "model.psl"],
        ),
        (
            "How good is it on countries it has not seen?",
            ["evaluate", "model.psl", *evidence, "--labels", "fold0/test.tsv"],
        ),
        (
            "Which links do the rules propose for three of them?",
            ["predict", "model.psl", *evidence, "--top", "1", "--per-subject",
             "--subject", "algeria", "--subject", "ukraine", "--subject", "vietnam"],
        ),
    ]  # fmt: skip
    out = screen()
    out.print("Countries: neighbours, languages, currencies. In which region does each lie?")
    with (
        as_file(files("hornbeam.examples") / "countries") as bundled,
        tempfile.TemporaryDirectory(prefix="hornbeam-demo-") as scratch,
    ):
        folder = Path(scratch)
        shutil.copytree(bundled, folder, dirs_exist_ok=True)
        for text, words in steps:
            out.print(f"\n[bold]{text}[/bold]")
            out.print(f"[dim]$ hornbeam {shlex.join(words)}[/dim]\n", soft_wrap=True)
            app(_inside(words, folder), standalone_mode=False)
    out.print("\nThe same with your own files: see `hornbeam learn --help`.")


def _inside(words: list[str], folder: Path) -> list[str]:
    """Make the file names among the words absolute."""
    return [str(folder / word) if word.endswith((".tsv", ".psl")) else word for word in words]
