"""Reading from a pipe in batches that end when it pauses."""

import threading
from itertools import count

import pytest

from bert4so.io.read_ahead import MAX_ITEMS, until_pauses


def test_items_are_yielded_once_and_in_order():
    batches = list(until_pauses(range(5000)))
    assert [item for batch in batches for item in batch] == list(range(5000))
    assert all(0 < len(batch) <= MAX_ITEMS for batch in batches)
    assert list(until_pauses([])) == []


def test_pause_ends_a_batch():
    more = threading.Event()

    def items():
        yield from "ab"
        more.wait()  # blocks until the first batch is consumed
        yield "c"

    batches = until_pauses(items())
    assert next(batches) == ["a", "b"]
    more.set()
    assert next(batches) == ["c"]
    assert next(batches, None) is None


def test_items_before_an_error_come_first():
    def items():
        yield from "ab"
        raise ValueError("broken")

    batches = until_pauses(items())
    assert next(batches) == ["a", "b"]
    with pytest.raises(ValueError, match="broken"):
        next(batches)


def test_read_ahead_is_bounded():
    read, before = [], threading.active_count()
    batches = until_pauses(read.append(i) or i for i in count())
    next(batches)
    batches.close()
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(10)
    assert threading.active_count() <= before
    assert len(read) <= 3 * MAX_ITEMS
