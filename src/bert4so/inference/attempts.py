"""Order many documents with one backend: read ahead, batch, and return results in input order."""

import time
from collections.abc import Iterable, Iterator, Sequence

from bert4so.document import Ordering, Puzzle, as_sentences
from bert4so.errors import UserError
from bert4so.inference.backend import Backend, check_length

MAX_WAIT_SECONDS = 1.0
"""Order the documents read so far if reading the next ones takes longer."""

Attempt = Ordering | UserError
"""The ordering of a document, or the error that explains why there is none."""


def attempts(backend: Backend, documents: Iterable[object], buffer: int) -> Iterator[Attempt]:
    """Order documents; yield the ordering or the error of each, in input order.

    Reads ahead up to `buffer` sentences, or for `MAX_WAIT_SECONDS`, and orders these together.
    Raises errors of the model, and of the source of the documents.
    """
    for puzzles in _buffers(documents, buffer):
        yield from _ordered(backend, puzzles)


def _ordered(backend: Backend, buffered: Sequence[Puzzle | UserError]) -> Iterator[Attempt]:
    puzzles = [puzzle for puzzle in buffered if isinstance(puzzle, Puzzle)]
    try:
        orderings = iter(backend.order(puzzles) if puzzles else [])
    except UserError:
        # Only after a failure: checking a document can take as long as ordering it.
        checked = [_checked(backend, puzzle) for puzzle in buffered]
        if checked == list(buffered):  # no document is bad: it is an error of the model
            raise
        yield from _ordered(backend, checked)
    else:
        yield from (next(orderings) if isinstance(one, Puzzle) else one for one in buffered)


def _checked(backend: Backend, puzzle: Puzzle | UserError) -> Puzzle | UserError:
    """The puzzle, or the error if the backend cannot order it."""
    if isinstance(puzzle, Puzzle):
        try:
            backend.check(puzzle)
        except UserError as error:
            return error
    return puzzle


def _buffers(documents: Iterable[object], buffer: int) -> Iterator[list[Puzzle | UserError]]:
    """Group the puzzles of consecutive documents until they have `buffer` sentences."""
    waiting: list[Puzzle | UserError] = []
    sentences, started = 0, 0.0
    try:
        for document in documents:
            started = started if waiting else time.monotonic()
            waiting.append(puzzle := _puzzle(document))
            sentences += len(puzzle.sentences) if isinstance(puzzle, Puzzle) else 1
            if sentences >= buffer or time.monotonic() - started > MAX_WAIT_SECONDS:
                yield waiting
                waiting, sentences = [], 0
    except Exception:
        # Reading failed: order the documents read before, then raise.
        if waiting:
            yield waiting
        raise
    if waiting:
        yield waiting


def _puzzle(document: object) -> Puzzle | UserError:
    """The document as a puzzle; one that is a puzzle has been validated before."""
    try:
        puzzle = (
            document if isinstance(document, Puzzle) else Puzzle.unchecked(as_sentences(document))
        )
        check_length(puzzle)
    except UserError as error:
        return error
    return puzzle
