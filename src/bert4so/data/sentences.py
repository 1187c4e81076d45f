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
from bert4so.io.on_error import OnBad, stop

MAX_TEXT_CHARACTERS = 500_000
"""Of a document's running text: the slowest takes a minute or two to split."""

MAX_PIECE_CHARACTERS = 5_000
"""Of the text that pysbd is given at once."""

BUFFER = 512
"""Documents that are read ahead, to be split at once."""


def with_sentences(
    found: Iterable[RawDocument], jobs: int = 0, on_bad: OnBad = stop
) -> Iterator[RawDocument]:
    """The documents in their order, running text split; on as many cores as there are."""
    waiting = _short_enough(found, on_bad)
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
    """The sentences of some English text.

    pysbd is given a bounded piece at a time: it takes four times as long for some texts twice as
    long. The last sentence of a piece may not end in it, so that the next piece begins with it.
    """
    rest, begun, sentences = " ".join(text.split()), "", list[str]()
    while len(rest) > MAX_PIECE_CHARACTERS:
        # No piece begins with a space, which pysbd would drop.
        end = rest.rfind(" ", 1, MAX_PIECE_CHARACTERS) + 1 or MAX_PIECE_CHARACTERS - 1
        found = _segmenter().segment(rest[:end])
        last = rest.rfind(found[-1].strip(), 1, end) if len(found) > 1 else -1
        if last < 0:  # no sentence ends in this piece
            begun, rest = begun + rest[:end], rest[end:]
            continue
        sentences += [begun + found[0], *found[1:-1]]
        begun, rest = "", rest[last:]
    found = _segmenter().segment(rest)
    sentences += [begun + found[0], *found[1:]] if found else [begun]
    return tuple(sentence.strip() for sentence in sentences if sentence.strip())


def _short_enough(found: Iterable[RawDocument], on_bad: OnBad) -> Iterator[RawDocument]:
    for one in found:
        if len(one.text) > MAX_TEXT_CHARACTERS:
            limit = f"{MAX_TEXT_CHARACTERS:,} characters"
            on_bad(UserError(f"{one.where}: running text of more than {limit}: divide it"))
        else:
            yield one


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
