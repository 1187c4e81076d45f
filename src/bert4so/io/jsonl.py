"""JSON Lines: a JSON object a line."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bert4so.document import Document, check_sentences
from bert4so.errors import UserError, quote
from bert4so.io.atomic import write_whole
from bert4so.io.lines import Line, read_lines, usable
from bert4so.io.on_error import OnBad, stop

Record = dict[str, Any]

MAX_NESTING_LEVELS = 100
"""Of lists and objects in a record. Python writes fewer than it reads, and Parquet fewer still."""


def read_documents(path: Path, on_bad: OnBad = stop) -> list[Document]:
    """The documents of a corpus file: {"id": ..., "sentences": [...]} a line."""
    documents = []
    for where, record in parse_records(read_lines(path), str(path), on_bad):
        try:
            documents.append(Document(id_of(record, where), sentences_of(record, where)))
        except UserError as error:
            on_bad(error)
    if not documents:
        raise UserError(f"{path}: no documents: wanted one a line")
    return documents


def parse_records(
    lines: Iterable[Line], name: str, on_bad: OnBad = stop
) -> Iterator[tuple[str, Record]]:
    """The objects of some lines, each with where it stands: the file's name and the line."""
    for number, line in enumerate(lines, start=1):
        where = f"{name}:{number}"
        try:
            text = usable(line).strip()
            if text:
                yield where, _record(text, where)
        except UserError as error:
            on_bad(error)


def _record(text: str, where: str) -> Record:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:  # of integers with too many digits, the first
        raise UserError(f"{where}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise UserError(f"{where}: {quote(record)}: wanted an object, {{...}}")
    # Few records have so many brackets: of these alone the levels are counted.
    if text.count("[") + text.count("{") > MAX_NESTING_LEVELS and _too_deep(record):
        raise UserError(f"{where}: nested more than {MAX_NESTING_LEVELS} levels deep")
    return record


def _too_deep(record: Record) -> bool:
    level: list[Any] = [record]
    for _ in range(MAX_NESTING_LEVELS):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for some in inner for one in some if isinstance(one, dict | list)]
    return bool(level)


def id_of(record: Record, where: str) -> str:
    """The id of a record, checked."""
    if not isinstance(record.get("id"), str):
        raise UserError(f"{where}: id = {quote(record.get('id'))}: wanted a string")
    return str(record["id"])


def sentences_of(record: Record, where: str) -> tuple[str, ...]:
    """The sentences of a record, checked."""
    sentences = record.get("sentences")
    if not isinstance(sentences, list):
        raise UserError(f"{where}: sentences = {quote(sentences)}: wanted a list of strings")
    try:
        check_sentences(sentences)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return tuple(sentences)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write a record a line; the file is there when it is whole."""
    write_whole(path, "".join(map(dumped, records)).encode())


def dumped(record: Record) -> str:
    """The line of a record; what JSON has no word for, as a date of Parquet's, as text."""
    line = json.dumps(record, ensure_ascii=False, default=str) + "\n"
    # Half a character, as JSON may have it by its number, goes back to its number.
    return line.encode(errors="backslashreplace").decode()
