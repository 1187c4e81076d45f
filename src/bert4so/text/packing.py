"""Sentences to the one row that BERT4SO reads: ids, segments, where each sentence stands, what was
cut.

    [CLS] first sentence [SEP] [CLS] second sentence [SEP] ...
      0     0     0        0     1     1      1        1
"""

import json
import threading
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

from bert4so.errors import UserError, quote
from bert4so.io.model_files import (
    boolean,
    check_keys,
    first_line,
    integer,
    is_interrupt,
    parse_json,
    read_object,
    read_text,
)

Kind = TypeVar("Kind", bound=np.generic)

USEFUL = 8
"""A sentence cut to fewer word pieces than this says too little to be ordered by."""

MIN_POSITIONS = 68
"""Room for two sentences of 32 word pieces, each with [CLS] and [SEP]: with less, nothing is
ordered."""

MAX_POSITIONS = 1 << 16
MAX_TOKENIZER_BYTES = 1 << 26
"""The largest that are in use have half of it."""

MAX_VOCABULARY = 2_000_000
MAX_WORD_CHARACTERS = 1000
"""The time that WordPiece takes grows with the square of a word's length."""

_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_ENDINGS = r"'s|'t|'re|'ve|'m|'ll|'d"
PATTERNS = frozenset(
    [
        " {2,}",
        r"\s+",
        r"\s{2,}|[\n\r\t]",
        rf"{_ENDINGS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+",
        rf"{_ENDINGS}|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+",
        rf"(?i:{_ENDINGS})|{_WORDS}|\p{{N}}|{_REST}",
        rf"(?i:{_ENDINGS})|{_WORDS}|\p{{N}}{{1,3}}|{_REST}",
    ]
)
"""The regular expressions that tokenizers in use have. With others, a match can take forever."""


@dataclass(frozen=True)
class Layout:
    """What an encoder wants to find in a row.

    cls, sep, pad, unknown: the ids of its special tokens.
    positions:              how many tokens it can read at once.
    segments:               whether it tells two kinds of sentences apart.
    """

    cls: int
    sep: int
    pad: int
    unknown: int
    positions: int
    segments: bool


