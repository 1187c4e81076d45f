"""Convert rows of any kind of table to documents."""

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
    """Yield the document of each row; `rows` are pairs of location and row.

    A row has a list `sentences`, or one column per sentence (by default those named sentence1,
    sentence_2 ...), or running text if `columns.text` is set.
    """
    for number, (where, row) in enumerate(rows, start=1):
        try:
            yield _document(where, row, columns, split, number)
        except UserError as error:
            on_bad(UserError(f"{where}: {error}"))


def _document(
    where: str, row: Row, columns: Columns, split: str | None, number: int
) -> RawDocument:
    name = row.get(columns.id or "id")
    if name is None:
        if columns.id:
            raise _missing(columns.id, row)
        name = f"{split or 'document'}-{number}"
    if columns.text:
        text = row.get(columns.text)
        if not isinstance(text, str) or not text.strip():
            raise UserError(f'"{columns.text}" must contain text (got {quote(text)})')
        return RawDocument(where, str(name), text=text, split=split)
    return RawDocument(where, str(name), _sentences(row, columns.sentences), split=split)


def _sentences(row: Row, named: tuple[str, ...]) -> tuple[Any, ...]:
    names = named or (("sentences",) if "sentences" in row else _numbered(row))
    if not names:
        raise UserError(
            f"no column sentences, or sentence1, sentence2 ... (columns: {_columns(row)}): "
            "pass --sentences or --text"
        )
    for name in names:
        if name not in row:
            raise _missing(name, row)
    if len(names) == 1:
        sentences = row[names[0]]
        if not isinstance(sentences, list):
            raise UserError(f'"{names[0]}" must be a list of strings (got {quote(sentences)})')
        return tuple(sentences)
    cells = [row[name] for name in names]
    while cells and cells[-1] in (None, ""):  # a shorter document leaves the last columns empty
        cells.pop()
    return tuple(cells)


def _numbered(row: Row) -> tuple[str, ...]:
    """The columns named sentence1, sentence_2 ..., sorted by number."""
    matches = [re.fullmatch(r"sentence[_ ]?(\d{1,9})", str(name), re.IGNORECASE) for name in row]
    numbered = [match for match in matches if match]
    return tuple(match[0] for match in sorted(numbered, key=lambda match: int(match[1])))


def _missing(name: str, row: Row) -> UserError:
    return UserError(f'no column "{name}" (columns: {_columns(row)})')


def _columns(row: Row) -> str:
    return shorten(", ".join(map(str, row)))
