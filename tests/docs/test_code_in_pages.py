"""The commands and snippets of README, documentation and `--help` work."""

import shlex
import shutil
from pathlib import Path

import pytest

from bert4so.cli import app
from bert4so.io.jsonl import write_records
from bert4so.systems.run_config import read_run
from pages import PAGES, ROOT, blocks, commands, name, sessions

TESTED_SYSTEMS = ["bert4so"]  # the pages are not about one system

CALLBACKS = [
    command.callback
    for group in (app, *(group.typer_instance for group in app.registered_groups))
    for command in group.registered_commands
]
EXAMPLES = [callback.__doc__.strip().splitlines()[-1].strip() for callback in CALLBACKS]
"""The last line of each --help."""
COMMANDS = list(dict.fromkeys([*(line for page in PAGES for line in commands(page)), *EXAMPLES]))


@pytest.fixture
def workplace(trained, documents, encoder, tmp_path, monkeypatch):
    """A folder with the files that the pages use; corpora and trained models are tiny."""
    place = tmp_path / "workplace"
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


def test_every_command_works(bert4so, workplace, encoder):
    assert len(COMMANDS) > 20
    for line in COMMANDS:
        cat, _, command = line.rpartition(" | ")
        stdin = Path(cat.split()[1]).read_text() if cat else ""
        args = shlex.split(command)[1:]
        if args[0] == "train":
            run = Path("runs") / Path(args[1]).stem
            shutil.rmtree(run, ignore_errors=True)
            tiny = [f"model.encoder={encoder}", "model.heads=2"]
            # A run that starts from the bundled model has its size.
            fast = ["train.epochs=1"] if "adapt" in args[1] else tiny
            args += [part for assignment in fast for part in ("--set", assignment)]
        if args[0] == "export":
            shutil.rmtree(args[args.index("--out") + 1], ignore_errors=True)
        code, out, err = bert4so(*args, stdin=stdin)
        assert code == 0, f"{line}: {err}"
        assert out
        if args[0] == "train":  # the commands that follow use these files
            for place in (workplace, workplace / "a", workplace / "b"):
                place.mkdir(exist_ok=True)
                for file in ("predictions.jsonl", "truth.jsonl"):
                    shutil.copy(run / file, place)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_snippets_of_pages_work(page, workplace):
    known = {}
    for snippet in blocks(page, "python"):
        exec(snippet, known)


@pytest.mark.parametrize("page", [page for page in PAGES if sessions(page)], ids=name)
def test_output_of_commands_matches_the_page(page, bert4so, monkeypatch):
    monkeypatch.chdir(ROOT)
    for command, output in sessions(page):
        assert bert4so(*shlex.split(command)[1:]) == (0, output, ""), command


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=name)
def test_configurations_of_pages_are_valid(page, tmp_path):
    for block in blocks(page, "toml"):
        (tmp_path / "run.toml").write_text(block)
        assert read_run(tmp_path / "run.toml").system in ("bert4so", page.stem)
