"""What the systems that read words have in common: their input, and where their words start."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.inputs.words_input import WordSettings, WordsInput
from bert4so.modeling.sentence_encoders.word_encoder import WordEncoder
from bert4so.text.vocabulary import read_vectors


def make_input(config: WordSettings, documents: Sequence[Document]) -> WordsInput:
    """Knows the words of the documents to be learned from."""
    return WordsInput.of(documents, config)


def load_input(folder: Path) -> WordsInput:
    """What a run saved of its input."""
    return WordsInput.load(folder)


def initialize(model: OrderingModel[Any], config: WordSettings) -> None:
    """Put the word vectors in place that training starts from, where there are some."""
    assert isinstance(model.input, WordsInput)
    give_vectors(model, model.input, config)


def check_width(width: int, *parts: int) -> None:
    """Refuse a width that does not divide among heads, or among the two ends of an LSTM."""
    for number in parts:
        if width % number:
            raise UserError(f"width = {width}: wanted a multiple of {number}")


def give_vectors(model: OrderingModel[Any], words: WordsInput, config: WordSettings) -> None:
    """Let the words of a model start from the vectors of a file, where one is named."""
    if not config.vectors:
        return
    encoder = model.sentence_encoder
    assert isinstance(encoder, WordEncoder)
    found = read_vectors(Path(config.vectors), words.vocabulary, config.vector)
    with torch.no_grad():
        for number, vector in found.items():
            encoder.vectors.weight[number] = torch.tensor(vector)
