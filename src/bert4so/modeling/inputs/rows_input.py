"""Rows of word pieces that are encoded independently: one row per sentence."""

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

MAX_CHUNK_TOKENS = 2048
"""Tokens, padding included, that are encoded together."""


@dataclass(frozen=True)
class Rows:
    """Rows of at most `m` tokens, padded on the right: [CLS] a [SEP], or [CLS] a [SEP] b [SEP].

    ids:      (rows, m) token ids.
    real:     (rows, m) True for a token, False for padding.
    pieces:   (rows, m) True for a word piece, False for [CLS], [SEP] and padding.
    segments: (rows, m) 0 up to the first [SEP], then 1; None for encoders without segments.
    """

    ids: Tensor
    real: Tensor
    pieces: Tensor
    segments: Tensor | None

    @classmethod
    def of(cls, texts: Sequence[Sequence[list[int]]], layout: Layout) -> Self:
        """One row per text: one or two sentences, each as a list of word pieces."""
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
        """The chosen rows, padded to the longest of them."""
        m = int(self.real[chosen].sum(1).max())
        return self._each(lambda tensor: tensor[chosen, :m])

    def chunks(self, chosen: Sequence[int]) -> list[list[int]]:
        """The chosen rows, grouped by length: each chunk is encoded in one call."""
        lengths = self.real.sum(1).tolist()
        chunks = within_budget([lengths[i] for i in chosen], MAX_CHUNK_TOKENS)
        return [[chosen[k] for k in chunk] for chunk in chunks]

    def padded_tokens(self, chunks: Sequence[Sequence[int]]) -> int:
        """Number of tokens in the chunks, padding included."""
        return sum(self.some(chunk).real.numel() for chunk in chunks)

    def _each(self, change: Callable[[Tensor], Tensor]) -> Self:
        segments = None if self.segments is None else change(self.segments)
        return type(self)(change(self.ids), change(self.real), change(self.pieces), segments)


@dataclass(frozen=True)
class RowsBatch(Batch):
    """One row per sentence: those of the first document, then those of the second, and so on."""

    rows: Rows

    @property
    def chunks(self) -> list[list[int]]:
        """The rows that are encoded together."""
        return self.rows.chunks(range(len(self.rows.real)))

    @property
    def tokens(self) -> int:
        return int(self.rows.real.sum())

    @property
    def padded_tokens(self) -> int:
        return self.rows.padded_tokens(self.chunks)


class RowsInput(Input[RowsBatch]):
    """RankTxNet (Kumar et al., 2020): [CLS] s [SEP] of every sentence, each in a row of its own.

    max_pieces: word pieces per sentence; longer sentences are truncated, as are those longer than
                the encoder can read.
    """

    def __init__(self, packer: Packer, encoder_config: PretrainedConfig, max_pieces: int) -> None:
        self.packer = packer
        self.encoder_config = encoder_config
        self.max_pieces = max_pieces

    @classmethod
    def for_encoder(cls, name: str, dropout: float, max_pieces: int) -> Self:
        """The input of a pretrained encoder, given by name or folder.

        dropout: of the encoder's hidden units.
        """
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
        """Word pieces of a sentence that are read at most."""
        return min(self.max_pieces, self.packer.layout.positions - 2)


def filled(where: Tensor, rows: Sequence[Sequence[int]], filler: int | bool) -> Tensor:
    """A tensor with the rows where `where` is True, and the filler elsewhere."""
    table = torch.full(where.shape, filler)
    table[where] = torch.tensor(list(chain(*rows)), dtype=table.dtype)
    return table
