"""ATTOrderNet+TwoLoss (Yin et al., 2020): a pointer that also learns from pairs and uses them.

The name comes from the table of the BERT4SO paper. The paper does not say whether the pair losses
are only added to a pointer, or whether the pointer also reads the pair features. It says that the
authors' code was run, which does the latter; `pair_features = false` gives the former.
"""

from pydantic import Field

from bert4so.config.schema import LearningRates, Optimizer, Training, Values
from bert4so.io.model_files import MAX_LAYERS
from bert4so.modeling.base import Decoder, OrderingModel
from bert4so.modeling.decoders.pair_modules import PairModules
from bert4so.modeling.decoders.pairwise_pointer import PairwisePointer, PointerBesidePairs
from bert4so.modeling.decoders.pointer import PointerDecoder, raw, sum_over_places
from bert4so.modeling.document_encoders.pooled import PostNormDocument
from bert4so.modeling.inputs.words_input import WordsBatch, WordSettings, WordsInput
from bert4so.modeling.sentence_encoders.word_encoder import BothEnds
from bert4so.systems.word_based import check_width, initialize, load_input, make_input

__all__ = [
    "BY_CORPUS",
    "CPU_PRESET",
    "TRAINING",
    "Config",
    "build",
    "initialize",
    "load_input",
    "make_input",
]


class Config(WordSettings):
    """Defaults from the authors' code.

    width:         width of the sentence vectors and of the decoder.
    inner:         feed-forward width of the Transformer layers.
    features:      number of features per pair.
    weight:        weight of the pair losses: lambda in the paper.
    pair_features: whether the pointer reads the pair features.
    """

    width: int = Field(512, ge=2)
    layers: int = Field(2, ge=1, le=MAX_LAYERS)
    heads: int = Field(4, ge=1)
    inner: int = Field(512, ge=1)
    features: int = Field(256, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    weight: float = Field(0.4, ge=0)  # our choice: as for arXiv, whose documents are abstracts too
    pair_features: bool = True
    beam: int = Field(8, ge=1)


TRAINING = Training(
    epochs=100,  # our choice
    patience=3,
    batch=64,
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
    "sind": {"model": {"weight": 0.1}},
    "rocstory": {"model": {"weight": 0.5}},
}

CPU_PRESET: Values = {
    # Half the width takes a third of the time.
    "model": {"width": 256, "inner": 256, "features": 128},
}


def build(config: Config, input: WordsInput) -> OrderingModel[WordsBatch]:
    """Connect the parts; their weights are random."""
    check_width(config.width, 2, config.heads)
    return OrderingModel(
        input=input,
        sentence_encoder=BothEnds(
            len(input.vocabulary), config.vector, config.width, config.dropout
        ),
        document_encoder=PostNormDocument(
            config.width, config.layers, config.heads, config.inner, config.dropout
        ),
        decoder=_decoder(config),
    )


def _decoder(config: Config) -> Decoder:
    pairs = PairModules(config.width, config.features, config.dropout)
    if config.pair_features:
        return PairwisePointer(
            pairs, config.width, config.features, config.dropout, config.weight, config.beam
        )
    pointer = PointerDecoder(
        width=config.width,
        hidden=config.width,
        keys=(raw, config.width),
        scoring=config.width,
        dropout=config.dropout,
        reduction=sum_over_places,
        beam=config.beam,
    )
    return PointerBesidePairs(pointer, pairs, config.weight)
