"""RankTxNet (Kumar et al., 2020): one row per sentence, Transformer layers, scores, ListMLE."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from bert4so.config.schema import LearningRates, Optimizer, Settings, Training, Values
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.io.model_files import MAX_LAYERS
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.scores import ScoreDecoder
from bert4so.modeling.document_encoders.transformer import TransformerDocument
from bert4so.modeling.encoder import architecture, freeze, pretrained, with_dropout
from bert4so.modeling.inputs.rows_input import RowsBatch, RowsInput
from bert4so.modeling.losses import list_mle
from bert4so.modeling.sentence_encoders.row_encoder import (
    AtRowCls,
    MeanOfRow,
    RowEncoder,
    RowSentences,
)
from bert4so.text import encoder_files as locate


class Config(Settings):
    """Defaults from the paper, which has no public code.

    Values that it does not give are those of BERT4SO, including layers and decoder, so that the two
    systems differ only in how sentences are encoded and in the loss.
    """

    encoder: str = "bert-base-uncased"
    encoder_dropout: float = Field(0.1, ge=0, lt=1)  # as BERT was pretrained
    frozen_layers: int = Field(0, ge=0)  # the lowest, not trained, nor what is below them; 0: none
    pooling: Literal["cls", "mean"] = "cls"
    max_pieces: int = Field(128, ge=1)  # our choice
    layers: int = Field(2, ge=1, le=MAX_LAYERS)  # our choice: as BERT4SO
    heads: int = Field(12, ge=1)  # our choice: as BERT4SO
    dropout: float = Field(0.1, ge=0, lt=1)  # our choice: as in the encoder
    hidden: int = Field(200, ge=1)  # our choice: as BERT4SO


# Our choice: as the BERT4SO paper trains its own model.
TRAINING = Training(
    epochs=5,
    patience=0,
    batch=32,
    accumulate=1,
    optimizer=Optimizer(name="adamw", weight_decay=0.01),
    learning_rate=LearningRates(sentence_encoder=5e-5, document_encoder=5e-5, decoder=5e-3),
    schedule="linear",
    warmup=0.2,
    decay=1.0,
    clip=1.0,
    precision="float32",
)

FREE = {"encoder_dropout", "frozen_layers", "dropout"}

CPU_PRESET: Values = {
    "model": {
        "encoder": locate.DEFAULT_ENCODER,
        # On a CPU, dropout takes more than half the time of a step.
        "encoder_dropout": 0.0,
        # As BERT4SO, so that the two differ only in how sentences are encoded.
        "pooling": "mean",
    },
    # A small encoder needs larger steps.
    "train": {
        "learning_rate": {"sentence_encoder": 3e-4, "document_encoder": 3e-4, "decoder": 1e-3}
    },
}


def make_input(config: Config, documents: Sequence[Document]) -> RowsInput:
    """The input of the encoder; it does not depend on the documents."""
    return RowsInput.for_encoder(config.encoder, config.encoder_dropout, config.max_pieces)


def load_input(folder: Path) -> RowsInput:
    """The input that a run saved."""
    return RowsInput.load(folder)


def build(config: Config, input: RowsInput) -> OrderingModel[RowsBatch]:
    """Connect the parts; their weights are random."""
    encoder = architecture(with_dropout(input.encoder_config, config.encoder_dropout))
    freeze(encoder, config.frozen_layers)
    row = {"cls": AtRowCls, "mean": MeanOfRow}[config.pooling](encoder)
    if row.width % config.heads:
        raise UserError(f"heads = {config.heads}: must divide the encoder's width, {row.width}")
    return OrderingModel(
        input=input,
        sentence_encoder=RowSentences(row),
        document_encoder=TransformerDocument(
            row.width, config.layers, config.heads, config.dropout
        ),
        decoder=ScoreDecoder(row.width, config.hidden, list_mle),
    )


def initialize(model: OrderingModel[RowsBatch], config: Config) -> None:
    """Load the pretrained encoder."""
    row = model.sentence_encoder.row
    assert isinstance(row, RowEncoder)
    row.encoder.load_state_dict(pretrained(config.encoder).state_dict())
