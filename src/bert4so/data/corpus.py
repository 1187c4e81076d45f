"""A corpus: a folder that holds the documents of each split."""

import os
from pathlib import Path

from bert4so.data.bad import OnBad, stop
from bert4so.data.jsonl import read_documents
from bert4so.document import Document
from bert4so.errors import UserError


def find_corpus(name: str) -> Path:
    """The folder of a corpus: itself a folder, or a name under $BERT4SO_DATA or ./data."""
    shelves = [
        Path(),
        *([Path(os.environ["BERT4SO_DATA"])] if "BERT4SO_DATA" in os.environ else []),
    ]
    places = [shelf / name for shelf in [*shelves, Path("data")]]
    for place in places:
        if place.is_dir():
            return place
    raise UserError(
        f'corpus "{name}": no folder of that name here, in ./data or in $BERT4SO_DATA '
        f"({os.environ.get('BERT4SO_DATA', 'not set')})"
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
