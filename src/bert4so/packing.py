"""Sentences to the one row that BERT4SO reads: ids, segments, where each sentence stands, what was
cut.

    [CLS] first sentence [SEP] [CLS] second sentence [SEP] ...
      0     0     0        0     1     1      1        1
"""

import json
from bisect import bisect
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from bert4so.errors import UserError

Kind = TypeVar("Kind", bound=np.generic)

USEFUL = 8
"""A sentence cut to fewer word pieces than this says too little to be ordered by."""


@dataclass(frozen=True)
class Layout:
    """What an encoder wants to find in a row.

    cls, sep, pad, unknown: the ids of its special tokens.
    positions:              how many tokens it can read at once.
    segments:               whether it tells two kinds of sentences apart.
    """

    cls: int
    sep: int
    pad: int
    unknown: int
    positions: int
    segments: bool


@dataclass(frozen=True)
class Row:
    """A document of n sentences as one row of m tokens.

    ids:      (m,) token ids.
    segments: (m,) 0 for the tokens of the first, third ... sentence, 1 for the others.
    starts:   (n,) where the [CLS] of each sentence stands.
    owners:   (m,) the sentence each word piece belongs to; -1 for [CLS] and [SEP].
    cut:      (n,) True for a sentence that did not fit whole.
    """

    ids: NDArray[np.int64]
    segments: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]
    cut: NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Some rows of up to m tokens and n sentences, padded on the right. The fields of `Row`, and

    real: (rows, m) True for a token, False for padding.
    mask: (rows, n) True for a sentence, False for padding.
    """

    ids: NDArray[np.int64]
    real: NDArray[np.bool_]
    segments: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]
    cut: NDArray[np.bool_]
    mask: NDArray[np.bool_]


class Packer:
    """A tokenizer, and the layout of the rows it fills."""

    def __init__(self, tokenizer: Tokenizer, layout: Layout) -> None:
        # Tokenizers come with settings of their own for both, kept in their file.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        # "[SEP]" in a user's text is five letters and two brackets, not the end of a sentence.
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        self.layout = layout

    def pieces(self, sentences: Sequence[str]) -> list[list[int]]:
        """The word pieces of each sentence; a sentence that has none is one unknown word."""
        # JSON can hold half of a surrogate pair, which is no text: to the tokenizer it is a "?".
        texts = [sentence.encode(errors="replace").decode() for sentence in sentences]
        encoded = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids or [self.layout.unknown] for encoding in encoded]

    def pack(self, sentences: Sequence[str]) -> Row:
        """The row of a document."""
        return self.pack_all([sentences])[0]

    def pack_all(self, documents: Sequence[Sequence[str]]) -> list[Row]:
        """The rows of some documents, whose sentences the tokenizer gets all at once."""
        pieces = iter(self.pieces([sentence for document in documents for sentence in document]))
        return [self._row(list(islice(pieces, len(document)))) for document in documents]

    def _row(self, pieces: Sequence[list[int]]) -> Row:
        lengths = [len(ids) for ids in pieces]
        kept = kept_lengths(lengths, self.layout.positions)
        cls, sep = self.layout.cls, self.layout.sep
        ids = [[cls, *ids[:k], sep] for ids, k in zip(pieces, kept, strict=True)]
        owners = [[-1, *[i] * k, -1] for i, k in enumerate(kept)]
        widths = np.array(kept) + 2
        return Row(
            ids=np.concatenate(ids).astype(np.int64),
            segments=np.repeat(np.arange(len(kept)) % 2, widths),
            starts=np.cumsum(widths) - widths,
            owners=np.concatenate(owners).astype(np.int64),
            cut=np.array(kept) < np.array(lengths),
        )

    def stack(self, rows: Sequence[Row]) -> Rows:
        """Rows of whatever length, side by side."""
        return Rows(
            ids=_padded([row.ids for row in rows], self.layout.pad),
            real=_padded([np.ones(len(row.ids), np.bool_) for row in rows], False),
            segments=_padded([row.segments for row in rows], 0),
            starts=_padded([row.starts for row in rows], 0),
            owners=_padded([row.owners for row in rows], -1),
            cut=_padded([row.cut for row in rows], False),
            mask=_padded([np.ones(len(row.cut), np.bool_) for row in rows], False),
        )

    def save(self, folder: Path) -> None:
        """Write all that `load` needs."""
        self.tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "layout.json").write_text(json.dumps(asdict(self.layout), indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "Packer":
        """What `save` wrote."""
        layout = Layout(**json.loads((folder / "layout.json").read_text(encoding="utf-8")))
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # tokenizers has no exception of its own
            raise UserError(f"{folder / 'tokenizer.json'}: not a tokenizer: {error}") from None
        return cls(tokenizer, layout)


def _padded(rows: Sequence[NDArray[Kind]], filler: int | bool) -> NDArray[Kind]:
    """(rows, longest) the rows, each filled up on the right."""
    table = np.full((len(rows), max(map(len, rows))), filler, dtype=rows[0].dtype)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def kept_lengths(lengths: Sequence[int], positions: int) -> list[int]:
    """How many pieces of each sentence fit a row of so many positions, [CLS] and [SEP] included.

    The longest give way first: all are cut down to one length, the greatest that fits; what is
    then left over goes piece by piece to the first of those that were cut.
    """
    room = positions - 2 * len(lengths)
    if sum(lengths) <= room:
        return list(lengths)
    if room < sum(min(length, USEFUL) for length in lengths):
        raise UserError(
            f"a document of {len(lengths)} sentences and {sum(lengths)} word pieces is too long: "
            f"the model reads {positions} at once, "
            f"which is room for {positions // (USEFUL + 2)} sentences of {USEFUL}"
        )

    def total(longest: int) -> int:
        return sum(min(length, longest) for length in lengths)

    longest = bisect(range(max(lengths)), room, key=total) - 1
    kept = [min(length, longest) for length in lengths]
    for i, length in enumerate(lengths):
        if length > longest and sum(kept) < room:
            kept[i] += 1
    return kept
