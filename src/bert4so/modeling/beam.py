"""Beam search over orders: place by place, the most probable beginnings are kept.

All documents and hypotheses go together, as tensors: (documents, hypotheses, ...). A step is given
what the hypotheses have read and what is left to them, and says what they would read next.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bert4so.document import Decision
from bert4so.ranking.plackett_luce import check_finite

CELLS = 720 * 6
"""Hypotheses times sentences at most: a long document is searched with fewer hypotheses.

Room for all orders of six sentences.
"""

State = tuple[Tensor, ...]
"""What a step remembers of each hypothesis: tensors of (documents, hypotheses, ...)."""


@dataclass(frozen=True)
class Prefix:
    """What each hypothesis has read so far.

    read: (documents, hypotheses, t) the sentences, in the order they were read.
    left: (documents, hypotheses, n) True for those that may be read next.
    """

    read: Tensor
    left: Tensor


Step = Callable[[State, Prefix], tuple[Tensor, State]]
"""(documents, hypotheses, n) the logits of the next sentence, and what to remember."""


@dataclass(frozen=True)
class Hypotheses:
    """Whole orders, the most probable first.

    orders: (documents, hypotheses, n) each a permutation; padding stands at its own place.
    scores: (documents, hypotheses) their log-probabilities; -inf where there is none.
    """

    orders: Tensor
    scores: Tensor


def search(step: Step, state: State, mask: Tensor, beam: int) -> Hypotheses:
    """The most probable orders of documents of which `mask`, (documents, n), has the sentences.

    Exact where the beam is as wide as there are beginnings. The last sentence is not asked for.
    """
    documents, n = mask.shape
    beam = max(1, min(beam, CELLS // n))
    read = torch.zeros(documents, 1, 0, dtype=torch.long, device=mask.device)
    left = mask[:, None]
    scores = torch.zeros(documents, 1, device=mask.device)
    for t in range(n - 1):
        allowed = _allowed(left, t)
        logits, state = step(state, Prefix(read, allowed))
        steps = logits.float().masked_fill(~allowed, -torch.inf).log_softmax(2)
        total = (scores[..., None] + steps).flatten(1)
        scores, best = total.topk(min(beam, total.shape[1]), dim=1)
        parent, chosen = best // n, best % n
        state = tuple(take(part, parent) for part in state)
        read = torch.cat([take(read, parent), chosen[..., None]], dim=2)
        left = take(left, parent).scatter(2, chosen[..., None], False)
    last = _allowed(left, n - 1).long().argmax(2, keepdim=True)
    return Hypotheses(torch.cat([read, last], dim=2), scores)


def take(part: Tensor, parent: Tensor) -> Tensor:
    """Of (documents, hypotheses, ...), the hypotheses that were gone on from."""
    index = parent.reshape(*parent.shape, *[1] * (part.ndim - 2))
    return part.gather(1, index.expand(-1, -1, *part.shape[2:]))


def _allowed(left: Tensor, t: int) -> Tensor:
    """What may be read at place t: what is left; after the end of a document, padding t."""
    place = torch.arange(left.shape[2], device=left.device) == t
    return torch.where(left.any(2, keepdim=True), left, place)


def decisions(found: Hypotheses, mask: Tensor) -> list[Decision]:
    """The best order of each document, without its padding.

    The confidence is its probability, the product over the places. `before[i, j]` is an
    approximation: the share of the hypotheses found, weighed by their probabilities, in which i is
    read before j.
    """
    lengths = mask.sum(1).tolist()
    orders, scores = found.orders.cpu().numpy(), found.scores.double().cpu().numpy()
    return [_decision(orders[d, :, :n], scores[d], n) for d, n in enumerate(lengths)]


def _decision(orders: np.ndarray, scores: np.ndarray, n: int) -> Decision:
    # A hypothesis that is not there has minus infinity; the best one is always there.
    check_finite(scores[:1])
    check_finite(scores[scores != -np.inf])
    alive = np.isfinite(scores)
    orders, scores = orders[alive], scores[alive]
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    place = np.argsort(orders, axis=1)
    earlier = place[:, :, None] < place[:, None, :]
    before = np.einsum("h,hij->ij", weights, earlier.astype(float))
    before[np.arange(n), np.arange(n)] = 0.5
    return Decision(orders[0].tolist(), float(np.exp(scores[0])), before=before)
