"""HierarchicalATTNet (Wang & Wan, 2019): attention over words, sentences, and what was placed.

Not as in the public code: there a pseudo-sentence stands among the others, is read first, and ends
the order when it is pointed at; here a learned vector is read first, and every order is whole. A
sentence is placed once, where there it may be placed again. Digits are not all read as 0.
"""

from pydantic import Field

from bert4so.config.schema import LearningRates, Optimizer, Training, Values
from bert4so.io.model_files import MAX_LAYERS
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.attention_pointer import AttentionPointer
from bert4so.modeling.document_encoders.gated import GatedDocument
from bert4so.modeling.inputs.words_input import WordsBatch, WordSettings, WordsInput
from bert4so.modeling.sentence_encoders.attended_words import AttendedWords
from bert4so.systems.word_based import check_width, initialize, load_input, make_input

__all__ = ["CPU_PRESET", "TRAINING", "Config", "build", "initialize", "load_input", "make_input"]


class Config(WordSettings):
    """The numbers of the authors' code.

    width:      of all vectors but those of words.
    word_heads: of the attention over words.
    blocks:     of the document encoder, and of the decoder.
    heads:      of the attention in a block.
    """

    vector: int = Field(300, ge=1)
    vocabulary: int = Field(20_000, ge=1)
    max_words: int = Field(25, ge=1)
    width: int = Field(512, ge=2)
    word_heads: int = Field(8, ge=1)
    blocks: int = Field(3, ge=1, le=MAX_LAYERS)
    heads: int = Field(4, ge=1)
    dropout: float = Field(0.15, ge=0, lt=1)
    beam: int = Field(16, ge=1)


TRAINING = Training(
    epochs=100,  # our choice: the authors take 100,000 steps, some 80 epochs of ROCStories
    patience=10,  # our choice: at this rate an epoch of a small corpus is a small step
    batch=64,
    accumulate=1,
    optimizer=Optimizer(name="adam", weight_decay=0.0, beta2=0.98, eps=1e-9),
    learning_rate=LearningRates(sentence_encoder=1e-4, document_encoder=1e-4, decoder=1e-4),
    schedule="epochs",
    warmup=0.0,
    decay=1.0,
    clip=3.0,
    precision="float32",
)

CPU_PRESET: Values = {
    # Most of a step is the LSTM over words: a quarter of the width takes a seventh of the time.
    "model": {"vector": 100, "width": 128},
    # Fewer steps, and larger.
    "train": {
        "epochs": 20,
        "patience": 3,
        "learning_rate": {"sentence_encoder": 1e-3, "document_encoder": 1e-3, "decoder": 1e-3},
    },
}


def build(config: Config, input: WordsInput) -> OrderingModel[WordsBatch]:
    """Connect the parts; their weights are random."""
    check_width(config.width, 2, config.word_heads, config.heads)
    return OrderingModel(
        input=input,
        sentence_encoder=AttendedWords(
            len(input.vocabulary), config.vector, config.width, config.word_heads, config.dropout
        ),
        document_encoder=GatedDocument(config.width, config.blocks, config.heads, config.dropout),
        decoder=AttentionPointer(
            config.width, config.blocks, config.heads, config.dropout, config.beam
        ),
    )
