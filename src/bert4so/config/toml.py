"""TOML files, and trees of values by dotted names."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from bert4so.config.schema import Settings, Values
from bert4so.errors import UserError, quote
from bert4so.io.model_files import first_line, read_text

MAX_CONFIG_BYTES = 1 << 20
"""Of a file of settings."""


def read_toml(path: Path) -> Values:
    """The tables of a TOML file."""
    text = read_text(path, MAX_CONFIG_BYTES)
    try:
        return tomllib.loads(text)
    # An integer of too many digits is a ValueError, too.
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid TOML: {first_line(error)}") from None


def dump_toml(settings: Settings) -> str:
    """Settings as TOML, every value spelled out."""
    return tomli_w.dumps(settings.model_dump(exclude_none=True))


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> Values:
    """Two trees of values as one; where both have a value, that of `above`."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def parse_assignment(text: str) -> Values:
    """The tree of one `table.key=value`; a value that is not TOML (a bare word) is a string."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise UserError(f'--set {text}: wanted table.key=value, as in "train.epochs=1"')
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    return branch(path.strip(), parsed)


def branch(path: str, value: Any) -> Values:
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
