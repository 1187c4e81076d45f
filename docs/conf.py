"""Configuration of the documentation site: `make docs` builds it, without the network."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

REPOSITORY = ""
"""Where files of the repository are shown, such as "https://…/blob/main/". Links to files outside
docs/ become plain text while this is empty. `pyproject.toml` has the same setting for PyPI."""

project = "bert4so"
author = "The bert4so maintainers"
copyright = author
try:
    release = metadata.version("bert4so")
except metadata.PackageNotFoundError:  # built from a checkout that is not installed
    release = ""

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "fill_in",
    "python_reference",
    "mathml",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

smartquotes = False  # they would change --options
default_role = "code"  # docstrings mark code with single backticks
autodoc_member_order = "bysource"
autoclass_content = "both"
napoleon_numpy_docstring = False
napoleon_attr_annotations = False
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"bert4so {release}".strip()
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
