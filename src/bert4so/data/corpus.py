"""Load a corpus: a folder with a file of documents per split."""

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
    """The documents of a corpus by split; a missing split is empty.

    A corpus can also be created in Python: `Corpus(test=[Document("a", ["One.", "Two."])])`.

    Attributes:
        train: Documents to train on.
        valid: Documents to select the best epoch on.
        test: Documents to evaluate on, once, at the end.
        seed: Seed of the shuffles of validation and test documents, the same for every system. It
            is read from the data card `corpus.json`, if there is one.
        left_out: Number of training documents that were left out when corpora were joined.
        name: Source of the documents: the folder, for a corpus on disk.
    """

    train: Sequence[Document] = ()
    valid: Sequence[Document] = ()
    test: Sequence[Document] = ()
    seed: int = EVALUATION_SEED
    left_out: int = 0
    name: str = "in memory"


def load_corpus(path: str | Path, *, on_error: OnError = "raise") -> Corpus:
    """Load a corpus to train or evaluate on.

    Args:
        path: A folder with `train.jsonl`, `valid.jsonl` or `test.jsonl` (or `.jsonl.gz`,
            `.jsonl.zst`), or the name of such a folder in `./data` or `$BERT4SO_DATA`. Each
            line is a document in its true order: `{"id": "...", "sentences": ["...", "..."]}`.
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
    """The folders that are searched for corpora by name."""
    given = os.environ.get("BERT4SO_DATA")
    return [*([Path(given)] if given else []), Path("data")]


def list_corpora(root: Path) -> list[Path]:
    """The corpora in a folder."""
    if not root.is_dir():
        return []
    return sorted(folder for folder in root.iterdir() if any(folder.glob("*.jsonl*")))


def find_corpus(name: str) -> Path:
    """The folder of a corpus: a path, or a name in $BERT4SO_DATA or ./data."""
    for folder in (root / name for root in [Path(), *corpus_roots()]):
        if folder.is_dir():
            return folder
    raise UserError(
        f'corpus "{name}" not found: no such folder here, in ./data or in $BERT4SO_DATA '
        f"({os.environ.get('BERT4SO_DATA') or 'not set'})"
    )


def split_path(folder: Path, split: str) -> Path | None:
    """The file of a split, plain or compressed; None if it does not exist."""
    paths = [folder / f"{split}.jsonl{suffix}" for suffix in ("", *sorted(COMPRESSED_SUFFIXES))]
    return next((path for path in paths if path.is_file()), None)


def read_split(folder: Path, split: str, on_bad: OnBad = stop) -> list[Document]:
    """Read the documents of a split."""
    path = split_path(folder, split)
    if path is None:
        raise UserError(f"{folder}: has no {split}.jsonl, {split}.jsonl.gz or {split}.jsonl.zst")
    return read_documents(path, on_bad)


def read_splits(
    folder: Path, on_bad: OnBad = stop, needed: Sequence[str] = ("train", "valid")
) -> Corpus:
    """Read a corpus; a split that is missing and not needed is empty."""

    def read(split: str) -> list[Document]:
        must_read = split in needed or split_path(folder, split)
        return read_split(folder, split, on_bad) if must_read else []

    seed, name = shuffle_seed(folder), str(folder)
    return Corpus(read("train"), read("valid"), read("test"), seed, name=name)


def read_existing_splits(folder: Path) -> dict[str, list[Document]]:
    """Read the splits that a corpus has, at least one."""
    splits = {s: read_split(folder, s) for s in SPLITS if split_path(folder, s)}
    if not splits:
        raise UserError(f"{folder}: has no train.jsonl, valid.jsonl or test.jsonl")
    return splits


def shuffle_seed(folder: Path) -> int:
    """The seed that shuffles the validation and test documents of a corpus."""
    card = read_card(folder)
    return card.seed if card else EVALUATION_SEED


def hash_splits(corpus: Corpus) -> dict[str, str]:
    """The SHA-256 of the ids and sentences of each split, and the seed of the shuffles."""
    splits = {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}
    hashes = {split: _hash(documents) for split, documents in splits.items()}
    return {**hashes, "seed": str(corpus.seed)}


def _hash(documents: Sequence[Document]) -> str:
    digest = sha256()
    for document in documents:
        # JSON delimits ids and sentences unambiguously, and can represent lone surrogates.
        digest.update(json.dumps([document.id, document.sentences]).encode())
    return digest.hexdigest()


def sample_documents(documents: Sequence[Document], most: int) -> list[Document]:
    """Sample at most `most` documents by a hash of their ids and positions; 0 returns all.

    A smaller sample is a subset of every larger one.
    """
    if not most:
        return list(documents)
    ranked = sorted(range(len(documents)), key=lambda i: stable_hash("sample", documents[i].id, i))
    return [documents[i] for i in sorted(ranked[:most])]
