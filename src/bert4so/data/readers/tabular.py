"""CSV and Parquet: one document per row."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from bert4so.data.readers.raw_document import Columns, RawDocument, split_of
from bert4so.data.readers.table_rows import Row, from_rows
from bert4so.errors import UserError
from bert4so.io.csv_rows import read_csv_rows
from bert4so.io.files import Files
from bert4so.io.lines import read_lines
from bert4so.io.on_error import OnBad
from bert4so.io.parquet import read_parquet_rows


def read_csv(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read CSV with a header: one column per sentence, or a column of running text."""
    for path in files.find("*.csv"):
        yield from from_rows(_csv_rows(files, path, on_bad), columns, split_of(path), on_bad)


def _csv_rows(files: Files, path: Path, on_bad: OnBad) -> Iterator[tuple[str, Row]]:
    rows = read_csv_rows(read_lines(path, files.on_bytes_read), str(path), on_bad)
    _, names = next(rows, ("", []))
    for where, cells in rows:
        if len(cells) > len(names):  # an unquoted comma makes the columns ambiguous
            on_bad(UserError(f"{where}: a row must have {len(names)} cells (got {len(cells)})"))
        else:
            yield where, dict(zip_longest(names, cells))


def read_parquet(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read Parquet with a list of sentences, one column per sentence, or running text."""
    for path in files.find("*.parquet"):
        # Not opened through `files`, as Parquet is read from its end.
        yield from from_rows(read_parquet_rows(path, on_bad), columns, split_of(path), on_bad)
        files.on_bytes_read(path.stat().st_size)
