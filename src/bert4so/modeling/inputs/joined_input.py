"""All sentences of a document in one row of word pieces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor
from transformers import PretrainedConfig

from bert4so.document import Puzzle
from bert4so.modeling.base import Input
from bert4so.modeling.batch import Batch, pad_orders
from bert4so.modeling.encoder import load_config, load_packer, load_saved, with_dropout
from bert4so.text.packing import Packer


@dataclass(frozen=True)
class JoinedBatch(Batch):
    """One row of `m` tokens per document, padded on the right: the fields of `packing.Row`.

    ids:      (batch, m) token ids.
    real:     (batch, m) True for a token, False for padding.
    segments: (batch, m) 0 and 1, alternating by sentence; None for encoders without segments.
    starts:   (batch, n) position of each sentence's [CLS]; 0 for padding.
    owners:   (batch, m) the sentence each word piece belongs to; -1 for [CLS], [SEP] and padding.
    """

    ids: Tensor
    real: Tensor
    segments: Tensor | None
    starts: Tensor
    owners: Tensor

    @property
    def tokens(self) -> int:
        return int(self.real.sum())

    @property
    def padded_tokens(self) -> int:
        return self.real.numel()


class JoinedInput(Input[JoinedBatch]):
    """BERT4SO, section 2.1: [CLS] s [SEP] of every sentence, joined; segments alternate."""

    def __init__(self, packer: Packer, encoder_config: PretrainedConfig) -> None:
        self.packer = packer
        self.encoder_config = encoder_config

    @classmethod
    def for_encoder(cls, name: str, dropout: float) -> Self:
        """The input of a pretrained encoder, given by name or folder.

        dropout: of the encoder's hidden units.
        """
        config = with_dropout(load_config(name), dropout)
        return cls(load_packer(name, config), config)

    def __call__(self, puzzles: Sequence[Puzzle]) -> JoinedBatch:
        rows = self.packer.stack(self.packer.pack_all([puzzle.sentences for puzzle in puzzles]))
        mask, order = pad_orders(puzzles)
        segments = torch.from_numpy(rows.segments)
        return JoinedBatch(
            mask=mask,
            order=order,
            cut=torch.from_numpy(rows.cut),
            ids=torch.from_numpy(rows.ids),
            real=torch.from_numpy(rows.real),
            segments=segments if self.packer.layout.segments else None,
            starts=torch.from_numpy(rows.starts),
            owners=torch.from_numpy(rows.owners),
        )

    def size(self, puzzle: Puzzle) -> int:
        return len(self.packer.pack(puzzle.sentences).ids)

    def save(self, folder: Path) -> None:
        self.packer.save(folder)
        self.encoder_config.save_pretrained(folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        return cls(*load_saved(folder))
