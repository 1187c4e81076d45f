"""Plain text: a sentence a line, a blank line between documents."""

from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from bert4so.errors import UserError
from bert4so.io.lines import BadLine, Line, usable
from bert4so.io.on_error import OnBad, stop

MAX_DOCUMENT_LINES = 1_000_000
MAX_DOCUMENT_CHARACTERS = 50_000_000


def parse_text(
    lines: Iterable[Line], name: str, on_bad: OnBad = stop
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Each document: the line it begins at, and its sentences.

    A document is bad as a whole if one of its lines is.
    """
    for is_blank, group in groupby(enumerate(lines, start=1), lambda one: _is_blank(one[1])):
        if is_blank:
            continue
        try:
            yield _document(group, name)
        except UserError as error:
            on_bad(error)  # groupby goes on with the lines of the next document


def _document(numbered: Iterator[tuple[int, Line]], name: str) -> tuple[int, tuple[str, ...]]:
    number, first = next(numbered)
    rest = (line for _, line in numbered)
    return number, sentences_of_lines(chain([first], rest), f"{name}:{number}")


def sentences_of_lines(lines: Iterable[Line], where: str) -> tuple[str, ...]:
    """The lines of a document that are not blank; raises `UserError` if there are too many."""
    sentences, characters = list[str](), 0
    for line in lines:
        sentence = usable(line).strip()
        if sentence:
            sentences.append(sentence)
        characters += len(sentence)
        if len(sentences) > MAX_DOCUMENT_LINES or characters > MAX_DOCUMENT_CHARACTERS:
            raise UserError(
                f"{where}: a document of more than {MAX_DOCUMENT_LINES:,} lines or "
                f"{MAX_DOCUMENT_CHARACTERS:,} characters: put a blank line between documents"
            )
    return tuple(sentences)


def _is_blank(line: Line) -> bool:
    return not isinstance(line, BadLine) and not line.strip()
