"""Sphinx configuration: MyST pages in the Furo theme, references generated from the code."""

import sys
from pathlib import Path

import hornbeam

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Hornbeam"
author = "the Hornbeam authors"
release = version = hornbeam.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "command_reference",
    "mathml",
    "notebooks",
    "option_reference",
    "readable_autodoc",
]
default_role = "code"
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["results.css"]
html_title = f"Hornbeam {release}"
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
