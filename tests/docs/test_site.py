"""The documentation site builds without warnings, network and PyTorch, and is complete."""

import re
import subprocess
import sys
from pathlib import PurePosixPath

import pytest
from typer.main import get_command

import bert4so
from bert4so.cli import app
from bert4so.systems import SYSTEMS
from pages import DOCS

sys.path.insert(0, str(DOCS / "extensions"))

import links
import python_reference

BUILD = """
import socket, sys

def refuse(*args):
    raise OSError("the build must not use the network")

socket.socket.connect = refuse
sys.modules |= {"torch": None, "transformers": None, "pydantic": None}  # importing them fails
from sphinx.cmd.build import main

sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-b", "html", "-d", folder / "doctrees"]
    command = [sys.executable, "-c", BUILD, *options, DOCS, folder / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_command_and_option_is_in_the_reference(site):
    page = (site / "cli.html").read_text()
    for name, command in get_command(app).commands.items():
        for path, each in [(name, command), *getattr(command, "commands", {}).items()]:
            assert f"bert4so {path}" in page or f"bert4so {name} {path}" in page
            for parameter in each.params:
                assert all(option in page for option in parameter.opts if option.startswith("--"))


def test_every_public_name_is_in_the_reference(site):
    page = (site / "python.html").read_text()
    for name in bert4so.__all__:
        if not name.startswith("__"):
            assert f'id="bert4so.{name}"' in page or f'id="module-bert4so.{name}"' in page


def test_the_metrics_have_their_public_names(site):
    page = (site / "python.html").read_text()
    for name in ("kendall_tau", "Metrics", "METRICS"):
        assert f'id="bert4so.metrics.{name}"' in page
    assert 'id="bert4so.evaluation' not in page


def test_public_names_in_docstrings_become_links():
    text = "`UserError`, `Orderer.order` and `order`"
    links = ":py:obj:`~bert4so.UserError`, :py:obj:`~bert4so.Orderer.order` and `order`"
    assert python_reference.linked(text) == links


def test_every_system_has_a_page_with_equations_and_settings(site):
    for name in SYSTEMS:
        page = (site / "systems" / f"{name}.html").read_text()
        assert f">{name}</span>" in page
        assert "<math" in page
        assert "CPU_PRESET" in page


def test_pages_load_nothing_from_other_sites(site):
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        assert loaded.findall(page.read_text()) == []


@pytest.mark.parametrize(
    "target, folder, repository, link",
    [
        ("ARCHITECTURE.md", "docs", "", "architecture.md"),
        ("ARCHITECTURE.md", "docs/systems", "", "../architecture.md"),
        ("docs/results.md", "docs", "", "results.md"),
        ("CITATION.cff", "docs", "", ""),
        ("CITATION.cff", "docs", "https://example.org/", "https://example.org/CITATION.cff"),
    ],
)
def test_links_to_files_become_site_links(target, folder, repository, link):
    paths = PurePosixPath(target), PurePosixPath(folder)
    assert links.site_link(*paths, repository) == link


def test_lists_in_docstrings_become_lists():
    lines = ["First line.", "", "order: the order,", "       from 0.", "a, b:  two.", "", "End."]
    shown = ["", "- **order**: the order,", "  from 0.", "- **a, b**: two.", "", "End."]
    assert python_reference.list_items(lines) == ["First line.", "", *shown]


def test_a_colon_in_a_paragraph_does_not_start_a_list():
    lines = ["An orderer can be", "pickled: only its path is."]
    assert python_reference.list_items(lines) == lines
