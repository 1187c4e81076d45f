"""What in a corpus gives the answer away, or makes two corpora one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from tokenizers import Tokenizer

from bert4so.data.card import read_card
from bert4so.data.corpus import split_path
from bert4so.data.overlap import overlaps
from bert4so.data.stats import piece_lengths
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.io.files import open_binary
from bert4so.text.packing import kept_lengths

POSITIONS = 512
"""What BERT and its kin read at once."""

NUMBERED = re.compile(
    r"\s*[(\[]?\s*(\d{1,2}|[ivx]{1,4}|[a-h])\s*([)\]]|[.:](?=\s))\s*\S", re.IGNORECASE
)
ORDINAL = re.compile(
    r"\s*(first|second|third|fourth|fifth)(ly)?\b|\s*(last|final)ly\b|\s*(to begin with|next)\s*,",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Finding:
    """Something found in the documents of a split: in which of them."""

    what: str
    ids: list[str]


Place = tuple[str, str]
"""A corpus and a split of it."""


def changed(name: str, folder: Path) -> Iterator[Finding]:
    """Splits that are not what the data card says of them."""
    card = read_card(folder)
    for split, part in card.parts.items() if card else ():
        path = split_path(folder, split)
        if path is None or _hash(path) != part.sha256:
            yield Finding(f"{name}/{split}: not what the data card says", [split])


def findings(
    place: Place, documents: Sequence[Document], tokenizer: Tokenizer
) -> Iterator[Finding]:
    """What there is to know of one split."""
    where = "/".join(place)
    yield Finding(f"{where}: of one sentence", [d.id for d in documents if len(d.sentences) == 1])
    # A single sentence may begin with "First," by chance; two are a list.
    yield Finding(f'{where}: with numbered sentences ("1)")', _enumerated(documents, NUMBERED))
    yield Finding(f'{where}: with ordinal words ("First,")', _enumerated(documents, ORDINAL))
    cut, lost = [], []
    for document, lengths in zip(documents, piece_lengths(documents, tokenizer), strict=True):
        try:
            if kept_lengths(lengths, POSITIONS) != lengths:
                cut.append(document.id)
        except UserError:
            lost.append(document.id)
    yield Finding(f"{where}: with sentences cut to fit {POSITIONS} word pieces", cut)
    yield Finding(f"{where}: with too many sentences for that", lost)


def shared(places: Mapping[Place, Sequence[Document]]) -> Iterator[Finding]:
    """Documents that stand in two splits, or twice in one."""
    whole: dict[tuple[Place, Place], list[str]] = {}
    part: dict[tuple[Place, Place], list[str]] = {}
    for found in overlaps(places):
        kind = whole if found.same else part
        kind.setdefault((found.group, found.other), []).append(found.document.id)
    for pair in sorted(whole.keys() | part.keys()):
        (one, other) = ("/".join(place) for place in pair)
        where = "again in the same split" if one == other else f"also in {other}"
        for kind, how in ((whole, "whole"), (part, "two sentences or more")):
            if pair in kind:
                yield Finding(f"{one}: {where}, {how}", kind[pair])


def _enumerated(documents: Sequence[Document], mark: re.Pattern[str]) -> list[str]:
    """The documents of which two or more sentences begin so."""
    return [d.id for d in documents if sum(bool(mark.match(s)) for s in d.sentences) > 1]


def _hash(path: Path) -> str:
    """The SHA-256 of a file, unpacked."""
    with open_binary(path) as file:
        return file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
