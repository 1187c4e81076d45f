"""Answers on disk that grow by pieces, so that work that was stopped can be resumed.

A piece is the answers to some documents that follow one another. Once it is on the disk, the state
file (`state.py`) records it. After a kill, what follows the last recorded piece is written again.
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
from bert4so.io.jsonl import Record, dumped
from bert4so.io.output_state import Piece, Settings, State

PIECE_DOCUMENTS = 1024

MAX_PIECE_SECONDS = 60.0
"""A piece is ended after this time, even if it has fewer documents."""

BLOCK_BYTES = 1 << 20


class Answers(ABC):
    """Answers that are added one by one. Call `start` first.

    done: number of documents that have an answer already.
    """

    def __init__(self, path: Path, settings: Settings, by_line: bool) -> None:
        """settings: all that the answers depend on, besides the documents.

        by_line: whether each answer is written at once, not together with its piece.
        """
        self.path = path
        self.by_line = by_line
        self.settings = settings
        self.waiting: list[tuple[Record, Record]] = []
        self.unfinished = False
        """Whether a write was begun and did not come to its end."""
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
        """Consume the documents that have answers, and make OUT ready for those to the others.

        Nothing is changed if they are not the documents that were answered.
        """
        first = 1
        for piece in self.kept:
            if _hash_documents(islice(documents, piece.documents)) != piece.input:
                raise UserError(
                    f"{source}: {_documents(first, piece)} differ from those that {self.path} has "
                    f"the answers to: restore them, or delete {self.path} to start again"
                )
            first += piece.documents
        with self._writing():
            if self.resuming:
                self.cut()
                self.state.resume(len(self.kept))
            else:
                self.state.begin(self.settings)
                self.create()
                sync_folder(self.path.parent)
        self.started = True

    def add(self, document: Record, answer: Record) -> None:
        """Write the answer to a document, now or with those that follow it."""
        assert self.started, "start() comes first"
        if not self.documents and not self.waiting:
            self.since = time.monotonic()
        self.waiting.append((document, answer))
        if self.by_line:
            self._flush()
        full = self.documents + len(self.waiting) >= PIECE_DOCUMENTS
        if full or time.monotonic() - self.since > MAX_PIECE_SECONDS:
            self._end_piece()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Whatever ended the work: the answers that were found are kept.
        try:
            if self.started and not self.unfinished:
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
    def cut(self) -> None:
        """Remove all that follows the pieces kept."""

    @abstractmethod
    def hash_piece(self, number: int, start: int, size: int) -> str | None:
        """The hash of a piece in OUT, of so many bytes after `start`; None if OUT ends earlier."""

    @abstractmethod
    def check_rest(self) -> None:
        """Raise `UserError` if OUT holds anything that this command has not written."""

    @abstractmethod
    def pack(self, answers: Sequence[Record]) -> bytes:
        """The bytes of some answers."""

    @abstractmethod
    def append(self, data: bytes) -> None:
        """Write some bytes behind the others."""

    @abstractmethod
    def sync(self) -> None:
        """Make sure that all that was written is on the disk."""

    def _check(self) -> list[Piece]:
        """The pieces that OUT holds; raises if it holds anything else."""
        self.state.check(self.settings)
        self.check_rest()
        kept: list[Piece] = []
        start, first = 0, 1
        for piece in self.state.pieces:
            found = self.hash_piece(len(kept), start, piece.bytes)
            if found is None:  # OUT was cut here
                break
            if found != piece.output:
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
        """Write the answers that wait. If that fails, it is not tried again: half may be there."""
        with self._writing():
            data = self.pack([answer for _, answer in self.waiting])
            self.append(data)
            self.output.update(data)
            self.bytes += len(data)
            self.documents += len(self.waiting)
            for document, _ in self.waiting:
                self.input.update(dumped(document).encode())
            self.waiting = []

    def _end_piece(self) -> None:
        if self.waiting:
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
        self.unfinished = True
        try:
            yield
        except OSError as error:
            # A write that fails does not say of which file.
            raise OSError(error.errno, error.strerror, error.filename or str(self.path)) from None
        self.unfinished = False


def hash_bytes(file: IO[bytes], size: int) -> str | None:
    """The hash of the next bytes of a file; None if there are fewer."""
    digest = hashlib.sha256()
    while size and (block := file.read(min(size, BLOCK_BYTES))):
        digest.update(block)
        size -= len(block)
    return None if size else digest.hexdigest()


def _hash_documents(documents: Iterator[Record]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        digest.update(dumped(document).encode())
    return digest.hexdigest()


def _documents(first: int, piece: Piece) -> str:
    return f"documents {first:,} to {first + piece.documents - 1:,}"
