"""For systems in which sentences see one another only where they are encoded."""

from torch import Tensor

from bert4so.batch import Batch
from bert4so.model import DocumentEncoder, States


class NoDocumentEncoder(DocumentEncoder[Batch]):
    """Gives on what it is given, be it a vector a sentence or one a pair."""

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        return States(raw=vectors, sentences=vectors)
