"""Commands report invalid input in one line: where it is, what is wrong, what is expected."""

import gzip
import json
import os
from threading import Thread

import pytest
import zstandard

from bert4so.common.value_trees import merge
from bert4so.io import lines
from conftest import assignments, tiny_values

TESTED_SYSTEMS = ["bert4so"]  # these tests do not depend on the system

GOOD = json.dumps({"id": "a", "sentences": ["eat bread", "sleep"], "order": [1, 0]})
BAD = {
    "missing": (None, ": No such file or directory"),
    "empty": (b"", ": "),
    "not UTF-8": (b'{"id": "\xff\xfe"}\n', ":1: not UTF-8 text: "),
    "broken JSON": (b"\n".join([GOOD.encode()] * 16 + [b'{"id": ']), ":17: not JSON: "),
    "not an object": (b"[1, 2]\n", ":1: each line must be a JSON object (got [1, 2])"),
    "no sentences": (b'{"id": "a", "sentences": [], "order": []}\n', ":1: "),
    "white space": (b'{"id": "a", "sentences": ["x", " "], "order": [0, 1]}\n', ":1: "),
    "a number": (b'{"id": "a", "sentences": ["x", 3], "order": [0, 1]}\n', ":1: "),
    "a string": (b'{"id": "a", "sentences": "x", "order": [0]}\n', ":1: "),
}
SENTENCES_MATTER = ["no sentences", "white space", "a number", "a string"]


@pytest.fixture(params=BAD)
def bad(request, tmp_path):
    """An invalid file, and the message about it."""
    content, message = BAD[request.param]
    path = tmp_path / "bad.jsonl"
    if content is not None:
        path.write_bytes(content)
    return path, message


def check_error(result, path, message, answered=0):
    code, out, err = result
    assert (code, out.count("\n")) == (2, answered)
    assert err.startswith(f"bert4so: {path}{message}")
    assert err.count("\n") == 1


def test_order_reports_invalid_input(bert4so, trained, bad):
    before = bad[0].read_bytes().count(GOOD.encode()) if bad[0].exists() else 0
    check_error(bert4so("order", bad[0], "--model", trained), *bad, answered=before)


