"""Which documents stand together in a batch."""

from collections.abc import Callable, Sequence

from bert4so.common.stable_hash import stable_hash

Batching = Callable[[Sequence[str], Sequence[int], int, int, int], list[list[int]]]
"""Divides the documents of an epoch into batches: as `epoch_batches`, with its arguments."""

POOL = 50
"""Batches are cut from pools of this many batches: like lengths together, yet drawn at random."""


def epoch_batches(
    ids: Sequence[str], sizes: Sequence[int], batch: int, seed: int, epoch: int
) -> list[list[int]]:
    """The documents of an epoch, by index, in batches of documents of about the same size.

    The documents are drawn at random, sorted by size within a pool, cut, and the batches drawn at
    random again. Every document stands in exactly one batch. A pure function of its arguments, so
    that a run can be repeated and continued.
    """
    drawn = sorted(range(len(ids)), key=lambda i: stable_hash("document", seed, epoch, ids[i]))
    batches = []
    for start in range(0, len(drawn), POOL * batch):
        alike = sorted(drawn[start : start + POOL * batch], key=sizes.__getitem__)
        batches += [alike[i : i + batch] for i in range(0, len(alike), batch)]
    return sorted(batches, key=lambda chosen: stable_hash("batch", seed, epoch, ids[chosen[0]]))


def within_budget(sizes: Sequence[int], budget: int) -> list[list[int]]:
    """Indices into `sizes`, like sizes together, longest * count at most `budget` (or one alone).

    The largest come first, so that what does not fit in memory fails at once.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
        if batches and sizes[batches[-1][0]] * (len(batches[-1]) + 1) <= budget:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
