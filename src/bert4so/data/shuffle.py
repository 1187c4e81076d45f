"""The one place where a document loses its order."""

from bert4so.common.stable_hash import stable_hash
from bert4so.document import Document, Puzzle, inverse

EVALUATION_SEED = 0
"""Shuffles the validation and test documents of a corpus whose data card names no other seed."""


def shuffle(document: Document, seed: int | str) -> Puzzle:
    """A puzzle that is a pure function of the seed and the document's id and number of sentences.

    The same puzzle comes out on every machine, and for every system.
    """
    shown = sorted(range(len(document.sentences)), key=lambda i: stable_hash(seed, document.id, i))
    # shown[k] is the true place of the sentence shown k-th: the order is its inverse.
    return Puzzle(tuple(document.sentences[i] for i in shown), inverse(shown))
