"""A corpus: a folder that holds the documents of each split."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bert4so.common.stable_hash import stable_hash
from bert4so.data.card import read_card
from bert4so.data.shuffle import EVALUATION_SEED
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.io.files import PACKED
from bert4so.io.jsonl import read_documents
from bert4so.io.on_error import OnBad, stop

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Splits:
    """Documents to learn from, to choose by, and to measure on once, at the end.

    A corpus without test documents has an empty `test`. The seed is that of its data card: by it
    every system is shown the same validation and test documents, shuffled the same way.
    `left_out` says how many training documents were, when corpora were joined.
    """

    train: list[Document]
    valid: list[Document]
    test: list[Document]
    seed: int = EVALUATION_SEED
    left_out: int = 0


def corpus_roots() -> list[Path]:
    """The folders in which corpora stand by their names."""
    given = os.environ.get("BERT4SO_DATA")
    return [*([Path(given)] if given else []), Path("data")]


def corpora(shelf: Path) -> list[Path]:
    """The corpora that stand on a shelf."""
    if not shelf.is_dir():
        return []
    return sorted(folder for folder in shelf.iterdir() if any(folder.glob("*.jsonl*")))


def find_corpus(name: str) -> Path:
    """The folder of a corpus: itself a folder, or a name under $BERT4SO_DATA or ./data."""
    for place in (shelf / name for shelf in [Path(), *corpus_roots()]):
        if place.is_dir():
            return place
    raise UserError(
        f'corpus "{name}": no folder of that name here, in ./data or in $BERT4SO_DATA '
        f"({os.environ.get('BERT4SO_DATA') or 'not set'})"
    )


def split_path(folder: Path, split: str) -> Path | None:
    """The file of a split, {split}.jsonl, packed or not, where there is one."""
    paths = [folder / f"{split}.jsonl{packed}" for packed in ("", *sorted(PACKED))]
    return next((path for path in paths if path.is_file()), None)


def read_split(folder: Path, split: str, on_bad: OnBad = stop) -> list[Document]:
    """The documents of a split."""
    path = split_path(folder, split)
    if path is None:
        raise UserError(f"{folder}: no {split}.jsonl in it, and none in .gz or .zst")
    return read_documents(path, on_bad)


def read_splits(
    folder: Path, on_bad: OnBad = stop, needed: Sequence[str] = ("train", "valid")
) -> Splits:
    """The documents of a corpus; a split that is not needed may be missing, and is then empty."""

    def read(split: str) -> list[Document]:
        there = split in needed or split_path(folder, split)
        return read_split(folder, split, on_bad) if there else []

    return Splits(read("train"), read("valid"), read("test"), shuffle_seed(folder))


def splits_there(folder: Path) -> dict[str, list[Document]]:
    """The documents of a corpus, by split, of the splits that it has."""
    splits = {s: read_split(folder, s) for s in SPLITS if split_path(folder, s)}
    if not splits:
        raise UserError(f"{folder}: no train.jsonl, valid.jsonl or test.jsonl in it")
    return splits


def shuffle_seed(folder: Path) -> int:
    """By which the validation and test documents of a corpus are shuffled."""
    card = read_card(folder)
    return card.seed if card else EVALUATION_SEED


def hashes(splits: Splits) -> dict[str, str]:
    """A SHA-256 per split of its ids and sentences, and the seed of the shuffles."""
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    return {**{name: _hash(some) for name, some in parts.items()}, "seed": str(splits.seed)}


def _hash(documents: Sequence[Document]) -> str:
    digest = sha256()
    for document in documents:
        # As JSON, which ends an id or a sentence unambiguously, and has half surrogate pairs.
        digest.update(json.dumps([document.id, document.sentences]).encode())
    return digest.hexdigest()


def sampled(documents: Sequence[Document], most: int) -> list[Document]:
    """At most so many of the documents, drawn by their ids and places; 0: all of them.

    A smaller sample is part of every larger one.
    """
    if not most:
        return list(documents)
    drawn = sorted(range(len(documents)), key=lambda i: stable_hash("sample", documents[i].id, i))
    return [documents[i] for i in sorted(drawn[:most])]
