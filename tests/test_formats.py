"""Folders that earlier versions wrote, under `formats/`, are read as those versions read them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from bert4so import Document, Orderer, Puzzle
from bert4so.data.corpus import Corpus
from bert4so.evaluation.metrics import kendall_tau
from bert4so.training.checkpoint import load_model
from bert4so.training.snapshot import newest_snapshot
from bert4so.training.trainer import Trainer

FORMATS = Path(__file__).parent / "formats"
FOLDERS = sorted(path.name for path in FORMATS.iterdir() if (path / "run").is_dir())


@pytest.fixture(params=FOLDERS)
def written(request, tmp_path, monkeypatch):
    """A copy of a folder that an earlier version wrote, as the current folder."""
    folder = shutil.copytree(FORMATS / request.param, tmp_path / "written")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def documents(written):
    lines = (written / "documents.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return [Document(record["id"], tuple(record["sentences"])) for record in records]


def test_there_are_folders_of_earlier_versions():
    assert {"bert4so-1", "bert4so-joint-2"} <= set(FOLDERS)


@pytest.mark.parametrize("name", ["export", "run"])
def test_an_earlier_model_answers_as_it_did(written, documents, name):
    answers = json.loads((written / "answers.json").read_text())[name]
    orderer = Orderer.from_pretrained(name)
    for document, answer in zip(documents, answers, strict=True):
        ordering = orderer.order(document.sentences)
        for key, value in answer.items():
            # In int8, a processor that rounds otherwise gives a little other numbers.
            wanted = pytest.approx(np.array(value), rel=0.1, abs=0.1)
            assert np.array(getattr(ordering, key)) == wanted, key


def test_an_earlier_run_is_resumed(written, documents):
    run, _ = load_model(written / "run")
    assert run.start == "export"
    trainer = Trainer(run, Corpus(documents, documents, documents), written / "run")
    trainer.begin(newest_snapshot(written / "run"))
    assert [step.step for step in trainer.history.steps] == [1, 2, 3]
    step = next(trainer.learn(epoch=1))
    assert step.step == 4
    assert step.loss < 1  # it has not forgotten
    found = trainer.model.order([Puzzle(document.sentences[::-1]) for document in documents])
    taus = [kendall_tau(o.order, list(range(len(o.order)))[::-1]) for o in found]
    assert np.mean(taus) > 0.9
