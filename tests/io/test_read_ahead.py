"""What comes from a pipe, in lists that end where it pauses."""

import threading
from itertools import count

import pytest

from bert4so.io.read_ahead import MAX_ITEMS, until_pauses


def test_every_item_comes_once_and_in_order():
    lists = list(until_pauses(range(5000)))
    assert [item for some in lists for item in some] == list(range(5000))
    assert all(0 < len(some) <= MAX_ITEMS for some in lists)
    assert list(until_pauses([])) == []


def test_a_pause_ends_a_list():
    more = threading.Event()

    def items():
        yield from "ab"
        more.wait()  # without an end, if nobody takes the first list
        yield "c"

    lists = until_pauses(items())
    assert next(lists) == ["a", "b"]
    more.set()
    assert next(lists) == ["c"]
    assert next(lists, None) is None


def test_what_stands_before_an_error_comes_first():
    def items():
        yield from "ab"
        raise ValueError("broken")

    lists = until_pauses(items())
    assert next(lists) == ["a", "b"]
    with pytest.raises(ValueError, match="broken"):
        next(lists)


def test_no_more_is_read_ahead_than_is_held():
    read, before = [], threading.active_count()
    lists = until_pauses(read.append(i) or i for i in count())
    next(lists)
    lists.close()
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(10)
    assert threading.active_count() <= before
    assert len(read) <= 3 * MAX_ITEMS
