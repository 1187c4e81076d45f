"""An order from scores: sorted, with the probabilities under the Plackett-Luce model."""

import numpy as np
from numpy.typing import NDArray

from bert4so.document import Decision
from bert4so.errors import UserError


class NotFiniteError(UserError):
    """A model returned NaN or infinity."""


def check_finite(values: NDArray[np.floating]) -> None:
    """Refuse outputs of a model from which no order follows."""
    if not np.isfinite(values).all():
        raise NotFiniteError(
            "its scores are not finite numbers: its weights are damaged, or training has diverged"
        )


def ranked(scores: NDArray[np.floating]) -> Decision:
    """Sort the sentences by score, highest first; ties keep the order of the puzzle.

    The confidence is the Plackett-Luce probability of the order, the likelihood that ListMLE
    trains: prod_k exp(z_order[k]) / sum_(l >= k) exp(z_order[l]). `before[i, j]` is the probability
    that i comes before j: sigmoid(z_i - z_j).
    """
    scores = np.asarray(scores, dtype=np.float64)
    check_finite(scores)
    order = np.argsort(-scores, kind="stable")
    drawn = scores[order]
    # At each place, the log of the summed exp-scores from that place to the end.
    unread = np.logaddexp.accumulate(drawn[::-1])[::-1]
    gaps = scores[:, None] - scores[None, :]
    return Decision(
        order=order.tolist(),
        confidence=float(np.exp((drawn - unread).sum())),
        scores=tuple(scores.tolist()),
        # The sigmoid by tanh, which does not overflow.
        before=0.5 + 0.5 * np.tanh(0.5 * gaps),
    )
