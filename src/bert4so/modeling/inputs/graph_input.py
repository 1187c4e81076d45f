"""The words of a document's sentences, and the graph of the nouns that they share."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from bert4so.common.progress import say
from bert4so.document import Document, Puzzle
from bert4so.errors import UserError, quote
from bert4so.io.model_files import read_object, string
from bert4so.modeling.base import Input
from bert4so.modeling.inputs.words_input import WordsBatch, WordSettings, WordsInput
from bert4so.text.nouns import Nouns
from bert4so.text.tagging import Tagger
from bert4so.text.vocabulary import UNKNOWN


class GraphSettings(WordSettings):
    """Settings of a system that reads words and a graph of shared nouns.

    tagger: noun finder: the name of an English spaCy pipeline, "hanta" or "words";
            "": the first of these that is installed.
    """

    tagger: str = ""


@dataclass(frozen=True)
class GraphBatch(WordsBatch):
    """Yin et al. (2019), section 3.1: the nouns that a document's sentences share.

    The entities of all documents are concatenated, and so are the links, so memory grows with their
    number and not with the longest document.

    entities: (entities) word number of each entity: a noun of two or more sentences.
    document: (entities) the document that each entity belongs to.
    links:    (links, 3) sentence (its index in the flattened, padded batch), entity, and the role
              of the entity in that sentence.
    shared:   (batch, n, n) True where two sentences share an entity; False on the diagonal.
    """

    entities: Tensor
    document: Tensor
    links: Tensor
    shared: Tensor


class GraphInput(Input[GraphBatch]):
    """Word numbers from a vocabulary, and the nouns that a tagger finds."""

    def __init__(self, words: WordsInput, tagger: Tagger) -> None:
        self.words = words
        self.tagger = tagger

    @classmethod
    def of(cls, documents: Sequence[Document], settings: GraphSettings) -> Self:
        """Build the vocabulary of the documents, and find their nouns."""
        made = cls(WordsInput.of(documents, settings), Tagger(settings.tagger))
        made.prepare(documents)
        return made

    def __call__(self, puzzles: Sequence[Puzzle]) -> GraphBatch:
        batch = self.words(puzzles)
        n = batch.mask.shape[1]
        shared = np.zeros((len(puzzles), n, n), dtype=bool)
        entities, document, links = list[int](), list[int](), list[tuple[int, int, int]]()
        for d, nouns in enumerate(self._nouns(puzzles)):
            for noun, places in entities_of(nouns).items():
                links += [(d * n + i, len(entities), role) for i, role in places]
                entities.append(self.words.vocabulary.number.get(noun, UNKNOWN))
                document.append(d)
                where = [i for i, _ in places]
                shared[d][np.ix_(where, where)] = True
        shared[:, np.arange(n), np.arange(n)] = False
        return GraphBatch(
            **vars(batch),
            entities=torch.tensor(entities, dtype=torch.long),
            document=torch.tensor(document, dtype=torch.long),
            links=torch.tensor(links, dtype=torch.long).reshape(-1, 3),
            shared=torch.from_numpy(shared),
        )

    def prepare(self, documents: Sequence[Document]) -> None:
        self.tagger.prepare(sentence for one in documents for sentence in one.sentences)

    def size(self, puzzle: Puzzle) -> int:
        return self.words.size(puzzle)

    def save(self, folder: Path) -> None:
        self.words.save(folder)
        facts = {"tagger": self.tagger.tagger, "version": self.tagger.name}
        (folder / "graph.json").write_text(json.dumps(facts) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote; the same tagger must be installed."""
        path = folder / "graph.json"
        facts = read_object(path)
        name, version = string(path, facts, "tagger"), string(path, facts, "version")
        try:
            tagger = Tagger(name)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
        if tagger.name != version:
            _say_once(f"{path}: trained with {quote(version)}, but {tagger.name} is installed")
        return cls(WordsInput.load(folder), tagger)

    def _nouns(self, puzzles: Sequence[Puzzle]) -> list[list[Nouns]]:
        """The nouns of each sentence of each puzzle, from one call of the tagger."""
        tagged = iter(self.tagger([s for puzzle in puzzles for s in puzzle.sentences]))
        return [[next(tagged) for _ in puzzle.sentences] for puzzle in puzzles]


def entities_of(sentences: Sequence[Nouns]) -> dict[str, list[tuple[int, int]]]:
    """The nouns of two or more of a document's sentences, each with (sentence, role) pairs."""
    places = defaultdict[str, list[tuple[int, int]]](list)
    for i, nouns in enumerate(sentences):
        for noun, role in nouns.items():
            places[noun].append((i, role))
    return {noun: where for noun, where in places.items() if len(where) > 1}


@cache
def _say_once(line: str) -> None:
    say(line)
