"""Snapshots: any damage is detected, and training resumes from the snapshot before."""

import hashlib
import json
import random
from dataclasses import asdict, astuple, replace

import pytest
import torch
from safetensors.torch import load_file, save

from bert4so.data.corpus import Corpus, hash_splits
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.evaluation.metrics import average
from bert4so.training.history import History, Step, Validation
from bert4so.training.loop import train
from bert4so.training.snapshot import (
    CHECKSUM,
    NO_CHECKSUM,
    STEPS,
    Snapshot,
    newest_snapshot,
    write_snapshot,
)
from bert4so.training.trainer import Trainer
from conftest import tiny_run

COMMAND = "bert4so train tiny.toml"


def snapshot_at(step, **changes):
    steps = [Step(k, 1, 1.5, 0.25, 7, 9, 0.5 * k, 0.25 * k) for k in range(1, step + 1)]
    metrics = average([([0, 1], [0, 1]), ([1, 0], [0, 1])])
    snapshot = Snapshot(
        run={"system": "bert4so", "seed": 1, "corpus": f'"{CHECKSUM}":"{NO_CHECKSUM}"'},
        history=History(steps, [Validation(1, 1, metrics)]),
        learner={"groups": [{"lr": 0.1}], "processes": 1},
        tensors={"model.a": torch.arange(5.0), "random.0.0": torch.arange(3, dtype=torch.uint8)},
        documents={"train": "a", "valid": "b", "test": "c", "seed": "0"},
    )
    return replace(snapshot, **changes)


def write_format_2(folder, snapshot):
    """Write a snapshot like versions without checksums."""
    history = snapshot.history
    validations = [asdict(validation) for validation in history.validations]
    facts = {"run": snapshot.run, "validations": validations, "learner": snapshot.learner}
    header = {"bert4so": "2", "facts": json.dumps(facts)}
    steps = torch.tensor([astuple(step) for step in history.steps], dtype=torch.float64)
    path = folder / "snapshots" / f"{len(history.steps):08d}.safetensors"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(save({**snapshot.tensors, STEPS: steps}, header))
    return path


def assert_equal(one, other):
    assert replace(one, tensors={}) == replace(other, tensors={})
    assert one.tensors.keys() == other.tensors.keys()
    assert all(one.tensors[name].equal(other.tensors[name]) for name in one.tensors)


def names(folder):
    return sorted(path.name for path in (folder / "snapshots").iterdir())


def path_of(folder, step):
    return folder / "snapshots" / f"{step:08d}.safetensors"


def flip(path, place, bit=0):
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def test_a_snapshot_reads_back(tmp_path):
    write_snapshot(tmp_path, snapshot_at(3))
    assert_equal(newest_snapshot(tmp_path), snapshot_at(3))


