"""Convert documents from any source format to a corpus with splits and a data card."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import IO

from bert4so.common.stable_hash import stable_hash
from bert4so.data.card import Card, SplitCard, write_card
from bert4so.data.readers.raw_document import RawDocument
from bert4so.document import check_sentences
from bert4so.errors import UserError
from bert4so.io.atomic import atomic_file
from bert4so.io.jsonl import to_json_line
from bert4so.io.on_error import OnBad, Skipping

HELD_OUT_DIVISOR = 10
"""One in this many documents goes to validation, and as many to test."""


def prepare(
    documents: Iterable[RawDocument], out: Path, name: str, source: str, seed: int, on_bad: OnBad
) -> Card:
    """Write {train,valid,test}.jsonl and the data card; the files appear together, at the end.

    Documents without a split are divided 8:1:1 by a hash of the seed and the id. Documents are kept
    in a temporary file until all ids are known, so that memory holds only the ids.
    """
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise UserError(f"{out}: not empty: choose another folder with --out")
    buffer = out / "documents.partial"
    try:
        with buffer.open("w+b") as file:
            ids = _Ids()
            splits, undivided = dict[str, str](), list[str]()
            for document in _valid(documents, on_bad):
                id_ = ids.make_unique(document.id)
                if document.split is None:
                    undivided.append(id_)
                else:
                    splits[id_] = document.split
                record = {"id": id_, "sentences": document.sentences}
                file.write(to_json_line(record).encode())
            if not ids.used:
                raise UserError(f"{source}: contains no documents")
            splits |= assign_splits(undivided, seed)
            file.seek(0)
            parts = _write(file, splits, out)
    finally:
        buffer.unlink(missing_ok=True)
        for partial in out.glob("*.partial"):
            partial.unlink()
    divided = "by hash, 8:1:1" if undivided else "as in the source"
    skipped = on_bad.count if isinstance(on_bad, Skipping) else 0
    card = Card(name, source, seed, divided, ids.repaired, skipped, parts)
    write_card(out, card)
    return card


def assign_splits(ids: Iterable[str], seed: int) -> dict[str, str]:
    """Assign each id to a split: in the order of a hash, a tenth each to test and validation."""
    shuffled = sorted(ids, key=lambda name: stable_hash("split", seed, name))
    tenth = len(shuffled) // HELD_OUT_DIVISOR
    return {
        name: "test" if k < tenth else "valid" if k < 2 * tenth else "train"
        for k, name in enumerate(shuffled)
    }


class _Ids:
    """Make ids unique: append a number to an id that is already used."""

    def __init__(self) -> None:
        self.used = set[str]()
        self.duplicates = Counter[str]()
        self.repaired = 0

    def make_unique(self, original: str) -> str:
        name = original
        self.repaired += name in self.used
        while name in self.used:
            self.duplicates[original] += 1
            name = f"{original}#{self.duplicates[original] + 1}"
        self.used.add(name)
        return name


def _valid(documents: Iterable[RawDocument], on_bad: OnBad) -> Iterator[RawDocument]:
    for document in documents:
        try:
            check_sentences(document.sentences)
        except UserError as error:
            on_bad(UserError(f"{document.where}: {error}"))
        else:
            yield document


def _write(lines: IO[bytes], splits: dict[str, str], out: Path) -> dict[str, SplitCard]:
    """Write each line to the file of its split; the files appear together, at the end."""
    names = [split for split in ("train", "valid", "test") if split in splits.values()]
    documents, sentences = Counter[str](), Counter[str]()
    hashes = {split: sha256() for split in names}
    with ExitStack() as stack:
        files = {s: stack.enter_context(atomic_file(out / f"{s}.jsonl")) for s in names}
        for line in lines:
            record = json.loads(line)
            split = splits[record["id"]]
            files[split].write(line)
            hashes[split].update(line)
            documents[split] += 1
            sentences[split] += len(record["sentences"])
    return {s: SplitCard(documents[s], sentences[s], hashes[s].hexdigest()) for s in names}
