import json
from dataclasses import replace

import pytest
from safetensors.torch import load_file

from bert4so.checkpoint import load_model
from bert4so.data.bad import Skipping
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.evaluate import measure, solve
from bert4so.train import Trainer, train
from conftest import tiny_run

COMMAND = "bert4so train tiny.toml"


def test_a_run_leaves_a_model_that_orders_and_all_that_is_known_of_it(run, splits, tmp_path):
    folder = tmp_path / "run"
    measured = train(run, splits, folder, COMMAND)
    assert {path.name for path in folder.iterdir()} >= {
        "model.safetensors", "run.toml", "input", "metrics.json", "predictions.jsonl",
        "truth.jsonl", "history.jsonl", "curves.png", "README.md", "tensorboard",
    }  # fmt: skip
    # 20 documents by 4, twice; and after each time a validation.
    assert [event["step"] for event in events(folder)] == [1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 10]
    _, model = load_model(folder)
    assert measure(solve(model, splits.valid)) == measured["valid"]
    assert json.loads((folder / "metrics.json").read_text())["test"]["documents"] == 16
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_can_be_repeated_to_the_bit(run, splits, tmp_path):
    for name in ("one", "two"):
        train(run, splits, tmp_path / name, COMMAND)
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert all((one[name] == two[name]).all() for name in one)


def test_every_epoch_shuffles_every_document_afresh(run, splits, documents, tmp_path):
    trainer = Trainer(run, splits, tmp_path / "run")
    long = next(i for i, document in enumerate(documents) if len(document.sentences) == 5)
    seen = {trainer._puzzles([long], epoch)[0].sentences for epoch in range(1, 9)}
    assert len(seen) > 5


def test_the_best_epoch_is_kept_not_the_last(encoder, splits, tmp_path):
    # At this rate what one epoch has learned the next may forget.
    rates = dict.fromkeys(("sentence_encoder", "document_encoder", "decoder"), 0.02)
    wild = {"epochs": 6, "learning_rate": rates}
    run = tiny_run("bert4so", encoder, tmp_path, train=wild)
    train(run, splits, tmp_path / "run", COMMAND)
    found = [event["metrics"] for event in events(tmp_path / "run") if "metrics" in event]
    worths = [metrics["tau"] + metrics["pmr"] for metrics in found]
    assert worths[-1] < max(worths), "not the case to be tested: try another rate"
    _, model = load_model(tmp_path / "run")
    kept = measure(solve(model, splits.valid))
    assert kept.tau + kept.pmr == pytest.approx(max(worths))


def test_a_run_by_the_clock_ends_when_its_time_is_up(encoder, splits, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path, minutes=0.02, train={"epochs": 1})
    train(run, splits, tmp_path / "run", COMMAND)
    steps = [event for event in events(tmp_path / "run") if "loss" in event]
    assert steps[-1]["spent"] >= 1.2  # of CPU time, 0.02 minutes
    assert steps[-2]["spent"] < 1.2
    assert steps[-1]["epoch"] > 1
    assert steps[-1]["learning_rate"] < 0.2 * max(step["learning_rate"] for step in steps)
    assert "metrics" in events(tmp_path / "run")[-1]  # and what it has come to is measured


@pytest.mark.parametrize("how", [{"minutes": 0.02}, {"train": {"epochs": 5, "patience": 0}}])
def test_validations_come_after_equal_shares_of_a_run(encoder, splits, tmp_path, how):
    run = tiny_run("bert4so", encoder, tmp_path, validations=3, **how)
    train(run, splits, tmp_path / "run", COMMAND)
    steps = [event for event in events(tmp_path / "run") if "loss" in event]
    found = [event["step"] for event in events(tmp_path / "run") if "metrics" in event]
    clock = [
        step["spent"] / 1.2 if "minutes" in how else step["step"] / len(steps) for step in steps
    ]
    expected = [
        1 + next(k for k, share in enumerate(clock) if share >= part / 3) for part in (1, 2)
    ]
    assert found == [*expected, len(steps)]


def test_a_run_by_the_clock_has_no_patience(encoder, splits, tmp_path):
    rates = dict.fromkeys(("sentence_encoder", "document_encoder", "decoder"), 1e-9)
    training = {"patience": 1, "learning_rate": rates}  # it learns nothing: no epoch is better
    run = tiny_run("bert4so", encoder, tmp_path, minutes=0.02, train=training)
    train(run, splits, tmp_path / "run", COMMAND)
    assert events(tmp_path / "run")[-2]["spent"] >= 1.2


LONG = Document("much-too-long", tuple(f"{'bread ' * 40}{i}" for i in range(20)))


@pytest.mark.parametrize("run", ["bert4so"], indirect=True)
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_a_document_that_cannot_fit_is_named_before_training(run, splits, tmp_path, split):
    longer = replace(splits, **{split: [*getattr(splits, split), LONG]})
    with pytest.raises(UserError, match='document "much-too-long": a document of 20 sentences'):
        Trainer(run, longer, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    skipped = Skipping()
    trainer = Trainer(run, longer, tmp_path / "run", skipped)
    assert (trainer.splits, skipped.count) == (splits, 1)


def test_a_run_goes_on_only_with_its_own_configuration(run, splits, tmp_path):
    trainer = Trainer(run, splits, tmp_path / "run")
    trainer.begin(None)
    trainer.snapshot()
    other = run.model_copy(update={"train": run.train.model_copy(update={"batch": 8})})
    with pytest.raises(UserError, match=r"begun with train\.batch = 4: it cannot go on with 8"):
        train(other, splits, tmp_path / "run", COMMAND, resume=True)


def test_heads_must_divide_the_width(encoder, splits, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path, model={"heads": 5})
    with pytest.raises(UserError, match="heads = 5: wanted a divisor of the encoder's 32"):
        Trainer(run, splits, tmp_path / "run")


def events(folder):
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
