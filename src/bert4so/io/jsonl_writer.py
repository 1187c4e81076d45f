"""Answers as JSONL: it grows by lines; compressed (.gz, .zst), by pieces, each its own frame."""

import gzip
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.jsonl import Record, dumped
from bert4so.io.output_state import Settings, write_all
from bert4so.io.resumable_writer import Answers, hash_bytes

Pack = Callable[[bytes], bytes]
"""Compresses a text as one frame."""


class Frames(Answers):
    """JSONL, plain or compressed."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.compress = PACKERS[path.suffix](path)
        self.descriptor: int | None = None
        super().__init__(path, settings, by_line=path.suffix == ".jsonl")

    def create(self) -> None:
        self._open(os.O_CREAT | os.O_EXCL)

    def cut(self) -> None:
        os.ftruncate(self._open(), sum(piece.bytes for piece in self.kept))

    def _open(self, flags: int = 0) -> int:
        # To append is to write at the end, wherever that is: it is cut after it was opened.
        self.descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | flags, 0o666)
        return self.descriptor

    def hash_piece(self, number: int, start: int, size: int) -> str | None:
        with self.path.open("rb") as file:
            file.seek(start)
            return hash_bytes(file, size)

    def check_rest(self) -> None:
        written = sum(piece.bytes for piece in self.state.pieces)
        # If the process was killed, what follows the last piece is its own.
        if self.state.ended and self.path.stat().st_size > written:
            raise UserError(
                f"{self.path}: cannot resume: something was added to it: remove that, or delete "
                f"{self.path} to start again"
            )

    def pack(self, answers: Sequence[Record]) -> bytes:
        return self.compress("".join(map(dumped, answers)).encode())

    def append(self, data: bytes) -> None:
        assert self.descriptor is not None, "start() has opened it"
        write_all(self.descriptor, data)

    def sync(self) -> None:
        assert self.descriptor is not None, "start() has opened it"
        os.fsync(self.descriptor)

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
        super().close()


def _gzip(path: Path) -> Pack:
    # Without the time, so that the same answers are the same bytes.
    return lambda data: gzip.compress(data, mtime=0)


def _zst(path: Path) -> Pack:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise UserError(f"{path}: to be packed with zst: pip install 'bert4so[data]'") from None
    compress: Pack = zstandard.ZstdCompressor(write_checksum=True).compress
    return compress


PACKERS: dict[str, Callable[[Path], Pack]] = {
    ".jsonl": lambda path: bytes,
    ".gz": _gzip,
    ".zst": _zst,
}
