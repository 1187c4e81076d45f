"""What the systems that read words share: their input and their initial word vectors."""

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
    """Build the vocabulary of the training documents."""
    return WordsInput.of(documents, config)


def load_input(folder: Path) -> WordsInput:
    """The input that a run saved."""
    return WordsInput.load(folder)


def initialize(model: OrderingModel[Any], config: WordSettings) -> None:
    """Load the word vectors that training starts from, if a file is given."""
    assert isinstance(model.input, WordsInput)
    give_vectors(model, model.input, config)


def check_width(width: int, *parts: int) -> None:
    """Refuse a width that is not divisible by the number of heads or LSTM directions."""
    for number in parts:
        if width % number:
            raise UserError(f"width = {width}: must be a multiple of {number}")


def give_vectors(model: OrderingModel[Any], words: WordsInput, config: WordSettings) -> None:
    """Initialize the word vectors of a model from a file, if one is given."""
    if not config.vectors:
        return
    encoder = model.sentence_encoder
    assert isinstance(encoder, WordEncoder)
    found = read_vectors(Path(config.vectors), words.vocabulary, config.vector)
    with torch.no_grad():
        for number, vector in found.items():
            encoder.vectors.weight[number] = torch.tensor(vector)
