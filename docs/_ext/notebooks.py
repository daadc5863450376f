"""Notebooks are pages: their cells run while the site is built, and what they give is shown.

A cell that fails fails the build. The notebook itself holds no results, so that none can be stale.
"""

import ast
import contextlib
import io
import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown that it amounts to."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Run the cells and parse them with their results."""
        super().parse(as_markdown(json.loads(inputstring)), document)


def as_markdown(notebook: dict[str, Any]) -> str:
    """Cells of text as they are, cells of code with what they print and give."""
    names: dict[str, Any] = {"__name__": "__main__"}
    pages = []
    for number, cell in enumerate(notebook["cells"], start=1):
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            results = _results(text, names, f"cell {number}")
            text = "\n\n".join([f"```python\n{text}\n```", *results])
        pages.append(text)
    return "\n\n".join(pages)


def _results(code: str, names: dict[str, Any], called: str) -> list[str]:
    """Run a cell: what it prints, and its last expression as a notebook shows it."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, called, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), called, "eval"), names)
    shown = [f"```text\n{printed.getvalue()}```"] if printed.getvalue() else []
    return shown if value is None else [*shown, _shown(value)]


def _shown(value: Any) -> str:  # noqa: ANN401
    """A figure as a drawing, an object with a page of its own as that, anything else as text."""
    if hasattr(value, "savefig"):
        drawing = io.StringIO()
        value.savefig(drawing, format="svg", bbox_inches="tight", metadata={"Date": None})
        page = drawing.getvalue()
        page = page[page.index("<svg") :]
    elif hasattr(value, "_repr_html_"):
        page = value._repr_html_()
    else:
        return f"```text\n{value!r}\n```"
    # a fence that no line of the page can close
    return f'``````{{raw}} html\n<div class="result">{page}</div>\n``````'


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "hornbeam"
    sphinx.add_source_suffix(".ipynb", "notebook")
    sphinx.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
