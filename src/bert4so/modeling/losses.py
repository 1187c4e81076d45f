"""Losses: functions of (scores, order, mask) that follow the papers' equations.

scores: (batch, n) a higher score means an earlier place; or logits of pairs or successors.
order:  (batch, n) the true order; a padding place points at itself (see `Batch`).
mask:   (batch, n) True for a sentence, False for padding on the right.

Each returns the mean over documents. A document's loss does not depend on the others.
"""

import torch
from torch import Tensor
from torch.nn.functional import softplus

LOWEST = -1e30
"""Score of padding. Not float32's minimum: differences of two scores must stay finite."""

LEAST_GAP = 0.01
"""Lower bound of gamma - F_j(k): see `margin_list_mle`."""


def list_mle(scores: Tensor, order: Tensor, mask: Tensor) -> Tensor:
    """The negative log-likelihood of the true order under Plackett-Luce (Xia et al., 2008).

    BERT4SO, appendix A: -log prod_(j=1..n) exp(z_j) / sum_(k=j..n) exp(z_k).
    """
    scores = _in_order(scores, order, mask)
    return (_unread(scores) - scores).masked_fill(~mask, 0).sum(1).mean()


def margin_list_mle(scores: Tensor, order: Tensor, mask: Tensor, gamma: float = 1.0) -> Tensor:
    """ListMLE that also pushes down, at each place, the sentences that come later.

    BERT4SO, section 2.2, with the sentences numbered in their true order:

        F_j(k) = exp(z_k) / sum_(l=j..n) exp(z_l)
        f(j)   = log F_j(j) + sum_(k=j+1..n-1) log(gamma - F_j(k))
        loss   = -sum_(j=1..n-1) f(j) / (n - j)

    For gamma = 1, log(1 - F_j(k)) is computed exactly, as the log of the summed exp-scores without
    k: it has a finite value and gradient for every F_j(k).

    For gamma < 1 the printed formula takes the log of a negative number as soon as
    F_j(k) > gamma: with equal scores this happens for gamma = 0.25 and three sentences. Here
    gamma - F_j(k) is clamped to at least 0.01. A sentence with F_j(k) above gamma is no longer
    pushed down by its own term, but still by log F_j(j). Extending the log linearly instead pushes
    all scores towards equality: every sentence costs less below gamma, and for gamma = 0.25 almost
    nothing is learned.
    """
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma = {gamma}: must be more than 0 and at most 1")
    scores = _in_order(scores, order, mask)
    unread = _unread(scores)
    gaps = _log_one_minus(scores, unread) if gamma == 1 else _log_gap(scores, unread, gamma)

    n = mask.sum(1)[:, None]
    place = torch.arange(mask.shape[1], device=mask.device)
    later = place[None, :] > place[:, None]  # (n, n) [j, k]: k is read after j
    pushed = later[None] & (place[None, None, :] < n[:, :, None] - 1)
    terms = scores - unread + gaps.masked_fill(~pushed, 0).sum(2)
    # The last sentence has no choice left: j runs to n - 1.
    counted = place[None, :] < n - 1
    weights = 1 / (n - 1 - place).clamp(min=1)
    return -(weights * terms).masked_fill(~counted, 0).sum(1).mean()


def pair_cross_entropy(logits: Tensor, order: Tensor, mask: Tensor) -> Tensor:
    """The binary cross-entropy of which of two sentences is read first.

    logits: (batch, n, n) that i is read before j; antisymmetric.

    Each sentence costs the mean over the others of its document, and these are summed, so that the
    loss grows with the sentences as that of scores does. One sentence alone costs nothing. With the
    sentences numbered in their true order:

        loss = 2 / (n - 1) sum_(i < j) log(1 + exp(-logit_ij))
    """
    place = order.argsort(1)
    counted = (place[:, :, None] < place[:, None, :]) & mask[:, :, None] & mask[:, None, :]
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    costs = softplus(-exact).masked_fill(~counted, 0).sum((1, 2))
    return (2 * costs / (mask.sum(1) - 1).clamp(min=1)).mean()


def successor_cross_entropy(logits: Tensor, order: Tensor, mask: Tensor) -> Tensor:
    """The cross-entropy of which sentence is read right after each, summed over sentences.

    logits: (batch, n + 1, n + 1) that j follows i; row n is the start, column n the end.

    Each row is a softmax over the sentences of the document but i itself, and the end. With the
    sentences numbered in their true order from 1, the start 0 and the end n + 1:

        loss = -sum_(i = 0..n) log softmax_i(i + 1)
    """
    documents, n = mask.shape
    ends = mask.new_ones(documents, 1)
    itself = torch.eye(n + 1, dtype=torch.bool, device=mask.device)
    allowed = torch.cat([mask, ends], dim=1)[:, None] & ~itself
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    costs = -exact.masked_fill(~allowed, LOWEST).log_softmax(2)
    end = order.new_full((documents, 1), n)
    rows, following = torch.cat([end, order], dim=1), torch.cat([order, end], dim=1)
    counted = torch.cat([ends, mask], dim=1)
    # After the last sentence comes the end, not the padding.
    following = following.masked_fill(~torch.cat([mask, ~ends], dim=1), n)
    picked = costs[torch.arange(documents, device=mask.device)[:, None], rows, following]
    return picked.masked_fill(~counted, 0).sum(1).mean()


def _in_order(scores: Tensor, order: Tensor, mask: Tensor) -> Tensor:
    """The scores in the true order, at least in float32; those of padding are negligibly low."""
    # Not -inf: the gradient of logcumsumexp would be NaN there.
    exact = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return exact.masked_fill(~mask, LOWEST).gather(1, order)


def _unread(scores: Tensor) -> Tensor:
    """At each place, the log of the summed exp-scores from that place to the end."""
    return scores.flip(1).logcumsumexp(1).flip(1)


def _log_one_minus(scores: Tensor, unread: Tensor) -> Tensor:
    """(batch, n, n) log(1 - F_j(k)) at [j, k], for j < k.

    1 - F_j(k) is the share of the others, j to k-1 and k+1 to n, in the sum over j to n.
    """
    n = scores.shape[1]
    from_j = torch.ones(n, n, dtype=torch.bool, device=scores.device).triu()
    rows = scores[:, None, :].expand(-1, n, -1).masked_fill(~from_j, LOWEST)
    nothing = scores.new_full((len(scores), 1), LOWEST)
    up_to_k = rows.logcumsumexp(2)  # [j, k]: over j to k
    up_to_k = torch.cat([nothing[:, None].expand(-1, n, -1), up_to_k[:, :, :-1]], dim=2)
    after_k = torch.cat([unread[:, 1:], nothing], dim=1)
    return torch.logaddexp(up_to_k, after_k[:, None, :]) - unread[:, :, None]


def _log_gap(scores: Tensor, unread: Tensor, gamma: float) -> Tensor:
    """(batch, n, n) log(gamma - F_j(k)) at [j, k], for j < k; the gap at least `LEAST_GAP`."""
    n = scores.shape[1]
    later = torch.ones(n, n, dtype=torch.bool, device=scores.device).triu(1)
    # Where k <= j there is no F_j(k), and the exponent could overflow.
    shares = (scores[:, None, :] - unread[:, :, None]).masked_fill(~later, 0).exp()
    return (gamma - shares).clamp(min=LEAST_GAP).log()
