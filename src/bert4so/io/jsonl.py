"""JSON Lines: one JSON object per line."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bert4so.document import Document, check_sentences
from bert4so.errors import UserError, quote
from bert4so.io.atomic import write_atomic
from bert4so.io.lines import Line, read_lines, text_of
from bert4so.io.on_error import OnBad, stop

Record = dict[str, Any]

MAX_NESTING_LEVELS = 100
"""Limit for lists and objects in a record; Python and Parquet can write fewer than Python reads."""


def read_documents(path: Path, on_bad: OnBad = stop) -> list[Document]:
    """Read the documents of a corpus file: one {"id": ..., "sentences": [...]} per line."""
    documents = []
    for where, record in parse_records(read_lines(path), str(path), on_bad):
        try:
            documents.append(Document(id_of(record, where), sentences_of(record, where)))
        except UserError as error:
            on_bad(error)
    if not documents:
        raise UserError(f"{path}: contains no documents: write one JSON object per line")
    return documents


def parse_records(
    lines: Iterable[Line], name: str, on_bad: OnBad = stop
) -> Iterator[tuple[str, Record]]:
    """Yield the location (file name and line) and the object of each line that is not blank."""
    for number, line in enumerate(lines, start=1):
        where = f"{name}:{number}"
        try:
            text = text_of(line).strip()
            if text:
                yield where, _record(text, where)
        except UserError as error:
            on_bad(error)


def _record(text: str, where: str) -> Record:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:  # also for integers with too many digits
        raise UserError(f"{where}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise UserError(f"{where}: each line must be a JSON object (got {quote(record)})")
    # Few records have that many brackets; count the levels only of those.
    if text.count("[") + text.count("{") > MAX_NESTING_LEVELS and _too_deep(record):
        raise UserError(f"{where}: nested more than {MAX_NESTING_LEVELS} levels deep")
    return record


def _too_deep(record: Record) -> bool:
    level: list[Any] = [record]
    for _ in range(MAX_NESTING_LEVELS):
        children = (node.values() if isinstance(node, dict) else node for node in level)
        level = [node for nodes in children for node in nodes if isinstance(node, dict | list)]
    return bool(level)


def id_of(record: Record, where: str) -> str:
    """The id of a record; raises `UserError` if it is not a string."""
    if not isinstance(record.get("id"), str):
        raise UserError(f'{where}: "id" must be a string (got {quote(record.get("id"))})')
    return str(record["id"])


def sentences_of(record: Record, where: str) -> tuple[str, ...]:
    """The sentences of a record; raises `UserError` if they are invalid."""
    sentences = record.get("sentences")
    if not isinstance(sentences, list):
        raise UserError(f'{where}: "sentences" must be a list of strings (got {quote(sentences)})')
    try:
        check_sentences(sentences)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return tuple(sentences)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write one record per line, atomically."""
    write_atomic(path, "".join(map(to_json_line, records)).encode())


def to_json_line(record: Record) -> str:
    """A record as one line; values that JSON lacks, such as dates from Parquet, become strings."""
    line = json.dumps(record, ensure_ascii=False, default=str) + "\n"
    # A lone surrogate, which JSON can contain as an escape, is written as an escape again.
    return line.encode(errors="backslashreplace").decode()
