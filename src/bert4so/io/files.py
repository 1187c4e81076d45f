"""Input files: a single file or a folder, plain or compressed."""

import gzip
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from bert4so.errors import UserError

MAX_WHOLE_FILE_BYTES = 1 << 30
"""Size limit, after decompression, of a file that is read into memory."""

STDIN = Path("-")
COMPRESSED_SUFFIXES = {".gz", ".zst"}

TRUNCATED_MESSAGE = "Compressed file ended before the end-of-stream marker was reached"
"""The message of Python's gzip module."""

BUFFER_BYTES = 1 << 16
MAX_ZST_BYTES_AT_ONCE = 1 << 10
"""4 bytes can decompress to 128 KB, so one step yields at most 32 MB."""

OnBytesRead = Callable[[int], None]
"""Called with the number of bytes that were read since the last call."""


class Files:
    """A file or a folder of files, and a callback for reading progress."""

    def __init__(self, path: Path, on_bytes_read: OnBytesRead = lambda count: None) -> None:
        self.path = path
        self.on_bytes_read = on_bytes_read

    def find(self, *patterns: str, under: str = "") -> list[Path]:
        """The file itself, or the sorted files of the folder that match a pattern.

        Compressed files match as well.

        under: subfolder to search.
        """
        folder = self.path / under
        if not folder.is_dir():
            return [self.path]
        suffixes = ("", *sorted(COMPRESSED_SUFFIXES))
        globs = [pattern + suffix for pattern in patterns for suffix in suffixes]
        matches = {path for glob in globs for path in folder.rglob(glob)}
        if not matches:
            raise UserError(f"{folder}: contains no files named {' or '.join(patterns)}")
        paths = sorted(path for path in matches if path.is_file())
        for path in paths:
            self.confine(path, f"{path}")
        return paths

    def confine(self, path: Path, where: str) -> None:
        """Refuse a file outside the folder: an untrusted folder must not make us read other files.

        where: the location that names the file, for the error message.
        """
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise UserError(
                f"{where}: refers to a file outside {self.path}, which is not allowed: "
                "copy that file into the folder"
            )

    def size(self) -> int:
        """Total size of all files in bytes."""
        paths = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(path.stat().st_size for path in paths if path.is_file())

    @contextmanager
    def binary(self, path: Path) -> Iterator[IO[bytes]]:
        """Open one of the files in binary mode."""
        with open_binary(path, self.on_bytes_read) as file:
            yield file


def plain_suffix(path: Path) -> str:
    """The suffix without that of the compression: .jsonl for a.jsonl.gz."""
    return (path.with_suffix("") if path.suffix in COMPRESSED_SUFFIXES else path).suffix


def open_text(path: Path, on_bytes_read: OnBytesRead = lambda count: None) -> io.TextIOWrapper:
    """Open a file as UTF-8 text; `-` is standard input.

    Each byte that is not UTF-8 becomes a lone surrogate, which valid UTF-8 never yields.
    """
    binary = _standard_input() if path == STDIN else open_binary(path, on_bytes_read)
    # utf-8-sig: drop the byte order mark that some editors write at the start of a file.
    return io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape")


def read_limited(file: IO[bytes], path: Path, limit: int = MAX_WHOLE_FILE_BYTES) -> bytes:
    """Read a whole file; raise `UserError` if it is larger than `limit` bytes."""
    content = file.read(limit + 1)
    if len(content) > limit:
        raise UserError(f"{path}: larger than {limit:,} bytes after decompression")
    return content


def _standard_input() -> IO[bytes]:
    """Open standard input with a separate buffer.

    At exit, Python locks the buffer of sys.stdin, and aborts if a thread is reading it.
    """
    if sys.stdin is None:
        raise UserError("standard input is closed: pass a file, or pipe text in")
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:  # the caller has replaced sys.stdin by text in memory
        return cast(IO[bytes], sys.stdin.buffer)


def open_binary(path: Path, on_bytes_read: OnBytesRead = lambda count: None) -> IO[bytes]:
    """Open a file in binary mode; .gz and .zst are decompressed."""
    raw = cast(io.FileIO, _Counted(path, on_bytes_read))
    file = cast(io.BufferedReader, io.BufferedReader(raw, BUFFER_BYTES))
    if path.suffix in COMPRESSED_SUFFIXES and not file.peek(1):
        file.close()
        raise EOFError(TRUNCATED_MESSAGE)
    if path.suffix == ".gz":
        return cast(IO[bytes], _Gzip(file))
    if path.suffix == ".zst":
        return _zst(file)
    return file


class _Counted(io.FileIO):
    """A file that reports the number of bytes read."""

    def __init__(self, path: Path, on_bytes_read: OnBytesRead) -> None:
        super().__init__(path)
        self.on_bytes_read = on_bytes_read

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self.on_bytes_read(count or 0)
        return count

    def readall(self) -> bytes:
        content = super().readall()
        self.on_bytes_read(len(content))
        return content


class _Gzip(gzip.GzipFile):
    """A gzip file that also closes the underlying file."""

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
        raise UserError(f"{file.name}: reading .zst needs: pip install 'bert4so[data]'") from None
    raw = cast(io.FileIO, _Zst(file, zstandard.ZstdDecompressor().decompressobj))
    return cast(IO[bytes], io.BufferedReader(raw, BUFFER_BYTES))


class _Zst(io.RawIOBase):
    """A decompressed .zst file.

    zstandard's own reader does not notice that a file was truncated.
    """

    def __init__(self, file: io.BufferedReader, new_frame: Callable[[], Any]) -> None:
        self.under = file
        self.new_frame = new_frame
        self.frame: Any = None
        self.compressed = b""
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
        """Decompress the next block; return False at the end of the file."""
        self.compressed = self.compressed or self.under.read1(MAX_ZST_BYTES_AT_ONCE)
        if not self.compressed:
            if self.frame is not None:
                raise EOFError(TRUNCATED_MESSAGE)
            return False
        self.frame = self.new_frame() if self.frame is None else self.frame
        self.ready = memoryview(self.frame.decompress(self.compressed))
        self.compressed = b""
        if self.frame.eof:
            self.compressed, self.frame = self.frame.unused_data, None
        return True

    def close(self) -> None:
        super().close()
        self.under.close()
