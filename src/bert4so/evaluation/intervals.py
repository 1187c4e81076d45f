"""How sure an average is: intervals by bootstrap over documents."""

from collections.abc import Iterable

import numpy as np

from bert4so.document import Order
from bert4so.evaluation.metrics import METRICS, counted

RESAMPLES = 1000
LEVEL = 0.95

Interval = tuple[float, float]


def intervals(
    pairs: Iterable[tuple[Order, Order]], count_single: bool = False, seed: int = 0
) -> dict[str, Interval]:
    """For each metric, between which values 95 % of its averages lie over resampled documents.

    Documents are drawn with replacement, as many as there are, 1,000 times (the percentile
    bootstrap). The seed makes it repeatable.
    """
    chosen, _ = counted(pairs, count_single)
    lengths = np.array([len(true) for _, true in chosen], dtype=float)
    values = np.array([[metric.of(*pair) for metric in METRICS.values()] for pair in chosen])
    by_sentence = np.array([metric.by == "sentence" for metric in METRICS.values()])
    weights = np.where(by_sentence, lengths[:, None], 1.0)
    rng = np.random.default_rng(seed)
    averages = np.empty((RESAMPLES, len(METRICS)))
    for k in range(RESAMPLES):
        # How often each document is drawn.
        times = np.bincount(rng.integers(len(chosen), size=len(chosen)), minlength=len(chosen))
        averages[k] = times @ (weights * values) / (times @ weights)
    low, high = np.quantile(averages, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(METRICS)}
