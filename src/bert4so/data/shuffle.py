"""Shuffle documents. This is the only place where a document loses its order."""

from bert4so.common.stable_hash import stable_hash
from bert4so.document import Document, Puzzle, inverse

EVALUATION_SEED = 0
"""Seed of the validation and test shuffles of a corpus without a data card."""


def shuffle(document: Document, seed: int | str) -> Puzzle:
    """Shuffle a document by a hash of the seed and its id.

    The puzzle depends on nothing else, so it is the same on every machine and for every system.
    """
    shuffled = sorted(
        range(len(document.sentences)), key=lambda i: stable_hash(seed, document.id, i)
    )
    # shuffled[k] is the true position of the puzzle's k-th sentence; `order` is the inverse.
    return Puzzle(tuple(document.sentences[i] for i in shuffled), inverse(shuffled))
