"""Resumable output: after a kill at any time, resuming gives the same file."""

import gzip
import json
import os
import random
import shutil
from pathlib import Path

import pytest
import zstandard

from bert4so import UserError
from bert4so.io import resumable_writer
from bert4so.io.open_writer import open_writer
from bert4so.io.parquet import read_parquet_rows

KINDS = [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"]
PIECE_DOCUMENTS = 7
SETTINGS = {"model": "a", "passes": 1}
DOCUMENTS = [{"id": f"é{i}", "sentences": ["a" * (i % 9 + 1), "b"]} for i in range(50)]
RECORDS = [{**document, "order": [1, 0]} for document in DOCUMENTS]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # syncing may be slow
    monkeypatch.setattr(resumable_writer, "PIECE_DOCUMENTS", PIECE_DOCUMENTS)


def begin(path, documents=(), resume=False, settings=SETTINGS):
    """A started writer, and the documents that remain to be answered."""
    out, left = open_writer(path, resume, settings), iter(documents)
    try:
        out.start(left, Path("in.jsonl"))
    except UserError:
        out.close()
        raise
    return out, left


def write(path, records, resume=False, settings=SETTINGS):
    """Write records, each of which serves as a document and as its answer."""
    out, left = begin(path, records, resume, settings)
    with out:
        for record in left:
            out.add(record, record)


def refused(path, message, records=RECORDS, settings=SETTINGS):
    """Check that resuming is refused and changes nothing."""
    before = content(path)
    with pytest.raises(UserError, match=message):
        write(path, records, resume=True, settings=settings)
    assert content(path) == before


def state_of(path):
    return path.with_name(f"{path.name}.state.json")


def content(path):
    """All bytes of an OUT and of its state, by name."""
    files = [state_of(path), *(path.iterdir() if path.is_dir() else [path])]
    return {file.name: file.read_bytes() for file in files if file.exists()}


def restore(path, files):
    """Restore the files that `content` returned."""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if path.suffix == ".parquet" and len(files) > 0:
        path.mkdir()
    for name, data in files.items():
        inside = path.suffix == ".parquet" and name != state_of(path).name
        (path / name if inside else path.with_name(name)).write_bytes(data)


def flipped(data, draw):
    changed = bytearray(data)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


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
def test_records_are_read_back(tmp_path, kind):
    write(tmp_path / f"out{kind}", RECORDS)
    assert read(tmp_path / f"out{kind}") == RECORDS


@pytest.mark.parametrize("kind", KINDS)
def test_resume_after_a_kill_gives_the_same_files(tmp_path, kind):
    path, moments = tmp_path / f"out{kind}", []
    out, _ = begin(path)
    with out:
        for record in RECORDS:
            moments.append(content(path))
            out.add(record, record)
    whole = content(path)
    for moment in moments:
        restore(path, moment)
        write(path, RECORDS, resume=True)
        assert content(path) == whole


@pytest.mark.parametrize("kind", KINDS)
def test_resume_rewrites_a_piece_that_was_not_recorded(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    write(path, RECORDS)
    whole = content(path)
    lines = state_of(path).read_bytes().splitlines(keepends=True)
    assert len(lines) == 2 + -(-len(RECORDS) // PIECE_DOCUMENTS)
    for pieces in (len(lines) - 2, len(lines) - 3):  # with and without the last piece
        state = b"".join(lines[: 1 + pieces])
        for torn in (b"", lines[1 + pieces][:10]):
            restore(path, {**whole, state_of(path).name: state + torn})
            write(path, RECORDS, resume=True)
            assert content(path) == whole


@pytest.mark.parametrize("kind", KINDS[:3])
def test_resume_after_truncation_at_any_byte(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    write(path, RECORDS)
    whole = content(path)
    size = path.stat().st_size
    for cut in [0, 1, size, *random.Random(0).sample(range(size), 60)]:
        restore(path, {**whole, path.name: whole[path.name][:cut]})
        write(path, RECORDS, resume=True)
        assert content(path) == whole


def test_resume_after_the_last_parts_were_deleted(tmp_path):
    path = tmp_path / "out.parquet"
    write(path, RECORDS)
    whole = content(path)
    parts = sorted(path.glob("part-*.parquet"))
    for kept in range(len(parts)):
        restore(path, {name: data for name, data in whole.items() if name < parts[kept].name})
        restore(path, {**content(path), state_of(path).name: whole[state_of(path).name]})
        (path / "part-00003.parquet.partial").write_bytes(b"half a part")
        write(path, RECORDS, resume=True)
        (path / "part-00003.parquet.partial").unlink(missing_ok=True)
        assert content(path) == whole


@pytest.mark.parametrize("kind", KINDS)
def test_resume_refuses_a_flipped_bit(tmp_path, kind):
    path, draw = tmp_path / f"out{kind}", random.Random(0)
    write(path, RECORDS)
    whole = content(path)
    for _ in range(60):
        name = draw.choice([name for name in whole if name != state_of(path).name])
        restore(path, {**whole, name: flipped(whole[name], draw)})
        refused(path, r"answers to documents \d+ to \d+ are damaged")


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bit_in_the_state_is_refused_or_harmless(tmp_path, kind):
    path, draw = tmp_path / f"out{kind}", random.Random(0)
    write(path, RECORDS)
    whole = content(path)
    name, refusals = state_of(path).name, 0
    for _ in range(200):
        restore(path, {**whole, name: flipped(whole[name], draw)})
        try:
            write(path, RECORDS, resume=True)
            assert content(path) == whole
        except UserError:
            refusals += 1
    assert refusals > 150


@pytest.mark.parametrize("kind", KINDS)
def test_resume_refuses_a_changed_document(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    write(path, RECORDS)
    for k in range(len(RECORDS)):
        changed = [*RECORDS[:k], {**RECORDS[k], "id": "other"}, *RECORDS[k + 1 :]]
        piece = k // PIECE_DOCUMENTS * PIECE_DOCUMENTS
        last = min(piece + PIECE_DOCUMENTS, len(RECORDS))
        refused(path, f"in.jsonl: documents {piece + 1} to {last} differ", changed)
    refused(path, "documents 50 to 50 differ", RECORDS[:-1])
    refused(path, "documents 1 to 7 differ", [])


def test_resume_refuses_other_settings(tmp_path):
    path = tmp_path / "out.jsonl"
    write(path, RECORDS)
    refused(path, "started with passes = 1, not 2", settings={**SETTINGS, "passes": 2})
    refused(path, "started with model = 'a', not 'b'", settings={**SETTINGS, "model": "b"})
    refused(path, "started with skip_bad = None, not True", settings={**SETTINGS, "skip_bad": True})
    refused(path, "started with passes = 1, not None", settings={"model": "a"})


def test_resume_appends_more_documents(tmp_path):
    path = tmp_path / "out.jsonl.gz"
    write(path, RECORDS[:10])
    out, left = begin(path, RECORDS, resume=True)
    assert out.done == 10
    with out:
        for record in left:
            out.add(record, record)
    assert read(path) == RECORDS


@pytest.mark.parametrize("kind", KINDS)
def test_resume_refuses_foreign_data(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    write(path, RECORDS)
    whole = content(path)
    if path.is_dir():
        shutil.copy(path / "part-00000.parquet", path / "part-00099.parquet")
    else:
        path.write_bytes(whole[path.name] + b"mine\n")
    refused(path, "cannot resume: (something was appended|not written by this command)")
    restore(path, whole)
    write(path, RECORDS, resume=True)
    assert content(path) == whole


def test_plain_jsonl_is_written_line_by_line(tmp_path):
    out, _ = begin(tmp_path / "out.jsonl")
    with out:
        for k, record in enumerate(RECORDS):
            out.add(record, record)
            assert read(out.path) == RECORDS[: k + 1]


@pytest.mark.parametrize("kind", KINDS)
def test_piece_is_synced_before_it_is_recorded(tmp_path, monkeypatch, kind):
    synced = []

    def fsync(descriptor):
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    monkeypatch.setattr(os, "fsync", fsync)
    path = tmp_path / f"out{kind}"
    out, _ = begin(path)
    with out:
        assert synced == [state_of(path).name, tmp_path.name, tmp_path.name]
        for record in RECORDS[:PIECE_DOCUMENTS]:
            synced.clear()
            out.add(record, record)
        parts = ["part-00000.parquet.partial", path.name] if kind == ".parquet" else [path.name]
        assert synced == [*parts, state_of(path).name]


def test_zst_frames_have_checksums(tmp_path):
    write(tmp_path / "out.jsonl.zst", RECORDS)
    data = (tmp_path / "out.jsonl.zst").read_bytes()
    assert zstandard.get_frame_parameters(data).has_checksum


def test_buffered_answers_are_written_after_an_interrupt(tmp_path):
    def work():
        out, _ = begin(tmp_path / "out.jsonl.gz")
        with out:
            out.add(RECORDS[0], RECORDS[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert read(tmp_path / "out.jsonl.gz") == RECORDS[:1]
    write(tmp_path / "out.jsonl.gz", RECORDS, resume=True)
    assert read(tmp_path / "out.jsonl.gz") == RECORDS


def test_resume_after_a_failed_write(tmp_path, monkeypatch):
    path, original_write = tmp_path / "out.jsonl", os.write

    def work():
        out, left = begin(path, RECORDS)
        with out:
            for record in left:
                out.add(record, record)

    def write_half(descriptor, data):
        if os.fstat(descriptor).st_size > 2000:
            original_write(descriptor, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return original_write(descriptor, data)

    monkeypatch.setattr(os, "write", write_half)
    with pytest.raises(OSError, match=r"No space left on device: .*out\.jsonl"):
        work()
    monkeypatch.undo()
    assert 0 < len(path.read_bytes().splitlines()) < len(RECORDS)
    write(path, RECORDS, resume=True)
    assert read(path) == RECORDS


def test_existing_file_is_not_overwritten(tmp_path):
    (tmp_path / "out.jsonl").write_text("mine\n")
    with pytest.raises(UserError, match="already exists: pass --resume"):
        open_writer(tmp_path / "out.jsonl", False, SETTINGS)
    assert (tmp_path / "out.jsonl").read_text() == "mine\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mine", [b"", b'{"my":1}', b'{"sentences": ["a"], "order": [0]}\n'])
def test_resume_refuses_a_file_without_state(tmp_path, kind, mine):
    path = tmp_path / f"out{kind}"
    if kind == ".parquet":
        path.mkdir()
        (path / "part-00000.parquet").write_bytes(mine)
    else:
        path.write_bytes(mine)
    refused(path, f"cannot resume: not written by .*out{kind}.state.json is missing")
    assert not state_of(path).exists()


@pytest.mark.parametrize("state", [b'{"my": 1}', b'{"my": 1}\n', b"\xff\n", b"[]\n"])
def test_resume_refuses_a_foreign_state(tmp_path, state):
    path = tmp_path / "out.jsonl"
    state_of(path).write_bytes(state)
    for _ in range(2):
        refused(path, "damaged, or not a state file of")
        path.write_text("mine\n")


def test_state_without_output_is_overwritten(tmp_path):
    path = tmp_path / "out.jsonl"
    write(path, RECORDS)
    whole = content(path)
    path.unlink()
    write(path, RECORDS[:3], settings={"model": "other"})
    path.unlink()
    write(path, RECORDS)
    assert content(path) == whole


@pytest.mark.parametrize("kind", KINDS)
def test_pipe_or_wrong_kind_of_file_is_refused(tmp_path, kind):
    os.mkfifo(tmp_path / f"pipe{kind}")
    (tmp_path / f"other{kind}").touch() if kind == ".parquet" else (
        tmp_path / f"other{kind}"
    ).mkdir()
    for name in ("pipe", "other"):
        with pytest.raises(UserError, match=r"not a (folder|regular file): choose another --out"):
            open_writer(tmp_path / f"{name}{kind}", True, SETTINGS)


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl.bz2", "out.gz", "out.jsonl.txt"])
def test_unknown_suffixes_are_refused(tmp_path, name):
    with pytest.raises(UserError, match=r"the name must end in \.jsonl"):
        open_writer(tmp_path / name, False, SETTINGS)


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
def test_parquet_keeps_extra_keys_of_any_type(tmp_path, before, notes):
    """Values of different types, unlike those of the first part, or new after it."""
    given = [*RECORDS[:before], *({**RECORDS[0], "note": note} for note in notes)]
    write(tmp_path / "out.parquet", given)
    found = []
    for row in read(tmp_path / "out.parquet"):
        other = json.loads(row.pop("other", "{}"))
        found.append({k: v for k, v in {**row, **other}.items() if v is not None})
    assert found == [{k: v for k, v in record.items() if v is not None} for record in given]


def test_parquet_stores_values_of_one_type_in_a_column(tmp_path):
    notes = [{"year": 2000 + i, "by": ["a", "b"]} for i in range(9)]
    given = [record | note for record, note in zip(RECORDS[:9], notes, strict=True)]
    write(tmp_path / "out.parquet", given)
    assert read(tmp_path / "out.parquet") == given


def test_parquet_refuses_an_order_of_the_wrong_type(tmp_path):
    with pytest.raises(UserError, match="cannot store the order of a document"):
        write(tmp_path / "out.parquet", [*RECORDS[:7], {**RECORDS[7], "order": "none"}])
    assert read(tmp_path / "out.parquet") == RECORDS[:7]


@pytest.mark.parametrize("kind", KINDS)
def test_only_one_process_writes(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    out, _ = begin(path)
    with out:
        with pytest.raises(UserError, match="another process is writing to it"):
            open_writer(path, True, SETTINGS)
        out.add(RECORDS[0], RECORDS[0])
    write(path, RECORDS, resume=True)
    assert read(path) == RECORDS


def test_piece_is_written_after_the_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(resumable_writer, "MAX_PIECE_SECONDS", 0.0)
    out, _ = begin(tmp_path / "out.jsonl.gz")
    with out:
        out.add(RECORDS[0], RECORDS[0])
        assert read(tmp_path / "out.jsonl.gz") == RECORDS[:1]
