"""BERT4SO (Zhu et al., 2021): one joined row, Transformer layers, scores, margin ListMLE."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from bert4so.config.schema import LearningRates, Optimizer, Settings, Training, Values
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.io.model_files import MAX_LAYERS
from bert4so.modeling.base import OrderingModel, SentenceEncoder
from bert4so.modeling.decoders.scores import Loss, ScoreDecoder
from bert4so.modeling.document_encoders.transformer import TransformerDocument
from bert4so.modeling.encoder import architecture, freeze, pretrained, with_dropout
from bert4so.modeling.inputs.joined_input import JoinedBatch, JoinedInput
from bert4so.modeling.losses import list_mle, margin_list_mle
from bert4so.modeling.sentence_encoders.joined_row import AtCls, JoinedRow, MeanOfPieces
from bert4so.text import encoder_files as locate


class Config(Settings):
    """Defaults from the paper (appendix C); values missing there are marked "our choice"."""

    encoder: str = "bert-base-uncased"
    encoder_dropout: float = Field(0.1, ge=0, lt=1)  # as BERT was pretrained
    embeddings: Literal["learned", "fixed"] = "learned"  # those of word pieces, in training
    frozen_layers: int = Field(0, ge=0)  # the lowest, not trained, nor what is below them; 0: none
    pooling: Literal["cls", "mean"] = "cls"
    layers: int = Field(2, ge=1, le=MAX_LAYERS)
    heads: int = Field(12, ge=1)  # our choice: as in the encoder
    dropout: float = Field(0.1, ge=0, lt=1)  # our choice: as in the encoder
    hidden: int = Field(200, ge=1)
    loss: Literal["margin-list-mle", "list-mle"] = "margin-list-mle"
    gamma: float = Field(1.0, gt=0, le=1)


TRAINING = Training(
    epochs=5,
    patience=0,
    batch=32,
    accumulate=1,
    optimizer=Optimizer(name="adamw", weight_decay=0.01),  # our choice: AdamW's default
    learning_rate=LearningRates(sentence_encoder=5e-5, document_encoder=5e-5, decoder=5e-3),
    schedule="linear",
    warmup=0.2,
    decay=1.0,
    clip=1.0,  # our choice
    precision="float32",
)

FREE = {"encoder_dropout", "embeddings", "frozen_layers", "dropout", "loss", "gamma"}

CPU_PRESET: Values = {
    "model": {
        "encoder": locate.DEFAULT_ENCODER,
        # On a CPU, dropout takes more than half the time of a step: it rules out fused attention.
        "encoder_dropout": 0.0,
        # The encoder was fine-tuned for sentence embeddings: see `MeanOfPieces`.
        "pooling": "mean",
    },
    # A small encoder needs larger steps.
    "train": {
        "learning_rate": {"sentence_encoder": 3e-4, "document_encoder": 3e-4, "decoder": 1e-3}
    },
}


def make_input(config: Config, documents: Sequence[Document]) -> JoinedInput:
    """The input of the encoder; it does not depend on the documents."""
    return JoinedInput.for_encoder(config.encoder, config.encoder_dropout)


def load_input(folder: Path) -> JoinedInput:
    """The input that a run saved."""
    return JoinedInput.load(folder)


def build(config: Config, input: JoinedInput) -> OrderingModel[JoinedBatch]:
    """Connect the parts; their weights are random."""
    sentence_encoder, document_encoder = encoders(config, input)
    return OrderingModel(
        input=input,
        sentence_encoder=sentence_encoder,
        document_encoder=document_encoder,
        decoder=ScoreDecoder(sentence_encoder.width, config.hidden, score_loss(config)),
    )


def encoders(
    config: Config, input: JoinedInput
) -> tuple[SentenceEncoder[JoinedBatch], TransformerDocument]:
    """What reads the row, and what lets the sentences see one another."""
    row = JoinedRow(architecture(with_dropout(input.encoder_config, config.encoder_dropout)))
    row.encoder.get_input_embeddings().requires_grad_(config.embeddings == "learned")
    freeze(row.encoder, config.frozen_layers)
    if row.width % config.heads:
        raise UserError(f"heads = {config.heads}: must divide the encoder's width, {row.width}")
    pooled = {"cls": AtCls, "mean": MeanOfPieces}[config.pooling](row)
    return pooled, TransformerDocument(row.width, config.layers, config.heads, config.dropout)


def initialize(model: OrderingModel[JoinedBatch], config: Config) -> None:
    """Load the pretrained encoder."""
    row = model.sentence_encoder.row
    assert isinstance(row, JoinedRow)
    row.encoder.load_state_dict(pretrained(config.encoder).state_dict())


def score_loss(config: Config) -> Loss:
    """The loss of the scores."""
    if config.loss == "list-mle":
        return list_mle
    return partial(margin_list_mle, gamma=config.gamma)
