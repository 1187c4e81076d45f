"""An LSTM over the sentences in the given order: its output depends on the shuffle."""

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.batch import Batch


class RecurrentDocument(DocumentEncoder[Batch]):
    """Gong et al. (2016): an LSTM over the sentence vectors; its final state starts the decoder.

    dropout: of its input.
    """

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, hidden, batch_first=True)

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        lengths = batch.mask.sum(1).cpu()
        rows = pack_padded_sequence(
            self.dropout(vectors), lengths, batch_first=True, enforce_sorted=False
        )
        outputs, (hidden, cell) = self.lstm(rows)
        read, _ = pad_packed_sequence(outputs, batch_first=True, total_length=vectors.shape[1])
        return States(raw=vectors, sentences=read, start=(hidden[0], cell[0]))
