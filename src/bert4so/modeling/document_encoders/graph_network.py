"""A recurrent network over the graph of sentences and the entities that they share."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.document_encoders.pooled import masked_mean
from bert4so.modeling.inputs.graph_input import GraphBatch
from bert4so.text.nouns import OTHER, SUBJECT

Words = Callable[[Tensor], Tensor]
"""Maps word numbers to word vectors."""


class GraphDocument(DocumentEncoder[GraphBatch]):
    """Yin et al. (2019), section 3.2: a graph recurrent network.

    Sentences, entities and the whole document have states s_i, e and g, which start at zero. Each
    layer, all with shared weights, updates them from sentence vectors x_i, word vectors w_e and
    role vectors r_ie:

        a_i  = sum of s_j over sentences j that share an entity with i
        b_i  = sum of sigmoid(W_1 [s_i; e; r_ie] + b_1) * [e; r_ie] over the entities of i
        c_e  = sum of sigmoid(W_2 [e; s_i; r_ie] + b_2) * [s_i; r_ie] over the sentences of e
        s_i <- GRU([x_i; a_i; b_i; g], s_i)
        e   <- GRU([w_e; c_e; g], e)
        g   <- GRU([mean of s_i; sum of e / (1 + their number)], g), with the new s_i and e

    The decoder starts from g; its cell state starts from zero.

    words:   a function that returns word vectors, and their width. The vectors are weights of the
             sentence encoder; a function keeps them out of this module's weights.
    width:   width of sentence vectors, sentence states and the document state.
    entity:  width of entity states.
    role:    width of role vectors.
    dropout: of sentence and word vectors, and of the final sentence states.
    """

    def __init__(
        self,
        words: tuple[Words, int],
        width: int,
        entity: int,
        role: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.words, word = words
        self.layers = layers
        self.width, self.entity = width, entity
        self.roles = nn.Embedding(SUBJECT, role)
        self.from_entities = nn.Linear(width + entity + role, entity + role)
        self.from_sentences = nn.Linear(entity + width + role, width + role)
        self.sentence_cell = nn.GRUCell(width + width + entity + role + width, width)
        self.entity_cell = nn.GRUCell(word + width + role + width, entity)
        self.document_cell = nn.GRUCell(width + entity, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, batch: GraphBatch) -> States:
        documents, n, _ = vectors.shape
        x = self.dropout(vectors)
        w = self.dropout(self.words(batch.entities))
        sentence, entity, role = batch.links.unbind(1)
        r = self.roles(role - OTHER)
        shared = batch.shared.to(x.dtype)
        s = x.new_zeros(documents, n, self.width)
        e = x.new_zeros(len(w), self.entity)
        g = x.new_zeros(documents, self.width)
        for _ in range(self.layers):
            # One row per link. Not by indexing, whose gradient is summed in a random order.
            s_at, e_at = s.flatten(0, 1).index_select(0, sentence), e.index_select(0, entity)
            gate = self.from_entities(torch.cat([s_at, e_at, r], dim=1)).sigmoid()
            b = sums(gate * torch.cat([e_at, r], dim=1), sentence, documents * n)
            gate = self.from_sentences(torch.cat([e_at, s_at, r], dim=1)).sigmoid()
            c = sums(gate * torch.cat([s_at, r], dim=1), entity, len(e))
            g_of_s = g[:, None].expand_as(s)
            seen = torch.cat([x, shared @ s, b.reshape(documents, n, -1), g_of_s], dim=2)
            s = self.sentence_cell(seen.flatten(0, 1), s.flatten(0, 1)).reshape(documents, n, -1)
            g_of_e = g.index_select(0, batch.document)
            e = self.entity_cell(torch.cat([w, c, g_of_e], dim=1), e)
            number = 1 + torch.bincount(batch.document, minlength=documents)
            mean = sums(e, batch.document, documents) / number[:, None]
            g = self.document_cell(torch.cat([masked_mean(s, batch.mask), mean], dim=1), g)
        return States(raw=x, sentences=self.dropout(s), start=(g, torch.zeros_like(g)))


def sums(rows: Tensor, group: Tensor, groups: int) -> Tensor:
    """Sum the rows of each group, to (groups, width); `group`, (rows,), is the group of each."""
    return rows.new_zeros(groups, rows.shape[1]).index_add(0, group, rows)
