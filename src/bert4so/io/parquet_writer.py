"""Write Parquet: a folder of part files, each written atomically."""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bert4so.errors import UserError
from bert4so.io.atomic import write_atomic
from bert4so.io.jsonl import Record, to_json_line
from bert4so.io.output_state import Settings
from bert4so.io.parquet import need_pyarrow
from bert4so.io.resumable_writer import ResumableWriter

OTHER_COLUMN = "other"
"""JSON of the values that have no column, or do not have the type of their column."""


class ParquetWriter(ResumableWriter):
    """Write a folder of part files with the same columns, which readers expect; the first part sets
    them.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.pyarrow, self.parquet = need_pyarrow(path)
        self.schema: Any = None
        super().__init__(path, settings, line_by_line=False)
        self.number = len(self.kept)

    def create(self) -> None:
        self.path.mkdir()

    def truncate(self) -> None:
        for part in self._after(len(self.kept)):
            part.unlink()
        if self.kept:
            self.schema = self.parquet.read_schema(self._part(0))

    def hash_piece(self, number: int, start: int, size: int) -> str | None:
        part = self._part(number)
        if not part.exists():
            return None
        data = part.read_bytes()
        return hashlib.sha256(data).hexdigest() if len(data) == size else "wrong size"

    def check_rest(self) -> None:
        # A killed process may have written one more part than it recorded.
        written = len(self.state.pieces) + (not self.state.ended)
        if foreign := self._after(written):
            raise UserError(
                f"{foreign[0]}: cannot resume: not written by this command: move it elsewhere, or "
                f"delete {self.path} to start again"
            )

    def encode(self, answers: Sequence[Record]) -> bytes:
        file = io.BytesIO()
        self.parquet.write_table(self._table(answers), file)
        return file.getvalue()

    def append(self, data: bytes) -> None:
        write_atomic(self._part(self.number), data)
        self.number += 1

    def sync(self) -> None:
        """Do nothing: a part is renamed only after it has been synced."""

    def _part(self, number: int) -> Path:
        return self.path / f"part-{number:05}.parquet"

    def _after(self, count: int) -> list[Path]:
        """The existing parts except for the first `count`."""
        first = {self._part(number) for number in range(count)}
        return sorted(part for part in self.path.glob("part-*.parquet") if part not in first)

    def _table(self, records: Sequence[Record]) -> Any:
        self.schema = self.schema or self._as_read(self._schema(records))
        typed = [field for field in self.schema if field.name != OTHER_COLUMN]
        names = {field.name for field in typed}
        others = [
            {k: v for k, v in record.items() if k not in names and v is not None}
            for record in records
        ]
        columns = []
        for field in typed:
            array = self._array([record.get(field.name) for record in records], field.type)
            if array is None:
                array = self._matching_values(field, records, others)
            columns.append(array)
        other_json = [to_json_line(other).strip() if other else None for other in others]
        columns.append(self.pyarrow.array(other_json, self.pyarrow.string()))
        return self.pyarrow.table(columns, schema=self.schema)

    def _matching_values(self, field: Any, records: Sequence[Record], others: list[Record]) -> Any:
        """A column of the values that have its type; the others are added to `others`."""
        if field.name in self._answer_types():
            raise UserError(f"{self.path}: Parquet cannot store the {field.name} of a document")
        values = [record.get(field.name) for record in records]
        matches = [self._array([value], field.type) is not None for value in values]
        for value, matching, other in zip(values, matches, others, strict=True):
            if not matching:
                other[field.name] = value
        column = [v if matching else None for v, matching in zip(values, matches, strict=True)]
        return self.pyarrow.array(column, field.type)

    def _schema(self, records: Sequence[Record]) -> Any:
        """One column per key whose values have the same type in all records."""
        answer_types = self._answer_types()
        columns = []
        for name in dict.fromkeys(name for record in records for name in record):
            type_ = answer_types.get(name) or self._type([record.get(name) for record in records])
            if type_ is not None and name != OTHER_COLUMN:
                columns.append((name, type_))
        return self.pyarrow.schema([*columns, (OTHER_COLUMN, self.pyarrow.string())])

    def _as_read(self, schema: Any) -> Any:
        """A schema as read back from Parquet, so that a resumed run writes identical bytes."""
        file = io.BytesIO()
        self.parquet.write_table(schema.empty_table(), file)
        return self.parquet.read_schema(file)

    def _answer_types(self) -> dict[str, Any]:
        """The types of the keys of every answer, which do not follow from empty values."""
        pa = self.pyarrow
        return {
            "sentences": pa.list_(pa.string()),
            "order": pa.list_(pa.int64()),
            "scores": pa.list_(pa.float64()),
            "confidence": pa.float64(),
            "truncated": pa.list_(pa.int64()),
        }

    def _type(self, values: Sequence[Any]) -> Any:
        """The common type of some values; None if Parquet has no such type."""
        array = self._array(values, None)
        if array is None:
            return None
        # A key of the user's that is null in all records has no known type: use strings.
        return self.pyarrow.string() if array.type == self.pyarrow.null() else array.type

    def _array(self, values: Sequence[Any], type_: Any) -> Any:
        """The values as a column; None if a value would be lost or changed."""
        pa = self.pyarrow
        try:
            array = pa.array(values, type_)
            self.parquet.write_table(pa.table({"values": array}), io.BytesIO())
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return None
        return array if array.to_pylist() == _tuples_as_lists(values) else None


def _tuples_as_lists(values: Sequence[Any]) -> list[Any]:
    """The values as Parquet returns them, with lists instead of tuples."""
    return [list(value) if isinstance(value, tuple) else value for value in values]
