"""ATTOrderNet (Cui et al., 2018): a bidirectional LSTM over words, self-attention, a pointer.

As in the authors' code, the pointer's keys are the sentence vectors themselves, and only the mean
of the self-attention is used, as the decoder's initial state. Unlike there, the decoder has no
end-of-order symbol, so every order is complete, and its first input is a learned vector.
"""

from pydantic import Field

from bert4so.config.schema import LearningRates, Optimizer, Training, Values
from bert4so.io.model_files import MAX_LAYERS
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.pointer import PointerDecoder, mean_over_places, raw
from bert4so.modeling.document_encoders.pooled import PreNormDocument
from bert4so.modeling.inputs.words_input import WordsBatch, WordSettings, WordsInput
from bert4so.modeling.sentence_encoders.word_encoder import BothEnds
from bert4so.systems.word_based import check_width, initialize, load_input, make_input

__all__ = ["CPU_PRESET", "TRAINING", "Config", "build", "initialize", "load_input", "make_input"]


class Config(WordSettings):
    """Defaults from the authors' code."""

    width: int = Field(1024, ge=2)
    layers: int = Field(2, ge=1, le=MAX_LAYERS)
    heads: int = Field(8, ge=1)
    inner: int = Field(2048, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    beam: int = Field(64, ge=1)


TRAINING = Training(
    epochs=100,
    patience=15,
    batch=16,
    accumulate=1,
    optimizer=Optimizer(name="adadelta", weight_decay=1e-5, rho=0.95, eps=1e-6),
    learning_rate=LearningRates(sentence_encoder=1.0, document_encoder=1.0, decoder=1.0),
    schedule="epochs",
    warmup=0.0,
    decay=0.95,
    clip=5.0,  # our choice: the authors name none
    precision="float32",
)

CPU_PRESET: Values = {
    # A CPU takes four times as long for twice the width.
    "model": {"width": 512, "inner": 1024},
    # In a run with a time limit, the learning rate decays over this many epochs.
    "train": {"epochs": 20},
}


def build(config: Config, input: WordsInput) -> OrderingModel[WordsBatch]:
    """Connect the parts; their weights are random."""
    check_width(config.width, 2, config.heads)
    encoder = BothEnds(len(input.vocabulary), config.vector, config.width, config.dropout)
    return OrderingModel(
        input=input,
        sentence_encoder=encoder,
        document_encoder=PreNormDocument(
            config.width, config.layers, config.heads, config.inner, config.dropout
        ),
        decoder=PointerDecoder(
            width=config.width,
            hidden=config.width,
            keys=(raw, config.width),
            scoring=config.width,
            dropout=config.dropout,
            reduction=mean_over_places,
            beam=config.beam,
        ),
    )
