"""CNN+PtrNet (Gong et al., 2016): convolutions, an LSTM over the sentences, a pointer.

Unlike the public code, the decoder has no end-of-order symbol, so every order is complete (there,
decoding may stop early), and its first input is a learned vector (there it is the encoding of a
word <sos>, which is learned too). Decoding is greedy there; the beam is our choice, as for the
others.
"""

from pydantic import Field

from bert4so.config.schema import LearningRates, Optimizer, Training, Values
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.pointer import PointerDecoder, encoded, mean_over_places
from bert4so.modeling.document_encoders.recurrent import RecurrentDocument
from bert4so.modeling.inputs.words_input import WordsBatch, WordSettings, WordsInput
from bert4so.modeling.sentence_encoders.word_encoder import ConvolutionEncoder
from bert4so.systems.word_based import initialize, load_input, make_input

__all__ = ["CPU_PRESET", "TRAINING", "Config", "build", "initialize", "load_input", "make_input"]


class Config(WordSettings):
    """Defaults from the authors' code."""

    filters: int = Field(512, ge=1)
    hidden: int = Field(100, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    beam: int = Field(64, ge=1)


TRAINING = Training(
    epochs=100,
    patience=5,
    batch=128,
    accumulate=1,
    # The default of TensorFlow, which the authors use. With PyTorch's default of 0, the first step
    # changes every weight by 0.3, and the model never learns.
    optimizer=Optimizer(name="adagrad", weight_decay=1e-5, accumulator=0.1),
    learning_rate=LearningRates(sentence_encoder=0.3, document_encoder=0.3, decoder=0.3),
    schedule="epochs",
    warmup=0.0,
    decay=0.95,
    clip=5.0,  # our choice: the authors name none, and 0.3 is a large step
    precision="float32",
)

CPU_PRESET: Values = {
    # Adagrad's steps are small: a smaller batch takes more of them. `epochs` sets the decay.
    "train": {"batch": 16, "epochs": 20},
}


def build(config: Config, input: WordsInput) -> OrderingModel[WordsBatch]:
    """Connect the parts; their weights are random."""
    encoder = ConvolutionEncoder(
        len(input.vocabulary), config.vector, config.filters, config.dropout
    )
    return OrderingModel(
        input=input,
        sentence_encoder=encoder,
        document_encoder=RecurrentDocument(encoder.width, config.hidden, config.dropout),
        decoder=PointerDecoder(
            width=encoder.width,
            hidden=config.hidden,
            keys=(encoded, config.hidden),
            scoring=config.hidden,
            dropout=config.dropout,
            reduction=mean_over_places,
            beam=config.beam,
        ),
    )
