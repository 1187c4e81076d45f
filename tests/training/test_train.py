import json
import math
import os
import shutil
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file, save_file

from bert4so.data.shuffle import shuffle
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.evaluation.evaluate import measure, solve
from bert4so.io.on_error import Skipping
from bert4so.training import clock
from bert4so.training.checkpoint import load_model, save_model
from bert4so.training.loop import train
from bert4so.training.run_documents import splits_of
from bert4so.training.trainer import Trainer
from conftest import tiny_run

COMMAND = "bert4so train tiny.toml"


class SteadyTime:
    """Replaces the module `time`: each reading is 3/64 second after the one before."""

    now = 0.0

    def perf_counter(self):
        self.now += 3 / 64
        return self.now

    process_time = perf_counter


STEP = 2 * 3 / 64
"""Seconds of a step: a clock has two times, each read once at its start and once at its end."""


@pytest.fixture
def steady_time(monkeypatch):
    """Make all steps take the same time."""
    steady = SteadyTime()
    monkeypatch.setattr(clock, "time", steady)
    return steady


def test_a_run_writes_a_model_and_its_report(run, splits, tmp_path):
    folder = tmp_path / "run"
    measured = train(run, splits, folder, COMMAND)
    assert {path.name for path in folder.iterdir()} >= {
        "model.safetensors", "run.toml", "input", "metrics.json", "predictions.jsonl",
        "truth.jsonl", "history.jsonl", "curves.png", "README.md", "tensorboard",
    }  # fmt: skip
    # 20 documents in batches of 4, two epochs, with a validation after each.
    assert [event["step"] for event in events(folder)] == [1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 10]
    _, model = load_model(folder)
    assert measure(solve(model, splits.valid)) == measured["valid"]
    assert json.loads((folder / "metrics.json").read_text())["test"]["documents"] == 16
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_the_tokens_of_an_epoch_are_those_of_its_batches(run, splits, tmp_path):
    # A batch of documents of one sentence would have a dummy pair: see `PairsInput`.
    long = [document for document in splits.train if len(document.sentences) > 1]
    train(run, replace(splits, train=long), tmp_path, COMMAND)
    facts = json.loads((tmp_path / "metrics.json").read_text())
    assert facts["tokens"] == 2 * facts["epoch_tokens"]  # two epochs


def test_a_resumed_run_ends_with_the_same_weights(run, splits, tmp_path):
    train(run, splits, tmp_path / "whole", COMMAND)
    trainer = Trainer(run, splits, tmp_path / "stopped")
    trainer.begin(None)
    steps = trainer.learn(1)
    for _ in range(3):
        next(steps)
    trainer.snapshot()
    train(run, splits, tmp_path / "stopped", COMMAND, resume=True)
    files = [tmp_path / name / "model.safetensors" for name in ("whole", "stopped")]
    whole, stopped = map(load_file, files)
    assert all((whole[name] == stopped[name]).all() for name in whole)


def test_the_input_of_an_earlier_run_is_replaced(encoder, splits, tmp_path):
    run = tiny_run("lstm-ptrnet", encoder, tmp_path, train={"epochs": 1})
    left = Trainer(run, replace(splits, train=splits.train[:3]), tmp_path / "run")
    save_model(tmp_path / "run", run, left.model)  # killed before its first snapshot
    train(run, splits, tmp_path / "run", COMMAND, resume=True)
    _, model = load_model(tmp_path / "run")
    assert len(model.input.vocabulary) > len(left.model.input.vocabulary)


@pytest.mark.parametrize("run", ["rank-tx-net", "b-tsort", "bert4so"], indirect=True)
def test_a_run_starts_from_the_pretrained_weights(run, splits, encoder, tmp_path):
    pretrained = load_file(encoder / "model.safetensors")
    name = "encoder.layer.1.output.dense.weight"
    assert pretrained[name].std() > 0
    save_file({**pretrained, name: torch.full_like(pretrained[name], 0.25)}, tmp_path / "w")
    changed = shutil.copytree(encoder, tmp_path / "changed")
    shutil.move(tmp_path / "w", changed / "model.safetensors")
    model = run.model.model_copy(update={"encoder": str(changed)})
    trainer = Trainer(run.model_copy(update={"model": model}), splits, tmp_path / "run")
    (own,) = (weight for path, weight in trainer.model.named_parameters() if path.endswith(name))
    assert (own == 0.25).all()


