"""What the README says is what was measured, what there is, and what works."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from bert4so.cli import app
from bert4so.data.jsonl import write_records
from bert4so.experiments.page import write_page

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import tables  # noqa: E402

SYSTEMS = ["bert4so"]  # what is tested here is no system's own

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(
    r"^(?:    |\$ )((?:cat \S+ \| )?bert4so .+?)(?: +#.*)?$", README, re.MULTILINE
)
CALLBACKS = [
    command.callback
    for group in (app, *(group.typer_instance for group in app.registered_groups))
    for command in group.registered_commands
]
EXAMPLES = [callback.__doc__.strip().splitlines()[-1].strip() for callback in CALLBACKS]
"""What each --help ends with."""
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.parent.name)
def test_the_tables_are_those_of_the_results(page):
    text = page.read_text(encoding="utf-8")
    assert tables.BLOCK.search(text)
    assert tables.filled(text) == text, "run: python benchmarks/tables.py"


def test_the_page_of_results_is_that_of_the_runs(tmp_path, monkeypatch):
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
    # Each claim is a row, as Markdown wants it: in one line.
    row = r"^\|[^|\n]+\| \*\*(?:supported|not supported|not testable here)\*\* \|[^|\n]+\|$"
    assert len(re.findall(row, Path("docs/results.md").read_text(), re.MULTILINE)) == 8


def test_every_file_it_names_is_there():
    names = re.findall(r"\]\(([^)#:]+)\)|`((?:configs|data|examples|benchmarks)/[^` *]+)`", README)
    paths = [one or other for one, other in names]
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_pytorch_for_the_cpu_is_installed_before_the_extra():
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    (torch,) = [pin for pin in pins if pin.startswith("torch==")]
    commands = re.findall(r"^    (pip install .*)$", README, re.MULTILINE)
    assert commands == [
        "pip install .",
        f"pip install {torch} --index-url https://download.pytorch.org/whl/cpu",
        "pip install -c constraints.txt '.[train]'",
    ]


@pytest.fixture
def somewhere(trained, documents, encoder, tmp_path, monkeypatch):
    """A folder with what the README's reader would have by then, the model a tiny one."""
    place = tmp_path / "somewhere"
    shutil.copytree(trained, place / "runs" / "sample")
    shutil.copytree(ROOT / "configs", place / "configs")
    small = f'{{ model = {{ encoder = "{encoder}", heads = 2 }} }}'
    experiment = place / "configs" / "experiments" / "sample.toml"
    experiment.write_text(experiment.read_text().replace("bert4so = {}", f"bert4so = {small}"))
    shutil.copytree(ROOT / "examples", place / "examples")
    records = [{"id": d.id, "sentences": d.sentences} for d in documents]
    for corpus in ("path/to/corpus", "data/sample", "data/neurips"):
        (place / corpus).mkdir(parents=True)
        for split in ("train", "valid", "test"):
            write_records(place / corpus / f"{split}.jsonl", records)
    write_records(tmp_path / "valid.jsonl", records)  # of the corpus that the run names
    write_records(place / "stories.jsonl", records)
    (place / "story.txt").write_text("they sleep\nthey wake up\n")
    monkeypatch.chdir(place)
    return place


def test_every_help_ends_with_an_example():
    assert len(EXAMPLES) >= 10
    assert all(example.startswith("bert4so ") for example in EXAMPLES)


def test_every_command_works(bert4so, somewhere, encoder):
    assert len(COMMANDS) > 6
    examples = [example for example in EXAMPLES if example not in COMMANDS]
    for line in [*COMMANDS, *examples]:
        shown, _, command = line.rpartition(" | ")
        stdin = Path(shown.split()[1]).read_text() if shown else ""
        args = shlex.split(command)[1:]
        if args[0] == "train":
            run = Path("runs") / Path(args[1]).stem
            shutil.rmtree(run, ignore_errors=True)
            tiny = [f"model.encoder={encoder}", "model.heads=2"]
            # What goes on from the bundled model cannot be smaller than that.
            fast = ["train.epochs=1"] if "adapt" in args[1] else tiny
            args += [part for assignment in fast for part in ("--set", assignment)]
        code, out, err = bert4so(*args, stdin=stdin)
        assert code == 0, f"{line}: {err}"
        assert out
        if args[0] == "train":  # what the next commands read
            for place in (somewhere, somewhere / "a", somewhere / "b"):
                place.mkdir(exist_ok=True)
                for name in ("predictions.jsonl", "truth.jsonl"):
                    shutil.copy(run / name, place)


def test_every_snippet_works(somewhere):
    assert SNIPPETS
    for snippet in SNIPPETS:
        exec(snippet, {"documents": [["b", "a"], ["c"]]})


def test_the_example_is_what_is_shown(bert4so):
    shuffled = ROOT / "examples" / "shuffled.txt"
    before, after = re.search(r"shuffled\.txt\n(.*?)\n\n\$ .*?\n(.*?)\n```", README, re.S).groups()
    assert before + "\n" == shuffled.read_text()
    assert bert4so("order", shuffled) == (0, after + "\n", "")
