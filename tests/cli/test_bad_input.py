"""Whatever a command is given, it answers in one line: where, what was found, what was wanted."""

import gzip
import json

import pytest

from bert4so.common.value_trees import merge
from conftest import assignments, tiny_values

TESTED_SYSTEMS = ["bert4so"]  # what is tested here is no system's own

GOOD = json.dumps({"id": "a", "sentences": ["eat bread", "sleep"], "order": [1, 0]})
BAD = {
    "missing": (None, ": No such file or directory"),
    "empty": (b"", ": "),
    "not UTF-8": (b'{"id": "\xff\xfe"}\n', ": not readable as text: "),
    "broken JSON": (b"\n".join([GOOD.encode()] * 16 + [b'{"id": ']), ":17: not JSON: "),
    "not an object": (b"[1, 2]\n", ":1: [1, 2]: wanted an object"),
    "no sentences": (b'{"id": "a", "sentences": [], "order": []}\n', ":1: "),
    "white space": (b'{"id": "a", "sentences": ["x", " "], "order": [0, 1]}\n', ":1: "),
    "a number": (b'{"id": "a", "sentences": ["x", 3], "order": [0, 1]}\n', ":1: "),
    "a string": (b'{"id": "a", "sentences": "x", "order": [0]}\n', ":1: "),
}
SENTENCES_MATTER = ["no sentences", "white space", "a number", "a string"]


@pytest.fixture(params=BAD)
def bad(request, tmp_path):
    """A file with something wrong, and what is to be said of it."""
    content, message = BAD[request.param]
    path = tmp_path / "bad.jsonl"
    if content is not None:
        path.write_bytes(content)
    return path, message


def says(result, path, message, answered=0):
    code, out, err = result
    assert (code, out.count("\n")) == (2, answered)
    assert err.startswith(f"bert4so: {path}{message}")
    assert err.count("\n") == 1


def test_order(bert4so, trained, bad):
    before = bad[0].read_bytes().count(GOOD.encode()) if bad[0].exists() else 0
    says(bert4so("order", bad[0], "--model", trained), *bad, answered=before)


