"""Plain text with a blank line between documents."""

from collections.abc import Iterator
from dataclasses import replace

from bert4so.data.readers.raw_document import Columns, RawDocument, split_of
from bert4so.io.files import Files
from bert4so.io.lines import read_lines
from bert4so.io.on_error import OnBad
from bert4so.io.text import parse_text


def read_text(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read one sentence per line."""
    for path in files.find("*.txt"):
        lines = read_lines(path, files.on_bytes_read)
        for line, sentences in parse_text(lines, str(path), on_bad):
            yield RawDocument(
                f"{path}:{line}", f"{path.name}:{line}", sentences, split=split_of(path)
            )


def read_paragraphs(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read running text: one document per paragraph, with line breaks anywhere."""
    for document in read_text(files, columns, on_bad):
        text = " ".join(document.sentences)
        yield replace(document, sentences=(), text=text)