def test_the_checksum_is_the_sha256_of_the_file_with_zeros_in_its_place(tmp_path):
    write_snapshot(tmp_path, snapshot_at(3))
    content = path_of(tmp_path, 3).read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    checksum = json.loads(content[8:end])["__metadata__"]["sha256"]
    assert content.count(checksum.encode()) == 1
    blank = content.replace(checksum.encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == checksum


def test_a_flipped_bit_anywhere_is_detected(tmp_path, capsys):
    write_snapshot(tmp_path, snapshot_at(3))
    path, rng = path_of(tmp_path, 3), random.Random(0)
    content = path.read_bytes()
    assert len(content) > 1000
    for place in (*range(8), *rng.sample(range(8, len(content)), 300), len(content) - 1):
        path.write_bytes(content)
        flip(path, place, rng.randrange(8))
        with pytest.raises(UserError, match="all snapshots are damaged"):
            newest_snapshot(tmp_path)
    path.write_bytes(content)
    assert_equal(newest_snapshot(tmp_path), snapshot_at(3))


def test_a_truncated_snapshot_is_detected(tmp_path):
    write_snapshot(tmp_path, snapshot_at(3))
    content = path_of(tmp_path, 3).read_bytes()
    for part in range(50):
        path_of(tmp_path, 3).write_bytes(content[: len(content) * part // 50])
        with pytest.raises(UserError, match="all snapshots are damaged"):
            newest_snapshot(tmp_path)


def test_a_damaged_snapshot_is_replaced_only_once_there_is_a_newer_one(tmp_path, capsys):
    for step in (5, 10, 20):
        write_snapshot(tmp_path, snapshot_at(step))
    flip(path_of(tmp_path, 20), -1)
    assert_equal(newest_snapshot(tmp_path), snapshot_at(10))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"{path_of(tmp_path, 20)} is damaged (its checksum does not match): "
        "trying the snapshot before it",
        f"resuming from {path_of(tmp_path, 10)}; the next snapshot replaces the damaged one",
    ]
    assert names(tmp_path) == ["00000010.safetensors", "00000020.safetensors"]
    write_snapshot(tmp_path, snapshot_at(12))
    # Two that can be resumed from: the damaged one does not count.
    assert names(tmp_path) == ["00000010.safetensors", "00000012.safetensors"]
    flip(path_of(tmp_path, 12), 100)
    assert_equal(newest_snapshot(tmp_path), snapshot_at(10))


def test_if_all_snapshots_are_damaged_the_error_says_what_to_do(tmp_path):
    for step in (10, 20):
        write_snapshot(tmp_path, snapshot_at(step))
        flip(path_of(tmp_path, step), 50)
    with pytest.raises(UserError, match=r"restore one from a backup, or delete .* and train again"):
        newest_snapshot(tmp_path)
    assert names(tmp_path) == ["00000010.safetensors", "00000020.safetensors"]


def test_partial_files_of_a_killed_process_are_removed(tmp_path):
    write_snapshot(tmp_path, snapshot_at(1))
    (tmp_path / "snapshots" / "00000002.safetensors.partial").write_bytes(b"torn")
    write_snapshot(tmp_path, snapshot_at(3))
    assert names(tmp_path) == ["00000001.safetensors", "00000003.safetensors"]


def test_files_with_other_names_are_ignored(tmp_path):
    for step in (1, 3, 5):
        write_snapshot(tmp_path, snapshot_at(step))
        (tmp_path / "snapshots" / "copy.safetensors").touch()
    assert newest_snapshot(tmp_path).history.steps[-1].step == 5
    assert names(tmp_path) == [
        "00000003.safetensors", "00000005.safetensors", "copy.safetensors"
    ]  # fmt: skip


def test_a_snapshot_without_a_checksum_reads_back(tmp_path):
    write_format_2(tmp_path, snapshot_at(3))
    assert_equal(newest_snapshot(tmp_path), snapshot_at(3, documents={}))


@pytest.mark.parametrize(
    "header",
    [
        {"bert4so": "3", "facts": "{}"},
        {"bert4so": "2"},
        {"bert4so": "2", "facts": "{"},
        {"bert4so": "2", "facts": "[]"},
        {"bert4so": "2", "facts": '{"run": {}, "validations": 3, "learner": {}}'},
        {"facts": "{}"},
        {},
    ],
)
def test_a_file_that_is_not_a_snapshot_counts_as_damaged(tmp_path, header):
    write_snapshot(tmp_path, snapshot_at(2))
    path_of(tmp_path, 4).write_bytes(save({STEPS: torch.zeros(1, 8)}, header))
    assert_equal(newest_snapshot(tmp_path), snapshot_at(2))


def test_a_snapshot_of_a_later_format_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("bert4so.training.snapshot.FORMAT", "4")
        write_snapshot(tmp_path, snapshot_at(3))
    with pytest.raises(UserError, match="snapshot format '4', but this version of bert4so reads"):
        newest_snapshot(tmp_path)


@pytest.fixture(scope="module")
def tiny(encoder, tmp_path_factory):
    return tiny_run("bert4so", encoder, tmp_path_factory.mktemp("tiny"), train={"epochs": 1})


@pytest.fixture(scope="module")
def weights(tiny, splits, tmp_path_factory):
    """The weights of a run without interruption."""
    folder = tmp_path_factory.mktemp("whole")
    train(tiny, splits, folder, COMMAND)
    return load_file(folder / "model.safetensors")


@pytest.fixture
def stopped(tiny, splits, tmp_path):
    """The folder of a run that was stopped after three steps."""
    trainer = Trainer(tiny, splits, tmp_path / "run")
    trainer.begin(None)
    steps = trainer.learn(1)
    for _ in range(3):
        next(steps)
        trainer.snapshot()
    return tmp_path / "run"


def test_a_run_resumes_from_snapshots_of_an_earlier_version(tiny, splits, stopped, weights, capsys):
    newest = newest_snapshot(stopped)
    write_format_2(stopped, newest)
    assert newest_snapshot(stopped).documents == {}
    train(tiny, splits, stopped, COMMAND, resume=True)
    assert "cannot check whether the corpus has changed" in capsys.readouterr().err
    resumed = load_file(stopped / "model.safetensors")
    assert all(weights[name].equal(resumed[name]) for name in weights)


def test_a_run_resumes_from_the_snapshot_before_a_damaged_one(tiny, splits, stopped, weights):
    flip(path_of(stopped, 3), -1)
    train(tiny, splits, stopped, COMMAND, resume=True)
    resumed = load_file(stopped / "model.safetensors")
    assert all(weights[name].equal(resumed[name]) for name in weights)


def test_a_damaged_best_model_is_refused(tiny, splits, tmp_path):
    trainer = Trainer(tiny, splits, tmp_path / "run")
    trainer.begin(None)
    for _ in trainer.learn(1):
        pass
    trainer.validate()
    trainer.snapshot()
    flip(tmp_path / "run" / "model.safetensors", -1)
    with pytest.raises(UserError, match="damaged: its contents do not match its checksum"):
        train(tiny, splits, tmp_path / "run", COMMAND, resume=True)


@pytest.mark.parametrize(
    "split, named",
    [("train", "training"), ("valid", "validation"), ("test", "test"), ("seed", "shuffle seed")],
)
def test_resume_refuses_a_changed_corpus(tiny, splits, stopped, split, named):
    if split == "seed":
        changed = replace(splits, seed=splits.seed + 1)
    else:
        first, *others = getattr(splits, split)
        other = Document(first.id, (*first.sentences[:-1], f"{first.sentences[-1]}."))
        changed = replace(splits, **{split: [other, *others]})
    with pytest.raises(UserError, match=f"changed since the run was started: {named}[^,]*; restor"):
        train(tiny, changed, stopped, COMMAND, resume=True)
    assert newest_snapshot(stopped).history.steps[-1].step == 3


def test_resume_refuses_weights_of_another_model(tiny, splits, stopped):
    newest = newest_snapshot(stopped)
    tensors = {name.replace("decoder", "d"): tensor for name, tensor in newest.tensors.items()}
    trainer = Trainer(tiny, splits, stopped)
    with pytest.raises(UserError, match="does not fit this version of the model") as refused:
        trainer.begin(replace(newest, tensors=tensors))
    assert "\n" not in str(refused.value)


def test_the_hash_of_a_split_depends_on_its_ids_and_sentences_only():
    a, b = Document("a", ("one", "two")), Document("b", ("\ud800",))
    variants = [
        [],
        [a],
        [b],
        [a, b],
        [b, a],
        [a, a],
        [Document("a", ("two", "one"))],
        [Document("a", ("one two",))],
        [Document("a", ("one", "two "))],
        [Document("aone", ("two",))],
        [Document("a", ("one",)), Document("two", ("two",))],
    ]
    hashed = [hash_splits(Corpus(train, [a], [b])) for train in variants]
    assert len({one["train"] for one in hashed}) == len(variants)
    assert len({(one["valid"], one["test"], one["seed"]) for one in hashed}) == 1
    again = Document("a", ("one", "two"))
    assert hash_splits(Corpus([again], [], []))["train"] == hashed[1]["train"]
