"""`bert4so order --out`: stopped at any moment, nothing is lost and nothing doubled."""

import datetime
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import pytest

from bert4so.export import to_onnx as export
from bert4so.io import parquet_writer as parts
from bert4so.io.jsonl import write_records
from bert4so.io.source import read_source
from bert4so.systems import SYSTEMS
from bert4so.training.checkpoint import load_model, save_model
from conftest import tiny_run

KINDS = [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"]
DOCUMENTS = 14_000
KILLS = 5  # a kind, of which there are four
ENV = os.environ | {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def model(encoder, documents, tmp_path_factory):
    """The folder of a tiny model that needs no torch."""
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
    """A file of documents, all different, some of them unusable."""
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
    """What comes out where nothing stops it."""
    out = tmp_path_factory.mktemp("expected") / "out.jsonl"
    subprocess.run(command(many, model, out), env=ENV, check=True, capture_output=True)
    return read(out)


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
def test_killed_at_random_moments_nothing_is_lost_or_doubled(model, many, expected, tmp_path, kind):
    out, draw, killed = tmp_path / f"out{kind}", random.Random(kind), 0
    while killed < KILLS:
        process = subprocess.Popen(command(many, model, out), env=ENV, stderr=subprocess.DEVNULL)
        grown, moment = size(out), draw.random()
        # Every other one before it has written anything: it may be cutting off a half line.
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
    assert read(out) == expected
    assert len(expected) == DOCUMENTS - DOCUMENTS // 1000


def test_ctrl_c_leaves_what_was_found(model, many, expected, tmp_path):
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen(
        command(many, model, out),
        env=ENV,
        stderr=subprocess.PIPE,
        # What a shell starts in the background, and all that this starts, ignores Ctrl-C.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    while not size(out) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    found = read(out)
    assert len(found) < len(expected)  # it did not go on to the end
    assert found == expected[: len(found)]
    assert process.returncode != 0


def test_the_answer_is_the_record_and_what_was_found(expected):
    assert expected[3]["note"] == 3
    assert {"id", "sentences", "note", "order", "scores", "confidence", "truncated"} == set(
        expected[3]
    )


def test_other_documents_are_not_gone_on_with(bert4so, model, tmp_path):
    first, second, out = (tmp_path / name for name in ("a.jsonl", "b.jsonl", "out.jsonl"))
    write_records(first, [{"sentences": ["go", "eat"]}, {"sentences": ["sleep", "wake"]}])
    write_records(second, [{"sentences": ["go", "eat"]}, {"sentences": ["up", "on"]}])
    assert bert4so("order", first, "--model", model, "--out", out)[0] == 0
    before = out.read_bytes()
    code, _, said = bert4so("order", second, "--model", model, "--out", out, "--resume")
    assert code == 2
    assert "holds 2 answers, but not to the first documents of" in said
    code, _, said = bert4so("order", first, "--model", model, "--out", out)
    assert (code, "exists: --resume goes on with it" in said) == (2, True)
    assert bert4so("order", first, "--model", model, "--out", out, "--resume")[0] == 0
    assert out.read_bytes() == before


def test_parts_may_begin_with_nothing_cut(bert4so, model, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "CHUNK", 2)
    short = {"sentences": ["go out", "eat bread"], "note": None}
    long = {"sentences": ["bread " * 200, "home"], "note": "a"}
    given, out = tmp_path / "a.jsonl", tmp_path / "out.parquet"
    write_records(given, [short] * 4 + [long])
    code, _, said = bert4so("order", given, "--model", model, "--out", out)
    assert code == 0, said
    assert [record["truncated"] for record in read(out)] == [[], [], [], [], [0]]
    assert read(out)[4]["note"] == "a"


def test_a_file_that_holds_no_answers_is_left_as_it_is(bert4so, model, tmp_path):
    file = tmp_path / "stories.jsonl"
    for content in ('{"sentences": ["go", "eat"]}\n{"sentences": ["a", "b"]}', '{"a": 1}\n{"b"'):
        file.write_text(content)
        code, _, said = bert4so("order", file, "--model", model, "--out", file, "--resume")
        assert (code, "is no answer: it cannot be gone on with" in said) == (2, True)
        assert file.read_text() == content


def test_dates_are_carried_along(bert4so, model, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    days = {"sentences": [["go out", "eat"]], "day": [datetime.date(2020, 1, 2)]}
    pyarrow.parquet.write_table(pyarrow.table(days), tmp_path / "a.parquet")
    code, out, said = bert4so("order", tmp_path / "a.parquet", "--model", model)
    assert code == 0, said
    assert json.loads(out)["day"] == "2020-01-02"


def test_answers_of_another_model_are_not_gone_on_with(bert4so, model, tmp_path):
    given, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    write_records(given, [{"sentences": ["go out", "eat bread", "sleep", "wake up"]}] * 2)
    assert bert4so("order", given, "--model", model, "--out", out)[0] == 0
    before = out.read_bytes()
    again = ["order", given, "--model", model, "--out", out, "--resume"]
    code, _, said = bert4so(*again, "--passes", 3)
    assert (code, "by another model, or by other --passes" in said) == (2, True)
    assert out.read_bytes() == before
    assert bert4so(*again)[0] == 0


def test_a_long_document_may_have_come_out_a_little_different(bert4so, model, tmp_path):
    given, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    words = ["bread", "home", "sleep", "eat"]
    long = {"sentences": [" ".join(words[i % 4] for i in range(k)) for k in range(1, 60)]}
    write_records(given, [long] * 2)
    assert bert4so("order", given, "--model", model, "--out", out)[0] == 0
    answer = json.loads(out.read_text().splitlines()[0])
    order, again = answer["order"], ["order", given, "--model", model, "--out", out, "--resume"]
    for other, code in (([order[1], order[0], *order[2:]], 0), (order[::-1], 2)):
        scores = [-float(other.index(i)) for i in range(len(other))]
        write_records(out, [answer | {"order": other, "scores": scores}])
        assert bert4so(*again)[0] == code


def test_text_and_parquet_are_read(bert4so, model, tmp_path):
    (tmp_path / "a.txt").write_text("go out\neat bread\n\nsleep\nwake up\n")
    parts = tmp_path / "parts.parquet"
    assert bert4so("order", tmp_path / "a.txt", "--model", model, "--out", parts)[0] == 0
    code, printed, _ = bert4so("order", parts, "--model", model)
    assert code == 0
    answers = [json.loads(line) for line in printed.splitlines()]
    assert [len(answer["sentences"]) for answer in answers] == [2, 2]


def test_text_may_begin_as_json_does(bert4so, model, tmp_path):
    (tmp_path / "a.txt").write_text("{bread} is eaten\nwake up\n")
    code, printed, said = bert4so("order", tmp_path / "a.txt", "--model", model)
    assert code == 0, said
    assert sorted(printed.splitlines()) == ["wake up", "{bread} is eaten"]


def test_what_stands_before_a_fault_is_written(bert4so, model, tmp_path):
    given, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl.gz"
    write_records(given, [{"sentences": ["go out", "eat bread"]}] * 20)
    whole = given.read_text()
    given.write_text(whole + "{broken\n")
    asked = ["order", given, "--model", model, "--out", out]
    code, _, said = bert4so(*asked)
    assert (code, f"{given}:21: not JSON" in said) == (2, True)
    given.write_text(whole * 2)
    assert bert4so(*asked, "--resume")[0] == 0
    assert len(read(out)) == 40


def test_a_format_is_for_what_is_printed(bert4so, model, tmp_path):
    (tmp_path / "a.txt").write_text("go out\neat bread\n")
    asked = ["order", tmp_path / "a.txt", "--model", model, "--format", "text"]
    code, _, said = bert4so(*asked, "--out", tmp_path / "out.jsonl")
    assert (code, "--format is of what is printed" in said) == (2, True)
    assert not (tmp_path / "out.jsonl").exists()


def test_standard_input_cannot_be_gone_on_with(bert4so, model, tmp_path):
    code, _, said = bert4so("order", "--model", model, "--resume", "--out", tmp_path / "o.jsonl")
    assert (code, "--resume needs a file" in said) == (2, True)