@dataclass(frozen=True)
class Row:
    """A document of n sentences as one row of m tokens.

    ids:      (m,) token ids.
    segments: (m,) 0 for the tokens of the first, third ... sentence, 1 for the others.
    starts:   (n,) where the [CLS] of each sentence stands.
    owners:   (m,) the sentence each word piece belongs to; -1 for [CLS] and [SEP].
    cut:      (n,) True for a sentence that did not fit whole.
    """

    ids: NDArray[np.int64]
    segments: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]
    cut: NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Some rows of up to m tokens and n sentences, padded on the right. The fields of `Row`, and

    real: (rows, m) True for a token, False for padding.
    mask: (rows, n) True for a sentence, False for padding.
    """

    ids: NDArray[np.int64]
    real: NDArray[np.bool_]
    segments: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]
    cut: NDArray[np.bool_]
    mask: NDArray[np.bool_]


class _Remembered(threading.local):
    """The word pieces of sentences that a thread has tokenized; None where it keeps none."""

    pieces: dict[str, list[int]] | None = None


class Packer:
    """A tokenizer, and the layout of the rows it fills.

    It may be used by many threads at once.

    place: where the tokenizer comes from, for an error.
    """

    def __init__(self, tokenizer: Tokenizer, layout: Layout, place: str = "the tokenizer") -> None:
        # Tokenizers come with settings of their own for both, kept in their file.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        # "[SEP]" in a user's text is five letters and two brackets, not the end of a sentence.
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        self.layout = layout
        self.place = place
        self._remembered = _Remembered()

    def __reduce__(self) -> tuple[type["Packer"], tuple[Tokenizer, Layout, str]]:
        """Pickle what a packer is made of: a tokenizer does not pickle all of its settings."""
        return type(self), (self.tokenizer, self.layout, self.place)

    def pieces(self, sentences: Sequence[str]) -> list[list[int]]:
        """The word pieces of each sentence; a sentence that has none is one unknown word."""
        known = self._remembered.pieces
        if known is None:
            return self._tokenize(sentences)
        missing = [sentence for sentence in dict.fromkeys(sentences) if sentence not in known]
        known.update(zip(missing, self._tokenize(missing), strict=True))
        return [known[sentence] for sentence in sentences]

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Tokenize each sentence once in this block, in the thread that enters it.

        On the way from a document to its rows, the word pieces are asked for once for its length,
        and again by each pass and window. After the block they are forgotten.
        """
        self._remembered.pieces = {}
        try:
            yield
        finally:
            self._remembered.pieces = None

    def _tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        # JSON can hold half of a surrogate pair, which is no text: to the tokenizer it is a "?".
        texts = [sentence.encode(errors="replace").decode() for sentence in sentences]
        try:
            encoded = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        except BaseException as error:  # a panic of tokenizers is no Exception
            if is_interrupt(error):
                raise
            raise UserError(f"{self.place}: it cannot split a text: {first_line(error)}") from None
        return [encoding.ids or [self.layout.unknown] for encoding in encoded]

    def pack(self, sentences: Sequence[str]) -> Row:
        """The row of a document."""
        return self.pack_all([sentences])[0]

    def pack_all(self, documents: Sequence[Sequence[str]]) -> list[Row]:
        """The rows of some documents, whose sentences the tokenizer gets all at once."""
        pieces = iter(self.pieces([sentence for document in documents for sentence in document]))
        return [self._row(list(islice(pieces, len(document)))) for document in documents]

    def _row(self, pieces: Sequence[list[int]]) -> Row:
        lengths = [len(ids) for ids in pieces]
        kept = kept_lengths(lengths, self.layout.positions)
        cls, sep = self.layout.cls, self.layout.sep
        ids = [[cls, *ids[:k], sep] for ids, k in zip(pieces, kept, strict=True)]
        owners = [[-1, *[i] * k, -1] for i, k in enumerate(kept)]
        widths = np.array(kept) + 2
        return Row(
            ids=np.concatenate(ids).astype(np.int64),
            segments=np.repeat(np.arange(len(kept)) % 2, widths),
            starts=np.cumsum(widths) - widths,
            owners=np.concatenate(owners).astype(np.int64),
            cut=np.array(kept) < np.array(lengths),
        )

    def stack(self, rows: Sequence[Row]) -> Rows:
        """Rows of whatever length, side by side."""
        return Rows(
            ids=_padded([row.ids for row in rows], self.layout.pad),
            real=_padded([np.ones(len(row.ids), np.bool_) for row in rows], False),
            segments=_padded([row.segments for row in rows], 0),
            starts=_padded([row.starts for row in rows], 0),
            owners=_padded([row.owners for row in rows], -1),
            cut=_padded([row.cut for row in rows], False),
            mask=_padded([np.ones(len(row.cut), np.bool_) for row in rows], False),
        )

    def save(self, folder: Path) -> None:
        """Write all that `load` needs."""
        self.tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "layout.json").write_text(json.dumps(asdict(self.layout), indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "Packer":
        """What `save` wrote."""
        path = folder / "tokenizer.json"
        tokenizer = _parse_tokenizer(read_text(path, MAX_TOKENIZER_BYTES), path)
        return cls(tokenizer, _read_layout(folder / "layout.json"), str(path))


def _read_layout(path: Path) -> Layout:
    given = read_object(path)
    check_keys(path, given, [field.name for field in fields(Layout)])
    cls, sep, pad, unknown = (
        integer(path, given, token, 0, MAX_VOCABULARY) for token in ("cls", "sep", "pad", "unknown")
    )
    return Layout(
        cls=cls,
        sep=sep,
        pad=pad,
        unknown=unknown,
        positions=integer(path, given, "positions", MIN_POSITIONS, MAX_POSITIONS),
        segments=boolean(path, given, "segments"),
    )


def _parse_tokenizer(text: str, path: Path) -> Tokenizer:
    """The tokenizer of a JSON text; refused where splitting a text could take forever."""
    # Most have nothing of the kind, and parsing takes longer than all else. A key may be escaped.
    if any(mark in text for mark in ("Regex", "Replace", "\\u")):
        check_patterns(parse_json(text, path), path)
    try:
        tokenizer = Tokenizer.from_str(text)
    except BaseException as error:  # of tokenizers; a panic is no Exception
        if is_interrupt(error):
            raise
        raise UserError(f"{path}: not a tokenizer: {first_line(error)}") from None
    if tokenizer.get_vocab_size() > MAX_VOCABULARY:
        raise UserError(f"{path}: has more than {MAX_VOCABULARY:,} tokens")
    model = tokenizer.model
    if isinstance(model, WordPiece) and model.max_input_chars_per_word > MAX_WORD_CHARACTERS:
        raise UserError(f"{path}: max_input_chars_per_word must be at most {MAX_WORD_CHARACTERS}")
    return tokenizer


def check_patterns(tokenizer: object, path: Path) -> None:
    """Refuse the JSON of a tokenizer with an unknown regular expression, or that lengthens text."""
    for part in _objects(tokenizer):
        pattern = part.get("Regex")
        if isinstance(pattern, str) and pattern not in PATTERNS:
            raise UserError(
                f"{path}: the tokenizer has a regular expression that bert4so does not know: "
                f"{quote(pattern)}"
            )
        if part.get("type") == "Replace" and not _keeps_length(part):
            raise UserError(f"{path}: the tokenizer replaces text by longer text")


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """All objects in a JSON value, but for vocabularies, which hold numbers only."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += [inner for inner in value.values() if isinstance(inner, dict | list)]
        elif isinstance(value, list):
            waiting += [inner for inner in value if isinstance(inner, dict | list)]


def _keeps_length(replace: dict[str, Any]) -> bool:
    """Whether what is replaced becomes no longer: a chain that doubles a text fills the memory."""
    pattern, content = replace.get("pattern"), replace.get("content")
    if not isinstance(pattern, dict) or not isinstance(content, str):
        return False
    # What a known regular expression finds is at least one character.
    shortest = pattern.get("String", " ")
    return isinstance(shortest, str) and 0 < len(shortest) >= len(content)


def _padded(rows: Sequence[NDArray[Kind]], filler: int | bool) -> NDArray[Kind]:
    """(rows, longest) the rows, each filled up on the right."""
    table = np.full((len(rows), max(map(len, rows))), filler, dtype=rows[0].dtype)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def kept_lengths(lengths: Sequence[int], positions: int) -> list[int]:
    """How many pieces of each sentence fit a row of so many positions, [CLS] and [SEP] included.

    The longest give way first: all are cut down to one length, the greatest that fits; what is
    then left over goes piece by piece to the first of those that were cut.
    """
    room = positions - 2 * len(lengths)
    if sum(lengths) <= room:
        return list(lengths)
    if room < sum(min(length, USEFUL) for length in lengths):
        raise UserError(
            f"a document of {len(lengths)} sentences and {sum(lengths)} word pieces is too long: "
            f"the model reads {positions} at once, "
            f"which is room for {positions // (USEFUL + 2)} sentences of {USEFUL}"
        )

    def total(longest: int) -> int:
        return sum(min(length, longest) for length in lengths)

    longest = bisect(range(max(lengths)), room, key=total) - 1
    kept = [min(length, longest) for length in lengths]
    for i, length in enumerate(lengths):
        if length > longest and sum(kept) < room:
            kept[i] += 1
    return kept
