"""`hornbeam doctor`: what this machine has, and what is missing or slow about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hornbeam.cli import options
from hornbeam.cli.console import print_json, screen

if TYPE_CHECKING:
    from hornbeam.cli.checkup import Checkup


def doctor(
    *,
    console: options.ConsoleOptions,
) -> None:
    """Show versions, threads, compiled kernels, Java, memory and disk, and mark problems.

    Put its output into a report of a fault. The exit code is 0 whatever it finds; `problems` of
    [bold]--json[/bold] lists what is wrong, each with what to do.

    [dim]Examples:[/dim]

      hornbeam doctor

      hornbeam doctor --json
    """
    from hornbeam.cli.checkup import examine

    with console.progress() as progress:
        progress.detail("Looking at libraries, kernels, Java, memory and disk.")
        found = examine()
    if console.as_json:
        print_json(_as_dict(found))
    else:
        _show(found)


def _as_dict(found: Checkup) -> dict[str, Any]:
    from dataclasses import asdict

    result = asdict(found)
    for name, extra in found.extras.items():
        result["extras"][name]["installed"] = extra.installed
    return result


def _show(found: Checkup) -> None:
    import os

    from rich.markup import escape

    from hornbeam.cli.checkup import gib

    out = screen()

    def line(name: str, text: str) -> None:
        out.print(f"[bold]{name:10}[/bold] {text}", soft_wrap=True)

    line("Hornbeam", found.hornbeam)
    line("Python", f"{found.python} on {escape(found.platform)}")
    line("Libraries", _listed(found.libraries))
    for name, extra in found.extras.items():
        wanted = f"[dim]not installed:[/dim] {escape(extra.install)}"
        line(f"  {name}", _listed(extra.libraries) if extra.installed else wanted)
    line("Threads", str(found.threads))
    if found.kernels is not None:
        kernels = found.kernels
        where = escape(os.path.commonpath(kernels.folders))
        line("Kernels", f"{kernels.compiled} of {kernels.total} compiled so far, kept in {where}")
    line("Java", escape(found.java or "none (only --engine spark and PSL's own runtime need it)"))
    if found.memory_total is not None:
        free = found.memory_available
        line("Memory", gib(found.memory_total) + (f", {gib(free)} free" if free else ""))
    line("Temporary", f"{escape(found.temporary_folder)}, {gib(found.temporary_free)} free")
    if not found.problems:
        out.print("[green]No problems found.[/green]")
    for problem in found.problems:
        out.print(f"[red]problem:[/red] {escape(problem)}", soft_wrap=True)


def _listed(libraries: dict[str, str | None]) -> str:
    return ", ".join(
        f"{name} {version or '[red]missing[/red]'}" for name, version in libraries.items()
    )
