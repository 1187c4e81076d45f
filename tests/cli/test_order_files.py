"""`bert4so order --out`: an interrupted run loses and repeats no document."""

import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import pytest

from bert4so.export import to_onnx as export
from bert4so.io import resumable_writer
from bert4so.io.jsonl import write_records
from bert4so.io.source import read_source
from bert4so.systems import SYSTEMS
from bert4so.training.checkpoint import load_model, save_model
from conftest import tiny_run

KINDS = [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"]
DOCUMENTS = 14_000
KILLS = 5  # per kind
ENV = os.environ | {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def model(encoder, documents, tmp_path_factory):
    """Folder of a tiny exported model, which does not need PyTorch."""
    place = tmp_path_factory.mktemp("model")
    run = tiny_run("bert4so", encoder, place)
    system = SYSTEMS["bert4so"]
    save_model(place / "run", run, system.build(run.model, system.make_input(run.model, [])))
    export.export(
        *load_model(place / "run"), place / "model", documents, int8=False, command="made"
    )
    return place / "model"


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A file of documents, all different and some invalid."""
    draw = random.Random(0)
    words = ["first", "wake", "up", "then", "eat", "bread", "later", "go", "out", "home", "sleep"]

    def record(i):
        if i % 1000 == 7:
            return {"id": f"{i}", "sentences": "none"}
        n = 2 + i % 5
        sentences = [f"{i} {' '.join(draw.choices(words, k=4))}" for _ in range(n)]
        return {"id": f"{i}", "sentences": sentences, "note": i}

    path = tmp_path_factory.mktemp("many") / "in.jsonl"
    write_records(path, map(record, range(DOCUMENTS)))
    return path


@pytest.fixture(scope="module")
def expected(model, many, tmp_path_factory):
    """The output of an uninterrupted run."""
    out = tmp_path_factory.mktemp("expected") / "out.jsonl"
    subprocess.run(command(many, model, out), env=ENV, check=True, capture_output=True)
    return out


def command(many, model, out):
    options = ["--out", out, "--resume", "--skip-bad"]
    return [sys.executable, "-m", "bert4so", "order", many, "--model", model, *options]


def read(path):
    _, records = read_source(path)
    with closing(records):
        kept = ({k: v for k, v in record.items() if k != "other"} for _, record in records)
        return list(kept)


def size(path):
    if path.is_dir():
        return sum(part.stat().st_size for part in path.iterdir())
    return path.stat().st_size if path.exists() else 0


@pytest.mark.parametrize("kind", KINDS)
def test_resume_after_kills_loses_and_repeats_nothing(model, many, expected, tmp_path, kind):
    out, draw, killed = tmp_path / f"out{kind}", random.Random(kind), 0
    while killed < KILLS:
        process = subprocess.Popen(command(many, model, out), env=ENV, stderr=subprocess.DEVNULL)
        grown, moment = size(out), draw.random()
        # Kill every other run before its first write, when it may be removing an incomplete line.
        while killed % 2 and process.poll() is None and size(out) <= grown:
            time.sleep(0.002)
        time.sleep(moment * 0.2 if killed % 2 else moment)
        if process.poll() is not None:
            assert process.returncode == 0
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += 1
    assert killed == KILLS, "it was over before it could be killed"
    subprocess.run(command(many, model, out), env=ENV, check=True, capture_output=True)
    assert read(out) == read(expected)
    assert len(read(out)) == DOCUMENTS - DOCUMENTS // 1000
    if kind == ".jsonl":
        assert out.read_bytes() == expected.read_bytes()


def test_ctrl_c_keeps_finished_answers(model, many, expected, tmp_path):
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen(
        command(many, model, out),
        env=ENV,
        stderr=subprocess.PIPE,
        # A process that a shell starts in the background ignores Ctrl-C, and so do its children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    while not size(out) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    answers, whole = read(out), read(expected)
    assert len(answers) < len(whole)  # it did not run to the end
    assert answers == whole[: len(answers)]
    assert process.returncode != 0


def test_an_answer_extends_the_record(expected):
    record = read(expected)[3]
    assert record["note"] == 3
    keys = {"id", "sentences", "note", "order", "scores", "confidence", "truncated"}
    assert set(record) == keys


@pytest.mark.parametrize("kind", KINDS)
def test_resume_refuses_a_changed_model_option_input_or_output(bert4so, model, tmp_path, kind):
    """Documents, model, options and the output file must be unchanged."""
    given, out, other = tmp_path / "a.jsonl", tmp_path / f"out{kind}", tmp_path / "other"
    records = [{"sentences": ["go", "eat"], "k": k} for k in range(5)]
    write_records(given, records)
    again = ["order", given, "--out", out, "--resume"]
    assert bert4so(*again, "--model", model)[0] == 0
    before = files_of(out)

    def refused(message, *args):
        code, printed, err = bert4so(*again, *args)
        assert (code, printed, err.count("\n")) == (2, "", 1)
        assert message in err
        assert files_of(out) == before

    shutil.copytree(model, other)
    (other / "README.md").write_text("A model card is no part of the model.")
    assert bert4so(*again, "--model", other)[0] == 0
    (other / "tokenizer.json").write_text((other / "tokenizer.json").read_text() + "\n")
    refused("cannot resume: started with model = ", "--model", other)
    refused("cannot resume: started with passes = 1, not 3", "--model", model, "--passes", 3)
    refused("cannot resume: started with skip_bad = False", "--model", model, "--skip-bad")
    write_records(given, [*records[:2], {**records[2], "k": 9}, *records[3:]])
    refused(f"{given}: documents 1 to 5 differ", "--model", model)
    write_records(given, records)
    code, _, err = bert4so("order", given, "--model", model, "--out", out)
    assert (code, "already exists: pass --resume" in err) == (2, True)
    file = min(out.iterdir()) if out.is_dir() else out
    file.write_bytes(file.read_bytes()[:-9] + b"?" + file.read_bytes()[-8:])
    before = files_of(out)
    refused("the answers to documents 1 to 5 are damaged", "--model", model)


def files_of(out):
    files = [out.with_name(f"{out.name}.state.json"), *(out.iterdir() if out.is_dir() else [out])]
    return {file: file.read_bytes() for file in files}


def test_parquet_schema_covers_truncated_in_later_parts(bert4so, model, tmp_path, monkeypatch):
    monkeypatch.setattr(resumable_writer, "PIECE_DOCUMENTS", 2)
    short = {"sentences": ["go out", "eat bread"], "note": None}
    long = {"sentences": ["bread " * 200, "home"], "note": "a"}
    given, out = tmp_path / "a.jsonl", tmp_path / "out.parquet"
    write_records(given, [short] * 4 + [long])
    code, _, err = bert4so("order", given, "--model", model, "--out", out)
    assert code == 0, err
    assert [record["truncated"] for record in read(out)] == [[], [], [], [], [0]]
    assert read(out)[4]["note"] == "a"


def test_resume_leaves_other_files_unchanged(bert4so, model, tmp_path):
    file = tmp_path / "stories.jsonl"
    for content in ('{"sentences": ["go", "eat"]}\n{"sentences": ["a", "b"]}', '{"my":1}', ""):
        given = file if "sentences" in content else tmp_path / "given.jsonl"
        write_records(tmp_path / "given.jsonl", [{"sentences": ["go", "eat"]}])
        file.write_text(content)
        code, _, err = bert4so("order", given, "--model", model, "--out", file, "--resume")
        assert (code, "cannot resume: not written by `bert4so order --out`" in err) == (2, True)
        assert file.read_text() == content
        assert not (tmp_path / "stories.jsonl.state.json").exists()


def test_dates_are_kept(bert4so, model, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    days = {"sentences": [["go out", "eat"]], "day": [datetime.date(2020, 1, 2)]}
    pyarrow.parquet.write_table(pyarrow.table(days), tmp_path / "a.parquet")
    code, out, err = bert4so("order", tmp_path / "a.parquet", "--model", model)
    assert code == 0, err
    assert json.loads(out)["day"] == "2020-01-02"


def test_text_and_parquet_are_read(bert4so, model, tmp_path):
    (tmp_path / "a.txt").write_text("go out\neat bread\n\nsleep\nwake up\n")
    parts = tmp_path / "parts.parquet"
    assert bert4so("order", tmp_path / "a.txt", "--model", model, "--out", parts)[0] == 0
    code, printed, _ = bert4so("order", parts, "--model", model)
    assert code == 0
    answers = [json.loads(line) for line in printed.splitlines()]
    assert [len(answer["sentences"]) for answer in answers] == [2, 2]


def test_text_can_begin_with_a_brace(bert4so, model, tmp_path):
    (tmp_path / "a.txt").write_text("{bread} is eaten\nwake up\n")
    code, printed, err = bert4so("order", tmp_path / "a.txt", "--model", model)
    assert code == 0, err
    assert sorted(printed.splitlines()) == ["wake up", "{bread} is eaten"]


def test_answers_before_an_error_are_written(bert4so, model, tmp_path):
    given, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl.gz"
    write_records(given, [{"sentences": ["go out", "eat bread"]}] * 20)
    whole = given.read_text()
    given.write_text(whole + "{broken\n")
    args = ["order", given, "--model", model, "--out", out]
    code, _, err = bert4so(*args)
    assert (code, f"{given}:21: not JSON" in err) == (2, True)
    given.write_text(whole * 2)
    assert bert4so(*args, "--resume")[0] == 0
    assert len(read(out)) == 40


def test_format_excludes_out(bert4so, model, tmp_path):
    (tmp_path / "a.txt").write_text("go out\neat bread\n")
    args = ["order", tmp_path / "a.txt", "--model", model, "--format", "text"]
    code, _, err = bert4so(*args, "--out", tmp_path / "out.jsonl")
    assert (code, "--format applies to stdout only" in err) == (2, True)
    assert not (tmp_path / "out.jsonl").exists()


def test_resume_refuses_standard_input(bert4so, model, tmp_path):
    code, _, err = bert4so("order", "--model", model, "--resume", "--out", tmp_path / "o.jsonl")
    assert (code, "--resume requires an input file" in err) == (2, True)
