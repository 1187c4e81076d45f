from collections import Counter

import pytest

from bert4so.data.shuffle import EVALUATION_SEED, shuffle
from bert4so.document import Document


def test_order_restores_the_document():
    document = Document("d", tuple("abcdefgh"))
    puzzle = shuffle(document, seed=1)
    assert puzzle.sentences != document.sentences
    assert tuple(puzzle.sentences[i] for i in puzzle.order) == document.sentences


def test_shuffle_is_the_same_on_every_machine():
    # printf '0\\0d\\0005' | sha256sum, and so on: 5, 2, 3, 0, 4, 1 by their hashes. A change here
    # would make all published numbers incomparable.
    assert shuffle(Document("d", tuple("abcdef")), EVALUATION_SEED).sentences == tuple("fcdaeb")


def test_shuffle_depends_on_id_and_seed():
    sentences = tuple("abcdefgh")
    seen = {
        shuffle(Document(f"d{i}", sentences), seed).sentences for i in range(5) for seed in (0, 1)
    }
    assert len(seen) == 10


@pytest.mark.parametrize("n", [2, 3, 4])
def test_all_orders_are_equally_likely(n):
    draws = 6000
    counts = Counter(
        shuffle(Document(f"id-{i}", tuple("abcd"[:n])), EVALUATION_SEED).sentences
        for i in range(draws)
    )
    orders = {2: 2, 3: 6, 4: 24}[n]
    expected = draws / orders
    assert len(counts) == orders
    # Six standard deviations of a binomial.
    assert all(abs(count - expected) < 6 * expected**0.5 for count in counts.values())
