"""Group documents into batches."""

from collections.abc import Callable, Sequence

from bert4so.common.stable_hash import stable_hash

Batching = Callable[[Sequence[str], Sequence[int], int, int, int], list[list[int]]]
"""The signature of `epoch_batches`."""

POOL_BATCHES = 50
"""Documents are sorted by size within pools of this many batches: similar sizes, random order."""


def epoch_batches(
    ids: Sequence[str], sizes: Sequence[int], batch: int, seed: int, epoch: int
) -> list[list[int]]:
    """The batches of an epoch, as indices of documents of similar size.

    The documents are shuffled, sorted by size within pools, cut into batches, and the batches are
    shuffled. Every document is in exactly one batch. The result depends only on the arguments, so
    that a run can be repeated and resumed.
    """
    shuffled = sorted(range(len(ids)), key=lambda i: stable_hash("document", seed, epoch, ids[i]))
    batches = []
    for start in range(0, len(shuffled), POOL_BATCHES * batch):
        pool = sorted(shuffled[start : start + POOL_BATCHES * batch], key=sizes.__getitem__)
        batches += [pool[i : i + batch] for i in range(0, len(pool), batch)]
    return sorted(batches, key=lambda members: stable_hash("batch", seed, epoch, ids[members[0]]))


def within_budget(sizes: Sequence[int], budget: int) -> list[list[int]]:
    """Batches of indices into `sizes`, of similar size, with largest size * count <= budget.

    An index whose size exceeds the budget is a batch of its own. The largest sizes come first, so
    that running out of memory shows up at once.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
        if batches and sizes[batches[-1][0]] * (len(batches[-1]) + 1) <= budget:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
