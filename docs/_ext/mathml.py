"""Formulas as MathML, which browsers draw themselves: no script, no network, no LaTeX."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in the running text."""
    translator.body.append(str(tex2mathml(node.astext())))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    translator.body.append('<div class="math" style="overflow-x: auto; padding: 0.4em 0">')
    translator.body.append(str(tex2mathml(node.astext(), as_block=True)))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(block, None)
    )
    return {"parallel_read_safe": True}
