"""`bert4so data`, end to end."""

import csv
import gzip
import json

import pytest

from bert4so.data.corpus import read_split
from bert4so.training.run_documents import splits_of
from conftest import tiny_run


@pytest.fixture
def stories(tmp_path):
    """A hundred stories in the published format of ROCStory, two of them with the same id."""
    path = tmp_path / "ROCStories_spring2016.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["storyid", "storytitle", *(f"sentence{k}" for k in range(1, 6))])
        for k in range(100):
            name = "story-0" if k == 99 else f"story-{k}"
            writer.writerow(
                [name, "Title", *(f'Sentence {i} of "{k}", at last.' for i in range(5))]
            )
    return path


def test_prepare_and_train_on_published_files(bert4so, stories, encoder, tmp_path):
    code, out, err = bert4so("data", "prepare", "rocstory", stories, "--out", tmp_path / "roc")
    assert (code, err) == (0, "duplicate ids changed: 1\n")
    assert [line.split()[:2] for line in out.splitlines()[1:4]] == [
        ["train", "80"], ["valid", "10"], ["test", "10"],
    ]  # fmt: skip
    (tmp_path / "run.toml").write_text('system = "bert4so"\ncorpus = "none"\n')
    sets = [f"model.encoder={encoder}", "model.heads=2", "train.epochs=1", "train.batch=40"]
    args = ["train", tmp_path / "run.toml", "--corpus", tmp_path / "roc", "--out", tmp_path / "r"]
    code, out, err = bert4so(*args, *(part for one in sets for part in ("--set", one)))
    assert code == 0, err
    assert out.count("documents 10") == 2


def test_joined_corpora_exclude_held_out_documents(bert4so, stories, encoder, tmp_path):
    for name, seed in (("one", 0), ("two", 1)):  # the same stories, divided differently
        args = ["--out", tmp_path / name, "--seed", seed]
        assert bert4so("data", "prepare", "rocstory", stories, *args)[0] == 0
    ids = {}
    for name in ("one", "two"):
        for split in ("train", "valid", "test"):
            lines = (tmp_path / name / f"{split}.jsonl").read_text().splitlines()
            ids[name, split] = {json.loads(line)["id"] for line in lines}
    held = ids["one", "valid"] | ids["one", "test"] | ids["two", "valid"] | ids["two", "test"]
    kept = len(ids["one", "train"] - held) + len(ids["two", "train"] - held)
    (tmp_path / "run.toml").write_text(
        f'system = "bert4so"\ncorpus = "{tmp_path / "one"}"\njoin = ["{tmp_path / "two"}"]\n'
    )
    sets = [f"model.encoder={encoder}", "model.heads=2", "train.epochs=1", "train.batch=40"]
    args = ["train", tmp_path / "run.toml", "--out", tmp_path / "run"]
    code, _, err = bert4so(*args, *(part for one in sets for part in ("--set", one)))
    assert code == 0, err
    assert err.startswith(f"{kept} training documents; {160 - kept} left out, ")
    facts = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert facts["left_out_of_training"] == 160 - kept


def test_hold_out_excludes_documents_of_other_corpora(stories, encoder, tmp_path, bert4so):
    for name, seed in (("one", 0), ("two", 1)):
        bert4so("data", "prepare", "rocstory", stories, "--out", tmp_path / name, "--seed", seed)
    run = tiny_run("bert4so", encoder, tmp_path)
    run = run.model_copy(update={"corpus": str(tmp_path / "one")})
    learned = {d.id for d in splits_of(run).train}
    held = {d.id for split in ("valid", "test") for d in read_split(tmp_path / "two", split)}
    assert learned & held
    splits = splits_of(run.model_copy(update={"hold_out": [str(tmp_path / "two")]}))
    assert {d.id for d in splits.train} == learned - held
    assert splits.left_out == len(learned & held)


def test_stats_and_check(bert4so, stories, tmp_path):
    for name in ("one", "two"):
        bert4so("data", "prepare", "rocstory", stories, "--out", tmp_path / name, "--seed", 7)
    code, out, _ = bert4so("data", "stats", f"rocstory={tmp_path / 'one'}", tmp_path / "two")
    assert code == 0
    first, paper, difference, second = out.splitlines()[2:]
    assert first.split()[:6] == ["rocstory", "80", "10", "10", "5.00", "5"]
    assert paper.split()[1:4] == ["78,529", "9,816", "9,816"]
    assert difference.split()[1:4] == ["-78,449", "-9,806", "-9,806"]
    assert second.split()[0] == "two"

    code, out, _ = bert4so("data", "check", tmp_path / "one", tmp_path / "two")
    assert code == 0
    assert any(
        line.split(maxsplit=1)[0] == "10" and "one/test: also in two/test, complete" in line
        for line in out.splitlines()
    )
    with (tmp_path / "two" / "test.jsonl").open("a") as file:
        file.write("\n")
    out = bert4so("data", "check", tmp_path / "two")[1]
    assert "two/test: does not match the data card" in out


def test_check_reports_no_problems(bert4so, tmp_path):
    (tmp_path / "test.jsonl").write_text('{"id": "a", "sentences": ["We woke.", "We slept."]}')
    assert bert4so("data", "check", tmp_path)[:2] == (0, "no problems found\n")


def test_list_shows_forms_and_corpora(bert4so, stories, tmp_path, monkeypatch):
    bert4so("data", "prepare", "rocstory", stories, "--out", tmp_path / "roc")
    monkeypatch.setenv("BERT4SO_DATA", str(tmp_path))
    out = bert4so("data", "list")[1]
    assert f"{tmp_path / 'roc'}: 80 train, 10 valid, 10 test\n" in out
    assert "story-in-sequence.json" in out


@pytest.mark.parametrize(
    "args, message",
    [
        (["prepare", "roc", "x", "--out", "y"], 'unknown form "roc": choose one of neurips, aan'),
        (["prepare", "jsonl", "x", "--out", "y"], "x: No such file or directory"),
        (["prepare", "csv", "x", "--out", "y", "--text", "a", "--sentences", "b"], "--sentences"),
        (["stats", "nowhere"], 'corpus "nowhere" not found: no such folder'),
        (["check", "."], ".: has no train.jsonl, valid.jsonl or test.jsonl"),
        (["check", "same", "same"], "same: two corpora named same: pass OTHER_NAME=same"),
    ],
)
def test_an_error_is_one_line(bert4so, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "test.jsonl.gz").write_bytes(gzip.compress(b""))
    code, out, err = bert4so("data", *args)
    assert (code, out) == (2, "")
    assert err.startswith(f"bert4so: {message}")
    assert err.count("\n") == 1


def test_prepare_refuses_or_skips_invalid_lines(bert4so, tmp_path):
    source = tmp_path / "in.jsonl"
    good = '{"id": "a", "sentences": ["x", "y"]}'
    source.write_text("\n".join([good, "{", good, '{"id": "b", "sentences": ["x", 3]}']))
    args = ["data", "prepare", "jsonl", source, "--out", tmp_path / "out"]
    code, out, err = bert4so(*args)
    assert (code, out) == (2, "")
    assert err.startswith(f"bert4so: {source}:2: not JSON")
    assert list((tmp_path / "out").iterdir()) == []
    code, out, err = bert4so(*args, "--skip-bad")
    assert code == 0
    assert err.splitlines()[-3:] == [
        "skipped 2 in all",
        "duplicate ids changed: 1",
        "no documents for valid and test: `bert4so train` needs train and valid",
    ]
    assert json.loads((tmp_path / "out" / "corpus.json").read_text())["skipped"] == 2
