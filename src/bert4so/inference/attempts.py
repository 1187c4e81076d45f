"""Many documents through a backend: read ahead, batched, and answered in the order given."""

import time
from collections.abc import Iterable, Iterator, Sequence

from bert4so.document import Ordering, Puzzle, as_sentences
from bert4so.errors import UserError
from bert4so.inference.backend import Backend, check_length

PATIENCE = 1.0
"""Seconds after which what has been read is answered, though there could be more of it."""

Attempt = Ordering | UserError
"""The ordering of a document, or why it has none."""


def attempts(backend: Backend, documents: Iterable[object], buffer: int) -> Iterator[Attempt]:
    """What becomes of each document, in the order given.

    Documents are read ahead up to `buffer` sentences, or for `PATIENCE`, and ordered together.
    An error of the model, or of the source of the documents, is raised.
    """
    for some in _buffers(documents, buffer):
        yield from _ordered(backend, some)


def _ordered(backend: Backend, some: Sequence[Puzzle | UserError]) -> Iterator[Attempt]:
    puzzles = [puzzle for puzzle in some if isinstance(puzzle, Puzzle)]
    try:
        answers = iter(backend.order(puzzles) if puzzles else [])
    except UserError:
        # Only now: to check a document can take as long as to order it.
        checked = [_checked(backend, puzzle) for puzzle in some]
        if checked == list(some):  # it is not the documents'
            raise
        yield from _ordered(backend, checked)
    else:
        yield from (next(answers) if isinstance(one, Puzzle) else one for one in some)


def _checked(backend: Backend, puzzle: Puzzle | UserError) -> Puzzle | UserError:
    """The puzzle, or why the backend cannot order it."""
    if isinstance(puzzle, Puzzle):
        try:
            backend.check(puzzle)
        except UserError as error:
            return error
    return puzzle


def _buffers(documents: Iterable[object], buffer: int) -> Iterator[list[Puzzle | UserError]]:
    """The puzzles of some documents at a time: of so many sentences, or of one document."""
    waiting: list[Puzzle | UserError] = []
    sentences, began = 0, 0.0
    try:
        for document in documents:
            began = began if waiting else time.monotonic()
            waiting.append(puzzle := _puzzle(document))
            sentences += len(puzzle.sentences) if isinstance(puzzle, Puzzle) else 1
            if sentences >= buffer or time.monotonic() - began > PATIENCE:
                yield waiting
                waiting, sentences = [], 0
    except Exception:
        # Of the source: the documents before it are answered all the same.
        if waiting:
            yield waiting
        raise
    if waiting:
        yield waiting


def _puzzle(document: object) -> Puzzle | UserError:
    try:
        puzzle = Puzzle(as_sentences(document))
        check_length(puzzle)
    except UserError as error:
        return error
    return puzzle