def test_evaluate_reports_invalid_input(bert4so, trained, bad, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    if bad[0].exists():
        bad[0].rename(corpus / "test.jsonl")
        check_error(bert4so("evaluate", trained, corpus), corpus / "test.jsonl", bad[1])
    else:
        check_error(
            bert4so("evaluate", trained, corpus),
            corpus,
            ": has no test.jsonl, test.jsonl.gz or test.jsonl.zst",
        )


def test_train_reports_invalid_input(bert4so, bad, encoder, tmp_path):
    (tmp_path / "run.toml").write_text(f'system = "bert4so"\ncorpus = "{tmp_path}"\n')
    if bad[0].exists():
        bad[0].rename(tmp_path / "train.jsonl")
        check_error(bert4so("train", tmp_path / "run.toml"), tmp_path / "train.jsonl", bad[1])
    else:
        missing = ": has no train.jsonl, train.jsonl.gz or train.jsonl.zst"
        check_error(bert4so("train", tmp_path / "run.toml"), tmp_path, missing)


@pytest.mark.parametrize("name", [name for name in BAD if name not in SENTENCES_MATTER])
@pytest.mark.parametrize("side", ["predicted", "true"])
def test_score_reports_invalid_input(bert4so, tmp_path, name, side):
    content, message = BAD[name]
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(GOOD)
    if content is not None:
        bad.write_bytes(content)
    files = (bad, good) if side == "predicted" else (good, bad)
    check_error(bert4so("score", *files), bad, message)


def test_byte_order_marks_and_windows_line_ends_are_accepted(bert4so, trained, tmp_path):
    path = tmp_path / "windows.txt"
    path.write_bytes("\ufeffsleep\r\neat bread\r\n".encode())
    code, out, _ = bert4so("order", path, "--model", trained)
    assert (code, sorted(out.splitlines())) == (0, ["eat bread", "sleep"])


def test_a_truncated_compressed_file_is_named(bert4so, trained, tmp_path):
    path = tmp_path / "short.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD.encode() * 100)[:-12])
    check_error(bert4so("order", path, "--model", trained), path, ": damaged, or not UTF-8 text")
    path.write_bytes(b"not packed at all")
    check_error(bert4so("order", path, "--model", trained), path, ": Not a gzipped file")


def test_order_accepts_documents_of_any_length(bert4so, trained, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("a\nb\n\n" + "bread bread bread bread bread bread bread bread bread\n" * 20)
    code, out, _ = bert4so("order", path, "--model", trained)
    assert (code, out.count("\n")) == (0, 23)


@pytest.mark.parametrize("run", ["bert4so", "lstm-ptrnet"], indirect=True)
def test_a_document_with_too_many_sentences_is_invalid(bert4so, trained, tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text(f"{GOOD}\n{json.dumps({'sentences': ['a'] * 100_000})}\n{GOOD}\n")
    message = ":2: a document of 100,000 sentences is too long: at most 10,000: split it"
    check_error(bert4so("order", path, "--model", trained), path, message, answered=1)
    code, out, err = bert4so("order", path, "--model", trained, "--skip-bad")
    assert (code, out.count("\n")) == (0, 2)
    assert err == f"skipped: {path}{message}\nskipped 1 in all\n"


def test_a_document_too_long_to_evaluate_is_named(bert4so, trained, tmp_path):
    record = {"id": "long", "sentences": ["bread " * 9] * 20}
    (tmp_path / "test.jsonl").write_text(json.dumps(record))
    result = bert4so("evaluate", trained, tmp_path)
    check_error(result, "long", ": a document of 20 sentences and 180 word pieces is too long")
    code, out, _ = bert4so("evaluate", trained, tmp_path, "--passes", 1)
    assert (code, out.endswith("documents  1\n")) == (0, True)


def test_one_sentence_is_printed_unchanged(bert4so, trained):
    assert bert4so("order", "--model", trained, stdin="alone\n")[:2] == (0, "alone\n")


def test_skip_bad_skips_and_counts(bert4so, trained, tmp_path):
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


def test_training_skips_invalid_records_in_any_split(bert4so, encoder, documents, tmp_path):
    too_long = json.dumps({"id": "long", "sentences": ["bread " * 9] * 20})
    good = [json.dumps({"id": d.id, "sentences": d.sentences}) for d in documents]
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.jsonl").write_text("\n".join(["{", *good, "[]", too_long]))
    (tmp_path / "tiny.toml").write_text(f'system = "bert4so"\ncorpus = "{tmp_path}"\n')
    sets = assignments(merge(tiny_values(encoder), {"train": {"epochs": 1}}))
    args = ["train", tmp_path / "tiny.toml", "--out", tmp_path / "run"]
    args += [part for change in sets for part in ("--set", change)]
    check_error(bert4so(*args), tmp_path / "train.jsonl", ":1: not JSON")
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


def test_help_lists_the_commands_in_order(bert4so):
    _, out, err = bert4so()
    commands = ["order", "train", "evaluate", "score", "doctor"]
    listed = [line.split()[0] for line in (out + err).splitlines() if line.startswith("  ")]
    assert [word for word in listed if word in commands] == commands


def test_doctor_lists_packages_and_corpora(bert4so, monkeypatch, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "test.jsonl").write_text(GOOD)
    monkeypatch.setenv("BERT4SO_DATA", str(tmp_path))
    code, out, _ = bert4so("doctor")
    assert code == 0
    assert "torch 2." in out
    assert f"{tmp_path}: mine" in out


def test_quiet_hides_messages(bert4so, trained, tmp_path):
    (tmp_path / "bad.jsonl").write_text(GOOD + "\n{\n")
    args = ["order", tmp_path / "bad.jsonl", "--model", trained, "--skip-bad"]
    assert bert4so("--quiet", *args)[2] == ""
    assert bert4so(*args)[2] != ""


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz", "in.jsonl.zst", "in"])
def test_order_reads_a_fifo(bert4so, trained, tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
    writer = Thread(target=path.write_bytes, args=[pack(f"{GOOD}\n{GOOD}\n".encode())])
    writer.start()
    code, out, err = bert4so("order", path, "--model", trained)
    writer.join()
    assert (code, out.count("\n"), err) == (0, 2, "")


def test_prepare_reads_a_fifo(bert4so, tmp_path):
    path = tmp_path / "in"
    os.mkfifo(path)
    writer = Thread(target=path.write_text, args=[f"{GOOD}\n"])
    writer.start()
    code, out, _ = bert4so("data", "prepare", "jsonl", path, "--out", tmp_path / "out")
    writer.join()
    assert (code, out.count("\n")) == (0, 3)


def test_parquet_from_a_fifo_is_an_error(bert4so, trained, tmp_path):
    path = tmp_path / "in.parquet"
    os.mkfifo(path)
    check_error(
        bert4so("order", path, "--model", trained), path, ": cannot read Parquet from a pipe"
    )


@pytest.mark.parametrize("stdin", [b"", b"\n\n \n"])
def test_an_empty_standard_input_is_an_error(bert4so, trained, stdin):
    check_error(
        bert4so("order", "--model", trained, stdin=stdin.decode()), "-", ": contains no sentences"
    )


def test_a_long_line_of_standard_input_is_skipped(bert4so, trained, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_CHARACTERS", 100)
    long = json.dumps({"sentences": ["x" * 100, "y"]})
    given = f"{GOOD}\n{long}\n{GOOD}\n"
    result = bert4so("order", "--model", trained, stdin=given)
    check_error(result, "-", ":2: a line with more than 100 characters", answered=1)
    code, out, err = bert4so("order", "--model", trained, "--skip-bad", stdin=given)
    assert (code, out.count("\n"), err.splitlines()[-1]) == (0, 2, "skipped 1 in all")


@pytest.mark.parametrize("cut", [0, 1, 20, -1])
@pytest.mark.parametrize("end", [".gz", ".zst"])
def test_a_truncated_file_is_an_error_in_every_command(bert4so, trained, tmp_path, end, cut):
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}[end]
    path = tmp_path / f"test.jsonl{end}"
    path.write_bytes(pack("\n".join([GOOD] * 300).encode())[:cut])
    prepared = ["data", "prepare", "jsonl", path, "--out", tmp_path / "out"]
    for args in (
        ["order", path, "--model", trained],
        ["evaluate", trained, tmp_path],
        ["score", path, path],
        prepared,
    ):
        for options in ([], ["--skip-bad"]):
            if args[0] == "score" and options:
                continue
            code, _, err = bert4so(*args, *options)
            assert code == 2, (args, err)
            assert err.startswith(f"bert4so: {path}: ")
            assert err.count("\n") == 1
    assert not list((tmp_path / "out").iterdir())
