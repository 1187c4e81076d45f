"""The same documents in every compressed form, cut at any place."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from random import Random
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import pyarrow
import zstandard
from pyarrow import parquet

from torture.texts import words

DOCUMENTS = 80
FRAMES = 4

Pack = Callable[[bytes], bytes]

_rng = Random("packed")
SENTENCES = [[f"{k} {words(_rng, 5)}.", f"{words(_rng, 5)} {k}."] for k in range(DOCUMENTS)]


def jsonl(documents: Sequence[Sequence[str]] = SENTENCES) -> bytes:
    records = ({"id": f"{k}", "sentences": some} for k, some in enumerate(documents))
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def text() -> bytes:
    return "\n\n".join("\n".join(some) for some in SENTENCES).encode() + b"\n"


def table() -> bytes:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["id", "sentence1", "sentence2"])
    writer.writerows([f"{k}", *some] for k, some in enumerate(SENTENCES))
    return file.getvalue().encode()


def parquet_file() -> bytes:
    file = io.BytesIO()
    columns = {"id": [f"{k}" for k in range(DOCUMENTS)], "sentences": SENTENCES}
    parquet.write_table(pyarrow.table(columns), file, row_group_size=DOCUMENTS // FRAMES)
    return file.getvalue()


def award(number: int) -> bytes:
    narration = " ".join(SENTENCES[number])
    return json.dumps({"awd_id": f"{number}", "awd_abstract_narration": narration}).encode()


def zip_file() -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        for number in range(DOCUMENTS):
            archive.writestr(f"{number}.json", award(number))
    return file.getvalue()


def zip_with_cut_member(method: int, share: float) -> bytes:
    """A zip file whose second member has lost its end, though its directory is complete."""
    content = award(1) * 20
    file, packed = io.BytesIO(), io.BytesIO()
    with ZipFile(packed, "w", method) as archive:
        archive.writestr("1.json", content)
        whole = archive.getinfo("1.json")
    start = whole.header_offset + len(whole.FileHeader())
    data = packed.getvalue()[start : start + int(whole.compress_size * share)]
    with ZipFile(file, "w", ZIP_STORED) as archive:
        archive.writestr("0.json", award(0))
        cut = ZipInfo("1.json")
        archive.writestr(cut, data)
        cut.compress_type, cut.CRC, cut.file_size = method, whole.CRC, whole.file_size
        archive.writestr("2.json", award(2))
    return file.getvalue()


def in_frames(pack: Pack, content: bytes) -> list[bytes]:
    step = -(-len(content) // FRAMES)
    return [pack(content[at : at + step]) for at in range(0, len(content), step)]


def cut_frames(frames: Sequence[bytes], share: float) -> bytes:
    """The frames, cut within one of them: between two, nobody could tell."""
    whole = b"".join(frames)
    ends = {sum(map(len, frames[:k])) for k in range(1, len(frames))}
    place = int(len(whole) * share)
    return whole[: place + (place in ends)]


PACKERS: dict[str, Pack] = {
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
