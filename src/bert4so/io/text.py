"""Plain text: one sentence per line, a blank line between documents."""

from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from bert4so.errors import UserError
from bert4so.io.lines import BadLine, Line, text_of
from bert4so.io.on_error import OnBad, stop

MAX_DOCUMENT_LINES = 1_000_000
MAX_DOCUMENT_CHARACTERS = 50_000_000


def parse_text(
    lines: Iterable[Line], name: str, on_bad: OnBad = stop
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the first line number and the sentences of each document.

    A document with an invalid line is invalid as a whole.
    """
    for is_blank, group in groupby(enumerate(lines, start=1), lambda pair: _is_blank(pair[1])):
        if is_blank:
            continue
        try:
            yield _document(group, name)
        except UserError as error:
            on_bad(error)  # groupby skips the remaining lines of this document


def _document(numbered: Iterator[tuple[int, Line]], name: str) -> tuple[int, tuple[str, ...]]:
    number, first = next(numbered)
    rest = (line for _, line in numbered)
    return number, parse_sentences(chain([first], rest), f"{name}:{number}")


def parse_sentences(lines: Iterable[Line], where: str) -> tuple[str, ...]:
    """The lines of a document that are not blank; raises `UserError` if it is too long."""
    sentences, characters = list[str](), 0
    for line in lines:
        sentence = text_of(line).strip()
        if sentence:
            sentences.append(sentence)
        characters += len(sentence)
        if len(sentences) > MAX_DOCUMENT_LINES or characters > MAX_DOCUMENT_CHARACTERS:
            raise UserError(
                f"{where}: a document with more than {MAX_DOCUMENT_LINES:,} lines or "
                f"{MAX_DOCUMENT_CHARACTERS:,} characters: put a blank line between documents"
            )
    return tuple(sentences)


def _is_blank(line: Line) -> bool:
    return not isinstance(line, BadLine) and not line.strip()
