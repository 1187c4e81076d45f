"""Variant-LSTM+PtrNet (Logeswaran et al., 2018): an LSTM, repeated attention, a pointer.

Its defaults are those of the paper as far as they are known: there is no public code. Word vectors
are trained (there they are fixed), since without a file of vectors they start at random. Of the
paper's two scoring functions, this uses the one-layer network. The first input is a learned vector
that starts at the paper's zero.
"""

from typing import Literal

from pydantic import Field, NonNegativeInt

from bert4so.config.schema import LearningRates, Optimizer, Training, Values
from bert4so.io.model_files import MAX_LAYERS
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.in_batch_negatives import InBatchNegatives
from bert4so.modeling.decoders.pointer import PointerDecoder, raw, sum_over_places
from bert4so.modeling.document_encoders.reading import ReadingDocument
from bert4so.modeling.inputs.words_input import WordsBatch, WordSettings, WordsInput
from bert4so.modeling.sentence_encoders.word_encoder import LastHidden
from bert4so.systems.word_based import initialize, load_input, make_input

__all__ = ["CPU_PRESET", "TRAINING", "Config", "build", "initialize", "load_input", "make_input"]


class Config(WordSettings):
    """Defaults from the paper."""

    vector: int = Field(300, ge=1)
    hidden: int = Field(1000, ge=1)
    scoring: int = Field(500, ge=1)
    cycles: int = Field(10, ge=1, le=MAX_LAYERS)
    dropout: float = Field(0.0, ge=0, lt=1)  # our choice: the paper names none
    beam: int = Field(100, ge=1)
    negatives: Literal["all"] | NonNegativeInt = "all"  # sentences of other documents, in training


TRAINING = Training(
    epochs=100,  # our choice, as is patience: the paper only says that it stops early
    patience=5,
    batch=10,
    accumulate=1,
    optimizer=Optimizer(name="adam", weight_decay=0.0),
    learning_rate=LearningRates(sentence_encoder=5e-4, document_encoder=5e-4, decoder=5e-4),
    schedule="epochs",
    warmup=0.0,
    decay=1.0,
    clip=5.0,  # our choice
    precision="float32",
)

CPU_PRESET: Values = {
    "model": {
        # A CPU takes four times as long for twice the width.
        "vector": 100,
        "hidden": 500,
        "scoring": 250,
        # With negatives it does not help to know that a sentence is early: its exact place must be
        # learned, which takes more steps than a short run has. After 1.5 minutes on NeurIPS,
        # validation tau was .56 without negatives and .10 with three.
        "negatives": 0,
    },
    "train": {"batch": 32},
}


def build(config: Config, input: WordsInput) -> OrderingModel[WordsBatch]:
    """Connect the parts; their weights are random."""
    encoder = LastHidden(len(input.vocabulary), config.vector, config.hidden, config.dropout)
    return OrderingModel(
        input=input,
        sentence_encoder=encoder,
        document_encoder=ReadingDocument(
            encoder.width, config.hidden, config.scoring, config.cycles
        ),
        decoder=PointerDecoder(
            width=encoder.width,
            hidden=config.hidden,
            keys=(raw, encoder.width),
            scoring=config.scoring,
            dropout=config.dropout,
            reduction=sum_over_places,
            beam=config.beam,
            others=InBatchNegatives(config.negatives),
        ),
    )
