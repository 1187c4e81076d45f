import random
from itertools import pairwise

import pytest

from bert4so.data.batches import epoch_batches, within_budget

RNG = random.Random(0)
SIZES = [RNG.randint(20, 500) for _ in range(1000)]
IDS = [f"d{i}" for i in range(1000)]


def test_every_document_is_in_one_batch():
    batches = epoch_batches(IDS, SIZES, batch=32, seed=1, epoch=1)
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    assert {len(batch) for batch in batches} <= {32, 1000 % 32}


def test_batches_have_documents_of_similar_size():
    batches = epoch_batches(IDS, SIZES, batch=32, seed=1, epoch=1)
    padded_tokens = sum(len(batch) * max(SIZES[i] for i in batch) for batch in batches)
    assert 1 - sum(SIZES) / padded_tokens < 0.05


def test_batches_are_not_sorted_by_size():
    batches = epoch_batches(IDS, SIZES, batch=32, seed=1, epoch=1)
    longest = [max(SIZES[i] for i in batch) for batch in batches]
    rising = sum(a < b for a, b in pairwise(longest))
    assert 0.2 < rising / (len(longest) - 1) < 0.8


def test_batches_depend_on_epoch_and_seed_only():
    first = epoch_batches(IDS, SIZES, 32, seed=1, epoch=1)
    assert first == epoch_batches(IDS, SIZES, 32, seed=1, epoch=1)
    assert first != epoch_batches(IDS, SIZES, 32, seed=1, epoch=2)
    assert first != epoch_batches(IDS, SIZES, 32, seed=2, epoch=1)


def test_batches_do_not_depend_on_the_order_of_the_file():
    reversed_indices = list(reversed(range(1000)))
    sizes = [i // 2 for i in range(1000)]
    one = epoch_batches(IDS, sizes, 32, 1, 1)
    other = epoch_batches(
        [IDS[i] for i in reversed_indices], [sizes[i] for i in reversed_indices], 32, 1, 1
    )
    assert [[IDS[i] for i in b] for b in one] == [
        [IDS[reversed_indices[i]] for i in b] for b in other
    ]


@pytest.mark.parametrize("budget", [10, 600, 4000, 10**9])
def test_batches_stay_within_the_budget_unless_single(budget):
    batches = within_budget(SIZES, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(SIZES[i] for i in batch) <= budget
