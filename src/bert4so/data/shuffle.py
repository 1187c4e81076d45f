"""Shuffle documents. This is the only place where a document loses its order."""

from bert4so.common.stable_hash import stable_hash
from bert4so.document import Document, Puzzle, inverse

EVALUATION_SEED = 0
"""Seed of the validation and test shuffles of a corpus without a data card."""


def shuffle(document: Document, seed: int | str) -> Puzzle:
    """Shuffle a document by a hash of the seed and its id.

    The puzzle depends only on these and the sentences, so it is the same on every machine and
    for every system.
    """
    indices = range(len(document.sentences))
    shuffled = sorted(indices, key=lambda i: stable_hash(seed, document.id, i))
    # shuffled[k] is the true position of the puzzle's k-th sentence; `order` is the inverse.
    return Puzzle(tuple(document.sentences[i] for i in shuffled), inverse(shuffled))
