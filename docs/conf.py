from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

from fmarl import __version__

project = "fmarl"
release = version = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"fmarl {__version__}"
html_math_renderer = "mathml"
exclude_patterns = ["_build"]
nitpicky = True


def setup(app: Sphinx) -> None:
    """Formulas as MathML, which browsers draw themselves: pages work offline, without scripts."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(lambda writer, node: _write(writer, node, "inline"), None),
        block_renderers=(lambda writer, node: _write(writer, node, "block"), None),
    )


def _write(writer, node: nodes.Element, display: str) -> None:
    writer.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode
