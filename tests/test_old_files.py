"""Files that an earlier version wrote are read as that version read them.

`formats/finished-1` holds a corpus that `data prepare` wrote, a run that was trained on it, and a
finished cell of the experiment `desk`.
"""

import json
import shutil
from dataclasses import astuple
from pathlib import Path

import pytest

from bert4so import Run, evaluate, load_corpus
from bert4so.data.card import read_card
from bert4so.data.corpus import hash_splits
from bert4so.evaluation.metrics import average
from bert4so.evaluation.predictions import read_pairs
from bert4so.experiments.plan import make_plan
from bert4so.experiments.store import CellStore

WRITTEN = Path(__file__).parent / "formats" / "finished-1"


def test_a_corpus_and_its_card():
    corpus, card = load_corpus(WRITTEN / "corpus"), read_card(WRITTEN / "corpus")
    assert (card.name, card.source, card.divided) == ("jsonl", "days.jsonl", "by hash, 8:1:1")
    assert (card.seed, card.repaired, card.skipped) == (corpus.seed, 1, 0)
    for split, part in card.parts.items():
        documents = getattr(corpus, split)
        assert part.documents == len(documents)
        assert part.sentences == sum(len(document.sentences) for document in documents)
    # By these a stopped run knows whether its corpus has changed.
    assert hash_splits(corpus) == json.loads((WRITTEN / "hashes.json").read_text())


def test_a_finished_run(tmp_path):
    run = Run(shutil.copytree(WRITTEN / "trained", tmp_path / "trained"))
    facts = json.loads((run.path / "metrics.json").read_text())
    for split in ("valid", "test"):
        assert astuple(run.metrics[split]) == tuple(facts[split].values())
    assert (
        average(read_pairs(run.path / "predictions.jsonl", run.path / "truth.jsonl"))
        == (run.metrics["test"])
    )
    evaluation = evaluate(run.orderer(), WRITTEN / "corpus")
    assert evaluation.metrics == run.metrics["test"]
    before = [
        json.loads(line) for line in (run.path / "predictions.jsonl").read_text().splitlines()
    ]
    for one, answer in zip(evaluation.predictions, before, strict=True):
        assert (one.id, one.ordering.order) == (answer["id"], answer["order"])
        assert one.ordering.scores == pytest.approx(answer["scores"], abs=1e-3)


def test_a_finished_cell_of_an_experiment(desk):
    (file,) = (WRITTEN / "desk").glob("*.json")
    store = CellStore(WRITTEN / "desk", make_plan(desk))
    (cell,) = store.finished().values()
    facts = json.loads(file.read_text())
    assert (cell.name, cell.test.tau) == (facts["cell"], facts["metrics"]["test"]["tau"])
    assert store.is_finished(file.stem)
