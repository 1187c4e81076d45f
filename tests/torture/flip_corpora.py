"""One bit of a corpus or of its data card is flipped; then `data check`."""

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import zstandard

from torture.answers import unpacked
from torture.commands import fault, in_process
from torture.trial import HELD, REFUSED, Kind, Outcome, Trial, failed
from torture.workspace import copied, flip_bit

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
CHANGED = "does not match the data card"
"""How `data check` reports a split that changed."""


def flip_corpora(trial: Trial) -> Iterable[Outcome]:
    folder = copied(trial.workspace.corpus, trial.folder / "corpus")
    suffix = list(PACKERS)[trial.number % len(PACKERS)]
    splits = [_pack(path, suffix) for path in sorted(folder.glob("*.jsonl"))]
    is_card = trial.rng.random() < 0.3
    path = folder / "corpus.json" if is_card else trial.rng.choice(splits)
    before = path.read_bytes()
    what = f"byte {flip_bit(path, trial.rng)} of {path.name}"
    result = in_process("data", "check", folder)
    if wrong := fault(result):
        yield failed(f"{what}: {wrong}")
    elif result.code or CHANGED in result.out:
        yield REFUSED
    elif is_card:
        wrong = _card_difference(before, path.read_bytes())
        yield failed(f"{what}: {wrong} goes unnoticed") if wrong else HELD
    else:
        same = unpacked(path.read_bytes(), suffix) == unpacked(before, suffix)
        yield HELD if same else failed(f"{what}: it goes unnoticed")


def _pack(path: Path, suffix: str) -> Path:
    packed = path.with_name(path.name + suffix)
    content = PACKERS[suffix](path.read_bytes())
    path.unlink()
    packed.write_bytes(content)
    return packed


def _card_difference(before: bytes, after: bytes) -> str:
    """What in two cards is of consequence, and not the same.

    A name, or a count that is only shown, may be changed by hand.
    """
    one, other = json.loads(before), json.loads(after)
    hashes = [{s: part["sha256"] for s, part in card["parts"].items()} for card in (one, other)]
    if hashes[0] != hashes[1]:
        return "another hash of a split"
    return "another seed" if one["seed"] != other["seed"] else ""


KIND = Kind(
    name="flip-corpora",
    what="a flipped bit in a corpus (plain, .gz, .zst) or its data card",
    trials=70,
    sample=6,
    run=flip_corpora,
)
