"""Answers that grow by whole pieces: wherever they were cut, they can be gone on with."""

import gzip
import json
import random

import pytest
import zstandard

from bert4so import UserError
from bert4so.io import jsonl_writer as frames
from bert4so.io import parquet_writer as parts
from bert4so.io import resumable_writer as answers
from bert4so.io.open_writer import open_answers
from bert4so.io.parquet import read_parquet_rows

KINDS = [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"]
RECORDS = [
    {"id": f"é{i}", "sentences": ["a" * (i % 9 + 1), "b"], "order": [1, 0]} for i in range(50)
]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(parts, "CHUNK", 7)
    monkeypatch.setattr(frames, "BLOCK", 64)
    for codec in frames.CODECS.values():
        object.__setattr__(codec, "chunk", 7)


def write(path, records, resume=False):
    with open_answers(path, resume) as out:
        for record in records:
            out.add(record)


def read(path):
    if path.is_dir():
        return [
            {key: value for key, value in row.items() if key != "other" or value}
            for part in sorted(path.glob("*.parquet"))
            for _, row in read_parquet_rows(part)
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
    assert (out.done, out.last) == (21, RECORDS[20] | {"other": None})
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


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl.bz2", "out.gz", "out.jsonl.txt"])
def test_other_names_are_refused(tmp_path, name):
    with pytest.raises(UserError, match=r"wanted a name in \.jsonl"):
        open_answers(tmp_path / name, resume=False)


@pytest.mark.parametrize(
    "notes",
    [
        ["a", 5],
        [5, "a"],
        [5, 2.5],
        [True, 1],
        [{}, {}],
        [[{}], None],
        [{"a": 1}, {"b": 2}],
        [10**30, 1],
        ["\udc80", "b"],
    ],
    ids=str,
)
@pytest.mark.parametrize("before", [0, 7])
def test_whatever_is_carried_along_is_not_lost_in_parts(tmp_path, before, notes):
    """Unlike one another, unlike the first part, or new after it."""
    given = [*RECORDS[:before], *({**RECORDS[0], "note": note} for note in notes)]
    write(tmp_path / "out.parquet", given)
    found = []
    for row in read(tmp_path / "out.parquet"):
        other = json.loads(row.pop("other", "{}"))
        found.append({k: v for k, v in {**row, **other}.items() if v is not None})
    assert found == [{k: v for k, v in record.items() if v is not None} for record in given]


def test_one_type_is_one_column(tmp_path):
    notes = [{"year": 2000 + i, "by": ["a", "b"]} for i in range(9)]
    given = [record | note for record, note in zip(RECORDS[:9], notes, strict=True)]
    write(tmp_path / "out.parquet", given)
    assert read(tmp_path / "out.parquet") == given


def test_what_no_part_can_hold_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot hold the order of a document"):
        write(tmp_path / "out.parquet", [*RECORDS[:7], {**RECORDS[7], "order": "none"}])
    assert read(tmp_path / "out.parquet") == RECORDS[:7]


@pytest.mark.parametrize("kind", KINDS)
def test_two_do_not_write_at_once(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    with open_answers(path, resume=False) as out:
        with pytest.raises(UserError, match="another process is writing it"):
            open_answers(path, resume=True)
        out.add(RECORDS[0])
    write(path, RECORDS[1:], resume=True)
    assert read(path) == RECORDS


def test_slow_work_is_written_before_a_piece_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(answers, "PATIENCE", 0.0)
    with open_answers(tmp_path / "out.jsonl.gz", resume=False) as out:
        out.add(RECORDS[0])
        assert read(tmp_path / "out.jsonl.gz") == RECORDS[:1]
