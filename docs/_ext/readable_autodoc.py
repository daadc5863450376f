"""Two things that autodoc and napoleon would get wrong about this code."""

from sphinx.application import Sphinx


def keep_sentences(
    _: Sphinx, what: str, __: str, ___: object, ____: object, lines: list[str]
) -> None:
    """Join the first sentence of a property again: what stands before its colon is no type."""
    marks = [row for row, line in enumerate(lines) if line.startswith(":type: ")]
    if what in ("property", "attribute") and marks:
        before = lines.pop(marks[0]).removeprefix(":type: ")
        lines[0] = f"{before}: {lines[0]}"


def readable_defaults(
    _: Sphinx, __: str, ___: str, ____: object, _____: object, signature: str, returned: str
) -> tuple[str, str] | None:
    """Show `...` where a dataclass makes its default: `<factory>` is no Python to be parsed."""
    if not signature or "<factory>" not in signature:
        return None
    return signature.replace("<factory>", "..."), returned


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, the first behind napoleon."""
    sphinx.connect("autodoc-process-docstring", keep_sentences, priority=600)
    sphinx.connect("autodoc-process-signature", readable_defaults)
    return {"parallel_read_safe": True}
