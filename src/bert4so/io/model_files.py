"""Read the small files of a model folder, which may come from an untrusted source.

A file that is too large is refused before it is read, and a value is refused unless it has the type
and range that other code relies on.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert4so.errors import UserError, quote

MAX_JSON_BYTES = 1 << 20
"""Size limit of settings files. Those that we write have a few kilobytes."""

MAX_LAYERS = 128
"""Limit for anything that is stacked or repeated. If layers share their weights, the size of the
weights file does not bound their number.
"""

ANSWER_FILES = (
    *("model.onnx", "tokenizer.json", "layout.json"),  # of an export
    *("model.safetensors", "run.toml", "input/**/*"),  # of a run
)
"""The files of a model folder that determine its answers."""

MAX_REASON_CHARACTERS = 200
"""Maximum length of a library's message that is quoted in ours."""


def read_text(path: Path, max_bytes: int = MAX_JSON_BYTES) -> str:
    """Read a UTF-8 file of at most `max_bytes` bytes."""
    # Refuses pipes and devices as well, which may be endless.
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UserError(f"{path}: must have at most {max_bytes:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text: {error}") from None


def parse_json(text: str, path: Path) -> Any:
    """Parse JSON; `path` is named in errors."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    # An integer with too many digits also raises ValueError.
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON: {first_line(error)}") from None


def read_object(path: Path, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """Read a JSON file that contains an object."""
    value = parse_json(read_text(path, max_bytes), path)
    if not isinstance(value, dict):
        raise UserError(f"{path}: must hold a JSON object (got {quote(value)})")
    return value


def check_keys(path: Path, values: Mapping[str, object], keys: Sequence[str]) -> None:
    """Refuse an object with missing or unknown keys."""
    for key in keys:
        if key not in values:
            raise UserError(f'{path}: lacks the key "{key}"')
    for key in values:
        if key not in keys:
            raise UserError(f"{path}: has the unknown key {quote(key)}")


def integer(path: Path, values: Mapping[str, object], key: str, minimum: int, maximum: int) -> int:
    """An integer of an object, within a range."""
    value = values.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise UserError(
            f'{path}: "{key}" must be an integer from {minimum} to {maximum} (got {quote(value)})'
        )
    return value


def boolean(path: Path, values: Mapping[str, object], key: str) -> bool:
    """A boolean of an object."""
    value = values.get(key)
    if not isinstance(value, bool):
        raise UserError(f'{path}: "{key}" must be true or false (got {quote(value)})')
    return value


def string(path: Path, values: Mapping[str, object], key: str) -> str:
    """A string of an object."""
    value = values.get(key)
    if not isinstance(value, str):
        raise UserError(f'{path}: "{key}" must be a string (got {quote(value)})')
    return value


def number(
    path: Path, values: Mapping[str, object], key: str, minimum: float, maximum: float
) -> float:
    """A number of an object, within a range."""
    value = values.get(key)
    # The comparison is False for NaN.
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not minimum <= value <= maximum
    ):
        raise UserError(
            f'{path}: "{key}" must be a number from {minimum} to {maximum} (got {quote(value)})'
        )
    return float(value)


def inner_object(path: Path, values: Mapping[str, object], key: str) -> dict[str, Any]:
    """A nested object of an object."""
    value = values.get(key)
    if not isinstance(value, dict):
        raise UserError(f'{path}: "{key}" must be an object (got {quote(value)})')
    return value


def first_line(error: BaseException) -> str:
    """The first line of an error's message, shortened; the error's type if there is no message."""
    lines = str(error).strip().splitlines()
    return lines[0][:MAX_REASON_CHARACTERS] if lines else type(error).__name__


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception asks the program to end.

    A panic in a Rust library is a BaseException too, but only means that the input is invalid.
    """
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)


def hash_model(folder: Path) -> str:
    """A hash of the files that determine a model's answers, independent of the folder's path."""
    files = {file for pattern in ANSWER_FILES for file in folder.glob(pattern) if file.is_file()}
    digest = hashlib.sha256()
    for path in sorted(files):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without duplicate keys, which parsers resolve in different ways."""
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("a key occurs twice in an object")
    return unique
