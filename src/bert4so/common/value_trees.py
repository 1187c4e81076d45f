"""Nested mappings of values, and access to their leaves by dotted names."""

from collections.abc import Iterator, Mapping
from typing import Any

from bert4so.errors import quote


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two nested mappings; values of `above` take precedence."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def branch(path: str, value: Any) -> dict[str, Any]:
    """The nested mapping with a single value at a dotted name."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted name and value of each leaf."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The first difference of two nested mappings: its dotted name and both values."""
    first, second = dict(leaves(before)), dict(leaves(now))
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            return key, quote(first.get(key)), quote(second.get(key))
    return None
