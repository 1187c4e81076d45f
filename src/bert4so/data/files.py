"""The files that documents are read from: packed or not, one or a folder of them."""

import gzip
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from bert4so.errors import UserError

STDIN = Path("-")
PACKED = {".gz", ".zst"}

BLOCK = 1 << 16
Told = Callable[[int], None]
"""Is told how many more bytes were read."""


class Files:
    """A file or a folder of files, and who is to be told how much of them was read."""

    def __init__(self, path: Path, told: Told = lambda count: None) -> None:
        self.path = path
        self.told = told

    def find(self, *patterns: str) -> list[Path]:
        """The file itself, or what a folder holds of these patterns, packed or not; sorted."""
        if not self.path.is_dir():
            return [self.path]
        packed = [pattern + end for pattern in patterns for end in ("", *sorted(PACKED))]
        found = {path for pattern in packed for path in self.path.rglob(pattern)}
        if not found:
            raise UserError(f"{self.path}: nothing like {' or '.join(patterns)} in it")
        return sorted(path for path in found if path.is_file())

    def size(self) -> int:
        """The bytes of all files."""
        return sum(path.stat().st_size for path in self.find("*") if path.is_file())

    @contextmanager
    def text(self, path: Path) -> Iterator[IO[str]]:
        """One of the files, as text."""
        with open_text(path, self.told) as file:
            yield file

    @contextmanager
    def binary(self, path: Path) -> Iterator[IO[bytes]]:
        """One of the files, as bytes."""
        with open_binary(path, self.told) as file:
            yield file


def plain_suffix(path: Path) -> str:
    """What kind of file it is, however it is packed: .jsonl for a.jsonl.gz."""
    return (path.with_suffix("") if path.suffix in PACKED else path).suffix


def open_text(path: Path, told: Told = lambda count: None) -> IO[str]:
    """A file as UTF-8 text; `-` is standard input."""
    binary = _standard_input() if path == STDIN else open_binary(path, told)
    # utf-8-sig: some editors put a mark at the beginning, which is no part of the first sentence.
    return io.TextIOWrapper(binary, encoding="utf-8-sig")


def _standard_input() -> IO[bytes]:
    """Standard input, with a buffer of its own.

    At exit, Python locks the buffer of sys.stdin, and aborts if a thread is reading it.
    """
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:  # text in memory, put there by whoever calls us
        return cast(IO[bytes], sys.stdin.buffer)


def open_binary(path: Path, told: Told = lambda count: None) -> IO[bytes]:
    """A file; one in .gz or .zst is unpacked."""
    file = cast(io.BufferedReader, io.BufferedReader(cast(io.FileIO, _Counted(path, told)), BLOCK))
    if path.suffix == ".gz":
        return cast(IO[bytes], _Gzip(file))
    if path.suffix == ".zst":
        return _zst(file)
    return file


class _Counted(io.FileIO):
    """A file that tells how much of it was read."""

    def __init__(self, path: Path, told: Told) -> None:
        super().__init__(path)
        self.tell_of = told

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self.tell_of(count or 0)
        return count

    def readall(self) -> bytes:
        content = super().readall()
        self.tell_of(len(content))
        return content


class _Gzip(gzip.GzipFile):
    """A packed file that closes the file under it, too."""

    def __init__(self, file: io.BufferedReader) -> None:
        super().__init__(fileobj=file)
        self.under = file

    def close(self) -> None:
        super().close()
        self.under.close()


def _zst(file: io.BufferedReader) -> IO[bytes]:
    try:
        import zstandard
    except ModuleNotFoundError:
        file.close()
        raise UserError(f"{file.name}: packed with zst: pip install 'bert4so[data]'") from None
    stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True)
    return cast(IO[bytes], stream)
