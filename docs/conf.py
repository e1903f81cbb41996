"""The documentation as a site: ``make docs``. The pages are written for GitHub, and nothing in them is for Sphinx
alone: the contents of the site are the links of ``README.md``, in its order and under its headings. A page outside
``docs`` is a file to download."""

import re

from sphinx.application import Sphinx

project = "pgsched"
copyright = "the authors of pgsched"
extensions = ["myst_parser"]
root_doc = "README"
exclude_patterns = ["conf.py", "site"]
templates_path = ["site"]
nitpicky = True
myst_heading_anchors = 5
# The examples are checked by tests; Pygments does not know all that PostgreSQL and shells take.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "pgsched"
html_additional_pages = {"index": "index.html"}
html_use_index = False
html_domain_indices = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}


def add_contents(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Gives the index a tree of contents for each of its headings, which GitHub's readers have as a list of links.
    Decisions are reached from the index and from the pages that refer to them."""
    if docname == root_doc:
        source[0] += "".join(map(_tree, re.split(r"^## ", source[0], flags=re.MULTILINE)[1:]))
    elif docname.startswith("decisions/"):
        source[0] = f"---\norphan: true\n---\n{source[0]}"
    source[0] = re.sub(r"\]\(((?:\.\./)+CONTRIBUTING\.md)(?:#[\w-]+)?\)", r"](path:\1)", source[0])


def _tree(section: str) -> str:
    heading, _, text = section.partition("\n")
    pages = re.findall(r"^- .*?\]\(([\w/-]+)\.md\)", text, re.MULTILINE)
    options = f":hidden:\n:maxdepth: 1\n:caption: {heading}"
    return f"\n```{{toctree}}\n{options}\n\n" + "\n".join(pages) + "\n```\n" if pages else ""


def setup(app: Sphinx) -> None:
    """Registers the above with Sphinx."""
    app.connect("source-read", add_contents)
