"""LSTM+PtrNet (Gong et al., 2016): an LSTM over words, an LSTM over the sentences, a pointer.

But for the sentence encoder it is CNN+PtrNet, of the same paper, and is trained as that.
"""

from pydantic import Field

from bert4so.config.schema import Values
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.pointer import PointerDecoder, encoded, mean_over_places
from bert4so.modeling.document_encoders.recurrent import RecurrentDocument
from bert4so.modeling.inputs.words_input import WordsBatch, WordSettings, WordsInput
from bert4so.modeling.sentence_encoders.word_encoder import LastStates
from bert4so.systems.cnn_ptrnet import TRAINING
from bert4so.systems.word_based import initialize, load_input, make_input

__all__ = ["CPU_PRESET", "TRAINING", "Config", "build", "initialize", "load_input", "make_input"]


class Config(WordSettings):
    """The numbers of the authors' code."""

    hidden: int = Field(100, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    beam: int = Field(64, ge=1)


CPU_PRESET: Values = {
    # More steps in the same time: Adagrad's are small. By the epochs the rate falls in that time.
    "train": {"batch": 16, "epochs": 20},
}


def build(config: Config, input: WordsInput) -> OrderingModel[WordsBatch]:
    """Connect the parts; their weights are random."""
    encoder = LastStates(len(input.vocabulary), config.vector, config.hidden, config.dropout)
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
