"""The reference of PSL's options in programs, written from the tables that read them.

The line `<!-- options of programs -->` of a page becomes three tables: options that are honoured,
options without an effect, and options that are named and ignored.
"""

from collections.abc import Iterable, Iterator

from sphinx.application import Sphinx

from hornbeam.programs.evaluators import EVALUATORS
from hornbeam.programs.program_options import (
    IGNORED,
    INFERENCE,
    NOT_SET,
    WITHOUT_EFFECT,
    InferenceOptions,
    option_text,
)

MARKER = "<!-- options of programs -->"


def tables() -> str:
    """Write the three tables."""
    return "\n\n".join(
        [
            table(("honoured", "default", "meaning"), honoured()),
            table(("without effect", "because"), WITHOUT_EFFECT.items()),
            table(("ignored", "because"), ignored()),
        ]
    )


def honoured() -> Iterator[tuple[str, ...]]:
    """Rows of the options that are honoured; evaluators have some in common."""
    settings = {option.name: (option, InferenceOptions()) for option in INFERENCE}
    for kind in EVALUATORS.values():
        settings |= {option.name: (option, kind()) for option in kind.OPTIONS}
    for name, (option, holder) in settings.items():
        default = NOT_SET.get(name) or option_text(getattr(holder, option.field))
        yield name, f"`{default}`", option.meaning


def ignored() -> Iterator[tuple[str, ...]]:
    """Rows of the options that are ignored; prefixes with the same reason share a row."""
    reasons = dict[str, list[str]]()
    for prefix, reason in IGNORED.items():
        reasons.setdefault(reason, []).append(f"{prefix}*" if prefix.endswith(".") else prefix)
    for reason, names in reasons.items():
        yield "`, `".join(names), reason


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a table whose first column is code."""
    lines = [head, tuple("---" for _ in head), *((f"`{row[0]}`", *row[1:]) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def insert(_: Sphinx, __: str, source: list[str]) -> None:
    """Put the tables where a page wants them."""
    if MARKER in source[0]:
        source[0] = source[0].replace(MARKER, tables())


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx.connect("source-read", insert)
    return {"parallel_read_safe": True}
