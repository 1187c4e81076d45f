"""What error messages quote of the input."""

import pytest

from bert4so.errors import MAX_QUOTED_CHARACTERS, UserError, quote


@pytest.mark.parametrize("value", ["a b", 17, None, [1, "x"], {"a": 1}])
def test_a_short_value_is_quoted_whole(value):
    assert quote(value) == repr(value)


@pytest.mark.parametrize("value", ["x" * 10_000, list(range(10_000)), {"k": "v" * 1000}])
def test_a_long_value_is_cut(value):
    assert len(quote(value)) == MAX_QUOTED_CHARACTERS
    assert quote(value)[:-1] == repr(value)[: MAX_QUOTED_CHARACTERS - 1]


def test_what_has_no_short_form_is_named_by_its_type():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert quote(deep) == "<list>"
    assert quote(10**5000) == "<int>"


def test_a_user_error_is_a_value_error():
    with pytest.raises(ValueError, match="no sentences"):
        raise UserError("no sentences")
