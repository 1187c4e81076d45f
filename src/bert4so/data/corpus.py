"""A corpus: a folder that holds the documents of each split."""

import os
from dataclasses import dataclass
from pathlib import Path

from bert4so.data.bad import OnBad, stop
from bert4so.data.jsonl import read_documents
from bert4so.document import Document
from bert4so.errors import UserError


@dataclass(frozen=True)
class Splits:
    """Documents to learn from, to choose by, and to measure on once, at the end.

    A corpus without test documents has an empty `test`.
    """

    train: list[Document]
    valid: list[Document]
    test: list[Document]


def shelves() -> list[Path]:
    """The folders in which corpora stand by their names."""
    given = os.environ.get("BERT4SO_DATA")
    return [*([Path(given)] if given else []), Path("data")]


def find_corpus(name: str) -> Path:
    """The folder of a corpus: itself a folder, or a name under $BERT4SO_DATA or ./data."""
    for place in (shelf / name for shelf in [Path(), *shelves()]):
        if place.is_dir():
            return place
    raise UserError(
        f'corpus "{name}": no folder of that name here, in ./data or in $BERT4SO_DATA '
        f"({os.environ.get('BERT4SO_DATA') or 'not set'})"
    )


def split_path(folder: Path, split: str) -> Path | None:
    """The file of a split, {split}.jsonl or {split}.jsonl.gz, where there is one."""
    paths = [folder / f"{split}.jsonl{packed}" for packed in ("", ".gz")]
    return next((path for path in paths if path.is_file()), None)


def read_split(folder: Path, split: str, on_bad: OnBad = stop) -> list[Document]:
    """The documents of a split."""
    path = split_path(folder, split)
    if path is None:
        raise UserError(f"{folder}: no {split}.jsonl or {split}.jsonl.gz in it")
    return read_documents(path, on_bad)


def read_splits(folder: Path, on_bad: OnBad = stop) -> Splits:
    """The documents of a corpus."""
    return Splits(
        train=read_split(folder, "train", on_bad),
        valid=read_split(folder, "valid", on_bad),
        test=read_split(folder, "test", on_bad) if split_path(folder, "test") else [],
    )
