"""Settings as TOML files."""

import tomllib
from pathlib import Path

import tomli_w

from bert4so.common.value_trees import branch
from bert4so.config.schema import Settings, Values
from bert4so.errors import UserError
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
