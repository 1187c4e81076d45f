from collections import Counter

import pytest

from bert4so.data.shuffle import EVALUATION_SEED, shuffle
from bert4so.document import Document


def test_a_shuffle_is_undone_by_its_order():
    document = Document("d", tuple("abcdefgh"))
    puzzle = shuffle(document, seed=1)
    assert puzzle.sentences != document.sentences
    assert tuple(puzzle.sentences[i] for i in puzzle.order) == document.sentences


def test_a_shuffle_is_the_same_on_every_machine():
    # printf '0\\0d\\0005' | sha256sum, and so on: 5, 2, 3, 0, 4, 1 by their hashes. A change here
    # would make all published figures incomparable.
    assert shuffle(Document("d", tuple("abcdef")), EVALUATION_SEED).sentences == tuple("fcdaeb")


def test_ids_and_seeds_give_different_shuffles():
    sentences = tuple("abcdefgh")
    seen = {
        shuffle(Document(f"d{i}", sentences), seed).sentences for i in range(5) for seed in (0, 1)
    }
    assert len(seen) == 10


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_order_is_as_likely_as_any_other(n):
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
