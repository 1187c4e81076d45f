import json

import pytest
from safetensors.torch import load_file

from bert4so.checkpoint import load_model
from bert4so.config import LearningRates
from bert4so.data.corpus import read_split
from bert4so.data.jsonl import write_records
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.evaluate import measure, solve
from bert4so.report import write_report
from bert4so.train import Trainer, train
from conftest import tiny_run


@pytest.fixture
def corpus(tmp_path, documents):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        records = [{"id": d.id, "sentences": list(d.sentences)} for d in documents]
        write_records(folder / f"{split}.jsonl", records)
    return folder


def test_a_run_leaves_a_model_that_orders_and_all_that_is_known_of_it(run, corpus, tmp_path):
    folder = tmp_path / "run"
    history = train(run, corpus, folder)
    measured = write_report(run, corpus, folder, history, "bert4so train tiny.toml")
    assert {path.name for path in folder.iterdir()} >= {
        "model.safetensors", "run.toml", "input", "metrics.json", "predictions.jsonl",
        "truth.jsonl", "history.jsonl", "curves.png", "README.md", "tensorboard",
    }  # fmt: skip
    assert [step.step for step in history.steps] == list(range(1, 11))  # 20 documents by 4, twice
    assert len((folder / "history.jsonl").read_text().splitlines()) == 12
    _, model = load_model(folder)
    solved = solve(model, read_split(corpus, "valid"))
    assert measure(solved) == history.best.metrics == measured["valid"]
    assert json.loads((folder / "metrics.json").read_text())["test"]["documents"] == 16
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_can_be_repeated_to_the_bit(run, corpus, tmp_path):
    for name in ("one", "two"):
        train(run, corpus, tmp_path / name)
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert all((one[name] == two[name]).all() for name in one)


def test_every_epoch_shuffles_every_document_afresh(run, documents, tmp_path):
    trainer = Trainer(run, documents, documents, tmp_path / "run")
    long = next(i for i, document in enumerate(documents) if len(document.sentences) == 5)
    seen = {trainer._puzzles([long], epoch)[0].sentences for epoch in range(1, 9)}
    assert len(seen) > 5


def test_the_best_epoch_is_kept_not_the_last(run, corpus, tmp_path):
    # At this rate what one epoch has learned the next may forget.
    wild = run.train.model_copy(
        update={
            "epochs": 6,
            "learning_rate": LearningRates(
                sentence_encoder=0.02, document_encoder=0.02, decoder=0.02
            ),
        }
    )
    history = train(run.model_copy(update={"train": wild}), corpus, tmp_path / "run")
    worths = [validation.worth for validation in history.validations]
    assert worths[-1] < max(worths), "not the case to be tested: try another rate"
    _, model = load_model(tmp_path / "run")
    kept = measure(solve(model, read_split(corpus, "valid")))
    assert kept.tau + kept.pmr == pytest.approx(max(worths))


def test_a_document_that_cannot_fit_is_named_before_training(run, documents, tmp_path):
    long = Document("much-too-long", tuple(f"{'bread ' * 40}{i}" for i in range(20)))
    with pytest.raises(UserError, match='document "much-too-long": a document of 20 sentences'):
        Trainer(run, [*documents, long], documents, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_only_with_its_own_configuration(run, corpus, tmp_path):
    train(run, corpus, tmp_path / "run")
    other = run.model_copy(update={"train": run.train.model_copy(update={"batch": 8})})
    with pytest.raises(UserError, match=r"begun with train\.batch = 4: it cannot go on with 8"):
        train(other, corpus, tmp_path / "run", resume=True)


def test_heads_must_divide_the_width(encoder, documents, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path, model={"heads": 5})
    with pytest.raises(UserError, match="heads = 5: wanted a divisor of the encoder's 32"):
        Trainer(run, documents, documents, tmp_path / "run")
