"""Sentence vectors from word vectors."""

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from bert4so.modeling.base import SentenceEncoder
from bert4so.modeling.inputs.words_input import WordsBatch
from bert4so.text.vocabulary import PADDING


class WordEncoder(SentenceEncoder[WordsBatch]):
    """Encode each sentence independently, from its word vectors.

    dropout: of the word vectors.
    """

    def __init__(self, vocabulary: int, vector: int, dropout: float) -> None:
        super().__init__()
        self.vectors = nn.Embedding(vocabulary, vector, padding_idx=PADDING)
        nn.init.normal_(self.vectors.weight, std=0.4)  # our choice: as GloVe's are
        with torch.no_grad():
            self.vectors.weight[PADDING].zero_()
        self.dropout = nn.Dropout(dropout)

    GROUPS = 8
    """Groups of similar length, so that one long sentence pads few others."""

    def forward(self, batch: WordsBatch) -> Tensor:
        words, lengths = batch.words[batch.mask], batch.lengths[batch.mask]
        by_length = lengths.argsort()
        encoded = [
            self._encode_group(words[group], lengths[group])
            for group in by_length.tensor_split(min(self.GROUPS, len(lengths)))
        ]
        vectors = encoded[0].new_zeros(*batch.mask.shape, self.width)
        vectors[batch.mask] = torch.cat(encoded)[by_length.argsort()]
        return vectors

    def _encode_group(self, words: Tensor, lengths: Tensor) -> Tensor:
        longest = int(lengths.max())
        return self.encode(self.dropout(self.vectors(words[:, :longest])), lengths)

    @abstractmethod
    def encode(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Encode word vectors, (sentences, m, vector), to (sentences, width).

        lengths: (sentences,) number of words; the rest is padding.
        """


class ConvolutionEncoder(WordEncoder):
    """Gong et al. (2016): convolutions of three widths, ReLU, maximum over the sentence."""

    KERNELS = (3, 4, 5)

    def __init__(self, vocabulary: int, vector: int, filters: int, dropout: float) -> None:
        super().__init__(vocabulary, vector, dropout)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(vector, filters, kernel) for kernel in self.KERNELS
        )
        self.width = len(self.KERNELS) * filters

    def encode(self, words: Tensor, lengths: Tensor) -> Tensor:
        real = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        columns = words.transpose(1, 2)
        maxima = []
        for kernel, convolve in zip(self.KERNELS, self.convolutions, strict=True):
            # "Same" padding: one output per word.
            padded = nn.functional.pad(columns, ((kernel - 1) // 2, kernel // 2))
            # ReLU outputs are never negative, so zeroed padding cannot change the maximum.
            maxima.append((convolve(padded).relu() * real[:, None]).amax(2))
        return torch.cat(maxima, dim=1)


class LastStates(WordEncoder):
    """Gong et al. (2016): the last cell and hidden state of an LSTM, joined."""

    def __init__(self, vocabulary: int, vector: int, hidden: int, dropout: float) -> None:
        super().__init__(vocabulary, vector, dropout)
        self.lstm = nn.LSTM(vector, hidden, batch_first=True)
        self.width = 2 * hidden

    def encode(self, words: Tensor, lengths: Tensor) -> Tensor:
        _, (hidden, cell) = self.lstm(packed(words, lengths))
        return torch.cat([cell[0], hidden[0]], dim=1)


class LastHidden(WordEncoder):
    """Logeswaran et al. (2018): the last hidden state of an LSTM."""

    def __init__(self, vocabulary: int, vector: int, hidden: int, dropout: float) -> None:
        super().__init__(vocabulary, vector, dropout)
        self.lstm = nn.LSTM(vector, hidden, batch_first=True)
        self.width = hidden

    def encode(self, words: Tensor, lengths: Tensor) -> Tensor:
        return last_output(self.lstm, words, lengths)


class BothEnds(WordEncoder):
    """Cui et al. (2018): the last hidden states of an LSTM in each direction, joined."""

    def __init__(self, vocabulary: int, vector: int, width: int, dropout: float) -> None:
        super().__init__(vocabulary, vector, dropout)
        self.forth = nn.LSTM(vector, width // 2, batch_first=True)
        self.back = nn.LSTM(vector, width // 2, batch_first=True)
        self.width = width

    def encode(self, words: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        # Reverse the words; the padding stays on the right.
        mirrored = (lengths[:, None] - 1 - places).remainder(words.shape[1])
        backwards = words.gather(1, mirrored[..., None].expand_as(words))
        return torch.cat(
            [
                last_output(self.forth, words, lengths),
                last_output(self.back, backwards, lengths),
            ],
            dim=1,
        )


def last_output(lstm: nn.LSTM, words: Tensor, lengths: Tensor) -> Tensor:
    """The output of an LSTM at the last word of each sentence.

    The LSTM also reads the padding, which follows the words: on a CPU this is several times faster
    than packed sequences.
    """
    outputs, _ = lstm(words)
    chosen: Tensor = outputs[torch.arange(len(words), device=words.device), lengths - 1]
    return chosen


def packed(words: Tensor, lengths: Tensor) -> nn.utils.rnn.PackedSequence:
    """The words of each sentence without padding, as a packed sequence."""
    return pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
