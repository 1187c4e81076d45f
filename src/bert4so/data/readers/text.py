"""Plain text, a blank line between documents."""

from collections.abc import Iterator

from bert4so.data.bad import OnBad
from bert4so.data.files import Files
from bert4so.data.lines import read_lines
from bert4so.data.readers.found import Columns, Found, split_of
from bert4so.data.text import parse_text


def read_text(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[Found]:
    """A sentence a line."""
    for path in files.find("*.txt"):
        lines = read_lines(path, files.told)
        for line, sentences in parse_text(lines, str(path), on_bad):
            yield Found(f"{path}:{line}", f"{path.name}:{line}", sentences, split=split_of(path))


def read_paragraphs(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[Found]:
    """Running text, a paragraph a document, its lines broken anywhere."""
    for found in read_text(files, columns, on_bad):
        yield Found(found.where, found.id, text=" ".join(found.sentences), split=found.split)
