"""Trees of values: nested mappings, and their leaves by dotted names."""

from collections.abc import Iterator, Mapping
from typing import Any

from bert4so.errors import quote


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees of values as one; where both have a value, that of `above`."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def branch(path: str, value: Any) -> dict[str, Any]:
    """The tree of one value, by its dotted name."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a tree, each by its dotted name."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The first value in which two trees differ: its dotted name, and what it is in either."""
    first, second = dict(leaves(before)), dict(leaves(now))
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            return key, quote(first.get(key)), quote(second.get(key))
    return None
