"""JSON Lines: {"id": ..., "sentences": [...]} a line, or running text under a key that is named."""

from collections.abc import Iterator

from bert4so.data.bad import OnBad
from bert4so.data.files import Files
from bert4so.data.jsonl import parse_records
from bert4so.data.lines import read_lines
from bert4so.data.readers.found import Columns, Found, split_of
from bert4so.data.readers.rows import from_rows


def read_jsonl(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[Found]:
    """One file, or a folder with train.jsonl, valid.jsonl and test.jsonl."""
    for path in files.find("*.jsonl"):
        lines = parse_records(read_lines(path, files.told), str(path), on_bad)
        yield from from_rows(lines, columns, split_of(path), on_bad)
