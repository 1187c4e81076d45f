"""A corpus in the form that everything here reads, out of whatever form it was handed out in."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import IO

from bert4so.common.stable_hash import stable_hash
from bert4so.data.card import Card, Part, write_card
from bert4so.data.readers.raw_document import RawDocument
from bert4so.document import check_sentences
from bert4so.errors import UserError
from bert4so.io.atomic import atomic_file
from bert4so.io.jsonl import to_json_line
from bert4so.io.on_error import OnBad, Skipping

SHARE = 10
"""One in so many documents goes to validation, and as many to the test."""


def prepare(
    found: Iterable[RawDocument], out: Path, name: str, source: str, seed: int, on_bad: OnBad
) -> Card:
    """Write {train,valid,test}.jsonl and the data card; all of them are there when all is done.

    What the source does not divide is divided 8:1:1 by a hash of the seed and the id. The documents
    wait in a file until all ids are known, so memory holds only those.
    """
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise UserError(f"{out}: not empty: name another folder with --out")
    waiting = out / "documents.partial"
    try:
        with waiting.open("w+b") as file:
            ids = _Ids()
            splits, undivided = dict[str, str](), list[str]()
            for one in _usable(found, on_bad):
                taken = ids.take(one.id)
                if one.split is None:
                    undivided.append(taken)
                else:
                    splits[taken] = one.split
                record = {"id": taken, "sentences": one.sentences}
                file.write(to_json_line(record).encode())
            if not ids.taken:
                raise UserError(f"{source}: no documents in it")
            splits |= divide(undivided, seed)
            file.seek(0)
            parts = _write(file, splits, out)
    finally:
        waiting.unlink(missing_ok=True)
        for partial in out.glob("*.partial"):
            partial.unlink()
    divided = "by hash, 8:1:1" if undivided else "as in the source"
    skipped = on_bad.count if isinstance(on_bad, Skipping) else 0
    card = Card(name, source, seed, divided, ids.repaired, skipped, parts)
    write_card(out, card)
    return card


def divide(ids: Iterable[str], seed: int) -> dict[str, str]:
    """Train, valid or test for each id: in the order of a hash, a tenth each for the last two."""
    drawn = sorted(ids, key=lambda name: stable_hash("split", seed, name))
    tenth = len(drawn) // SHARE
    return {
        name: "test" if k < tenth else "valid" if k < 2 * tenth else "train"
        for k, name in enumerate(drawn)
    }


class _Ids:
    """Ids given out once each: one that is taken gets a number behind it."""

    def __init__(self) -> None:
        self.taken = set[str]()
        self.seen = Counter[str]()
        self.repaired = 0

    def take(self, wanted: str) -> str:
        name = wanted
        self.repaired += name in self.taken
        while name in self.taken:
            self.seen[wanted] += 1
            name = f"{wanted}#{self.seen[wanted] + 1}"
        self.taken.add(name)
        return name


def _usable(found: Iterable[RawDocument], on_bad: OnBad) -> Iterator[RawDocument]:
    for one in found:
        try:
            check_sentences(one.sentences)
        except UserError as error:
            on_bad(UserError(f"{one.where}: {error}"))
        else:
            yield one


def _write(lines: IO[bytes], splits: dict[str, str], out: Path) -> dict[str, Part]:
    """Each line to the file of its split; the files get their names together, at the end."""
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
    return {s: Part(documents[s], sentences[s], hashes[s].hexdigest()) for s in names}
