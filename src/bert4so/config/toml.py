"""Read and write settings as TOML."""

import tomllib
from pathlib import Path

import tomli_w

from bert4so.common.value_trees import branch
from bert4so.config.schema import Settings, Values
from bert4so.errors import UserError
from bert4so.io.model_files import first_line, read_text

MAX_CONFIG_BYTES = 1 << 20
"""Maximum size of a settings file."""


def read_toml(path: Path) -> Values:
    """The tables of a TOML file."""
    text = read_text(path, MAX_CONFIG_BYTES)
    try:
        return tomllib.loads(text)
    # An integer with too many digits raises ValueError.
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid TOML: {first_line(error)}") from None


def dump_toml(settings: Settings) -> str:
    """Settings as TOML, including defaults."""
    return tomli_w.dumps(settings.model_dump(exclude_none=True))


def parse_assignment(text: str) -> Values:
    """Parse `table.key=value` to nested tables; a value that is not TOML becomes a string."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise UserError(f'--set {text}: must be table.key=value, for example "train.epochs=1"')
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    return branch(path.strip(), parsed)
