"""What a reader is given, and what it gives."""

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
"""What the parts of a corpus are called, and what they are called here."""


@dataclass(frozen=True)
class RawDocument:
    """A document as a reader finds it.

    where:     the file, and the line in it where it has lines: what an error names.
    id:        as the source has it; it need not be unique.
    sentences: in their true order; empty where there is
    text:      running text, which is yet to be split into sentences.
    split:     train, valid or test, where the source says so.
    """

    where: str
    id: str
    sentences: tuple[str, ...] = ()
    text: str = ""
    split: str | None = None


@dataclass(frozen=True)
class Columns:
    """Which columns (or keys) of a table hold what; where none is named, a reader has its own.

    sentences: one that holds lists, or one a sentence, in their order.
    text:      one that holds running text.
    id:        one that holds ids.
    """

    sentences: tuple[str, ...] = ()
    text: str = ""
    id: str = ""


def split_of(path: Path) -> str | None:
    """The split that a file's name begins with: train.jsonl.gz, val-00000-of-00001.parquet."""
    return SPLITS.get(re.split(r"[-._]", path.name.lower())[0])


Reader = Callable[[Files, Columns, OnBad], Iterator[RawDocument]]
"""Gives the documents of some files; what cannot be used it hands to the last argument."""
