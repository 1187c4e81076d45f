"""Each pair of a document's sentences in a row of its own."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path
from typing import NamedTuple, Self

import torch
from torch import Tensor
from transformers import PretrainedConfig

from bert4so.common.stable_hash import stable_hash
from bert4so.document import Puzzle
from bert4so.io.model_files import boolean, read_object
from bert4so.modeling.base import Input
from bert4so.modeling.batch import Batch, pad_orders
from bert4so.modeling.encoder import load_config, load_packer, load_saved, with_dropout
from bert4so.modeling.inputs.rows_input import Rows
from bert4so.text.packing import Packer

MAX_PAIR_PIECES = 100
"""Word pieces per pair; with [CLS] and two [SEP], 103 tokens."""


@dataclass(frozen=True)
class PairsBatch(Batch):
    """One row per pair, [CLS] a [SEP] b [SEP]; the pairs of all documents are concatenated.

    document:      (pairs,) the document of the batch that the pair belongs to.
    first, second: (pairs,) its two sentences, by their index in the puzzle.
    asked:         (pairs,) True for a pair used to order the document.
    learned:       (pairs,) True for a pair used in the loss.
    """

    rows: Rows
    document: Tensor
    first: Tensor
    second: Tensor
    asked: Tensor
    learned: Tensor

    @property
    def chunks(self) -> list[list[int]]:
        """The rows that are encoded together.

        Pairs used for ordering are in chunks of their own, so that their results are the same to
        the last bit whether or not the batch also has pairs for the loss.
        """
        groups = self.asked.nonzero().flatten(), (~self.asked).nonzero().flatten()
        return [chunk for group in groups for chunk in self.rows.chunks(group.tolist())]

    @property
    def tokens(self) -> int:
        return int(self.rows.real.sum())

    @property
    def padded_tokens(self) -> int:
        return self.rows.padded_tokens(self.chunks)


class _Pair(NamedTuple):
    """One row of a batch, and its word pieces."""

    first: int
    second: int
    asked: bool
    learned: bool
    text: tuple[list[int], list[int]]


class PairsInput(Input[PairsBatch]):
    """B-TSort (Prabhumoye et al., 2020) and its public code: [CLS] a [SEP] b [SEP], segments 0, 1.

    Training uses each pair of sentences in both directions, except pairs of more than
    `MAX_PAIR_PIECES` word pieces. Ordering uses each pair in one direction, chosen by a hash of its
    text; longer pairs are truncated.

    both_directions: order by both directions of each pair, at twice the cost.
    """

    def __init__(
        self, packer: Packer, encoder_config: PretrainedConfig, both_directions: bool
    ) -> None:
        self.packer = packer
        self.encoder_config = encoder_config
        self.both_directions = both_directions

    @classmethod
    def for_encoder(cls, name: str, dropout: float, both_directions: bool) -> Self:
        """The input of a pretrained encoder, given by name or folder.

        dropout: of the encoder's hidden units.
        """
        config = with_dropout(load_config(name), dropout)
        return cls(load_packer(name, config), config, both_directions)

    def __call__(self, puzzles: Sequence[Puzzle]) -> PairsBatch:
        mask, order = pad_orders(puzzles)
        cut = torch.zeros_like(mask)
        documents, pairs = [], []
        for document, puzzle in enumerate(puzzles):
            pieces = self.packer.pieces(puzzle.sentences)
            cut[document, self._cut(pieces)] = True
            own = list(self._pairs(puzzle.sentences, pieces, learn=order is not None))
            documents += [document] * len(own)
            pairs += own
        if not pairs:
            # DistributedDataParallel needs every weight to take part in every step.
            documents, pairs = [0], [_Pair(0, 0, False, False, self._text(pieces[0], pieces[0]))]
        first, second, asked, learned, texts = zip(*pairs, strict=True)
        return PairsBatch(
            mask=mask,
            order=order,
            cut=cut,
            rows=Rows.of(texts, self.packer.layout),
            document=torch.tensor(documents),
            first=torch.tensor(first),
            second=torch.tensor(second),
            asked=torch.tensor(asked),
            learned=torch.tensor(learned),
        )

    def size(self, puzzle: Puzzle) -> int:
        lengths = [len(pieces) for pieces in self.packer.pieces(puzzle.sentences)]
        total = 0
        for a, b in combinations(lengths, 2):
            kept = self._kept(a, b)
            learned = puzzle.order is not None and kept == (a, b)
            total += (sum(kept) + 3) * (2 if learned or self.both_directions else 1)
        return total

    def save(self, folder: Path) -> None:
        self.packer.save(folder)
        self.encoder_config.save_pretrained(folder)
        settings = {"both_directions": self.both_directions}
        (folder / "pairs.json").write_text(json.dumps(settings) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        path = folder / "pairs.json"
        both_directions = boolean(path, read_object(path), "both_directions")
        return cls(*load_saved(folder), both_directions)

    def _pairs(
        self, sentences: Sequence[str], pieces: list[list[int]], learn: bool
    ) -> Iterator[_Pair]:
        """The pairs of a document that ordering or the loss needs."""
        for i, j in permutations(range(len(sentences)), 2):
            a, b = sentences[i], sentences[j]
            # The direction depends on the text alone; indices only tell equal sentences apart.
            chosen = (stable_hash(a, b), i) < (stable_hash(b, a), j)
            asked = chosen or self.both_directions
            text = self._text(pieces[i], pieces[j])
            learned = learn and text == (pieces[i], pieces[j])
            if asked or learned:
                yield _Pair(i, j, asked, learned, text)

    def _text(self, a: list[int], b: list[int]) -> tuple[list[int], list[int]]:
        """Two sentences, truncated to what a row holds."""
        kept_a, kept_b = self._kept(len(a), len(b))
        return a[:kept_a], b[:kept_b]

    def _cut(self, pieces: list[list[int]]) -> list[int]:
        """The sentences that are truncated in at least one pair."""
        lengths = list(enumerate(map(len, pieces)))
        return [i for (i, a), (_, b) in permutations(lengths, 2) if self._kept(a, b)[0] < a]

    def _kept(self, a: int, b: int) -> tuple[int, int]:
        """Number of word pieces kept of sentences of `a` and `b` pieces.

        Each may use half of the row, and what the other leaves free of its half.
        """
        room = min(MAX_PAIR_PIECES, self.packer.layout.positions - 3)
        half = room // 2
        return min(a, max(half, room - b)), min(b, max(half, room - a))
