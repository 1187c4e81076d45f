"""The sentences of a document as words."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from bert4so.config.schema import Settings
from bert4so.document import Document, Puzzle
from bert4so.io.model_files import integer, read_object
from bert4so.modeling.base import Input
from bert4so.modeling.batch import Batch, pad_orders
from bert4so.text.vocabulary import PADDING, Vocabulary

MAX_WORDS = 1_000_000
"""Per sentence; more than a sentence of any limit has."""


class WordSettings(Settings):
    """What every system that reads words can be told.

    vectors:    a file of word vectors in GloVe's text form to start from; "": learned from nothing.
    vector:     the width of a word's vector.
    vocabulary: how many words are known at most, the most frequent; others are all one word.
    max_words:  a sentence is cut to so many.
    """

    vectors: str = ""
    vector: int = Field(100, ge=1)
    vocabulary: int = Field(100_000, ge=1)  # our choice: all words of most corpora
    max_words: int = Field(100, ge=1, le=MAX_WORDS)  # our choice: hardly a sentence is longer


@dataclass(frozen=True)
class WordsBatch(Batch):
    """The words of each sentence, padded on the right to the longest sentence of the batch.

    words:   (batch, n, m) the numbers of the words; 0 for padding.
    lengths: (batch, n) how many words a sentence has; 0 for padding.
    """

    words: Tensor
    lengths: Tensor

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    @property
    def cells(self) -> int:
        return self.words.numel()


class WordsInput(Input[WordsBatch]):
    """Words by their numbers in a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, max_words: int) -> None:
        self.vocabulary = vocabulary
        self.max_words = max_words

    @classmethod
    def of(cls, documents: Sequence[Document], settings: WordSettings) -> Self:
        """Knows the words of some documents."""
        return cls(Vocabulary.of(documents, settings.vocabulary), settings.max_words)

    def __call__(self, puzzles: Sequence[Puzzle]) -> WordsBatch:
        mask, order = pad_orders(puzzles)
        sentences = [[self.vocabulary.ids(s) for s in puzzle.sentences] for puzzle in puzzles]
        longest = min(max(len(ids) for some in sentences for ids in some), self.max_words)
        table = np.full((*mask.shape, longest), PADDING, dtype=np.int64)
        cut = np.zeros(mask.shape, dtype=bool)
        for d, some in enumerate(sentences):
            for i, ids in enumerate(some):
                kept = ids[:longest]
                table[d, i, : len(kept)] = kept
                cut[d, i] = len(ids) > longest
        words = torch.from_numpy(table)
        return WordsBatch(mask, order, torch.from_numpy(cut), words, (words != PADDING).sum(2))

    def size(self, puzzle: Puzzle) -> int:
        return sum(min(len(self.vocabulary.ids(s)), self.max_words) for s in puzzle.sentences)

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder / "vocabulary.json")
        (folder / "words.json").write_text(json.dumps({"max_words": self.max_words}) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        path = folder / "words.json"
        max_words = integer(path, read_object(path), "max_words", 1, MAX_WORDS)
        return cls(Vocabulary.load(folder / "vocabulary.json"), max_words)
