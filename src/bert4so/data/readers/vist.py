"""SIND, now VIST: stories with one sentence per photo, from visionandlanguage.net/VIST.

SIS-with-labels.tar.gz holds {train,val,test}.story-in-sequence.json: "images", "albums" and
"annotations", a list of lists of one object each, which is a sentence of a story. Its fields are
those that github.com/lichengunc/vist_api reads.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bert4so.data.readers.raw_document import Columns, RawDocument, split_of
from bert4so.errors import UserError, quote, shorten
from bert4so.io.files import Files, read_limited
from bert4so.io.lines import reading
from bert4so.io.on_error import OnBad

Row = dict[str, Any]

ORDER = "worker_arranged_photo_order"
TEXT = "original_text"
"""The original text; "text" is tokenized and lower-cased. Other work on ordering SIND uses this
field, too (github.com/shrimai/Topological-Sort-for-Sentence-Ordering,
github.com/declare-lab/sentence-ordering)."""


def read_vist(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read each story, with its sentences in the order of its photos.

    A file is a single JSON object, so it is held in memory while it is read, and its stories until
    they are yielded.
    """
    for path in files.find("*.story-in-sequence.json"):
        for story, rows in _stories(files, path, on_bad).items():
            where = f"{path}: story {shorten(story)}"
            try:
                sentences = _sentences(rows)
            except UserError as error:
                on_bad(UserError(f"{where}: {error}"))
            else:
                yield RawDocument(where, story, sentences, split=split_of(path))


def _stories(files: Files, path: Path, on_bad: OnBad) -> dict[str, list[Row]]:
    """The rows of each story, in the order of the file."""
    stories: dict[str, list[Row]] = {}
    try:
        annotations = _annotations(files, path)
    except UserError as error:
        on_bad(error)
        return stories
    for number, annotation in enumerate(annotations):
        match annotation:
            case [{"story_id": str(story), **row}]:
                fields = {name: row.get(name) for name in (ORDER, TEXT)}
                stories.setdefault(story, []).append(fields)
            case _:
                problem = "must be a list of one object with a story_id"
                reason = f"annotation {number} {problem} (got {quote(annotation)})"
                on_bad(UserError(f"{path}: {reason}"))
    return stories


def _annotations(files: Files, path: Path) -> list[Any]:
    with reading(path), files.binary(path) as file:
        content = read_limited(file, path)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from None
    match value:
        case {"annotations": [*annotations]}:
            return annotations
    raise UserError(f'{path}: contains no list "annotations"')


def _sentences(rows: list[Row]) -> tuple[str, ...]:
    placed: dict[int, str] = {}
    for row in rows:
        place, text = row[ORDER], row[TEXT]
        if not isinstance(place, int) or place in placed:
            raise UserError(f"{ORDER} must be a different number per sentence (got {quote(place)})")
        if not isinstance(text, str):
            raise UserError(f"{TEXT} must be a string (got {quote(text)})")
        placed[place] = text
    return tuple(placed[place] for place in sorted(placed))
