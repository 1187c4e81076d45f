"""Checks of corpora: hints that reveal the order, overlaps, and changed files."""

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

ENCODER_POSITIONS = 512
"""Maximum number of tokens per row of BERT and similar encoders."""

NUMBERED = re.compile(
    r"\s*[(\[]?\s*(\d{1,2}|[ivx]{1,4}|[a-h])\s*([)\]]|[.:](?=\s))\s*\S", re.IGNORECASE
)
ORDINAL = re.compile(
    r"\s*(first|second|third|fourth|fifth)(ly)?\b|\s*(last|final)ly\b|\s*(to begin with|next)\s*,",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Finding:
    """A problem, and the ids of the documents that have it."""

    problem: str
    ids: list[str]


Place = tuple[str, str]
"""The names of a corpus and of one of its splits."""


def changed_splits(name: str, folder: Path) -> Iterator[Finding]:
    """Splits whose files do not match the data card."""
    card = read_card(folder)
    for split, part in card.parts.items() if card else ():
        path = split_path(folder, split)
        if path is None or _hash(path) != part.sha256:
            yield Finding(f"{name}/{split}: does not match the data card", [split])


def check_split(
    place: Place, documents: Sequence[Document], tokenizer: Tokenizer
) -> Iterator[Finding]:
    """Find problems in a single split."""
    where = "/".join(place)
    yield Finding(
        f"{where}: single-sentence documents", [d.id for d in documents if len(d.sentences) == 1]
    )
    # A single sentence may start with "First," by chance; two of them make a list.
    yield Finding(f'{where}: numbered sentences ("1)")', _enumerated(documents, NUMBERED))
    yield Finding(f'{where}: ordinal words ("First,")', _enumerated(documents, ORDINAL))
    truncated, too_long = [], []
    for document, lengths in zip(documents, piece_lengths(documents, tokenizer), strict=True):
        try:
            if kept_lengths(lengths, ENCODER_POSITIONS) != lengths:
                truncated.append(document.id)
        except UserError:
            too_long.append(document.id)
    yield Finding(f"{where}: sentences truncated to fit {ENCODER_POSITIONS} tokens", truncated)
    yield Finding(f"{where}: too many sentences for {ENCODER_POSITIONS} tokens", too_long)


def find_overlaps(places: Mapping[Place, Sequence[Document]]) -> Iterator[Finding]:
    """Documents that occur in two splits, or twice in one."""
    whole: dict[tuple[Place, Place], list[str]] = {}
    part: dict[tuple[Place, Place], list[str]] = {}
    for overlap in overlaps(places):
        kind = whole if overlap.same else part
        kind.setdefault((overlap.group, overlap.other), []).append(overlap.document.id)
    for pair in sorted(whole.keys() | part.keys()):
        (first, second) = ("/".join(place) for place in pair)
        where = "again in the same split" if first == second else f"also in {second}"
        for kind, extent in ((whole, "complete"), (part, "two or more sentences")):
            if pair in kind:
                yield Finding(f"{first}: {where}, {extent}", kind[pair])


def _enumerated(documents: Sequence[Document], mark: re.Pattern[str]) -> list[str]:
    """The ids of the documents in which two or more sentences start with a mark."""
    return [d.id for d in documents if sum(bool(mark.match(s)) for s in d.sentences) > 1]


def _hash(path: Path) -> str:
    """The SHA-256 of a file after decompression."""
    with open_binary(path) as file:
        return file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
