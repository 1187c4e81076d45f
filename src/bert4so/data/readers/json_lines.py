"""JSON Lines: one {"id": ..., "sentences": [...]} per line, or running text in a given key."""

from collections.abc import Iterator

from bert4so.data.readers.raw_document import Columns, RawDocument, split_of
from bert4so.data.readers.table_rows import from_rows
from bert4so.io.files import Files
from bert4so.io.jsonl import parse_records
from bert4so.io.lines import read_lines
from bert4so.io.on_error import OnBad


def read_jsonl(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read one file, or a folder with train.jsonl, valid.jsonl and test.jsonl."""
    for path in files.find("*.jsonl"):
        lines = parse_records(read_lines(path, files.on_bytes_read), str(path), on_bad)
        yield from from_rows(lines, columns, split_of(path), on_bad)
