"""CSV and Parquet: a document a row."""

import csv
from collections.abc import Iterator
from pathlib import Path

from bert4so.data.readers.raw_document import Columns, RawDocument, split_of
from bert4so.data.readers.table_rows import Row, from_rows
from bert4so.errors import UserError
from bert4so.io.files import Files
from bert4so.io.lines import reading
from bert4so.io.on_error import OnBad
from bert4so.io.parquet import read_parquet_rows

MORE = "more cells than names"


def read_csv(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """CSV with a line of names; a column a sentence, or one of running text."""
    for path in files.find("*.csv"):
        yield from from_rows(_csv_rows(files, path, on_bad), columns, split_of(path), on_bad)


def _csv_rows(files: Files, path: Path, on_bad: OnBad) -> Iterator[tuple[str, Row]]:
    with reading(path), files.text(path) as text:
        rows = csv.DictReader(text, restkey=MORE)
        try:
            for row in rows:
                where = f"{path}:{rows.line_num}"
                if MORE in row:  # a comma that is not in quotes: what is a sentence is not known
                    cells = len(row) - 1 + len(row[MORE])
                    on_bad(UserError(f"{where}: {cells} cells: wanted {len(row) - 1}"))
                    continue
                yield where, row
        except csv.Error as error:
            raise UserError(f"{path}:{rows.line_num}: not CSV: {error}") from None


def read_parquet(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Parquet with a list of sentences, a column a sentence, or one of running text."""
    for path in files.find("*.parquet"):
        # Not by way of `files`: Parquet is read from its end.
        yield from from_rows(read_parquet_rows(path), columns, split_of(path), on_bad)
        files.told(path.stat().st_size)
