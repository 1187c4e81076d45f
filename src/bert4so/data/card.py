"""The data card, `corpus.json`: where a corpus came from, what it holds, how it is shuffled."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_origin

from bert4so.errors import UserError, quote, shorten
from bert4so.io.atomic import write_atomic

NAME = "corpus.json"
FORM = 1
MAX_CARD_BYTES = 1 << 20


@dataclass(frozen=True)
class Part:
    """One split: how many documents and sentences, and the SHA-256 of its lines, unpacked."""

    documents: int
    sentences: int
    sha256: str


@dataclass(frozen=True)
class Card:
    """What is known of a corpus.

    name:     what it was prepared as: `bert4so data list` has the names.
    source:   the file or folder it was made of.
    seed:     of the split where it is ours, and of every validation and test shuffle.
    divided:  whether the split is the source's own, or ours.
    repaired: documents whose id was taken, and was changed.
    skipped:  documents that could not be used, and were left out.
    parts:    by split.
    """

    name: str
    source: str
    seed: int
    divided: str
    repaired: int
    skipped: int
    parts: dict[str, Part]


def write_card(folder: Path, card: Card) -> None:
    """Write a card beside its corpus."""
    facts = {"form": FORM, **asdict(card)}
    write_atomic(folder / NAME, (json.dumps(facts, indent=1) + "\n").encode())


def read_card(folder: Path) -> Card | None:
    """The card of a corpus, where it has one."""
    path = folder / NAME
    if not path.is_file():
        return None
    if path.stat().st_size > MAX_CARD_BYTES:
        raise UserError(f"{path}: not a data card: larger than {MAX_CARD_BYTES:,} bytes")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.pop("form") != FORM:
            raise UserError(f"{path}: of another form: pip install --upgrade bert4so")
        parts = {split: Part(**part) for split, part in facts.pop("parts").items()}
        card = Card(**facts, parts=parts)
    except UserError:  # it is a ValueError, too
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: not a data card: {shorten(str(error))}") from None
    _check_types(card, path)
    for part in parts.values():
        _check_types(part, path)
    return card


def _check_types(part: Card | Part, path: Path) -> None:
    """Refuse a value of another type than its field has."""
    types: dict[Any, str] = {int: "an integer", str: "a string", dict: "an object"}
    for field in fields(part):
        value = getattr(part, field.name)
        wanted = get_origin(field.type) or field.type
        if type(value) is not wanted:
            raise UserError(f'{path}: "{field.name}" must be {types[wanted]} (got {quote(value)})')
