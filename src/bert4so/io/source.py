"""Read documents to order from text, JSONL or Parquet, and detect the format."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.jsonl import Record, parse_records, sentences_of
from bert4so.io.lines import first_characters, read_lines
from bert4so.io.on_error import OnBad, stop
from bert4so.io.parquet import read_parquet_rows
from bert4so.io.text import parse_text


def read_source(path: Path, on_bad: OnBad = stop) -> tuple[bool, Iterator[tuple[str, Record]]]:
    """Return whether the file has records instead of text, and an iterator over the documents.

    Each document is a location and a record with "sentences". The suffix decides between Parquet,
    JSONL and text; any other file is JSONL if it starts with {, and text otherwise.
    """
    if path.suffix == ".parquet":
        return True, _checked(_parquet_rows(path, on_bad), on_bad)
    lines = read_lines(path)
    head = []
    for line in lines:
        head.append(line)
        if first_characters(line).strip():
            break
    else:
        raise UserError(f"{path}: contains no sentences")
    all_lines, suffixes = chain(head, lines), set(path.suffixes)
    has_brace = first_characters(head[-1]).lstrip().startswith("{")
    if ".jsonl" in suffixes or (has_brace and ".txt" not in suffixes):
        return True, _checked(parse_records(all_lines, str(path), on_bad), on_bad)
    documents = parse_text(all_lines, str(path), on_bad)
    records = ((f"{path}:{line}", {"sentences": list(texts)}) for line, texts in documents)
    return False, _checked(records, on_bad)


def count_documents(path: Path) -> int | None:
    """Number of documents in a file; None if it cannot be read to the end."""
    try:
        _, records = read_source(path, on_bad=lambda error: None)
        return sum(1 for _ in records)
    except UserError:
        return None


def _parquet_rows(path: Path, on_bad: OnBad) -> Iterator[tuple[str, Record]]:
    """The rows of a Parquet file, or of a folder of parts."""
    for part in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        yield from read_parquet_rows(part, on_bad)


def _checked(records: Iterable[tuple[str, Record]], on_bad: OnBad) -> Iterator[tuple[str, Record]]:
    for where, record in records:
        try:
            sentences_of(record, where)
        except UserError as error:
            on_bad(error)
        else:
            yield where, record
