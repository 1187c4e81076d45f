"""The files that documents are read from: packed or not, one or a folder of them."""

import gzip
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from bert4so.errors import UserError

MAX_WHOLE_FILE_BYTES = 1 << 30
"""Of a file that is read whole, after unpacking."""

STDIN = Path("-")
PACKED = {".gz", ".zst"}

CUT_OFF = "Compressed file ended before the end-of-stream marker was reached"
"""As Python's gzip says it."""

BLOCK = 1 << 16
MAX_ZST_BYTES_AT_ONCE = 1 << 10
"""Four of them may unpack to 128 KB, so that what is unpacked at once is at most 32 MB."""
Told = Callable[[int], None]
"""Is told how many more bytes were read."""


class Files:
    """A file or a folder of files, and who is to be told how much of them was read."""

    def __init__(self, path: Path, told: Told = lambda count: None) -> None:
        self.path = path
        self.told = told

    def find(self, *patterns: str, under: str = "") -> list[Path]:
        """The file itself, or what a folder holds of these patterns, packed or not; sorted.

        under: a folder in the folder, in which alone to look.
        """
        folder = self.path / under
        if not folder.is_dir():
            return [self.path]
        packed = [pattern + end for pattern in patterns for end in ("", *sorted(PACKED))]
        found = {path for pattern in packed for path in folder.rglob(pattern)}
        if not found:
            raise UserError(f"{folder}: nothing like {' or '.join(patterns)} in it")
        paths = sorted(path for path in found if path.is_file())
        for path in paths:
            self.confine(path, f"{path}")
        return paths

    def confine(self, path: Path, where: str) -> None:
        """Refuse a file outside the folder: whoever made the folder must not choose it.

        where: what names the file, for the error.
        """
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise UserError(
                f"{where}: leads to a file outside of {self.path}, which is not read: "
                "copy that file into the folder"
            )

    def size(self) -> int:
        """The bytes of all files."""
        paths = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(path.stat().st_size for path in paths if path.is_file())

    @contextmanager
    def binary(self, path: Path) -> Iterator[IO[bytes]]:
        """One of the files, as bytes."""
        with open_binary(path, self.told) as file:
            yield file


def plain_suffix(path: Path) -> str:
    """What kind of file it is, however it is packed: .jsonl for a.jsonl.gz."""
    return (path.with_suffix("") if path.suffix in PACKED else path).suffix


def open_text(path: Path, told: Told = lambda count: None) -> io.TextIOWrapper:
    """A file as UTF-8 text; `-` is standard input.

    A byte that is not UTF-8 becomes half a surrogate pair, which UTF-8 cannot give otherwise.
    """
    binary = _standard_input() if path == STDIN else open_binary(path, told)
    # utf-8-sig: some editors put a mark at the beginning, which is no part of the first sentence.
    return io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape")


def read_whole(file: IO[bytes], path: Path, limit: int = MAX_WHOLE_FILE_BYTES) -> bytes:
    """The content of a file, unpacked; raises `UserError` where it is larger than the limit."""
    content = file.read(limit + 1)
    if len(content) > limit:
        raise UserError(f"{path}: larger than {limit:,} bytes unpacked")
    return content


def _standard_input() -> IO[bytes]:
    """Standard input, with a buffer of its own.

    At exit, Python locks the buffer of sys.stdin, and aborts if a thread is reading it.
    """
    if sys.stdin is None:
        raise UserError("standard input is closed: name a file, or pipe text in")
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:  # text in memory, put there by whoever calls us
        return cast(IO[bytes], sys.stdin.buffer)


def open_binary(path: Path, told: Told = lambda count: None) -> IO[bytes]:
    """A file; one in .gz or .zst is unpacked."""
    file = cast(io.BufferedReader, io.BufferedReader(cast(io.FileIO, _Counted(path, told)), BLOCK))
    if path.suffix in PACKED and not file.peek(1):
        file.close()
        raise EOFError(CUT_OFF)
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
    unpacked = cast(io.FileIO, _Zst(file, zstandard.ZstdDecompressor().decompressobj))
    return cast(IO[bytes], io.BufferedReader(unpacked, BLOCK))


class _Zst(io.RawIOBase):
    """An unpacked .zst file.

    zstandard's own reader takes a file that was cut off for one that ends there.
    """

    def __init__(self, file: io.BufferedReader, new_frame: Callable[[], Any]) -> None:
        self.under = file
        self.new_frame = new_frame
        self.frame: Any = None
        self.packed = b""
        self.ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready and self._fill():
            pass
        count = min(len(buffer), len(self.ready))
        buffer[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count

    def _fill(self) -> bool:
        """Unpack a little more; false at the end of the file."""
        self.packed = self.packed or self.under.read1(MAX_ZST_BYTES_AT_ONCE)
        if not self.packed:
            if self.frame is not None:
                raise EOFError(CUT_OFF)
            return False
        self.frame = self.new_frame() if self.frame is None else self.frame
        self.ready = memoryview(self.frame.decompress(self.packed))
        self.packed = b""
        if self.frame.eof:
            self.packed, self.frame = self.frame.unused_data, None
        return True

    def close(self) -> None:
        super().close()
        self.under.close()
