"""Split running text into sentences with pysbd, on all cores: about 10 ms per document."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import islice
from multiprocessing import get_context
from typing import Any

from bert4so.data.readers.raw_document import RawDocument
from bert4so.errors import UserError
from bert4so.io.on_error import OnBad, stop

MAX_TEXT_CHARACTERS = 500_000
"""Limit for the running text of a document: the slowest takes one or two minutes to split."""

MAX_PIECE_CHARACTERS = 5_000
"""Limit for the text that is passed to pysbd at once."""

BUFFER_DOCUMENTS = 512
"""Number of documents that are read ahead and split in parallel."""


def split_running_text(
    documents: Iterable[RawDocument], jobs: int = 0, on_bad: OnBad = stop
) -> Iterator[RawDocument]:
    """Yield the documents in order, with running text split into sentences.

    jobs: number of processes; 0 is the number of cores.
    """
    remaining = _short_enough(documents, on_bad)
    pool: ProcessPoolExecutor | None = None
    try:
        while block := list(islice(remaining, BUFFER_DOCUMENTS)):
            texts = [document.text for document in block if document.text]
            if texts and pool is None:
                _segmenter()  # raises the error for a missing package in this process
                # Not fork: torch or a progress bar may have started threads.
                pool = ProcessPoolExecutor(jobs or os.cpu_count(), get_context("spawn"))
            split = pool.map(split_text, texts, chunksize=8) if pool else iter(())
            for document in block:
                yield _with(document, next(split)) if document.text else document
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def split_text(text: str) -> tuple[str, ...]:
    """Split English text into sentences.

    pysbd gets pieces of bounded length, as its time is quadratic for some texts. The last sentence
    of a piece may be incomplete, so the next piece starts with it.
    """
    rest, prefix, sentences = " ".join(text.split()), "", list[str]()
    while len(rest) > MAX_PIECE_CHARACTERS:
        # No piece starts with a space, which pysbd would drop.
        end = rest.rfind(" ", 1, MAX_PIECE_CHARACTERS) + 1 or MAX_PIECE_CHARACTERS - 1
        segments = _segmenter().segment(rest[:end])
        last = rest.rfind(segments[-1].strip(), 1, end) if len(segments) > 1 else -1
        if last < 0:  # no sentence ends in this piece
            prefix, rest = prefix + rest[:end], rest[end:]
            continue
        sentences += [prefix + segments[0], *segments[1:-1]]
        prefix, rest = "", rest[last:]
    segments = _segmenter().segment(rest)
    sentences += [prefix + segments[0], *segments[1:]] if segments else [prefix]
    return tuple(sentence.strip() for sentence in sentences if sentence.strip())


def _short_enough(documents: Iterable[RawDocument], on_bad: OnBad) -> Iterator[RawDocument]:
    for document in documents:
        if len(document.text) > MAX_TEXT_CHARACTERS:
            limit = f"{MAX_TEXT_CHARACTERS:,} characters"
            on_bad(UserError(f"{document.where}: running text longer than {limit}: divide it"))
        else:
            yield document


def _with(document: RawDocument, sentences: tuple[str, ...]) -> RawDocument:
    return replace(document, sentences=sentences)


@cache
def _segmenter() -> Any:
    try:
        import pysbd
    except ModuleNotFoundError:
        raise UserError(
            "splitting running text into sentences needs pysbd: pip install 'bert4so[data]'"
        ) from None
    return pysbd.Segmenter(language="en", clean=False)
