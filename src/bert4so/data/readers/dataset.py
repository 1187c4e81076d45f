"""Datasets of the Hugging Face `datasets` library: a local folder, or a name on the hub."""

import lzma
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from logging import CRITICAL
from pathlib import Path
from typing import Any

from bert4so.data.readers.raw_document import SPLITS, Columns, RawDocument
from bert4so.data.readers.table_rows import from_rows
from bert4so.errors import UserError, shorten
from bert4so.io.files import BUFFER_BYTES, Files, open_binary
from bert4so.io.lines import reading
from bert4so.io.on_error import OnBad
from bert4so.io.parquet import Row, rows_of

BATCH_ROWS = 1000
"""Number of rows that are read at a time."""

# Errors of the library itself, and of pyarrow, pandas and fsspec, that it does not catch.
LIBRARY_ERRORS = (
    OSError, ValueError, OverflowError, EOFError, LookupError, TypeError, AttributeError,
    ImportError, RuntimeError, zlib.error, lzma.LZMAError,
)  # fmt: skip


def read_dataset(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read all splits of a dataset; a dataset that was saved as a single table has none."""
    for split, table in _load(files).items():
        name = f"{files.path}[{split}]" if split else str(files.path)
        rows = _rows(table, name, on_bad)
        yield from from_rows(rows, columns, SPLITS.get(split), on_bad)


def _rows(table: Any, name: str, on_bad: OnBad) -> Iterator[tuple[str, Row]]:
    numbers = count(1)
    for batch in _batches(table, name):
        for row, number in zip(rows_of(batch), numbers, strict=False):
            if isinstance(row, UserError):
                on_bad(UserError(f"{name}: row {number}: {row}"))
            else:
                yield f"{name}: row {number}", row


def _batches(table: Any, name: str) -> Iterator[Any]:
    """Yield batches in Arrow's format, as the library would decode images and sounds."""
    try:
        yield from table.with_format("arrow").iter(batch_size=BATCH_ROWS)
    except LIBRARY_ERRORS as error:
        raise UserError(f"{name}: cannot read the dataset: {shorten(str(error))}") from None


def _load(files: Files) -> Mapping[str, Any]:
    """Load the tables by split; a single table has the key ""."""
    name = str(files.path)
    try:
        import datasets
    except ModuleNotFoundError:
        raise UserError(f"{name}: needs datasets: pip install 'bert4so[data]'") from None
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(CRITICAL)  # the errors that it logs are also raised
    try:
        return _load_with(datasets, files)
    except UserError:  # a ValueError, too
        raise
    except LIBRARY_ERRORS as error:
        reason = shorten((str(error).strip() or type(error).__name__).splitlines()[0])
        raise UserError(f"{name}: not a dataset, here or on the hub: {reason}") from None


def _load_with(datasets: Any, files: Files) -> Mapping[str, Any]:
    name = str(files.path)
    try:
        # Tables that are kept in memory do not list their files.
        tables = datasets.load_from_disk(name, keep_in_memory=False)
    except FileNotFoundError:
        # Not written by `save_to_disk`: a folder of data files, or a name on the hub.
        builder = datasets.load_dataset_builder(name)
        paths = builder.config.data_files or {}
        _confine((path for split in paths.values() for path in split), files)
        return dict(builder.as_streaming_dataset())
    by_split = dict(tables) if isinstance(tables, datasets.DatasetDict) else {"": tables}
    _confine((f["filename"] for table in by_split.values() for f in table.cache_files), files)
    return by_split


def _confine(names: Iterable[str], files: Files) -> None:
    """Refuse files outside the dataset, and truncated .zst files."""
    for name in names:
        # For an archive, the name is "zip://member::archive".
        path = name.rpartition("::")[2]
        if not files.path.exists() and path.startswith("hf://datasets/"):
            continue
        if "://" in path:
            raise UserError(f"{shorten(path)}: not a file of {files.path}: download it first")
        files.confine(Path(path), shorten(path))
        if Path(path).suffix == ".zst":  # the library does not notice truncation
            _read_through(Path(path))


def _read_through(path: Path) -> None:
    with reading(path), open_binary(path) as file:
        while file.read(BUFFER_BYTES):
            pass
