"""Rows of word pieces, each to be encoded by itself: here one a sentence."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

import torch
from torch import Tensor
from transformers import PretrainedConfig

from bert4so.data.batches import within_budget
from bert4so.document import Puzzle
from bert4so.io.model_files import integer, read_object
from bert4so.modeling.base import Input
from bert4so.modeling.batch import Batch, pad_orders
from bert4so.modeling.encoder import load_config, load_packer, load_saved, with_dropout
from bert4so.text.packing import MAX_POSITIONS, Layout, Packer

CHUNK = 2048
"""Tokens, padding included, that are encoded at once."""


@dataclass(frozen=True)
class Rows:
    """Rows of at most `m` tokens, padded on the right: [CLS] a [SEP], or [CLS] a [SEP] b [SEP].

    ids:      (rows, m) token ids.
    real:     (rows, m) True for a token, False for padding.
    pieces:   (rows, m) True for a word piece, False for [CLS], [SEP] and padding.
    segments: (rows, m) 0 up to the first [SEP], then 1; None for encoders that know no segments.
    """

    ids: Tensor
    real: Tensor
    pieces: Tensor
    segments: Tensor | None

    @classmethod
    def of(cls, texts: Sequence[Sequence[list[int]]], layout: Layout) -> Self:
        """A row a text: one or two sentences, each as its word pieces."""
        ids, pieces, segments = [], [], []
        for text in texts:
            ids.append([layout.cls, *chain(*([*sentence, layout.sep] for sentence in text))])
            pieces.append([False, *chain(*([True] * len(s) + [False] for s in text))])
            segments.append([0, *chain(*([k] * (len(s) + 1) for k, s in enumerate(text)))])
        lengths = torch.tensor([len(row) for row in ids])
        real = torch.arange(int(lengths.max())) < lengths[:, None]
        return cls(
            ids=filled(real, ids, layout.pad),
            real=real,
            pieces=filled(real, pieces, False),
            segments=filled(real, segments, 0) if layout.segments else None,
        )

    def to(self, device: torch.device | str) -> Self:
        """These rows on another device."""
        return self._each(lambda tensor: tensor.to(device))

    def some(self, chosen: Sequence[int]) -> Self:
        """The rows chosen, padded no further than the longest of them."""
        m = int(self.real[chosen].sum(1).max())
        return self._each(lambda tensor: tensor[chosen, :m])

    def chunks(self, chosen: Sequence[int]) -> list[list[int]]:
        """The rows chosen, like lengths together: each chunk is encoded at once."""
        lengths = self.real.sum(1).tolist()
        found = within_budget([lengths[i] for i in chosen], CHUNK)
        return [[chosen[k] for k in chunk] for chunk in found]

    def cells(self, chunks: Sequence[Sequence[int]]) -> int:
        """How many tokens fit in the chunks."""
        return sum(self.some(chunk).real.numel() for chunk in chunks)

    def _each(self, change: Callable[[Tensor], Tensor]) -> Self:
        segments = None if self.segments is None else change(self.segments)
        return type(self)(change(self.ids), change(self.real), change(self.pieces), segments)


@dataclass(frozen=True)
class RowsBatch(Batch):
    """A row a sentence: all sentences of the first document, then all of the second, and so on."""

    rows: Rows

    @property
    def chunks(self) -> list[list[int]]:
        """The rows that are encoded at once."""
        return self.rows.chunks(range(len(self.rows.real)))

    @property
    def tokens(self) -> int:
        return int(self.rows.real.sum())

    @property
    def cells(self) -> int:
        return self.rows.cells(self.chunks)


class RowsInput(Input[RowsBatch]):
    """RankTxNet (Kumar et al., 2020): [CLS] s [SEP] for every sentence, each in a row of its own.

    max_pieces: a longer sentence is cut to so many word pieces, or to what the encoder can read.
    """

    def __init__(self, packer: Packer, encoder_config: PretrainedConfig, max_pieces: int) -> None:
        self.packer = packer
        self.encoder_config = encoder_config
        self.max_pieces = max_pieces

    @classmethod
    def for_encoder(cls, name: str, dropout: float, max_pieces: int) -> Self:
        """What the encoder of this name or folder wants to read; it is to drop out so much."""
        config = with_dropout(load_config(name), dropout)
        return cls(load_packer(name, config), config, max_pieces)

    def __call__(self, puzzles: Sequence[Puzzle]) -> RowsBatch:
        documents = [self.packer.pieces(puzzle.sentences) for puzzle in puzzles]
        mask, order = pad_orders(puzzles)
        cut = [[len(pieces) > self._room for pieces in document] for document in documents]
        texts = [[pieces[: self._room]] for document in documents for pieces in document]
        return RowsBatch(
            mask=mask,
            order=order,
            cut=filled(mask, cut, False),
            rows=Rows.of(texts, self.packer.layout),
        )

    def size(self, puzzle: Puzzle) -> int:
        pieces = self.packer.pieces(puzzle.sentences)
        return sum(min(len(sentence), self._room) + 2 for sentence in pieces)

    def save(self, folder: Path) -> None:
        self.packer.save(folder)
        self.encoder_config.save_pretrained(folder)
        (folder / "rows.json").write_text(json.dumps({"max_pieces": self.max_pieces}) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        path = folder / "rows.json"
        max_pieces = integer(path, read_object(path), "max_pieces", 1, MAX_POSITIONS)
        return cls(*load_saved(folder), max_pieces)

    @property
    def _room(self) -> int:
        """The word pieces of a sentence that are read."""
        return min(self.max_pieces, self.packer.layout.positions - 2)


def filled(where: Tensor, rows: Sequence[Sequence[int]], filler: int | bool) -> Tensor:
    """The rows, where there is something to be in each; the filler elsewhere."""
    table = torch.full(where.shape, filler)
    table[where] = torch.tensor(list(chain(*rows)), dtype=table.dtype)
    return table
