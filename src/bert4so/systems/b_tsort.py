"""B-TSort (Prabhumoye et al., 2020): classify every pair of sentences, then sort by all pairs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from bert4so.config.schema import LearningRates, Optimizer, Settings, Training, Values
from bert4so.document import Document
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.aggregated import AggregatedDecoder
from bert4so.modeling.document_encoders.identity import NoDocumentEncoder
from bert4so.modeling.encoder import architecture, freeze, pretrained, with_dropout
from bert4so.modeling.inputs.pairs_input import PairsBatch, PairsInput
from bert4so.modeling.sentence_encoders.row_encoder import AtRowCls, MeanOfRow, RowEncoder
from bert4so.modeling.sentence_encoders.row_pairs import RowPairs
from bert4so.ranking.aggregation import borda, copeland, most_likely, ranked_pairs, topological
from bert4so.text import encoder_files as locate


class Config(Settings):
    """Defaults from the paper's public code.

    aggregation: how pair probabilities become an order. The paper uses "topological", which depends
                 on how the sentences are numbered. The paper's code numbers them by their true
                 places; here they are numbered by their places in the puzzle: nothing leaks.
                 "borda" is our choice: the best of the five on the validation documents of NeurIPS,
                 where "topological" is the worst.
    """

    encoder: str = "bert-base-uncased"
    encoder_dropout: float = Field(0.1, ge=0, lt=1)  # as BERT was pretrained
    frozen_layers: int = Field(0, ge=0)  # the lowest, not trained, nor what is below them; 0: none
    pooling: Literal["cls", "mean"] = "cls"
    dropout: float = Field(0.1, ge=0, lt=1)
    aggregation: Literal["borda", "ranked-pairs", "most-likely", "copeland", "topological"] = (
        "borda"
    )
    both_directions: bool = False


TRAINING = Training(
    epochs=3,
    patience=0,
    # The public code uses 32 pairs per step. Five sentences have 20 ordered pairs, so 32 pairs are
    # between one and two documents.
    batch=2,
    accumulate=1,
    optimizer=Optimizer(name="adamw", weight_decay=0.0, eps=1e-8),
    learning_rate=LearningRates(sentence_encoder=5e-5, document_encoder=5e-5, decoder=5e-5),
    schedule="linear",
    warmup=0.0,
    decay=1.0,
    clip=1.0,
    precision="float32",
)

FREE = {"encoder_dropout", "frozen_layers", "dropout"}

CPU_PRESET: Values = {
    "model": {
        "encoder": locate.DEFAULT_ENCODER,
        # On a CPU dropout takes more than half the time of a step.
        "encoder_dropout": 0.0,
        # [CLS], although the encoder was fine-tuned for mean pooling: it classifies pairs better.
    },
    # A small encoder needs larger steps; these need a warm-up, and more pairs per step.
    "train": {
        "batch": 4,
        "warmup": 0.1,
        "learning_rate": {"sentence_encoder": 3e-4, "document_encoder": 3e-4, "decoder": 1e-3},
    },
}


def make_input(config: Config, documents: Sequence[Document]) -> PairsInput:
    """The input of the encoder; it does not depend on the documents."""
    return PairsInput.for_encoder(config.encoder, config.encoder_dropout, config.both_directions)


def load_input(folder: Path) -> PairsInput:
    """The input that a run saved."""
    return PairsInput.load(folder)


def build(config: Config, input: PairsInput) -> OrderingModel[PairsBatch]:
    """Connect the parts; their weights are random."""
    encoder = architecture(with_dropout(input.encoder_config, config.encoder_dropout))
    freeze(encoder, config.frozen_layers)
    row = {"cls": AtRowCls, "mean": MeanOfRow}[config.pooling](encoder)
    aggregate = {
        "ranked-pairs": ranked_pairs,
        "most-likely": most_likely,
        "borda": borda,
        "copeland": copeland,
        "topological": topological,
    }[config.aggregation]
    return OrderingModel(
        input=input,
        sentence_encoder=RowPairs(row),
        document_encoder=NoDocumentEncoder(),
        decoder=AggregatedDecoder(row.width, config.dropout, aggregate),
    )


def initialize(model: OrderingModel[PairsBatch], config: Config) -> None:
    """Load the pretrained encoder."""
    row = model.sentence_encoder.row
    assert isinstance(row, RowEncoder)
    row.encoder.load_state_dict(pretrained(config.encoder).state_dict())
