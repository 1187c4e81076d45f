"""Bootstrap intervals of averages over documents."""

from collections.abc import Iterable

import numpy as np

from bert4so.document import Order
from bert4so.evaluation.metrics import METRICS, scored_pairs

RESAMPLES = 1000
LEVEL = 0.95

Interval = tuple[float, float]


def intervals(
    pairs: Iterable[tuple[Order, Order]], count_single: bool = False, seed: int = 0
) -> dict[str, Interval]:
    """The 95 % interval of each metric, by the percentile bootstrap.

    1,000 times, as many documents as there are get drawn with replacement and averaged. The seed
    makes the result reproducible.
    """
    scored, _ = scored_pairs(pairs, count_single)
    lengths = np.array([len(true) for _, true in scored], dtype=float)
    values = np.array([[metric.of(*pair) for metric in METRICS.values()] for pair in scored])
    by_sentence = np.array([metric.by == "sentence" for metric in METRICS.values()])
    weights = np.where(by_sentence, lengths[:, None], 1.0)
    rng = np.random.default_rng(seed)
    averages = np.empty((RESAMPLES, len(METRICS)))
    for k in range(RESAMPLES):
        # draws[d]: how often document d is drawn.
        draws = np.bincount(rng.integers(len(scored), size=len(scored)), minlength=len(scored))
        averages[k] = draws @ (weights * values) / (draws @ weights)
    low, high = np.quantile(averages, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(METRICS)}
