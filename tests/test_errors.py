"""Quoting of values in error messages."""

import pytest

from bert4so.errors import MAX_QUOTED_CHARACTERS, UserError, quote


@pytest.mark.parametrize("value", ["a b", 17, None, [1, "x"], {"a": 1}])
def test_quote_keeps_short_values(value):
    assert quote(value) == repr(value)


@pytest.mark.parametrize("value", ["x" * 10_000, list(range(10_000)), {"k": "v" * 1000}])
def test_quote_shortens_long_values(value):
    assert len(quote(value)) == MAX_QUOTED_CHARACTERS
    assert quote(value)[:-1] == repr(value)[: MAX_QUOTED_CHARACTERS - 1]


def test_quote_names_the_type_if_repr_fails():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert quote(deep) == "<list>"
    assert quote(10**5000) == "<int>"


def test_user_error_is_a_value_error():
    with pytest.raises(ValueError, match="no sentences"):
        raise UserError("no sentences")