def test_a_run_starts_from_the_weights_of_another_run(run, splits, tmp_path):
    train(run, splits, tmp_path / "first", COMMAND)
    fewer = replace(splits, train=splits.train[:3])  # would give another vocabulary
    again = run.model_copy(update={"start": str(tmp_path / "first"), "seed": 7})
    trainer = Trainer(again, fewer, tmp_path / "second")
    learned = load_file(tmp_path / "first" / "model.safetensors")
    own = trainer.model.state_dict()
    assert own.keys() == learned.keys()
    assert all((own[name] == learned[name]).all() for name in learned)
    train(again, fewer, tmp_path / "second", COMMAND)
    shutil.rmtree(tmp_path / "first")  # the second run does not depend on it
    _, model = load_model(tmp_path / "second")
    assert len(model.order([shuffle(document, 0) for document in splits.valid])) == 20


def test_a_run_cannot_start_from_a_model_with_other_settings(encoder, splits, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path)
    train(run, splits, tmp_path / "first", COMMAND)
    start = str(tmp_path / "first")
    other = run.model.model_copy(update={"layers": 1})
    with pytest.raises(UserError, match="trained with layers = 2, not 1"):
        Trainer(run.model_copy(update={"start": start, "model": other}), splits, tmp_path / "run")
    with pytest.raises(UserError, match="no model here"):
        Trainer(run.model_copy(update={"start": str(tmp_path / "no")}), splits, tmp_path / "run")


def test_patience_ends_a_run(encoder, splits, tmp_path):
    rates = dict.fromkeys(("sentence_encoder", "document_encoder", "decoder"), 1e-9)
    training = {"patience": 2, "epochs": 9, "learning_rate": rates}  # no epoch is better
    run = tiny_run("bert4so", encoder, tmp_path, train=training)
    train(run, splits, tmp_path / "run", COMMAND)
    assert len([event for event in events(tmp_path / "run") if "metrics" in event]) == 3


def test_gradients_are_clipped(encoder, splits, documents, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path, train={"clip": 0.01})
    learner = Trainer(run, splits, tmp_path / "run").learner
    norms = []
    learner.optimizer.optimizer.register_step_pre_hook(
        lambda optimizer, *_: norms.append(
            sum(float(w.grad.norm()) ** 2 for g in optimizer.param_groups for w in g["params"])
            ** 0.5
        )
    )
    learner.step([shuffle(document, 0) for document in documents])
    assert norms == [pytest.approx(0.01, rel=1e-3)]


def test_batches_can_be_divided_by_another_function(encoder, splits, tmp_path):
    def in_order(ids, sizes, batch, seed, epoch):
        assert (len(ids), len(sizes), seed) == (20, 20, run.seed)
        return [[epoch], [epoch + 1, epoch + 2]]

    run = tiny_run("bert4so", encoder, tmp_path)
    trainer = Trainer(run, splits, tmp_path / "run", batching=in_order)
    lengths = trainer.sizes
    assert [step.tokens for step in trainer.learn(1)] == [lengths[1], lengths[2] + lengths[3]]


def test_every_epoch_shuffles_every_document_anew(run, splits, documents, tmp_path):
    trainer = Trainer(run, splits, tmp_path / "run")
    long = next(i for i, document in enumerate(documents) if len(document.sentences) == 5)
    seen = {trainer._puzzles([long], epoch)[0].sentences for epoch in range(1, 9)}
    assert len(seen) > 5


def test_the_best_epoch_is_kept_not_the_last(encoder, splits, tmp_path):
    # At this learning rate the validation gets worse in some epochs.
    rates = dict.fromkeys(("sentence_encoder", "document_encoder", "decoder"), 0.02)
    wild = {"epochs": 6, "learning_rate": rates}
    run = tiny_run("bert4so", encoder, tmp_path, train=wild)
    train(run, splits, tmp_path / "run", COMMAND)
    metrics = [event["metrics"] for event in events(tmp_path / "run") if "metrics" in event]
    scores = [one["tau"] + one["pmr"] for one in metrics]
    assert scores[-1] < max(scores), "the last epoch is the best: try another learning rate"
    _, model = load_model(tmp_path / "run")
    kept = measure(solve(model, splits.valid))
    assert kept.tau + kept.pmr == pytest.approx(max(scores))


