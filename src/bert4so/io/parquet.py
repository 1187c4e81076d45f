"""Read rows of a Parquet file."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from bert4so.errors import UserError, quote, shorten
from bert4so.io.lines import reading
from bert4so.io.on_error import OnBad, stop

BATCH_ROWS = 1024
"""Number of rows that are read at a time."""

Row = dict[str, Any]


def read_parquet_rows(path: Path, on_bad: OnBad = stop) -> Iterator[tuple[str, Row]]:
    """Yield the location and values of each row."""
    pyarrow, parquet = need_pyarrow(path)
    if path.is_fifo():
        raise UserError(f"{path}: cannot read Parquet from a pipe: write it to a file first")
    numbers = count(1)
    try:
        with reading(path), parquet.ParquetFile(path, page_checksum_verification=True) as table:
            for batch in table.iter_batches(batch_size=BATCH_ROWS):
                for row, number in zip(rows_of(batch), numbers, strict=False):
                    where = f"{path}: row {number}"
                    if isinstance(row, UserError):
                        on_bad(UserError(f"{where}: {row}"))
                    else:
                        yield where, row
    except pyarrow.ArrowException as error:
        raise UserError(f"{path}: damaged, or not Parquet: {shorten(str(error))}") from None


def rows_of(batch: Any) -> Iterator[Row | UserError]:
    """Yield the rows of a batch; for a row that Python cannot represent, a `UserError`."""
    try:
        yield from batch.to_pylist()
    except (ValueError, OverflowError):
        for i in range(batch.num_rows):
            yield _row(batch.slice(i, 1))


def _row(batch: Any) -> Row | UserError:
    row = Row()
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = column[0].as_py()
        except (ValueError, OverflowError) as error:  # a date of the year 200,000, for example
            return UserError(f"column {quote(name)}: {shorten(str(error))}")
    return row


def need_pyarrow(path: Path) -> tuple[Any, Any]:
    """Import pyarrow and pyarrow.parquet; raises `UserError` that names the extra to install."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise UserError(f"{path}: Parquet needs pyarrow: pip install 'bert4so[data]'") from None
    return pyarrow, parquet
