"""The words of a corpus, each with a number."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.io.lines import read_lines, text_of
from bert4so.io.model_files import parse_json, read_text

PADDING, UNKNOWN = 0, 1
MAX_VOCABULARY_BYTES = 1 << 26
WORD = re.compile(r"\w+|[^\w\s]")


def words(sentence: str) -> list[str]:
    """The words and signs of a sentence, in lower case."""
    return WORD.findall(sentence.lower())


class Vocabulary:
    """Words by number; 0 is padding, 1 is every word that it does not have."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = list(known)
        self.number = {word: k for k, word in enumerate(known, start=UNKNOWN + 1)}

    def __len__(self) -> int:
        return len(self.known) + UNKNOWN + 1

    @classmethod
    def of(cls, documents: Iterable[Document], most: int) -> Self:
        """The words that are most frequent in some documents; of equals, by the alphabet."""
        counts = Counter(
            word for document in documents for one in document.sentences for word in words(one)
        )
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(ranked[:most])

    def ids(self, sentence: str) -> list[int]:
        """The numbers of a sentence's words; a sentence that has none is one unknown word."""
        return [self.number.get(word, UNKNOWN) for word in words(sentence)] or [UNKNOWN]

    def save(self, path: Path) -> None:
        """Write the words, as JSON."""
        path.write_text(json.dumps(self.known, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        known = parse_json(read_text(path, MAX_VOCABULARY_BYTES), path)
        if not isinstance(known, list) or not all(isinstance(word, str) for word in known):
            raise UserError(f"{path}: must hold a list of strings")
        return cls(known)


def read_vectors(path: Path, vocabulary: Vocabulary, width: int) -> dict[int, list[float]]:
    """The vectors of the words that are in both: GloVe's text form, a word and its numbers a line.

    By the numbers of the words.
    """
    found: dict[int, list[float]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        # A word may have spaces in it; that the first has none tells how long a vector is.
        word, *numbers = text_of(line).rstrip().rsplit(" ", width if number > 1 else -1)
        known = vocabulary.number.get(word)
        if len(numbers) != width and (known or number == 1):
            raise UserError(f"{path}:{number}: a vector of {len(numbers)}: wanted {width} numbers")
        try:
            if known:
                found[known] = [float(each) for each in numbers]
        except ValueError as error:
            raise UserError(f"{path}:{number}: {error}") from None
    if not found:
        raise UserError(f"{path}: none of the corpus's words in it")
    return found
