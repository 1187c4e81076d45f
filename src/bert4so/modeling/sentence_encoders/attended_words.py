"""Sentence vectors as attention over word states."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_packed_sequence

from bert4so.modeling.gated_attention import ReluAttention
from bert4so.modeling.sentence_encoders.word_encoder import WordEncoder, packed


class AttendedWords(WordEncoder):
    """Wang & Wan (2019): one learned query attends to the states of an LSTM over the words.

    The LSTM has two bidirectional layers. Scores are scaled by the full width, not by the width of
    a head.

    dropout: of the input of each LSTM layer, and of the sentence vectors.
    """

    def __init__(
        self, vocabulary: int, vector: int, width: int, heads: int, dropout: float
    ) -> None:
        super().__init__(vocabulary, vector, dropout)
        self.lstm = nn.LSTM(
            vector, width // 2, num_layers=2, dropout=dropout, batch_first=True, bidirectional=True
        )
        self.query = nn.Parameter(torch.empty(width))
        nn.init.normal_(self.query, std=width**-0.5)  # our choice: of length 1
        self.attention = ReluAttention(width, heads, width**-0.5, dropout)
        self.width = width

    def encode(self, words: Tensor, lengths: Tensor) -> Tensor:
        outputs, _ = self.lstm(packed(words, lengths))
        states, _ = pad_packed_sequence(outputs, batch_first=True, total_length=words.shape[1])
        real = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        query = self.query.expand(len(words), 1, -1)
        vectors: Tensor = self.attention(query, states, real[:, None]).squeeze(1)
        return vectors
