"""The interface of readers: their arguments and the documents that they yield."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bert4so.io.files import Files
from bert4so.io.on_error import OnBad

SPLITS = {
    "train": "train", "training": "train",
    "valid": "valid", "val": "valid", "validation": "valid", "dev": "valid",
    "test": "test", "testing": "test",
}  # fmt: skip
"""Names of splits in sources, and the corresponding names here."""


@dataclass(frozen=True)
class RawDocument:
    """A document as read from a source.

    where:     location for error messages: the file and, if it has lines, the line.
    id:        id in the source, not necessarily unique.
    sentences: sentences in the true order; empty if the document is running text.
    text:      running text, to be split into sentences.
    split:     train, valid or test; None if the source has no splits.
    """

    where: str
    id: str
    sentences: tuple[str, ...] = ()
    text: str = ""
    split: str | None = None


@dataclass(frozen=True)
class Columns:
    """Columns (or keys) of a table; if empty, the reader's defaults apply.

    sentences: one column of lists, or one column per sentence, in order.
    text:      column of running text.
    id:        column of ids.
    """

    sentences: tuple[str, ...] = ()
    text: str = ""
    id: str = ""


def split_of(path: Path) -> str | None:
    """The split at the start of a file name, as in train.jsonl.gz or val-00000-of-00001.parquet."""
    return SPLITS.get(re.split(r"[-._]", path.name.lower())[0])


Reader = Callable[[Files, Columns, OnBad], Iterator[RawDocument]]
"""Yields the documents of some files; errors of invalid records go to the last argument."""
