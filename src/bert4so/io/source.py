"""Documents to be put in order: text, JSONL or Parquet, whichever a file holds."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.jsonl import Record, parse_records, sentences_of
from bert4so.io.lines import beginning, read_lines
from bert4so.io.on_error import OnBad, stop
from bert4so.io.parquet import read_parquet_rows
from bert4so.io.text import parse_text


def read_source(path: Path, on_bad: OnBad = stop) -> tuple[bool, Iterator[tuple[str, Record]]]:
    """Whether the file holds records, not text, and its records with their "sentences", each with
    where it stands.

    It is Parquet, JSONL or text where its name says so; else JSONL where it begins with {.
    """
    if path.suffix == ".parquet":
        return True, _checked(_parquet_rows(path, on_bad), on_bad)
    lines = read_lines(path)
    head = []
    for line in lines:
        head.append(line)
        if beginning(line).strip():
            break
    else:
        raise UserError(f"{path}: empty: wanted sentences")
    whole = chain(head, lines)
    named, begins = set(path.suffixes), beginning(head[-1]).lstrip().startswith("{")
    if ".jsonl" in named or (begins and ".txt" not in named):
        return True, _checked(parse_records(whole, str(path), on_bad), on_bad)
    documents = parse_text(whole, str(path), on_bad)
    records = ((f"{path}:{line}", {"sentences": list(found)}) for line, found in documents)
    return False, _checked(records, on_bad)


def count_documents(path: Path) -> int | None:
    """How many documents a file holds; None where it cannot be read to its end."""
    try:
        _, records = read_source(path, on_bad=lambda error: None)
        return sum(1 for _ in records)
    except UserError:
        return None


def _parquet_rows(path: Path, on_bad: OnBad) -> Iterator[tuple[str, Record]]:
    """The rows of a file, or of a folder of parts."""
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
