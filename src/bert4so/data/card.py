"""The data card `corpus.json`: the source of a corpus, its size, and the seed of its shuffles."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_origin

from bert4so.errors import UserError, quote, shorten
from bert4so.io.atomic import write_atomic

CARD_FILE = "corpus.json"
CARD_VERSION = 1
MAX_CARD_BYTES = 1 << 20


@dataclass(frozen=True)
class SplitCard:
    """Size of a split, and the SHA-256 of its decompressed file."""

    documents: int
    sentences: int
    sha256: str


@dataclass(frozen=True)
class Card:
    """The data card of a corpus.

    name:     format of the source, one of those that `bert4so data list` shows.
    source:   the file or folder that the corpus was made from.
    seed:     seed of our division into splits, if any, and of the validation and test shuffles.
    divided:  whether the division into splits is that of the source or ours.
    repaired: number of documents with a duplicate id, which was changed.
    skipped:  number of invalid documents that were skipped.
    parts:    size and hash by split.
    """

    name: str
    source: str
    seed: int
    divided: str
    repaired: int
    skipped: int
    parts: dict[str, SplitCard]


def write_card(folder: Path, card: Card) -> None:
    """Write the card to the folder of its corpus."""
    facts = {"form": CARD_VERSION, **asdict(card)}
    write_atomic(folder / CARD_FILE, (json.dumps(facts, indent=1) + "\n").encode())


def read_card(folder: Path) -> Card | None:
    """Read the card of a corpus; None if it has none."""
    path = folder / CARD_FILE
    if not path.is_file():
        return None
    if path.stat().st_size > MAX_CARD_BYTES:
        raise UserError(f"{path}: not a data card: larger than {MAX_CARD_BYTES:,} bytes")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.pop("form") != CARD_VERSION:
            raise UserError(
                f"{path}: unknown version of the data card: pip install --upgrade bert4so"
            )
        parts = {split: SplitCard(**part) for split, part in facts.pop("parts").items()}
        card = Card(**facts, parts=parts)
    except UserError:  # a ValueError, too
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: not a data card: {shorten(str(error))}") from None
    _check_types(card, path)
    for part in parts.values():
        _check_types(part, path)
    return card


def _check_types(part: Card | SplitCard, path: Path) -> None:
    """Raise `UserError` if a value does not have the type of its field."""
    types: dict[Any, str] = {int: "an integer", str: "a string", dict: "an object"}
    for field in fields(part):
        value = getattr(part, field.name)
        type_ = get_origin(field.type) or field.type
        if type(value) is not type_:
            raise UserError(f'{path}: "{field.name}" must be {types[type_]} (got {quote(value)})')
