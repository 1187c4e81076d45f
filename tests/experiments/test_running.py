"""Running experiments: resuming, shards, locks and failures."""

import json
import re
import shutil
import signal
from pathlib import Path

import pytest

from bert4so.experiments.plan import all_cells, make_plan, read_experiment
from bert4so.experiments.run_cell import run_cell, source_hash
from bert4so.experiments.store import CellStore
from bert4so.io.jsonl import write_records
from bert4so.systems.run_config import read_run
from conftest import TINY_MODEL
from forked import Forked
from made_up_cells import finish


@pytest.fixture
def tiny(tmp_path, encoder, documents, monkeypatch):
    """An experiment with tiny models, in the working folder."""
    records = [{"id": d.id, "sentences": d.sentences} for d in documents]
    for split in ("train", "valid", "test"):
        (tmp_path / "data" / "days").mkdir(parents=True, exist_ok=True)
        write_records(tmp_path / "data" / "days" / f"{split}.jsonl", records)
    small = f'model = {{ encoder = "{encoder}", heads = 2, pooling = "mean" }}'
    (tmp_path / "tiny.toml").write_text(
        f"""scale = "desk"
[set]
train.epochs = 2
train.batch = 4
[corpora]
NeurIPS = {{ folder = "days", stand_in = "days" }}
NSF = {{ folder = "days" }}
[systems]
rank-tx-net = {{ {small} }}
bert4so = {{ {small} }}
[grids.table-1]
systems = ["rank-tx-net", "bert4so"]
corpora = ["NeurIPS", "NSF"]
"""
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_cells_are_run_stored_and_not_run_again(bert4so, tiny):
    code, out, err = bert4so("experiment", "run", "tiny.toml", "--shard", "2/2")
    assert (code, out) == (0, "results/tiny: all 2 cells are finished\n"), err
    assert "cell 1 of 2: bert4so-neurips-seed-1; 2 left" in err
    assert "cell 2 of 2: bert4so-nsf-seed-1; 1 left\n" in err  # NeurIPS says nothing about NSF
    stored = {path.name: path.read_bytes() for path in Path("results/tiny").glob("*-seed-1.json")}
    assert sorted(stored) == ["bert4so-neurips-seed-1.json", "bert4so-nsf-seed-1.json"]
    assert not Path("results/tiny/statistics.json").exists()  # only the first shard counts
    facts = json.loads(stored["bert4so-nsf-seed-1.json"])
    assert facts["source"] == source_hash()
    Path("again.toml").write_text(facts["configuration"])
    assert read_run(Path("again.toml")).train.epochs == 2
    assert len(facts["documents"]["tau"]) == facts["metrics"]["test"]["documents"] == 16
    assert sum(facts["documents"]["tau"]) / 16 == pytest.approx(
        facts["metrics"]["test"]["tau"], abs=1e-6
    )
    assert [v["step"] for v in facts["validations"]] == [5, 10]
    code, _, err = bert4so("experiment", "run", "tiny.toml")
    assert (code, "cell 1 of 4: rank-tx-net-neurips-seed-1; 2 left, about 0:0" in err) == (0, True)
    for name, content in stored.items():
        assert (Path("results/tiny") / name).read_bytes() == content
    config = Path("tiny.toml").read_text()
    Path("tiny.toml").write_text(config.replace("epochs = 2", "epochs = 3"))
    code, _, err = bert4so("experiment", "run", "tiny.toml")
    assert (code, "was started with train.epochs = 2" in err) == (2, True)
    Path("tiny.toml").write_text(config)
    assert bert4so("experiment", "run", "tiny.toml")[0] == 0
    code, out, _ = bert4so("experiment", "table", "tiny")
    assert (code, out) == (0, "docs/tiny.md\n")
    page = Path("docs/tiny.md").read_text()
    assert "4 of 4 runs are finished" in page
    assert json.loads(Path("results/tiny/statistics.json").read_text()).keys() == {"NeurIPS", "NSF"}
    assert "Stand-ins, not comparable with the paper's corpora. NeurIPS: days." in page
    assert "(0.7778)" in page
    for name in ("minutes.png", "time.png", "systems.tex", "systems.png", "cost.tex"):
        assert (Path("docs/tiny") / name).stat().st_size > 100


def test_shards_can_run_at_the_same_time(tiny):
    shards = [
        Forked(["experiment", "run", "tiny.toml", "--shard", k], tiny) for k in ("1/2", "2/2")
    ]
    for shard in shards:
        out, err = shard.communicate()
        assert (shard.returncode, out) == (0, "results/tiny: all 2 cells are finished\n"), err
    assert len(list(Path("results/tiny").glob("*-seed-1.json"))) == 4


def test_a_cell_of_another_running_process_is_refused(bert4so, tiny):
    first = Forked(["experiment", "run", "tiny.toml", "--shard", "1/4"], tiny)
    folder = Path("runs/tiny/rank-tx-net-neurips-seed-1")
    # Written when the lock is held; the lock file appears a moment before.
    first.wait_for(folder.with_suffix(".source").exists)
    first.send_signal(signal.SIGSTOP)
    try:
        code, _, err = bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")
    finally:
        first.kill()
        first.communicate()
    assert code == 2
    refusal = f"{folder}: another process is training in this folder"
    assert f"rank-tx-net-neurips-seed-1 failed: {refusal}" in err
    assert "1 of 1 cells failed" in err


def test_a_cell_of_another_finished_process_is_skipped(tiny):
    experiment = read_experiment(Path("tiny.toml"))
    cell = all_cells(experiment)[0]
    store = CellStore(tiny, make_plan(experiment))
    finish(store, cell.name, 1)
    before = store.path(cell.name).read_bytes()
    run_cell(cell, store, tiny / "work")
    assert store.path(cell.name).read_bytes() == before
    assert not list(Path("work").iterdir())


def test_a_folder_without_a_run_is_refused(bert4so, tiny):
    folder = Path("runs/tiny/rank-tx-net-neurips-seed-1")
    (folder / "input").mkdir(parents=True)
    (folder / "input" / "letter.txt").write_text("mine")
    code, _, err = bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")
    assert (code, "neither empty nor a run" in err) == (2, True)
    assert (folder / "input" / "letter.txt").read_text() == "mine"


def test_a_cell_without_a_newer_setting_is_not_run_again(bert4so, tiny):
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")[0] == 0
    (stored,) = Path("results/tiny").glob("*-seed-1.json")
    facts = json.loads(stored.read_text())
    assert facts["metrics"]["run"].pop("validations") == 0
    stored.write_text(json.dumps(facts))
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")[0] == 0
    assert json.loads(stored.read_text()) == facts
    # The setting had its default then: another value is another run.
    config = Path("tiny.toml").read_text()
    Path("tiny.toml").write_text(config.replace("[set]\n", "[set]\nvalidations = 2\n"))
    code, _, err = bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")
    assert (code, "was started with validations = None" in err) == (2, True)


def test_a_cell_stores_word_vectors_and_tagger(bert4so, tiny):
    Path("glove.txt").write_text(f"wake{' 0.5' * 16}\neat{' 0.1' * 16}\n")
    start, grid = Path("tiny.toml").read_text().split("[systems]")[0], "[grids.table-1]"
    model = TINY_MODEL["se-graph"] | {"vectors": "glove.txt"}
    values = ", ".join(f"{key} = {json.dumps(value)}" for key, value in model.items())
    systems = f"[systems]\nse-graph = {{ model = {{ {values} }} }}\n"
    cells_of = 'systems = ["se-graph"]\ncorpora = ["NeurIPS"]\n'
    Path("tiny.toml").write_text(f"{start}{systems}{grid}\n{cells_of}")
    assert bert4so("experiment", "run", "tiny.toml")[0] == 0
    facts = json.loads(Path("results/tiny/se-graph-neurips-seed-1.json").read_text())
    assert (facts["tagger"], facts["vectors"]["words"]) == ("words", 2)
    assert bert4so("experiment", "table", "tiny")[0] == 0
    page = Path("docs/tiny.md").read_text()
    assert "Word vectors: glove.txt (2 words)." in page
    assert "Nouns for SE-Graph: words." in page


def test_statistics_of_another_corpus_are_not_shown(bert4so, tiny):
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")[0] == 0
    shutil.copytree("data/days", "data/nights")
    Path("data/nights/valid.jsonl").unlink()
    config = Path("tiny.toml")
    moved = config.read_text().replace('NSF = { folder = "days" }', 'NSF = { folder = "nights" }')
    config.write_text(moved)
    assert bert4so("experiment", "plan", "tiny.toml")[0] == 0
    assert bert4so("experiment", "table", "tiny")[0] == 0
    assert "NSF" not in Path("docs/tiny/statistics.tex").read_text()
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")[0] == 0
    assert bert4so("experiment", "table", "tiny")[0] == 0
    nsf = r"NSF & .* & 0 {\\scriptsize \(10,185\)} & "  # no validation documents
    assert re.search(nsf, Path("docs/tiny/statistics.tex").read_text())
    lines = [line for line in moved.splitlines() if not line.startswith("NSF")]
    config.write_text("\n".join(lines).replace(', "NSF"', ""))
    assert bert4so("experiment", "plan", "tiny.toml") == (
        0,
        "results/tiny/plan.json: 2 cells\n",
        "",
    )
    assert bert4so("experiment", "table", "tiny")[0] == 0
    assert "NSF" not in Path("docs/tiny/statistics.tex").read_text()


def test_a_failed_cell_does_not_stop_the_others(bert4so, tiny):
    config = Path("tiny.toml").read_text()
    Path("tiny.toml").write_text(config.replace("heads = 2", "heads = 5", 1))
    code, _, err = bert4so("experiment", "run", "tiny.toml")
    assert code == 2
    assert "2 of 4 cells failed: rank-tx-net-neurips-seed-1, rank-tx-net-nsf-seed-1" in err
    assert len(list(Path("results/tiny").glob("bert4so-*-seed-1.json"))) == 2


@pytest.mark.parametrize("missing", ["", "test.jsonl"])
def test_an_incomplete_corpus_does_not_stop_the_others(bert4so, tiny, missing):
    shutil.copytree("data/days", "data/nights")
    Path("tiny.toml").write_text(Path("tiny.toml").read_text().replace('"days"', '"nights"', 1))
    if missing:
        Path("data/nights", missing).unlink()
    else:
        shutil.rmtree("data/nights")
    code, _, err = bert4so("experiment", "run", "tiny.toml")
    assert code == 2
    assert "2 of 4 cells failed: rank-tx-net-neurips-seed-1, bert4so-neurips-seed-1" in err
    assert len(list(Path("results/tiny").glob("*-nsf-seed-1.json"))) == 2
    assert not list(Path("runs/tiny").glob("*neurips*/run.toml"))
    assert bert4so("experiment", "table", "tiny")[0] == 0


def test_a_finished_run_with_another_configuration_is_refused(bert4so, tiny):
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "4/4")[0] == 0
    Path("results/tiny/bert4so-nsf-seed-1.json").unlink()
    Path("tiny.toml").write_text(Path("tiny.toml").read_text().replace("epochs = 2", "epochs = 3"))
    code, _, err = bert4so("experiment", "run", "tiny.toml", "--shard", "4/4")
    assert code == 2
    assert "started with train.epochs = 2: cannot resume with train.epochs = 3" in err
    assert not Path("results/tiny/bert4so-nsf-seed-1.json").exists()


