"""A training run that takes seconds, writes a snapshot after every step, and can be disturbed."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from random import Random

from bert4so.document import Document
from bert4so.io.jsonl import write_records
from conftest import assignments, tiny_values
from forked import Forked
from tiny import WORDS, make_encoder

CORPUS_FILES = ("train.jsonl", "valid.jsonl", "test.jsonl", "tiny.toml")


class TinyTraining:
    """A folder with a corpus and a configuration, and the command that trains there."""

    DOCUMENTS = 40
    EPOCHS = 3
    STEPS = EPOCHS * DOCUMENTS // 4

    def __init__(self, place: Path, encoder: Path) -> None:
        self.place = place
        values = assignments(tiny_values(encoder))
        sets = [part for change in values for part in ("--set", change)]
        self.command = [
            *["train", "tiny.toml", *sets],
            *["--set", f"train.epochs={self.EPOCHS}", "--snapshot-minutes", "0", "--resume"],
        ]

    @classmethod
    def create(cls, place: Path) -> "TinyTraining":
        encoder = make_encoder("bert", place / "encoder")
        write_corpus(place, documents(cls.DOCUMENTS), documents(20))
        return cls(place, encoder)

    def start(self, out, place: Path | None = None, before: Callable = nullcontext) -> Forked:
        """place: another folder with the same corpus and configuration."""
        return Forked([*self.command, "--out", out], place or self.place, before)

    def finish(self, out, place: Path | None = None) -> None:
        process = self.start(out, place)
        _, said = process.communicate()
        assert process.returncode == 0, said

    def has_snapshot(self, out, steps: int) -> bool:
        return snapshots_reach(self.place / out, steps)


def documents(number: int) -> list[Document]:
    """Documents of two to four sentences of words that a tiny encoder knows."""
    rng = Random(number)
    return [
        Document(f"{k}", tuple(" ".join(rng.choices(WORDS, k=4)) for _ in range(2 + k % 3)))
        for k in range(number)
    ]


def write_corpus(folder: Path, train: list[Document], held_out: list[Document]) -> None:
    """Write a corpus, the same documents for validation and test, and the configuration."""
    for split, some in (("train", train), ("valid", held_out), ("test", held_out)):
        write_records(
            folder / f"{split}.jsonl", ({"id": d.id, "sentences": d.sentences} for d in some)
        )
    (folder / "tiny.toml").write_text('system = "bert4so"\ncorpus = "."\n')


def what_is_left(folder: Path) -> tuple[bytes, list[dict]]:
    """The weights and the history of a run, without its times."""
    events = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    for event in events:
        for clock in ("seconds", "spent"):
            event.pop(clock, None)
    return (folder / "model.safetensors").read_bytes(), events


def snapshots_reach(folder: Path, steps: int) -> bool:
    try:
        return any(int(path.stem) >= steps for path in folder.glob("snapshots/*.safetensors"))
    except FileNotFoundError:  # cleared in this moment: the run is finished
        return True
