"""BERT4SO with three heads, beyond its paper: scores, pairs and successors, searched together.

The joined row and the document layers are those of BERT4SO, and so is the head that scores. The
other heads teach the encoder what the scores alone do not ask for, and the search weighs what all
three say: see `bert4so.modeling.decoders.joint` and `bert4so.ranking.search`.
"""

from typing import Literal

from pydantic import Field

from bert4so.config.schema import Settings
from bert4so.document import HeadWeights
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.joint import JointDecoder
from bert4so.modeling.inputs.joined_input import JoinedBatch, JoinedInput
from bert4so.ranking.objective import MAX_WEIGHT
from bert4so.systems import bert4so
from bert4so.systems.bert4so import (
    CPU_PRESET,
    TRAINING,
    encoders,
    initialize,
    load_input,
    make_input,
    score_loss,
)

__all__ = ["CPU_PRESET", "TRAINING", "Config", "build", "initialize", "load_input", "make_input"]


class LossWeights(Settings):
    """What the loss of each head is multiplied by."""

    scores: float = Field(default=1.0, ge=0)
    before: float = Field(default=1.0, ge=0)
    next: float = Field(default=1.0, ge=0)


class SearchWeights(Settings):
    """What the log-probabilities of each head are multiplied by in the search."""

    scores: float = Field(ge=0, le=MAX_WEIGHT)
    before: float = Field(ge=0, le=MAX_WEIGHT)
    next: float = Field(ge=0, le=MAX_WEIGHT)


class Presets(Settings):
    """The weights of the search by what the orders should be good at.

    tau: few pairs in the wrong order.
    pmr: whole documents without an error.

    The numbers are those that were best in a comparison on ROCStory.
    """

    tau: SearchWeights = SearchWeights(scores=0.0, before=1.0, next=0.3)
    pmr: SearchWeights = SearchWeights(scores=0.3, before=0.0, next=1.0)


class Config(bert4so.Config):
    """The numbers of BERT4SO; those of the heads are our choice, as there is no paper.

    decode: which of the weights the search uses.
    """

    loss: Literal["margin-list-mle", "list-mle"] = "list-mle"
    loss_weights: LossWeights = LossWeights()
    decode: Literal["tau", "pmr"] = "tau"
    weights: Presets = Presets()


FREE = bert4so.FREE | {"loss_weights", "decode", "weights"}

STARTS_FROM = "bert4so"


def build(config: Config, input: JoinedInput) -> OrderingModel[JoinedBatch]:
    """Wire the parts; their weights have learned nothing."""
    sentence_encoder, document_encoder = encoders(config, input)
    chosen: SearchWeights = getattr(config.weights, config.decode)
    return OrderingModel(
        input=input,
        sentence_encoder=sentence_encoder,
        document_encoder=document_encoder,
        decoder=JointDecoder(
            width=sentence_encoder.width,
            hidden=config.hidden,
            loss=score_loss(config),
            loss_weights=HeadWeights(**config.loss_weights.model_dump()),
            weights=HeadWeights(**chosen.model_dump()),
        ),
    )
