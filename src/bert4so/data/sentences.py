"""Running text to sentences, by pysbd, on all cores: it takes about ten milliseconds a document."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice
from multiprocessing import get_context
from typing import Any

from bert4so.data.readers.raw_document import RawDocument
from bert4so.errors import UserError

BUFFER = 512
"""Documents that are read ahead, to be split at once."""


def with_sentences(found: Iterable[RawDocument], jobs: int = 0) -> Iterator[RawDocument]:
    """The documents in their order, running text split; on as many cores as there are."""
    waiting = iter(found)
    pool: ProcessPoolExecutor | None = None
    try:
        while some := list(islice(waiting, BUFFER)):
            texts = [one.text for one in some if one.text]
            if texts and pool is None:
                _segmenter()  # says what is missing before others are asked
                # Not forked: torch or a progress bar may have threads here.
                pool = ProcessPoolExecutor(jobs or os.cpu_count(), get_context("spawn"))
            split = pool.map(split_text, texts, chunksize=8) if pool else iter(())
            for one in some:
                yield _with(one, next(split)) if one.text else one
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def split_text(text: str) -> tuple[str, ...]:
    """The sentences of some English text."""
    found = (sentence.strip() for sentence in _segmenter().segment(" ".join(text.split())))
    return tuple(sentence for sentence in found if sentence)


def _with(one: RawDocument, sentences: tuple[str, ...]) -> RawDocument:
    return RawDocument(one.where, one.id, sentences, one.text, one.split)


@cache
def _segmenter() -> Any:
    try:
        import pysbd
    except ModuleNotFoundError:
        raise UserError(
            "running text is split into sentences by pysbd: pip install 'bert4so[data]'"
        ) from None
    return pysbd.Segmenter(language="en", clean=False)
