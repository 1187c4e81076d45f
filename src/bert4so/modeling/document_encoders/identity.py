"""For systems in which sentences attend to one another only in the sentence encoder."""

from torch import Tensor

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.batch import Batch


class NoDocumentEncoder(DocumentEncoder[Batch]):
    """Identity."""

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        return States(raw=vectors, sentences=vectors)
