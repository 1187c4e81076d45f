"""The wheel with its extra `train`, in an environment with nothing else."""

import json

import pytest

from bert4so.io.jsonl import write_records
from installs import install, run


@pytest.fixture(scope="module")
def commands(wheel, tmp_path_factory):
    """Commands of an environment with the wheel and its extra."""
    folder = tmp_path_factory.mktemp("train") / "env"
    return install(wheel, folder, "constraints.txt", "train")


@pytest.fixture
def config(documents, encoder, tmp_path):
    """A configuration of two steps on a tiny encoder."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    records = [{"id": d.id, "sentences": d.sentences} for d in documents]
    for split in ("train", "valid", "test"):
        write_records(corpus / f"{split}.jsonl", records)
    path = tmp_path / "two-steps.toml"
    path.write_text(
        f'system = "bert4so"\ncorpus = "{corpus}"\n'
        f'[model]\nencoder = "{encoder}"\nheads = 2\npooling = "mean"\n'
        f"[train]\nepochs = 1\nbatch = {len(documents) // 2}\n"
    )
    return path


def test_train_evaluate_export_and_order_work_in_an_empty_folder(commands, config, tmp_path):
    place = tmp_path / "empty"
    place.mkdir()

    def bert4so(*args):
        done = run(commands / "bert4so", *args, cwd=place)
        assert done.returncode == 0, done.stderr
        return done.stdout

    bert4so("train", config, "--out", "run")
    history = (place / "run" / "history.jsonl").read_text().splitlines()
    assert sum("loss" in json.loads(line) for line in history) == 2
    assert "pmr" in bert4so("evaluate", "run", config.parent / "corpus")
    bert4so("export", "run", "--out", "exported")
    (place / "day.txt").write_text("now sleep\nfirst we wake up\n")
    ordered = bert4so("order", "day.txt", "--model", "exported").splitlines()
    assert sorted(ordered) == ["first we wake up", "now sleep"]
