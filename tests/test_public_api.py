"""The names that users may rely on."""

import ast
import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import bert4so

PUBLIC = {
    *("Orderer", "Ordering", "Document", "UserError", "Backend", "Decision", "Puzzle", "Order"),
    *("train", "Run", "evaluate", "Evaluation", "Prediction", "load_corpus", "Corpus", "metrics"),
    "__version__",
}
SOURCE = Path(bert4so.__file__)
EXAMPLES = Path(__file__).parent.parent / "examples"
LOADED_LATE = """
import json, sys
before = set(sys.modules)
import bert4so
first = set(sys.modules) - before
for name in bert4so.__all__:
    getattr(bert4so, name)
print(json.dumps([sorted(first), sorted(set(sys.modules) - before)]))
"""


def test_what_is_exported_is_what_is_promised():
    assert set(bert4so.__all__) == PUBLIC
    assert set(dir(bert4so)) >= PUBLIC
    assert all(getattr(bert4so, name) is not None for name in PUBLIC)
    assert bert4so.__version__ == version("bert4so")


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'bert4so' has no attribute 'ordr'$"):
        _ = bert4so.ordr
    assert not hasattr(bert4so, "__wrapped__")  # as inspect asks


def test_type_checkers_see_the_same_names():
    (block,) = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If)]
    imported = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported.pop("metrics") == "bert4so.evaluation"
    assert imported == {name: f"bert4so.{place}" for name, place in bert4so._MODULES.items()}
    assert {*imported, "metrics", "__version__"} == PUBLIC


def test_nothing_is_loaded_before_it_is_used():
    command = [sys.executable, "-c", LOADED_LATE]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, later = json.loads(printed)
    assert not {name.split(".")[0] for name in first} - set(sys.stdlib_module_names) - {"bert4so"}
    assert not set(later) & {"torch", "transformers", "pydantic", "scipy", "onnxruntime"}
    assert "bert4so.training.train" in later


def test_every_public_name_says_what_it_is():
    for name in PUBLIC - {"__version__", "Order"}:
        assert getattr(bert4so, name).__doc__, name
    for kind in ("Orderer", "Ordering", "Run", "Evaluation", "Corpus", "Backend"):
        public = [(k, v) for k, v in vars(getattr(bert4so, kind)).items() if not k.startswith("_")]
        assert all(v.__doc__ for k, v in public if callable(v) or isinstance(v, property)), kind


def example_sources():
    notebook = json.loads((EXAMPLES / "reproduce.ipynb").read_text())
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    yield "reproduce.ipynb", "\n".join("".join(cell["source"]) for cell in cells)
    for path in EXAMPLES.glob("*.py"):
        yield path.name, path.read_text()


@pytest.mark.parametrize("name, source", list(example_sources()))
def test_examples_use_public_names_only(name, source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("bert4so"):
            assert node.module == "bert4so"
            assert {alias.name for alias in node.names} <= PUBLIC
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("bert4so.") for alias in node.names)


def test_the_guide_begins_with_an_example_and_names_all_that_is_public(capsys):
    page = (EXAMPLES.parent / "docs" / "api.md").read_text()
    # test_code_in_pages.py runs the others, in a folder with tiny corpora.
    snippet = re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(snippet[1], {})
    assert capsys.readouterr().out.startswith("We cooked.\nThen we ate.\nconfidence")
    assert set(re.findall(r"`(\w+)`", page)) >= PUBLIC
