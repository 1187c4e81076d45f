"""README and documentation: numbers match results/, and files and links exist."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from bert4so.experiments.report.page import write_page
from pages import DOCS, PAGES, README, ROOT, name

sys.path.insert(0, str(ROOT / "benchmarks"))
sys.path.insert(0, str(DOCS / "figures"))

import order as figure

import tables


@pytest.mark.parametrize("page", tables.PAGES, ids=name)
def test_tables_match_the_results(page):
    text = page.read_text(encoding="utf-8")
    assert tables.BLOCK.search(text)
    assert tables.filled(text) == text, "run: python benchmarks/tables.py"


def test_every_table_is_shown_on_a_page():
    names = [name for page in tables.PAGES for _, name, _ in tables.BLOCK.findall(page.read_text())]
    assert set(names) == set(tables.TABLES)


def test_the_figure_shows_the_answer_of_the_model():
    drawn = (DOCS / "figures" / "order.svg").read_text(encoding="utf-8")
    assert figure.story() == drawn, "run: python docs/figures/order.py"


def test_the_results_page_matches_the_runs(tmp_path, monkeypatch):
    (tmp_path / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(tmp_path)
    write_page(Path("results/desk"), Path("docs/results.md"))
    again = "run: bert4so experiment table desk --out docs/results.md"
    texts = [path for path in Path("docs").rglob("*") if path.suffix in {".md", ".tex"}]
    assert len(texts) > 1
    for path in texts:
        assert path.read_text() == (ROOT / path).read_text(), again
    figures = {path.name for path in (ROOT / "docs" / "results").iterdir()}
    assert {path.name for path in Path("docs/results").iterdir()} == figures, again
    # Each claim is a row of a Markdown table, in one line.
    row = r"^\|[^|\n]+\| \*\*(?:supported|not supported|not testable here)\*\* \|[^|\n]+\|$"
    assert len(re.findall(row, Path("docs/results.md").read_text(), re.MULTILINE)) == 8


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_named_on_pages_exist(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!\w+:|#)([^)#]+)", text)
    paths = re.findall(r"`((?:configs|data/sample|examples|benchmarks|src)/[^` *]+)`", text)
    assert [path for path in links if not (page.parent / path).exists()] == []
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").split()) <= 900


def test_pytorch_for_the_cpu_is_installed_before_the_extra():
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    (torch,) = [pin for pin in pins if pin.startswith("torch==")]
    commands = re.findall(r"^pip install .*$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands == [
        "pip install .",
        f"pip install {torch} --index-url https://download.pytorch.org/whl/cpu",
        "pip install -c constraints.txt '.[train]'",
    ]


def test_relative_links_become_absolute_on_pypi():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = README.read_text(encoding="utf-8")
    shown = text
    for rule, base in zip(
        hook["substitutions"], ("https://x/raw/", "https://x/blob/"), strict=True
    ):
        assert re.sub(rule["pattern"], rule["replacement"], text) == text  # there is no URL yet
        shown = re.sub(rule["pattern"], rule["replacement"] + base, shown)
    assert "](https://x/raw/docs/figures/order.svg)" in shown
    assert "](https://x/blob/CONTRIBUTING.md)" in shown
    assert "](https://arxiv.org" in shown
    assert re.findall(r"\]\((?!https://)", shown) == []
