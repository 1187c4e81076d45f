"""Answers as JSONL: it grows by lines; packed (.gz, .zst), by chunks, each a frame of its own."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from bert4so.errors import UserError
from bert4so.io.files import BLOCK
from bert4so.io.jsonl import Record, dumped
from bert4so.io.lines import reading
from bert4so.io.resumable_writer import CHUNK, Answers


class Frames(Answers):
    """JSONL, plain or packed."""

    def __init__(self, path: Path) -> None:
        self.codec = CODECS[path.suffix]
        self.pack = self.codec.packer(path)
        self.whole: int | None = 0
        path.touch()
        super().__init__(path, self.codec.chunk)
        self.file = path.open("ab")

    def look(self) -> None:
        with reading(self.path), self.path.open("rb") as file:
            for end, text in self.codec.pieces(file):
                self.whole = end
                self.done += text.count(b"\n")
                self.last = _last_record(self.path, text)

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
        text = "".join(map(dumped, records)).encode()
        self.file.write(self.pack(text))
        self.file.flush()

    def close(self) -> None:
        self.file.close()
        super().close()


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


CODECS = {
    ".jsonl": Codec(packer=lambda path: bytes, pieces=_lines, chunk=1),
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