def test_a_run_with_a_time_limit_ends_when_the_time_is_up(encoder, splits, tmp_path, steady_time):
    run = tiny_run("bert4so", encoder, tmp_path, minutes=0.02, train={"epochs": 1})
    train(run, splits, tmp_path / "run", COMMAND)
    steps = [event for event in events(tmp_path / "run") if "loss" in event]
    assert len(steps) == math.ceil(1.2 / STEP)  # 0.02 minutes
    assert steps[-1]["epoch"] == math.ceil(len(steps) / 5)
    assert steps[-1]["learning_rate"] < 0.2 * max(step["learning_rate"] for step in steps)
    assert "metrics" in events(tmp_path / "run")[-1]  # a validation at the end


@pytest.mark.parametrize("how", [{"minutes": 0.02}, {"train": {"epochs": 5, "patience": 0}}])
def test_validations_come_at_equal_intervals(encoder, splits, tmp_path, how, steady_time):
    run = tiny_run("bert4so", encoder, tmp_path, validations=3, **how)
    train(run, splits, tmp_path / "run", COMMAND)
    steps = [event for event in events(tmp_path / "run") if "loss" in event]
    validated = [event["step"] for event in events(tmp_path / "run") if "metrics" in event]
    whole = 1.2 / STEP if "minutes" in how else len(steps)
    shares = [step["step"] / whole for step in steps]
    expected = [
        1 + next(k for k, share in enumerate(shares) if share >= part / 3) for part in (1, 2)
    ]
    assert validated == [*expected, len(steps)]


def test_a_run_with_a_time_limit_ignores_patience(encoder, splits, tmp_path, steady_time):
    rates = dict.fromkeys(("sentence_encoder", "document_encoder", "decoder"), 1e-9)
    training = {"patience": 1, "learning_rate": rates}  # no epoch is better than the first
    run = tiny_run("bert4so", encoder, tmp_path, minutes=0.02, train=training)
    train(run, splits, tmp_path / "run", COMMAND)
    steps = [event for event in events(tmp_path / "run") if "loss" in event]
    assert len(steps) == math.ceil(1.2 / STEP)


def test_validation_time_does_not_count(encoder, splits, tmp_path, monkeypatch, steady_time):
    validate = Trainer.validate

    def slowly(trainer):
        steady_time.now += 1000
        return validate(trainer)

    monkeypatch.setattr(Trainer, "validate", slowly)
    run = tiny_run("bert4so", encoder, tmp_path, validations=4, train={"epochs": 4})
    train(run, splits, tmp_path / "run", COMMAND)
    steps = [event for event in events(tmp_path / "run") if "loss" in event]
    for name in ("spent", "seconds"):
        assert {b[name] - a[name] for a, b in pairwise(steps)} == {STEP}


@pytest.mark.parametrize(
    "split, name", [("train", "training"), ("valid", "validation"), ("test", "test")]
)
def test_a_split_with_documents_of_one_sentence_only_is_refused(
    encoder, splits, tmp_path, split, name
):
    alone = [document for document in splits.train if len(document.sentences) == 1]
    run = tiny_run("bert4so", encoder, tmp_path)
    with pytest.raises(UserError, match=f"every {name} document has only one sentence"):
        Trainer(run, replace(splits, **{split: alone}), tmp_path / "run")
    # One document of two sentences is enough.
    two = [*alone, next(document for document in splits.train if len(document.sentences) == 2)]
    Trainer(run, replace(splits, **{split: two}), tmp_path / "run")


@pytest.mark.parametrize(
    "split, name", [("train", "training"), ("valid", "validation"), ("test", "test")]
)
def test_a_split_is_refused_if_all_its_documents_are_skipped(
    encoder, splits, tmp_path, split, name
):
    run = tiny_run("bert4so", encoder, tmp_path)
    with pytest.raises(UserError, match=f"no {name} document can be used"):
        Trainer(run, replace(splits, **{split: [LONG]}), tmp_path / "run", Skipping())


