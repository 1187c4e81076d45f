"""The vocabulary of a corpus: words and their ids."""

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
    """The words and punctuation marks of a sentence, in lower case."""
    return WORD.findall(sentence.lower())


class Vocabulary:
    """Map words to ids; 0 is padding, 1 is any unknown word."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = list(known)
        self.number = {word: k for k, word in enumerate(known, start=UNKNOWN + 1)}

    def __len__(self) -> int:
        return len(self.known) + UNKNOWN + 1

    @classmethod
    def of(cls, documents: Iterable[Document], most: int) -> Self:
        """The most frequent words of some documents, at most `most`; ties in alphabetical order."""
        counts = Counter(
            word for document in documents for text in document.sentences for word in words(text)
        )
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(ranked[:most])

    def ids(self, sentence: str) -> list[int]:
        """The ids of a sentence's words; a sentence without words becomes one unknown word."""
        return [self.number.get(word, UNKNOWN) for word in words(sentence)] or [UNKNOWN]

    def save(self, path: Path) -> None:
        """Write the words as JSON."""
        path.write_text(json.dumps(self.known, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        known = parse_json(read_text(path, MAX_VOCABULARY_BYTES), path)
        if not isinstance(known, list) or not all(isinstance(word, str) for word in known):
            raise UserError(f"{path}: must hold a list of strings")
        return cls(known)


def read_vectors(path: Path, vocabulary: Vocabulary, width: int) -> dict[int, list[float]]:
    """Read word vectors by word id from GloVe's text format: one word and its vector per line.

    Words that are not in the vocabulary are skipped.
    """
    vectors: dict[int, list[float]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        # Words may contain spaces. The first has none, so the width of the vectors can be checked.
        word, *values = text_of(line).rstrip().rsplit(" ", width if number > 1 else -1)
        word_id = vocabulary.number.get(word)
        if len(values) != width and (word_id or number == 1):
            raise UserError(
                f"{path}:{number}: the vector must have {width} values (got {len(values)})"
            )
        try:
            if word_id:
                vectors[word_id] = [float(value) for value in values]
        except ValueError as error:
            raise UserError(f"{path}:{number}: {error}") from None
    if not vectors:
        raise UserError(f"{path}: contains none of the words of the corpus")
    return vectors
