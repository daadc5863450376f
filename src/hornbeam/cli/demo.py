"""`hornbeam demo`: the main job on the bundled countries, step by step."""

from __future__ import annotations

from importlib.resources import as_file, files


def demo() -> None:
    """Run the whole flow on the bundled example, showing the commands you would type."""
    from hornbeam.cli.candidates import candidates
    from hornbeam.cli.console import screen
    from hornbeam.cli.options import EngineName

    with as_file(files("hornbeam.examples") / "countries") as folder:
        out = screen()
        facts = [str(folder / "observed.tsv"), str(folder / "fold0" / "obs.tsv")]
        labels = [str(folder / "fold0" / "train.tsv")]
        out.print("[bold]Countries[/bold]: which rules could say in which region a country lies?\n")
        out.print(
            "$ hornbeam candidates --facts observed.tsv --facts fold0/obs.tsv "
            "--labels fold0/train.tsv\n"
        )
        candidates(facts, labels, engine=EngineName.MEMORY)
