"""JSON Lines: a JSON object a line."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bert4so.document import Document, check_sentences
from bert4so.errors import UserError
from bert4so.io.atomic import write_whole
from bert4so.io.lines import read_lines
from bert4so.io.on_error import OnBad, stop

Record = dict[str, Any]


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
    lines: Iterable[str], name: str, on_bad: OnBad = stop
) -> Iterator[tuple[str, Record]]:
    """The objects of some lines, each with where it stands: the file's name and the line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield f"{name}:{number}", _record(line)
        except UserError as error:
            on_bad(UserError(f"{name}:{number}: {error}"))


def _record(line: str) -> Record:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise UserError(f"{line.strip()[:40]}: wanted an object, {{...}}")
    return record


def id_of(record: Record, where: str) -> str:
    """The id of a record, checked."""
    if not isinstance(record.get("id"), str):
        raise UserError(f"{where}: id = {record.get('id')!r}: wanted a string")
    return str(record["id"])


def sentences_of(record: Record, where: str) -> tuple[str, ...]:
    """The sentences of a record, checked."""
    sentences = record.get("sentences")
    if not isinstance(sentences, list):
        raise UserError(f"{where}: sentences = {sentences!r}: wanted a list of strings")
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
