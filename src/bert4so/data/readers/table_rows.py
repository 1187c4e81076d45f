"""Rows of a table, whatever it is kept in, to documents."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bert4so.data.readers.raw_document import Columns, RawDocument
from bert4so.errors import UserError, quote, shorten
from bert4so.io.on_error import OnBad

Row = Mapping[str, Any]


def from_rows(
    rows: Iterable[tuple[str, Row]], columns: Columns, split: str | None, on_bad: OnBad
) -> Iterator[RawDocument]:
    """The document of each row, which comes with where it stands.

    A row has a list `sentences`, or a column a sentence (those that are called sentence1,
    sentence_2 ... where none are named), or running text where a column for it is named.
    """
    for number, (where, row) in enumerate(rows, start=1):
        try:
            yield _found(where, row, columns, split, number)
        except UserError as error:
            on_bad(UserError(f"{where}: {error}"))


def _found(where: str, row: Row, columns: Columns, split: str | None, number: int) -> RawDocument:
    name = row.get(columns.id or "id")
    if name is None:
        if columns.id:
            raise _missing(columns.id, row)
        name = f"{split or 'document'}-{number}"
    if columns.text:
        text = row.get(columns.text)
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"{columns.text} = {quote(text)}: wanted some text")
        return RawDocument(where, str(name), text=text, split=split)
    return RawDocument(where, str(name), _sentences(row, columns.sentences), split=split)


def _sentences(row: Row, named: tuple[str, ...]) -> tuple[Any, ...]:
    names = named or (("sentences",) if "sentences" in row else _numbered(row))
    if not names:
        raise UserError(
            f"columns {_columns(row)}: wanted sentences, or sentence1, sentence2 ...; "
            "name yours with --sentences or --text"
        )
    for name in names:
        if name not in row:
            raise _missing(name, row)
    if len(names) == 1:
        sentences = row[names[0]]
        if not isinstance(sentences, list):
            raise UserError(f"{names[0]} = {quote(sentences)}: wanted a list of strings")
        return tuple(sentences)
    found = [row[name] for name in names]
    while found and found[-1] in (None, ""):  # a shorter document leaves the last columns empty
        found.pop()
    return tuple(found)


def _numbered(row: Row) -> tuple[str, ...]:
    """The columns called sentence1, sentence_2 ..., by their numbers."""
    matches = [re.fullmatch(r"sentence[_ ]?(\d{1,9})", str(name), re.IGNORECASE) for name in row]
    found = [match for match in matches if match]
    return tuple(match[0] for match in sorted(found, key=lambda match: int(match[1])))


def _missing(name: str, row: Row) -> UserError:
    return UserError(f'no column "{name}": there are {_columns(row)}')


def _columns(row: Row) -> str:
    return shorten(", ".join(map(str, row)))