def test_an_experiment_finishes_after_several_kills(tiny):
    for steps in (1, 7, 15, 23):  # of four cells, each of ten steps and two validations
        process = Forked(["experiment", "run", "tiny.toml"], tiny)
        process.wait_for(lambda steps=steps: steps_taken() >= steps)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    last = Forked(["experiment", "run", "tiny.toml"], tiny)
    out, err = last.communicate()
    assert (last.returncode, out) == (0, "results/tiny: all 4 cells are finished\n"), err
    assert len(list(Path("results/tiny").glob("*-seed-1.json"))) == 4


def steps_taken():
    """The number of steps in all runs together."""
    return sum(len(path.read_text().splitlines()) for path in Path().glob("runs/*/*/history.jsonl"))


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b"])
def test_an_invalid_shard_is_an_error(bert4so, tiny, shard):
    code, _, err = bert4so("experiment", "run", "tiny.toml", "--shard", shard)
    assert code == 2
    assert "must be K/N" in err


def test_a_page_must_be_markdown(bert4so, tiny):
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "4/4")[0] == 0
    code, _, err = bert4so("experiment", "table", "tiny", "--out", "pages/tiny")
    assert code == 2
    assert "--out pages/tiny: the name must end in .md" in err
    assert not Path("pages").exists()
