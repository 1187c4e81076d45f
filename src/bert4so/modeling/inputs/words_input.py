"""The sentences of a document as word numbers."""

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
"""Highest value of `max_words`."""


class WordSettings(Settings):
    """Settings of every system that reads words.

    vectors:    file of word vectors in GloVe's text format to start from; "": random vectors.
    vector:     width of a word vector.
    vocabulary: number of words at most, the most frequent ones; all others share one vector.
    max_words:  words per sentence; longer sentences are truncated.
    """

    vectors: str = ""
    vector: int = Field(100, ge=1)
    vocabulary: int = Field(100_000, ge=1)  # our choice: all words of most corpora
    max_words: int = Field(100, ge=1, le=MAX_WORDS)  # our choice: hardly a sentence is longer


@dataclass(frozen=True)
class WordsBatch(Batch):
    """The words of each sentence, padded on the right to the longest sentence of the batch.

    words:   (batch, n, m) word numbers; 0 for padding.
    lengths: (batch, n) number of words per sentence; 0 for padding.
    """

    words: Tensor
    lengths: Tensor

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    @property
    def padded_tokens(self) -> int:
        return self.words.numel()


class WordsInput(Input[WordsBatch]):
    """Word numbers from a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, max_words: int) -> None:
        self.vocabulary = vocabulary
        self.max_words = max_words

    @classmethod
    def of(cls, documents: Sequence[Document], settings: WordSettings) -> Self:
        """Build the vocabulary of the documents."""
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
