"""Write answers to disk in pieces, so that an interrupted run can be resumed.

A piece holds the answers to some consecutive documents. Once it is synced to disk, the state file
(`output_state.py`) records it. After a kill, everything behind the last recorded piece is written
again.
"""

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Self

from bert4so.errors import UserError
from bert4so.io.atomic import sync_folder
from bert4so.io.jsonl import Record, to_json_line
from bert4so.io.output_state import Piece, Settings, State

PIECE_DOCUMENTS = 1024

MAX_PIECE_SECONDS = 60.0
"""A piece is closed after this time, even if it has fewer documents."""

HASH_BLOCK_BYTES = 1 << 20


class ResumableWriter(ABC):
    """Append answers one by one. Call `start` first. OUT is the output at `path`.

    done: number of documents that were already answered in an earlier run.
    """

    def __init__(self, path: Path, settings: Settings, line_by_line: bool) -> None:
        """settings: everything besides the documents that the answers depend on.

        line_by_line: write each answer immediately instead of with its piece.
        """
        self.path = path
        self.line_by_line = line_by_line
        self.settings = settings
        self.buffered: list[tuple[Record, Record]] = []
        self.write_failed = False
        """Whether a write was started but not completed."""
        self.started = False
        self.resuming = path.exists()
        self.state = State(path)
        try:
            self.kept = self._check() if self.resuming else []
        except BaseException:
            self.state.close()
            raise
        self.done = sum(piece.documents for piece in self.kept)
        self._new_piece()

    def start(self, documents: Iterator[Record], source: Path) -> None:
        """Consume the documents that already have answers, and prepare OUT for the remaining ones.

        If these are not the documents that were answered, raise `UserError` and change nothing.
        """
        first = 1
        for piece in self.kept:
            if _hash_documents(islice(documents, piece.documents)) != piece.input:
                raise UserError(
                    f"{source}: {_documents(first, piece)} differ from the documents answered in "
                    f"{self.path}: restore them, or delete {self.path} to start again"
                )
            first += piece.documents
        with self._writing():
            if self.resuming:
                self.truncate()
                self.state.resume(len(self.kept))
            else:
                self.state.begin(self.settings)
                self.create()
                sync_folder(self.path.parent)
        self.started = True

    def add(self, document: Record, answer: Record) -> None:
        """Add the answer to a document; it is written now or with the rest of its piece."""
        assert self.started, "call start() first"
        if not self.documents and not self.buffered:
            self.since = time.monotonic()
        self.buffered.append((document, answer))
        if self.line_by_line:
            self._flush()
        full = self.documents + len(self.buffered) >= PIECE_DOCUMENTS
        if full or time.monotonic() - self.since > MAX_PIECE_SECONDS:
            self._end_piece()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Keep the answers so far, whatever ended the run.
        try:
            if self.started and not self.write_failed:
                self._end_piece()
                with self._writing():
                    self.state.end()
        finally:
            self.close()

    def close(self) -> None:
        """Close the files, and release the lock."""
        self.state.close()

    @abstractmethod
    def create(self) -> None:
        """Create OUT, empty."""

    @abstractmethod
    def truncate(self) -> None:
        """Remove everything behind `self.kept`."""

    @abstractmethod
    def hash_piece(self, number: int, start: int, size: int) -> str | None:
        """The hash of a piece of OUT, `size` bytes from `start`; None if OUT ends earlier."""

    @abstractmethod
    def check_rest(self) -> None:
        """Raise `UserError` if OUT contains data that this command did not write."""

    @abstractmethod
    def encode(self, answers: Sequence[Record]) -> bytes:
        """Encode answers as bytes."""

    @abstractmethod
    def append(self, data: bytes) -> None:
        """Append encoded answers to OUT."""

    @abstractmethod
    def sync(self) -> None:
        """Sync OUT to disk."""

    def _check(self) -> list[Piece]:
        """The recorded pieces that OUT contains; raises `UserError` for any other content."""
        self.state.check(self.settings)
        self.check_rest()
        kept: list[Piece] = []
        start, first = 0, 1
        for piece in self.state.pieces:
            digest = self.hash_piece(len(kept), start, piece.bytes)
            if digest is None:  # OUT was truncated here
                break
            if digest != piece.output:
                raise UserError(
                    f"{self.path}: the answers to {_documents(first, piece)} are damaged or were "
                    f"changed: delete {self.path} to start again"
                )
            kept.append(piece)
            start, first = start + piece.bytes, first + piece.documents
        return kept

    def _new_piece(self) -> None:
        self.documents, self.bytes, self.since = 0, 0, 0.0
        self.input, self.output = hashlib.sha256(), hashlib.sha256()

    def _flush(self) -> None:
        """Write the buffered answers. A failed write is not retried: it may be partial."""
        with self._writing():
            data = self.encode([answer for _, answer in self.buffered])
            self.append(data)
            self.output.update(data)
            self.bytes += len(data)
            self.documents += len(self.buffered)
            for document, _ in self.buffered:
                self.input.update(to_json_line(document).encode())
            self.buffered = []

    def _end_piece(self) -> None:
        if self.buffered:
            self._flush()
        if not self.documents:
            return
        with self._writing():
            self.sync()
            self.state.add(
                Piece(self.documents, self.bytes, self.output.hexdigest(), self.input.hexdigest())
            )
            self._new_piece()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self.write_failed = True
        try:
            yield
        except OSError as error:
            # The error of a failed write does not name the file.
            raise OSError(error.errno, error.strerror, error.filename or str(self.path)) from None
        self.write_failed = False


def hash_bytes(file: IO[bytes], size: int) -> str | None:
    """The SHA-256 of the next `size` bytes of a file; None if there are fewer."""
    digest = hashlib.sha256()
    while size and (block := file.read(min(size, HASH_BLOCK_BYTES))):
        digest.update(block)
        size -= len(block)
    return None if size else digest.hexdigest()


def _hash_documents(documents: Iterator[Record]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        digest.update(to_json_line(document).encode())
    return digest.hexdigest()


def _documents(first: int, piece: Piece) -> str:
    return f"documents {first:,} to {first + piece.documents - 1:,}"