def test_evaluate(bert4so, trained, bad, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    if bad[0].exists():
        bad[0].rename(corpus / "test.jsonl")
        says(bert4so("evaluate", trained, corpus), corpus / "test.jsonl", bad[1])
    else:
        says(
            bert4so("evaluate", trained, corpus),
            corpus,
            ": no test.jsonl in it, and none in .gz or .zst",
        )


def test_train(bert4so, bad, encoder, tmp_path):
    (tmp_path / "run.toml").write_text(f'system = "bert4so"\ncorpus = "{tmp_path}"\n')
    if bad[0].exists():
        bad[0].rename(tmp_path / "train.jsonl")
        says(bert4so("train", tmp_path / "run.toml"), tmp_path / "train.jsonl", bad[1])
    else:
        missing = ": no train.jsonl in it, and none in .gz or .zst"
        says(bert4so("train", tmp_path / "run.toml"), tmp_path, missing)


@pytest.mark.parametrize("name", [name for name in BAD if name not in SENTENCES_MATTER])
@pytest.mark.parametrize("side", ["predicted", "true"])
def test_score(bert4so, tmp_path, name, side):
    content, message = BAD[name]
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(GOOD)
    if content is not None:
        bad.write_bytes(content)
    files = (bad, good) if side == "predicted" else (good, bad)
    says(bert4so("score", *files), bad, message)


def test_a_mark_at_the_beginning_and_windows_line_ends_are_no_trouble(bert4so, trained, tmp_path):
    path = tmp_path / "windows.txt"
    path.write_bytes("\ufeffsleep\r\neat bread\r\n".encode())
    code, out, _ = bert4so("order", path, "--model", trained)
    assert (code, sorted(out.splitlines())) == (0, ["eat bread", "sleep"])


def test_a_packed_file_that_ends_early_is_named(bert4so, trained, tmp_path):
    path = tmp_path / "short.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD.encode() * 100)[:-12])
    says(bert4so("order", path, "--model", trained), path, ": not readable as text")
    path.write_bytes(b"not packed at all")
    says(bert4so("order", path, "--model", trained), path, ": Not a gzipped file")


def test_nothing_is_too_long_to_be_ordered(bert4so, trained, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("a\nb\n\n" + "bread bread bread bread bread bread bread bread bread\n" * 20)
    code, out, _ = bert4so("order", path, "--model", trained)
    assert (code, out.count("\n")) == (0, 23)


def test_what_is_too_long_to_be_measured_is_named(bert4so, trained, tmp_path):
    record = {"id": "long", "sentences": ["bread " * 9] * 20}
    (tmp_path / "test.jsonl").write_text(json.dumps(record))
    result = bert4so("evaluate", trained, tmp_path)
    says(result, "long", ": a document of 20 sentences and 180 word pieces is too long")
    code, out, _ = bert4so("evaluate", trained, tmp_path, "--passes", 1)
    assert (code, out.endswith("documents  1\n")) == (0, True)


def test_one_sentence_is_in_order_already(bert4so, trained):
    assert bert4so("order", "--model", trained, stdin="alone\n")[:2] == (0, "alone\n")


def test_skip_bad_goes_on_and_counts(bert4so, trained, tmp_path):
    lines = [GOOD, "{", '{"sentences": []}', GOOD, "[]", '{"sentences": ["x", 1]}']
    too_long = json.dumps({"sentences": ["bread " * 9] * 20})
    path = tmp_path / "test.jsonl"
    path.write_text("\n".join([*lines, too_long, GOOD]))
    code, out, err = bert4so("order", path, "--model", trained, "--skip-bad")
    assert (code, len(out.splitlines())) == (0, 4)
    assert [line.split(":")[2] for line in err.splitlines()[:-1]] == ["2", "3", "5", "6"]
    assert err.splitlines()[-1] == "skipped 4 in all"
    code, out, err = bert4so("evaluate", trained, tmp_path, "--skip-bad")
    assert (code, err.splitlines()[-1]) == (0, "skipped 5 in all")
    assert out.endswith("documents  3\n")


def test_training_skips_what_is_bad_in_any_split(bert4so, encoder, documents, tmp_path):
    too_long = json.dumps({"id": "long", "sentences": ["bread " * 9] * 20})
    good = [json.dumps({"id": d.id, "sentences": d.sentences}) for d in documents]
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.jsonl").write_text("\n".join(["{", *good, "[]", too_long]))
    (tmp_path / "tiny.toml").write_text(f'system = "bert4so"\ncorpus = "{tmp_path}"\n')
    sets = assignments(merge(tiny_values(encoder), {"train": {"epochs": 1}}))
    args = ["train", tmp_path / "tiny.toml", "--out", tmp_path / "run"]
    args += [part for change in sets for part in ("--set", change)]
    says(bert4so(*args), tmp_path / "train.jsonl", ":1: not JSON")
    code, out, err = bert4so(*args, "--skip-bad")
    assert code == 0, err
    assert err.splitlines()[-1] == "skipped 9 in all"
    assert out.count("documents 16") == 2


@pytest.mark.parametrize("name", ["tokenizer.json", "layout.json", "config.json"])
@pytest.mark.parametrize("content", [None, "", "{}", '{"foreign": 1}'])
def test_a_broken_model_folder_is_named(bert4so, trained, name, content):
    path = trained / "input" / name
    path.unlink()
    if content is not None:
        path.write_text(content)
    code, out, err = bert4so("order", "--model", trained, stdin="a\nb\n")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert str(trained) in err


def test_every_help_and_no_command_at_all(bert4so):
    _, out, err = bert4so()
    commands = ["order", "train", "evaluate", "score", "doctor"]
    listed = [line.split()[0] for line in (out + err).splitlines() if line.startswith("  ")]
    assert [word for word in listed if word in commands] == commands


def test_the_doctor_says_what_is_there(bert4so, monkeypatch, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "test.jsonl").write_text(GOOD)
    monkeypatch.setenv("BERT4SO_DATA", str(tmp_path))
    code, out, _ = bert4so("doctor")
    assert code == 0
    assert "torch 2." in out
    assert f"{tmp_path}: mine" in out


def test_quiet_says_nothing(bert4so, trained, tmp_path):
    (tmp_path / "bad.jsonl").write_text(GOOD + "\n{\n")
    args = ["order", tmp_path / "bad.jsonl", "--model", trained, "--skip-bad"]
    assert bert4so("--quiet", *args)[2] == ""
    assert bert4so(*args)[2] != ""
