"""Write JSONL: plain files line by line, .gz and .zst piece by piece, each its own frame."""

import gzip
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.jsonl import Record, to_json_line
from bert4so.io.output_state import Settings, write_all
from bert4so.io.resumable_writer import ResumableWriter, hash_bytes

Compress = Callable[[bytes], bytes]
"""Compresses data as one frame."""


class JsonlWriter(ResumableWriter):
    """Write plain or compressed JSONL."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.compress = COMPRESSORS[path.suffix](path)
        self.descriptor: int | None = None
        super().__init__(path, settings, line_by_line=path.suffix == ".jsonl")

    def create(self) -> None:
        self._open(os.O_CREAT | os.O_EXCL)

    def truncate(self) -> None:
        os.ftruncate(self._open(), sum(piece.bytes for piece in self.kept))

    def _open(self, flags: int = 0) -> int:
        # O_APPEND always writes at the current end, so truncating the open file is safe.
        self.descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | flags, 0o666)
        return self.descriptor

    def hash_piece(self, number: int, start: int, size: int) -> str | None:
        with self.path.open("rb") as file:
            file.seek(start)
            return hash_bytes(file, size)

    def check_rest(self) -> None:
        written = sum(piece.bytes for piece in self.state.pieces)
        # After a kill, the bytes behind the last piece are our own.
        if self.state.ended and self.path.stat().st_size > written:
            raise UserError(
                f"{self.path}: cannot resume: something was appended to it: remove that, or delete "
                f"{self.path} to start again"
            )

    def encode(self, answers: Sequence[Record]) -> bytes:
        return self.compress("".join(map(to_json_line, answers)).encode())

    def append(self, data: bytes) -> None:
        assert self.descriptor is not None, "call start() first"
        write_all(self.descriptor, data)

    def sync(self) -> None:
        assert self.descriptor is not None, "call start() first"
        os.fsync(self.descriptor)

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
        super().close()


def _gzip(path: Path) -> Compress:
    # No timestamp, so that the same answers give the same bytes.
    return lambda data: gzip.compress(data, mtime=0)


def _zst(path: Path) -> Compress:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise UserError(f"{path}: writing .zst needs: pip install 'bert4so[data]'") from None
    compress: Compress = zstandard.ZstdCompressor(write_checksum=True).compress
    return compress


COMPRESSORS: dict[str, Callable[[Path], Compress]] = {
    ".jsonl": lambda path: bytes,
    ".gz": _gzip,
    ".zst": _zst,
}
