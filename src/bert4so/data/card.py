"""The data card, `corpus.json`: where a corpus came from, what it holds, how it is shuffled."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bert4so.atomic import write_whole
from bert4so.errors import UserError

NAME = "corpus.json"
FORM = 1


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
    write_whole(folder / NAME, (json.dumps(facts, indent=1) + "\n").encode())


def read_card(folder: Path) -> Card | None:
    """The card of a corpus, where it has one."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.pop("form") != FORM:
            raise UserError(f"{path}: of another form: pip install --upgrade bert4so")
        parts = {split: Part(**part) for split, part in facts.pop("parts").items()}
        card = Card(**facts, parts=parts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: not a data card: {error}") from None
    if type(card.seed) is not int:
        raise UserError(f"{path}: seed = {card.seed!r}: wanted a whole number")
    return card
