"""Self-attention between sentences without positions: the order of the input has no effect."""

from torch import Tensor, nn

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.batch import Batch


class TransformerDocument(DocumentEncoder[Batch]):
    """BERT4SO, section 2.1: Transformer layers over the sentence vectors.

    The paper gives only their number. The rest is as in a layer of BERT (Devlin et al., 2019): a
    feed-forward width of four times the model width, GELU, post-norm.
    """

    def __init__(self, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout, activation="gelu", batch_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        mixed: Tensor = self.layers(vectors, src_key_padding_mask=~batch.mask)
        return States(raw=vectors, sentences=mixed)
