"""OUT.state.json, the state file of the output OUT: what was written, and from which input.

It has one JSON object per line, written after the data that it describes has been synced to disk:

{"format", "settings"}                      everything besides the documents that answers depend on
{"documents", "bytes", "output", "input"}   per piece: its sizes, and hashes of OUT and of the input
{"ended": true}                             the process has closed OUT: nothing else is in it

A last line without a line break was not written completely, and is ignored.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from bert4so.errors import UserError, quote
from bert4so.io.atomic import sync_folder
from bert4so.io.lock import try_lock
from bert4so.io.model_files import check_keys, integer, parse_json, string

FORMAT = 1
"""Version of the state file. Also increase it when answers to the same documents change."""

Settings = Mapping[str, str | int]

ENDED = {"ended": True}


@dataclass(frozen=True)
class Piece:
    """A run of consecutive answers in OUT.

    documents: number of documents.
    bytes:     size of the answers in OUT.
    output:    hash of these bytes.
    input:     hash of the documents.
    """

    documents: int
    bytes: int
    output: str
    input: str


class State:
    """The state file of an OUT, locked until it is closed."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = state_path(out)
        if self.path.exists() and not self.path.is_file():
            raise UserError(f"{self.path}: not a regular file: choose another --out")
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        self.settings: dict[str, Any] | None = None
        self.pieces: list[Piece] = []
        self.ends: list[int] = []
        """Offsets in the state file: after the first line, and after each piece."""
        self.ended = False
        try:
            if not try_lock(self.descriptor):
                raise UserError(f"{out}: another process is writing to it")
            self._read(self.path.read_bytes())
        except BaseException:
            self.close()
            raise

    def check(self, settings: Settings) -> None:
        """Refuse to resume OUT with settings that differ from the recorded ones."""
        if self.settings is None:
            raise UserError(f"{self.path} is empty: delete it and {self.out} to start again")
        for key in dict.fromkeys([*self.settings, *settings]):
            before, now = self.settings.get(key), settings.get(key)
            if type(before) is not type(now) or before != now:
                raise UserError(
                    f"{self.out}: cannot resume: started with {key} = {quote(before)}, not "
                    f"{quote(now)}: use the same model and options, or delete {self.out} to start "
                    "again"
                )

    def begin(self, settings: Settings) -> None:
        """Write the first line of a new state, without pieces."""
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        self._append({"format": FORMAT, "settings": dict(settings)})
        sync_folder(self.path.parent)

    def resume(self, pieces: int) -> None:
        """Keep only the first `pieces` pieces."""
        os.ftruncate(self.descriptor, self.ends[pieces])
        os.lseek(self.descriptor, 0, os.SEEK_END)
        os.fsync(self.descriptor)

    def add(self, piece: Piece) -> None:
        """Record a piece, which must have been synced to disk."""
        self._append(asdict(piece))

    def end(self) -> None:
        """Record that OUT was closed."""
        self._append(ENDED)

    def close(self) -> None:
        """Close the file, and release the lock."""
        os.close(self.descriptor)

    def _append(self, value: dict[str, Any]) -> None:
        line = (json.dumps(value) + "\n").encode()
        write_all(self.descriptor, line)
        os.fsync(self.descriptor)

    def _read(self, content: bytes) -> None:
        *lines, rest = content.split(b"\n")
        if rest and not lines:
            self._refuse()
        end = 0
        for number, line in enumerate(lines):
            end += len(line) + 1
            self._parse_line(number, line)
            if not self.ended:
                self.ends.append(end)

    def _parse_line(self, number: int, line: bytes) -> None:
        """Parse one line of the state file."""
        try:
            value = parse_json(line.decode(), self.path)
        except (UserError, UnicodeDecodeError):
            self._refuse()
        if not isinstance(value, dict) or self.ended:
            self._refuse()
        elif number == 0:
            self._parse_settings(value)
        elif value == ENDED:
            self.ended = True
        else:
            self.pieces.append(self._parse_piece(value))

    def _parse_settings(self, value: dict[str, Any]) -> None:
        if value.keys() != {"format", "settings"} or not isinstance(value["settings"], dict):
            self._refuse()
        if value["format"] != FORMAT:
            raise UserError(
                f"{self.path}: has format {quote(value['format'])}, but this version of bert4so "
                f"writes format {FORMAT}: delete {self.out} and {self.path} to start again"
            )
        self.settings = value["settings"]

    def _parse_piece(self, value: dict[str, Any]) -> Piece:
        check_keys(self.path, value, [field.name for field in fields(Piece)])
        return Piece(
            documents=integer(self.path, value, "documents", 1, 1 << 40),
            bytes=integer(self.path, value, "bytes", 1, 1 << 60),
            output=string(self.path, value, "output"),
            input=string(self.path, value, "input"),
        )

    def _refuse(self) -> NoReturn:
        raise UserError(
            f"{self.path}: damaged, or not a state file of `bert4so order --out`: delete it and "
            f"{self.out} to start again"
        )


def state_path(out: Path) -> Path:
    """The state file of an OUT."""
    return out.with_name(f"{out.name}.state.json")


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes: a single `os.write` may write fewer."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
