"""Read the small files of a model's folder, which may come from a stranger.

A file is refused before it is read where it is too large, and its values where they are not of the
type and size that the code below them relies on.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert4so.errors import UserError, quote

MAX_JSON_BYTES = 1 << 20
"""For files of settings. Those that we write have a few kilobytes."""

MAX_LAYERS = 128
"""Of anything that is stacked or repeated. Where repeated layers share their weights, the file of
weights does not show how many there are.
"""

ANSWER_FILES = (
    *("model.onnx", "tokenizer.json", "layout.json"),  # of an export
    *("model.safetensors", "run.toml", "input/**/*"),  # of a run
)
"""The files of a model's folder that its answers depend on."""

MAX_REASON_CHARACTERS = 200
"""Of the message of a library that is shown in ours."""


def read_text(path: Path, max_bytes: int = MAX_JSON_BYTES) -> str:
    """The text of a file in UTF-8 of at most so many bytes."""
    # Not a pipe or a device either, which may have no end.
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
    """The value of a JSON text; `path` is where an error says that it comes from."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    # A number of too many digits is a ValueError, too.
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON: {first_line(error)}") from None


def read_object(path: Path, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The object in a JSON file."""
    value = parse_json(read_text(path, max_bytes), path)
    if not isinstance(value, dict):
        raise UserError(f"{path}: must hold a JSON object (got {quote(value)})")
    return value


def check_keys(path: Path, given: Mapping[str, object], wanted: Sequence[str]) -> None:
    """Refuse an object that lacks one of the keys, or has others."""
    for key in wanted:
        if key not in given:
            raise UserError(f'{path}: lacks the key "{key}"')
    for key in given:
        if key not in wanted:
            raise UserError(f"{path}: has the unknown key {quote(key)}")


def integer(path: Path, given: Mapping[str, object], key: str, least: int, most: int) -> int:
    """An integer of an object, refused outside of a range."""
    value = given.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UserError(
            f'{path}: "{key}" must be an integer from {least} to {most} (got {quote(value)})'
        )
    return value


def boolean(path: Path, given: Mapping[str, object], key: str) -> bool:
    """A boolean of an object."""
    value = given.get(key)
    if not isinstance(value, bool):
        raise UserError(f'{path}: "{key}" must be true or false (got {quote(value)})')
    return value


def string(path: Path, given: Mapping[str, object], key: str) -> str:
    """A string of an object."""
    value = given.get(key)
    if not isinstance(value, str):
        raise UserError(f'{path}: "{key}" must be a string (got {quote(value)})')
    return value


def number(path: Path, given: Mapping[str, object], key: str, least: float, most: float) -> float:
    """A number of an object, refused outside of a range."""
    value = given.get(key)
    # NaN is in no range.
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise UserError(
            f'{path}: "{key}" must be a number from {least} to {most} (got {quote(value)})'
        )
    return float(value)


def inner_object(path: Path, given: Mapping[str, object], key: str) -> dict[str, Any]:
    """An object in an object."""
    value = given.get(key)
    if not isinstance(value, dict):
        raise UserError(f'{path}: "{key}" must be an object (got {quote(value)})')
    return value


def first_line(error: BaseException) -> str:
    """The first line of a library's message, shortened; the error's type where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0][:MAX_REASON_CHARACTERS] if lines else type(error).__name__


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception asks the program to end.

    A panic of a library in Rust is a BaseException too, and says only that the file is bad.
    """
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)


def hash_model(folder: Path) -> str:
    """A hash of the files that a model's answers depend on, wherever the folder is."""
    files = {file for pattern in ANSWER_FILES for file in folder.glob(pattern) if file.is_file()}
    digest = hashlib.sha256()
    for path in sorted(files):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without duplicate keys: of two values, another parser might take the other."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice in an object")
    return made
