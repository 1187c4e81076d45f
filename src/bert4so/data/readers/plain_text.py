"""Plain text, a blank line between documents."""

from collections.abc import Iterator

from bert4so.data.readers.raw_document import Columns, RawDocument, split_of
from bert4so.io.files import Files
from bert4so.io.lines import read_lines
from bert4so.io.on_error import OnBad
from bert4so.io.text import parse_text


def read_text(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """A sentence a line."""
    for path in files.find("*.txt"):
        lines = read_lines(path, files.on_bytes_read)
        for line, sentences in parse_text(lines, str(path), on_bad):
            yield RawDocument(
                f"{path}:{line}", f"{path.name}:{line}", sentences, split=split_of(path)
            )


def read_paragraphs(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Running text, a paragraph a document, its lines broken anywhere."""
    for found in read_text(files, columns, on_bad):
        yield RawDocument(found.where, found.id, text=" ".join(found.sentences), split=found.split)
