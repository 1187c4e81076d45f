"""SE-Graph (Yin et al., 2019): words, a network over the graph of shared nouns, a pointer.

Unlike the public code, the decoder's first input is a learned vector that starts at zero (there it
is zero), and the model with the best tau + PMR on validation is kept, as for all systems (there it
is the one with the best accuracy). The authors' files contain nouns and roles from a parser that
they do not name; `bert4so.text.nouns` says how ours are found.
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from bert4so.config.schema import LearningRates, Optimizer, Training, Values
from bert4so.document import Document
from bert4so.io.model_files import MAX_LAYERS
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.pointer import PointerDecoder, both, sum_over_places
from bert4so.modeling.document_encoders.graph_network import GraphDocument
from bert4so.modeling.inputs.graph_input import GraphBatch, GraphInput, GraphSettings
from bert4so.modeling.sentence_encoders.word_encoder import BothEnds
from bert4so.systems.word_based import give_vectors


class Config(GraphSettings):
    """Defaults from the authors' code."""

    hidden: int = Field(300, ge=2, multiple_of=2)  # half of it in each direction
    entity: int = Field(150, ge=1)
    role: int = Field(50, ge=1)
    layers: int = Field(3, ge=1, le=MAX_LAYERS)
    dropout: float = Field(0.5, ge=0, lt=1)
    beam: int = Field(64, ge=1)


TRAINING = Training(
    epochs=100,
    patience=5,
    batch=16,
    accumulate=1,
    optimizer=Optimizer(name="adadelta", weight_decay=1e-5, rho=0.95),
    learning_rate=LearningRates(sentence_encoder=1.0, document_encoder=1.0, decoder=1.0),
    schedule="epochs",
    warmup=0.0,
    decay=1.0,
    clip=float("inf"),
    precision="float32",
)

BY_CORPUS: dict[str, Values] = {
    "neurips": {"model": {"layers": 2}},
    "aan": {"model": {"layers": 2}},
}

CPU_PRESET: Values = {}


def make_input(config: Config, documents: Sequence[Document]) -> GraphInput:
    """Build the vocabulary of the training documents, and find their nouns."""
    return GraphInput.of(documents, config)


def load_input(folder: Path) -> GraphInput:
    """The input that a run saved."""
    return GraphInput.load(folder)


def build(config: Config, input: GraphInput) -> OrderingModel[GraphBatch]:
    """Connect the parts; their weights are random."""
    encoder = BothEnds(len(input.words.vocabulary), config.vector, config.hidden, config.dropout)
    return OrderingModel(
        input=input,
        sentence_encoder=encoder,
        document_encoder=GraphDocument(
            words=(encoder.vectors.forward, config.vector),
            width=encoder.width,
            entity=config.entity,
            role=config.role,
            layers=config.layers,
            dropout=config.dropout,
        ),
        decoder=PointerDecoder(
            width=encoder.width,
            hidden=config.hidden,
            keys=(both, 2 * config.hidden),
            scoring=config.hidden,
            dropout=0.0,  # of the sentence vectors, which have had theirs
            reduction=sum_over_places,
            beam=config.beam,
        ),
    )


def initialize(model: OrderingModel[GraphBatch], config: Config) -> None:
    """Put the word vectors in place that training starts from, where there are some."""
    assert isinstance(model.input, GraphInput)
    give_vectors(model, model.input.words, config)
