"""Answers that grow by whole pieces: wherever they were cut, they can be gone on with."""

import gzip
import json
import random

import pytest
import zstandard

from bert4so import UserError
from bert4so.data import answers
from bert4so.data.answers import open_answers
from bert4so.data.parquet import read_parquet_rows

KINDS = [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"]
RECORDS = [
    {"id": f"é{i}", "sentences": ["a" * (i % 9 + 1), "b"], "order": [1, 0]} for i in range(50)
]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(answers, "CHUNK", 7)
    monkeypatch.setattr(answers, "BLOCK", 64)
    for codec in answers.CODECS.values():
        object.__setattr__(codec, "chunk", 7)


def write(path, records, resume=False):
    with open_answers(path, resume) as out:
        for record in records:
            out.add(record)


def read(path):
    if path.is_dir():
        return [
            row for part in sorted(path.glob("*.parquet")) for _, row in read_parquet_rows(part)
        ]
    unpack = {".gz": gzip.decompress, ".zst": unpack_zst}.get(path.suffix, bytes)
    return [json.loads(line) for line in unpack(path.read_bytes()).decode().splitlines()]


def unpack_zst(data):
    return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read(tmp_path, kind):
    write(tmp_path / f"out{kind}", RECORDS)
    assert read(tmp_path / f"out{kind}") == RECORDS


@pytest.mark.parametrize("kind", KINDS[:3])
def test_cut_anywhere_it_goes_on(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    write(path, RECORDS)
    whole = path.read_bytes()
    for cut in [0, 1, len(whole), *random.Random(0).sample(range(len(whole)), 60)]:
        path.write_bytes(whole[:cut])
        with open_answers(path, resume=True) as out:
            assert out.last == (RECORDS[out.done - 1] if out.done else None)
            for record in RECORDS[out.done :]:
                out.add(record)
        assert read(path) == RECORDS


def test_as_many_lines_stay_as_were_whole(tmp_path):
    path = tmp_path / "out.jsonl"
    write(path, RECORDS)
    whole = path.read_bytes()
    for cut in range(0, len(whole), 13):
        path.write_bytes(whole[:cut])
        with open_answers(path, resume=True) as out:
            assert out.done == whole[:cut].count(b"\n")


def test_parts_are_gone_on_with(tmp_path):
    path = tmp_path / "out.parquet"
    write(path, RECORDS[:21])
    (path / "part-00003.parquet.partial").write_bytes(b"half a part")
    out = open_answers(path, resume=True)
    assert (out.done, out.last) == (21, RECORDS[20])
    with out:
        for record in RECORDS[21:]:
            out.add(record)
    assert read(path) == RECORDS


def test_what_waits_is_written_whatever_ends_the_work(tmp_path):
    def work():
        with open_answers(tmp_path / "out.jsonl.gz", resume=False) as out:
            out.add(RECORDS[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert read(tmp_path / "out.jsonl.gz") == RECORDS[:1]


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "out.jsonl").write_text("mine\n")
    with pytest.raises(UserError, match="exists: --resume goes on with it"):
        open_answers(tmp_path / "out.jsonl", resume=False)
    with pytest.raises(UserError, match="'mine' is no answer"):
        open_answers(tmp_path / "out.jsonl", resume=True)
    assert (tmp_path / "out.jsonl").read_text() == "mine\n"


@pytest.mark.parametrize("kind", [".jsonl.gz", ".jsonl.zst"])
def test_a_file_that_is_not_packed_is_left_as_it_is(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    path.write_bytes(b"not packed at all")
    with pytest.raises(UserError, match="not readable"):
        open_answers(path, resume=True)
    assert path.read_bytes() == b"not packed at all"


def test_other_names_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"wanted a name in \.jsonl"):
        open_answers(tmp_path / "out.csv", resume=False)


def test_a_column_that_was_not_there_before_is_refused(tmp_path):
    with pytest.raises(UserError, match="note: the first part has no such column"):
        write(tmp_path / "out.parquet", [*RECORDS[:7], {**RECORDS[7], "note": "new"}])
    with pytest.raises(UserError, match="unlike those before it"):
        write(tmp_path / "other.parquet", [*RECORDS[:7], {**RECORDS[7], "order": "none"}])
