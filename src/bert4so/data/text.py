"""Plain text: a sentence a line, a blank line between documents."""

from collections.abc import Iterable, Iterator


def parse_text(lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The sentences of each document."""
    sentences: list[str] = []
    for line in lines:
        if line.strip():
            sentences.append(line.strip())
        elif sentences:
            yield tuple(sentences)
            sentences = []
    if sentences:
        yield tuple(sentences)
