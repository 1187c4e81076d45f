"""Beam search over orders: at each place, keep the most probable prefixes.

All documents and hypotheses are processed together, as tensors: (documents, hypotheses, ...). A
step receives each hypothesis's prefix and its remaining sentences, and scores the next sentence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bert4so.document import Decision
from bert4so.ranking.plackett_luce import check_finite

MAX_HYPOTHESES_TIMES_SENTENCES = 720 * 6
"""Limits the hypotheses of long documents; allows all orders of six sentences."""

State = tuple[Tensor, ...]
"""A step's state per hypothesis: tensors of (documents, hypotheses, ...)."""


@dataclass(frozen=True)
class Prefix:
    """The beginning of each hypothesis.

    read: (documents, hypotheses, t) the sentences placed so far, in order.
    left: (documents, hypotheses, n) True for those that may come next.
    """

    read: Tensor
    left: Tensor


Step = Callable[[State, Prefix], tuple[Tensor, State]]
"""Returns the logits of the next sentence, (documents, hypotheses, n), and the new state."""


@dataclass(frozen=True)
class Hypotheses:
    """Whole orders, the most probable first.

    orders: (documents, hypotheses, n) permutations; padding stays at its own place.
    scores: (documents, hypotheses) log-probabilities; -inf for unused hypotheses.
    """

    orders: Tensor
    scores: Tensor


def search(step: Step, state: State, mask: Tensor, beam: int) -> Hypotheses:
    """Find the most probable orders; `mask`, (documents, n), is True for sentences.

    Exact if the beam is at least as wide as the number of prefixes. The last sentence is implied.
    """
    documents, n = mask.shape
    beam = max(1, min(beam, MAX_HYPOTHESES_TIMES_SENTENCES // n))
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
    """Select hypotheses by the index `parent` from a tensor of (documents, hypotheses, ...)."""
    index = parent.reshape(*parent.shape, *[1] * (part.ndim - 2))
    return part.gather(1, index.expand(-1, -1, *part.shape[2:]))


def _allowed(left: Tensor, t: int) -> Tensor:
    """What may come at place t: the sentences left; after the end of a document, padding t."""
    place = torch.arange(left.shape[2], device=left.device) == t
    return torch.where(left.any(2, keepdim=True), left, place)


def decisions(found: Hypotheses, mask: Tensor) -> list[Decision]:
    """The best order of each document, without padding.

    Its confidence is its probability, the product over the places. `before[i, j]` is approximate:
    the share of the hypotheses, weighted by probability, in which i comes before j.
    """
    lengths = mask.sum(1).tolist()
    orders, scores = found.orders.cpu().numpy(), found.scores.double().cpu().numpy()
    return [_decision(orders[d, :, :n], scores[d], n) for d, n in enumerate(lengths)]


def _decision(orders: np.ndarray, scores: np.ndarray, n: int) -> Decision:
    # Unused hypotheses have minus infinity; the best one is always used.
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
