"""The state file of an OUT, OUT.state.json: what was written there, and what it was made from.

It has one JSON object per line, each written when what it describes is on the disk:

{"format", "settings"}                      all that the answers depend on, besides the documents
{"documents", "bytes", "output", "input"}   per piece: its sizes, and hashes of OUT and of the input
{"ended": true}                             the process has closed OUT: nothing else is in it

A last line without a line end was not written whole, and does not count.
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
"""The format of the state file. Increase it when the same documents get other answers, too."""

Settings = Mapping[str, str | int]

ENDED = {"ended": True}


@dataclass(frozen=True)
class Piece:
    """Some answers in OUT.

    bytes:  their size in OUT.
    output: hash of these bytes.
    input:  hash of the documents answered.
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
        """The offset after the first line, and after each piece."""
        self.ended = False
        try:
            if not try_lock(self.descriptor):
                raise UserError(f"{out}: another process is writing it")
            self._read(self.path.read_bytes())
        except BaseException:
            self.close()
            raise

    def check(self, settings: Settings) -> None:
        """Refuse to resume with other settings than those that OUT was begun with."""
        if self.settings is None:
            raise UserError(f"{self.path}: empty: delete it and {self.out} to start again")
        for key in dict.fromkeys([*self.settings, *settings]):
            before, now = self.settings.get(key), settings.get(key)
            if type(before) is not type(now) or before != now:
                raise UserError(
                    f"{self.out}: cannot resume: begun with {key} = {quote(before)}, not "
                    f"{quote(now)}: use the same model and options, or delete {self.out} to start "
                    "again"
                )

    def begin(self, settings: Settings) -> None:
        """Start with no pieces."""
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        self._append({"format": FORMAT, "settings": dict(settings)})
        sync_folder(self.path.parent)

    def resume(self, pieces: int) -> None:
        """Keep the first pieces only."""
        os.ftruncate(self.descriptor, self.ends[pieces])
        os.lseek(self.descriptor, 0, os.SEEK_END)
        os.fsync(self.descriptor)

    def add(self, piece: Piece) -> None:
        """Record a piece, which must be on the disk."""
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
            self._take(number, line)
            if not self.ended:
                self.ends.append(end)

    def _take(self, number: int, line: bytes) -> None:
        """Take in a line."""
        try:
            value = parse_json(line.decode(), self.path)
        except (UserError, UnicodeDecodeError):
            self._refuse()
        if not isinstance(value, dict) or self.ended:
            self._refuse()
        elif number == 0:
            self._take_settings(value)
        elif value == ENDED:
            self.ended = True
        else:
            self.pieces.append(self._piece(value))

    def _take_settings(self, value: dict[str, Any]) -> None:
        if value.keys() != {"format", "settings"} or not isinstance(value["settings"], dict):
            self._refuse()
        if value["format"] != FORMAT:
            raise UserError(
                f"{self.path}: has format {quote(value['format'])}, but this version of bert4so "
                f"writes format {FORMAT}: delete {self.out} and {self.path} to start again"
            )
        self.settings = value["settings"]

    def _piece(self, value: dict[str, Any]) -> Piece:
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
    """Write all of some bytes: the system may take fewer at a time."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
