"""Plain text: a sentence a line, a blank line between documents."""

from collections.abc import Iterable, Iterator


def parse_text(lines: Iterable[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Each document: the line it begins at, and its sentences."""
    sentences: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            sentences.append(line.strip())
        elif sentences:
            yield number - len(sentences), tuple(sentences)
            sentences = []
    if sentences:
        yield number - len(sentences) + 1, tuple(sentences)
