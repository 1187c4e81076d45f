"""The rows of a Parquet file."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from bert4so.errors import UserError
from bert4so.io.lines import reading

ROWS = 1024
"""Rows that are read at a time."""


def read_parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row, with where it stands."""
    pyarrow, parquet = need_pyarrow(path)
    numbers = count(1)
    try:
        with reading(path), parquet.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=ROWS):
                for row in batch.to_pylist():
                    yield f"{path}: row {next(numbers)}", row
    except pyarrow.ArrowInvalid as error:
        raise UserError(f"{path}: not Parquet: {error}") from None


def need_pyarrow(path: Path) -> tuple[Any, Any]:
    """pyarrow and its Parquet, or which extra to install."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise UserError(f"{path}: Parquet needs pyarrow: pip install 'bert4so[data]'") from None
    return pyarrow, parquet
