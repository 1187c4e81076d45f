"""Answers on disk that grow by whole pieces, so that work that was stopped can go on.

JSONL grows by lines; packed JSONL by chunks, each a frame of its own (.gz, .zst); Parquet is a
folder of parts. Whatever is left of a piece by a process that was killed is cut off when the work
goes on: what stands before it is whole.
"""

import gzip
import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

from bert4so.atomic import whole_file
from bert4so.data.files import BLOCK
from bert4so.data.jsonl import Record, dumped
from bert4so.data.lines import reading
from bert4so.data.parquet import need_pyarrow
from bert4so.errors import UserError

CHUNK = 1024
"""Documents in a frame or a part."""


class Answers(ABC):
    """Records that are added one by one, and written some at a time.

    done: how many stood there already.
    last: the last of those.
    """

    done = 0
    last: Record | None = None

    def __init__(self, chunk: int) -> None:
        self.chunk = chunk
        self.waiting: list[Record] = []

    def add(self, record: Record) -> None:
        """Write a record, now or with those that follow it."""
        self.waiting.append(record)
        if len(self.waiting) >= self.chunk:
            self.flush()

    def flush(self) -> None:
        """Write what waits. What could not be written is not tried again: half may be there."""
        records, self.waiting = self.waiting, []
        if records:
            self.write(records)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        # Whatever it was that ended the work: what was found is not lost.
        try:
            self.flush()
        finally:
            self.close()

    @abstractmethod
    def write(self, records: Sequence[Record]) -> None:
        """Write some records as one piece."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open."""


def open_answers(path: Path, resume: bool) -> Answers:
    """The answers of a path, by the end of its name; to `resume` is to go on with what is there."""
    if path.exists() and not resume:
        raise UserError(f"{path} exists: --resume goes on with it; else remove it first")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        return Parts(path)
    if ".jsonl" not in path.suffixes:
        raise UserError(f"{path}: wanted a name in .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    return Frames(path)


class Frames(Answers):
    """JSONL, plain or packed."""

    def __init__(self, path: Path) -> None:
        codec = CODECS.get(path.suffix, PLAIN)
        super().__init__(codec.chunk)
        self.pack = codec.packer(path)
        path.touch()
        self.whole: int | None = 0
        with reading(path), path.open("rb") as file:
            for end, text in codec.pieces(file):
                self.whole = end
                self.done += text.count(b"\n")
                self.last = _last_record(path, text)
        self.file = path.open("ab")

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self._cut_off()
        super().__exit__(kind, *error)

    def _cut_off(self) -> None:
        """Let go of what is left of a piece.

        Not before something is to be written: until then it may prove to be another's file.
        """
        if self.whole is not None:
            self.file.truncate(self.whole)
            self.whole = None

    def write(self, records: Sequence[Record]) -> None:
        self._cut_off()
        text = "".join(map(dumped, records)).encode(errors="backslashreplace")
        self.file.write(self.pack(text))
        self.file.flush()

    def close(self) -> None:
        self.file.close()


def _last_record(path: Path, text: bytes) -> Record:
    line = text[:-1].rpartition(b"\n")[2]
    try:
        record: Record = json.loads(line)
        if {"sentences", "order"} <= record.keys():
            return record
    except (ValueError, AttributeError):
        pass
    raise UserError(f"{path}: {line[:40]!r} is no answer: it cannot be gone on with")


Piece = tuple[int, bytes]
"""Where a piece of a file ends, and its text."""


@dataclass(frozen=True)
class Codec:
    """How JSONL is packed.

    packer: packs a text as one piece.
    pieces: the whole pieces of a file; what follows the last of them is of no use.
    chunk:  documents in a piece.
    """

    packer: Callable[[Path], Callable[[bytes], bytes]]
    pieces: Callable[[IO[bytes]], Iterator[Piece]]
    chunk: int


def _lines(file: IO[bytes]) -> Iterator[Piece]:
    """Whole lines, as many at a time as a block holds."""
    end, rest = 0, b""
    while block := file.read(BLOCK):
        whole, newline, rest = (rest + block).rpartition(b"\n")
        if newline:
            end += len(whole) + 1
            yield end, whole + newline


def _frames(file: IO[bytes], unpacker: Callable[[], Any]) -> Iterator[Piece]:
    """What each frame of a packed file holds."""
    frame, text = unpacker(), b""
    while block := file.read(BLOCK):
        while block:
            text += frame.decompress(block)
            if not frame.eof:
                break
            block = frame.unused_data
            yield file.tell() - len(block), text
            frame, text = unpacker(), b""


def _zst_unpacker() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


def _zst_packer(path: Path) -> Callable[[bytes], bytes]:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise UserError(f"{path}: to be packed with zst: pip install 'bert4so[data]'") from None
    compress: Callable[[bytes], bytes] = zstandard.ZstdCompressor().compress
    return compress


PLAIN = Codec(packer=lambda path: bytes, pieces=_lines, chunk=1)
CODECS = {
    ".gz": Codec(
        packer=lambda path: gzip.compress,
        pieces=partial(_frames, unpacker=partial(zlib.decompressobj, wbits=31)),
        chunk=CHUNK,
    ),
    ".zst": Codec(
        packer=_zst_packer,
        pieces=partial(_frames, unpacker=_zst_unpacker),
        chunk=CHUNK,
    ),
}


class Parts(Answers):
    """Parquet: a folder of parts, each of which is there whole or not at all."""

    def __init__(self, path: Path) -> None:
        super().__init__(CHUNK)
        self.path = path
        self.pyarrow, self.parquet = need_pyarrow(path)
        path.mkdir(exist_ok=True)
        parts = sorted(path.glob("part-*.parquet"))
        self.number = len(parts)
        self.schema = None
        for part in parts:
            self.done += self.parquet.read_metadata(part).num_rows
            self.schema = self.schema or self.parquet.read_schema(part)
        if parts:
            self.last = self.parquet.read_table(parts[-1]).to_pylist()[-1]

    def write(self, records: Sequence[Record]) -> None:
        with whole_file(self.path / f"part-{self.number:05}.parquet") as file:
            self.parquet.write_table(self._table(records), file)
        self.number += 1

    def close(self) -> None:
        """Nothing is open between two parts."""

    def _table(self, records: Sequence[Record]) -> Any:
        """The records as the first part has them: readers want all parts alike."""
        schema = self.schema or self._schema(records)
        try:
            table = self.pyarrow.Table.from_pylist(list(records), schema=schema)
        except self.pyarrow.ArrowInvalid as error:
            raise UserError(f"{self.path}: a record is unlike those before it: {error}") from None
        new = {key for record in records for key in record} - set(table.column_names)
        if new:
            names = ", ".join(sorted(new))
            raise UserError(f"{self.path}: {names}: the first part has no such column")
        self.schema = table.schema
        return table

    def _schema(self, records: Sequence[Record]) -> Any:
        """That of some records; what may be empty in all of them has a type all the same."""
        pa = self.pyarrow
        known = {
            "order": pa.list_(pa.int64()),
            "scores": pa.list_(pa.float64()),
            "confidence": pa.float64(),
            "truncated": pa.list_(pa.int64()),
        }
        found = pa.Table.from_pylist(list(records)).schema
        # Of a key of the user's that is empty in all of them nothing is known: it is kept as text.
        types = [
            known.get(field.name, pa.string() if field.type == pa.null() else field.type)
            for field in found
        ]
        return pa.schema(list(zip(found.names, types, strict=True)))
