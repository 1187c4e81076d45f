"""For systems in which sentences see one another only where they are encoded."""

from torch import Tensor

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.batch import Batch


class NoDocumentEncoder(DocumentEncoder[Batch]):
    """Gives on what it is given, be it a vector a sentence or one a pair."""

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        return States(raw=vectors, sentences=vectors)
