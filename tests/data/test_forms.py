"""Readers of common formats."""

import csv
import gzip
import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from bert4so.data.forms import FORMS
from bert4so.data.readers.raw_document import Columns, split_of
from bert4so.errors import UserError
from bert4so.io.files import Files
from bert4so.io.on_error import Skipping, stop

STORIES = [("s1", ["We woke.", "We ate.", "We slept."]), ("s2", ["He came, he saw.", "He left."])]


def as_jsonl(folder):
    lines = [json.dumps({"id": name, "sentences": some}) for name, some in STORIES]
    (folder / "train.jsonl").write_text("\n".join(lines))


def as_gz(folder):
    as_jsonl(folder)
    content = (folder / "train.jsonl").read_bytes()
    (folder / "train.jsonl.gz").write_bytes(gzip.compress(content))
    (folder / "train.jsonl").unlink()


def as_zst(folder):
    as_jsonl(folder)
    content = (folder / "train.jsonl").read_bytes()
    half = len(content) // 2  # two frames, as written by parallel tools
    frames = [zstandard.compress(part) for part in (content[:half], content[half:])]
    (folder / "train.jsonl.zst").write_bytes(b"".join(frames))
    (folder / "train.jsonl").unlink()


def as_csv(folder):
    with (folder / "train.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "sentence1", "sentence2", "sentence10", "sentence3"])
        for name, some in STORIES:
            cells = [*some, "", ""][:3]
            writer.writerow([name, "title", cells[0], cells[1], "", cells[2]])


def as_parquet(folder):
    table = pa.table({"id": [n for n, _ in STORIES], "sentences": [s for _, s in STORIES]})
    pq.write_table(table, folder / "train-00000-of-00001.parquet")


def as_dataset(folder):
    rows = [{"id": name, "sentences": some} for name, some in STORIES]
    table = datasets.Dataset.from_list(rows)
    datasets.DatasetDict({"train": table}).save_to_disk(str(folder))


def as_text(folder):
    text = "\n\n".join("\n".join(some) for _, some in STORIES)
    (folder / "train.txt").write_text(text)


WRITTEN = {
    "jsonl": as_jsonl, "jsonl in gz": as_gz, "jsonl in zst": as_zst, "csv": as_csv,
    "parquet": as_parquet, "dataset": as_dataset, "text": as_text,
}  # fmt: skip


def read(form, path, columns=Columns(), on_bad=stop):  # noqa: B008
    return list(FORMS[form].read(Files(path), columns, on_bad))


@pytest.mark.parametrize("name", WRITTEN)
def test_all_formats_give_the_same_documents(tmp_path, name):
    WRITTEN[name](tmp_path)
    found = read(name.split()[0], tmp_path)
    assert [list(one.sentences) for one in found] == [some for _, some in STORIES]
    assert {one.split for one in found} == {"train"}
    if name != "text":
        assert [one.id for one in found] == ["s1", "s2"]
    assert len({one.id for one in found}) == 2


COLUMNS = {
    "csv": "name,a,b,story\nx,One.,Two.,One. Two.\n",
    "jsonl": '{"name": "x", "a": "One.", "b": "Two.", "story": "One. Two."}\n',
}


@pytest.mark.parametrize("form", COLUMNS)
def test_columns_can_be_chosen(tmp_path, form):
    path = tmp_path / f"any.{form}"
    path.write_text(COLUMNS[form])
    (one,) = read(form, path, Columns(sentences=("b", "a"), id="name"))
    assert (one.id, one.sentences, one.split) == ("x", ("Two.", "One."), None)
    (one,) = read(form, path, Columns(text="story", id="name"))
    assert (one.id, one.sentences, one.text) == ("x", (), "One. Two.")
    with pytest.raises(UserError, match=r'no column "c" \(columns: name, a, b, story\)'):
        read(form, path, Columns(sentences=("a", "c")))
    with pytest.raises(UserError, match="pass --sentences or --text"):
        read(form, path)


def test_paragraphs_are_running_text(tmp_path):
    (tmp_path / "val.txt").write_text("One. Two\nends here.\n\nThree.\n")
    found = read("paragraphs", tmp_path)
    assert [(one.text, one.split) for one in found] == [
        ("One. Two ends here.", "valid"), ("Three.", "valid"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "form, content",
    [
        ("jsonl", b'{"sentences": ["a", "b"]}\n{\n{"sentences": ["c", "d"]}\n'),
        ("jsonl", b'{"sentences": ["a", "b"]}\n{"sentences": "x"}\n{"sentences": ["c", "d"]}\n'),
        ("jsonl", b'{"sentences": ["a", "b"]}\n{"x": 1}\n{"sentences": ["c", "d"]}\n'),
    ],
)
def test_invalid_record_is_raised_or_skipped(tmp_path, form, content):
    path = tmp_path / f"bad.{form}"
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"bad\.{form}:2: "):
        read(form, path)
    skipping = Skipping()
    assert [one.sentences[0] for one in read(form, path, on_bad=skipping)] == ["a", "c"]
    assert skipping.count == 1


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "dataset", "text"])
def test_missing_or_foreign_source_gives_a_one_line_error(tmp_path, form):
    for source in (tmp_path / "missing", tmp_path / f"foreign.{form}", tmp_path):
        (tmp_path / f"foreign.{form}").write_bytes(b"\xff\xfe\x00 foreign")
        with pytest.raises(UserError) as caught:
            read(form, source)
        assert str(tmp_path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name, split",
    [
        ("train.jsonl.gz", "train"), ("val.csv", "valid"), ("dev.tsv", "valid"),
        ("test-00000-of-00002.parquet", "test"), ("validation.json", "valid"), ("my.txt", None),
        ("training_set.csv", "train"), ("tests.csv", None),
    ],
)  # fmt: skip
def test_split_of_a_file_name(tmp_path, name, split):
    assert split_of(tmp_path / name) == split
