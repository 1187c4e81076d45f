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
from bert4so.io.files import COMPRESSED_SUFFIXES
from bert4so.io.jsonl import read_documents
from bert4so.io.on_error import OnBad, OnError, handling, stop

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Corpus:
    """The documents of a corpus, by split; a split that it lacks is empty.

    Documents can be given in Python, too: `Corpus(test=[Document("a", ["One.", "Two."])])`.

    Attributes:
        train: Documents to train on.
        valid: Documents to choose the best epoch by.
        test: Documents to evaluate on, once, at the end.
        seed: Shuffles the validation and test documents, in the same way for every system. It is
            that of the data card `corpus.json`, if there is one.
        left_out: Number of training documents that were left out when corpora were joined.
        name: Where the documents come from: the folder of a corpus on disk.
    """

    train: Sequence[Document] = ()
    valid: Sequence[Document] = ()
    test: Sequence[Document] = ()
    seed: int = EVALUATION_SEED
    left_out: int = 0
    name: str = "in memory"


def load_corpus(path: str | Path, *, on_error: OnError = "raise") -> Corpus:
    """Load a corpus, so that its documents can be read, or trained or evaluated on.

    Args:
        path: A folder with `train.jsonl`, `valid.jsonl` or `test.jsonl` (or `.jsonl.gz`,
            `.jsonl.zst`), or the name of one in `./data` or `$BERT4SO_DATA`. Each line is a
            document in its true order: `{"id": "...", "sentences": ["...", "..."]}`.
        on_error: `"raise"` a `UserError` for the first invalid line, or `"skip"` invalid lines and
            report them on stderr.

    Raises:
        UserError: There is no such folder, it has no documents, or a line is invalid.

    >>> corpus = load_corpus("data/sample")
    >>> len(corpus.train), corpus.test[0].sentences
    """
    folder = find_corpus(str(path))
    if not any(split_path(folder, split) for split in SPLITS):
        raise UserError(f"{folder}: has no train.jsonl, valid.jsonl or test.jsonl")
    with handling(on_error) as on_bad:
        return read_splits(folder, on_bad, needed=())


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
    paths = [folder / f"{split}.jsonl{packed}" for packed in ("", *sorted(COMPRESSED_SUFFIXES))]
    return next((path for path in paths if path.is_file()), None)


def read_split(folder: Path, split: str, on_bad: OnBad = stop) -> list[Document]:
    """The documents of a split."""
    path = split_path(folder, split)
    if path is None:
        raise UserError(f"{folder}: no {split}.jsonl in it, and none in .gz or .zst")
    return read_documents(path, on_bad)


def read_splits(
    folder: Path, on_bad: OnBad = stop, needed: Sequence[str] = ("train", "valid")
) -> Corpus:
    """The documents of a corpus; a split that is not needed may be missing, and is then empty."""

    def read(split: str) -> list[Document]:
        there = split in needed or split_path(folder, split)
        return read_split(folder, split, on_bad) if there else []

    seed, name = shuffle_seed(folder), str(folder)
    return Corpus(read("train"), read("valid"), read("test"), seed, name=name)


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


def hashes(splits: Corpus) -> dict[str, str]:
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
