"""BERT4SO with three heads, which goes beyond the paper: scores, pairs and successors.

The joined row, the document layers and the score head are those of BERT4SO. The other heads train
the encoder on more than the scores need, and a search combines all three: see
`bert4so.modeling.decoders.joint` and `bert4so.ranking.search`.
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
    """Weight of each head's loss."""

    scores: float = Field(default=1.0, ge=0)
    before: float = Field(default=1.0, ge=0)
    next: float = Field(default=1.0, ge=0)


class SearchWeights(Settings):
    """Weight of each head's log-probabilities in the search."""

    scores: float = Field(ge=0, le=MAX_WEIGHT)
    before: float = Field(ge=0, le=MAX_WEIGHT)
    next: float = Field(ge=0, le=MAX_WEIGHT)


class Presets(Settings):
    """Search weights by the metric that they aim at.

    tau: few pairs in the wrong order.
    pmr: complete documents without an error.

    The values were best in a comparison on validation documents of ROCStory.
    """

    tau: SearchWeights = SearchWeights(scores=0.0, before=1.0, next=0.3)
    pmr: SearchWeights = SearchWeights(scores=0.3, before=0.0, next=1.0)


class Config(bert4so.Config):
    """Defaults from BERT4SO; those of the heads are our choice, as there is no paper.

    decode: the search weights to use.
    """

    loss: Literal["margin-list-mle", "list-mle"] = "list-mle"
    loss_weights: LossWeights = LossWeights()
    decode: Literal["tau", "pmr"] = "tau"
    weights: Presets = Presets()


FREE = bert4so.FREE | {"loss_weights", "decode", "weights"}

STARTS_FROM = "bert4so"


def build(config: Config, input: JoinedInput) -> OrderingModel[JoinedBatch]:
    """Connect the parts; their weights are random."""
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
