"""Answers as Parquet: a folder of parts, each of which is there whole or not at all."""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bert4so.errors import UserError
from bert4so.io.atomic import write_whole
from bert4so.io.jsonl import Record, dumped
from bert4so.io.output_state import Settings
from bert4so.io.parquet import need_pyarrow
from bert4so.io.resumable_writer import Answers

OTHER = "other"
"""The column of what has no column, or is not of the type of its own: as JSON."""


class Parts(Answers):
    """A folder of parts that all have the columns of the first: readers want them alike."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.pyarrow, self.parquet = need_pyarrow(path)
        self.schema: Any = None
        super().__init__(path, settings, by_line=False)
        self.number = len(self.kept)

    def create(self) -> None:
        self.path.mkdir()

    def cut(self) -> None:
        for part in self._after(len(self.kept)):
            part.unlink()
        if self.kept:
            self.schema = self.parquet.read_schema(self._part(0))

    def hash_piece(self, number: int, start: int, size: int) -> str | None:
        part = self._part(number)
        if not part.exists():
            return None
        data = part.read_bytes()
        return hashlib.sha256(data).hexdigest() if len(data) == size else "other size"

    def check_rest(self) -> None:
        # A process that was killed may have written one more part than it recorded.
        written = len(self.state.pieces) + (not self.state.ended)
        if foreign := self._after(written):
            raise UserError(
                f"{foreign[0]}: cannot resume: not written by this command: move it elsewhere, or "
                f"delete {self.path} to start again"
            )

    def pack(self, answers: Sequence[Record]) -> bytes:
        file = io.BytesIO()
        self.parquet.write_table(self._table(answers), file)
        return file.getvalue()

    def append(self, data: bytes) -> None:
        write_whole(self._part(self.number), data)
        self.number += 1

    def sync(self) -> None:
        """Nothing to do: a part has its name when it is on the disk."""

    def _part(self, number: int) -> Path:
        return self.path / f"part-{number:05}.parquet"

    def _after(self, count: int) -> list[Path]:
        """The parts besides the first so many."""
        first = {self._part(number) for number in range(count)}
        return sorted(part for part in self.path.glob("part-*.parquet") if part not in first)

    def _table(self, records: Sequence[Record]) -> Any:
        self.schema = self.schema or self._as_read(self._schema(records))
        own = [field for field in self.schema if field.name != OTHER]
        names = {field.name for field in own}
        left = [
            {k: v for k, v in record.items() if k not in names and v is not None}
            for record in records
        ]
        columns = []
        for field in own:
            array = self._array([record.get(field.name) for record in records], field.type)
            if array is None:
                array = self._those_that_fit(field, records, left)
            columns.append(array)
        other = [dumped(some).strip() if some else None for some in left]
        columns.append(self.pyarrow.array(other, self.pyarrow.string()))
        return self.pyarrow.table(columns, schema=self.schema)

    def _those_that_fit(self, field: Any, records: Sequence[Record], left: list[Record]) -> Any:
        """A column without the values that are not of its type, which are left."""
        if field.name in self._known():
            raise UserError(f"{self.path}: Parquet cannot hold the {field.name} of a document")
        values = [record.get(field.name) for record in records]
        fitting = [self._array([value], field.type) is not None for value in values]
        for value, fits, some in zip(values, fitting, left, strict=True):
            if not fits:
                some[field.name] = value
        kept = [value if fits else None for value, fits in zip(values, fitting, strict=True)]
        return self.pyarrow.array(kept, field.type)

    def _schema(self, records: Sequence[Record]) -> Any:
        """The columns of some records: what is of one type in all of them."""
        known = self._known()
        columns = []
        for name in dict.fromkeys(name for record in records for name in record):
            found = known.get(name) or self._type([record.get(name) for record in records])
            if found is not None and name != OTHER:
                columns.append((name, found))
        return self.pyarrow.schema([*columns, (OTHER, self.pyarrow.string())])

    def _as_read(self, schema: Any) -> Any:
        """A schema as Parquet gives it back: resumed, the parts are the same bytes."""
        file = io.BytesIO()
        self.parquet.write_table(schema.empty_table(), file)
        return self.parquet.read_schema(file)

    def _known(self) -> dict[str, Any]:
        """The types of what every answer has, some of which may be empty in many."""
        pa = self.pyarrow
        return {
            "sentences": pa.list_(pa.string()),
            "order": pa.list_(pa.int64()),
            "scores": pa.list_(pa.float64()),
            "confidence": pa.float64(),
            "truncated": pa.list_(pa.int64()),
        }

    def _type(self, values: Sequence[Any]) -> Any:
        """The one type of some values; None where there is none that Parquet has."""
        array = self._array(values, None)
        if array is None:
            return None
        # Of a key of the user's that is empty in all of them nothing is known: it is kept as text.
        return self.pyarrow.string() if array.type == self.pyarrow.null() else array.type

    def _array(self, values: Sequence[Any], wanted: Any) -> Any:
        """The values as a column; None where one of them would be lost or changed in it."""
        pa = self.pyarrow
        try:
            array = pa.array(values, wanted)
            self.parquet.write_table(pa.table({"values": array}), io.BytesIO())
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return None
        return array if array.to_pylist() == _listed(values) else None


def _listed(values: Sequence[Any]) -> list[Any]:
    """As Parquet gives them back: it has lists, not tuples."""
    return [list(value) if isinstance(value, tuple) else value for value in values]