def test_a_corpus_may_have_no_test_split(encoder, splits, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path)
    assert Trainer(run, replace(splits, test=[]), tmp_path / "run").splits.test == []


LONG = Document("much-too-long", tuple(f"{'bread ' * 40}{i}" for i in range(20)))


@pytest.mark.parametrize("run", ["bert4so"], indirect=True)
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_the_error_names_a_document_that_is_too_long_before_training(run, splits, tmp_path, split):
    longer = replace(splits, **{split: [*getattr(splits, split), LONG]})
    with pytest.raises(UserError, match='document "much-too-long": a document of 20 sentences'):
        Trainer(run, longer, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    skipped = Skipping()
    trainer = Trainer(run, longer, tmp_path / "run", skipped)
    assert (trainer.splits, skipped.count) == (splits, 1)


def test_names_that_are_not_utf_8_are_refused_before_training(encoder, splits, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path, train={"epochs": 1})
    name = os.fsdecode(b"caf\xe9")
    train(run, splits, tmp_path / "run", f"bert4so train {name}.toml")
    assert r"caf\udce9.toml" in (tmp_path / "run" / "README.md").read_text()
    # Only names of folders are refused: the command, above, is escaped in the model card.
    with pytest.raises(UserError, match=r"not UTF-8: 'corpus = \"caf.udce9\"': rename"):
        train(run.model_copy(update={"corpus": name}), splits, tmp_path / "other", COMMAND)
    with pytest.raises(UserError, match=r"not UTF-8: '.*/caf.udce9': rename"):
        train(run, splits, tmp_path / name, COMMAND)
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / name).exists()


def test_resume_refuses_a_changed_configuration(run, splits, tmp_path):
    trainer = Trainer(run, splits, tmp_path / "run")
    trainer.begin(None)
    trainer.snapshot()
    other = run.model_copy(update={"train": run.train.model_copy(update={"batch": 8})})
    with pytest.raises(
        UserError, match=r"started with train\.batch = 4: cannot resume with train\.batch = 8"
    ):
        train(other, splits, tmp_path / "run", COMMAND, resume=True)


def test_heads_must_divide_the_width(encoder, splits, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path, model={"heads": 5})
    with pytest.raises(UserError, match="heads = 5: must divide the encoder's width, 32"):
        Trainer(run, splits, tmp_path / "run")


def events(folder):
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def test_a_run_can_train_on_a_sample_of_each_corpus(encoder, tmp_path):
    own, joined = write_corpus(tmp_path / "own", 30), write_corpus(tmp_path / "joined", 6)
    run = tiny_run("bert4so", encoder, tmp_path, corpus=own, train_documents=10)
    ids = [document.id for document in splits_of(run).train]
    assert len(ids) == 10
    # The sample depends on ids only: another seed or system trains on the same documents.
    for other in (tiny_run("lstm-ptrnet", encoder, tmp_path, corpus=own, train_documents=10),
                  run.model_copy(update={"seed": 5})):  # fmt: skip
        assert [document.id for document in splits_of(other).train] == ids
    # Sampled per corpus: the own sample stays the same, and a smaller corpus is used whole.
    both = splits_of(run.model_copy(update={"join": [str(joined)]})).train
    assert [document.id for document in both[:10]] == ids
    assert [document.id for document in both[10:]] == [f"{joined}/joined-{i}" for i in range(6)]
    # A joined corpus contributes the same sample as when it is the run's own.
    only = splits_of(run.model_copy(update={"corpus": str(joined), "join": [str(own)]})).train
    assert [d.id for d in only if d.id.startswith(str(own))] == [f"{own}/{name}" for name in ids]
    assert len(splits_of(run.model_copy(update={"train_documents": 0})).train) == 30


def write_corpus(folder, documents):
    """Write a corpus of documents that do not share sentences."""
    folder.mkdir()
    for split, number in (("train", documents), ("valid", 2), ("test", 2)):
        name = f"{folder.name} {split}"
        lines = [
            {"id": f"{folder.name}-{i}", "sentences": [f"{name} {i} begins", f"{name} {i} ends"]}
            for i in range(number)
        ]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder
