"""Pack the sentences of a document into one row: token ids, segments, positions, truncation.

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

MIN_WORD_PIECES = 8
"""Minimum length that sentences are truncated to: fewer word pieces carry too little meaning."""

MIN_POSITIONS = 68
"""Room for two sentences of 32 word pieces, each with [CLS] and [SEP]."""

MAX_POSITIONS = 1 << 16
MAX_TOKENIZER_BYTES = 1 << 26
"""Twice the size of the largest tokenizers in use."""

MAX_VOCABULARY = 2_000_000
MAX_WORD_CHARACTERS = 1000
"""WordPiece takes time quadratic in the length of a word."""

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
"""The regular expressions of known tokenizers. Matching an unknown one could take forever."""


@dataclass(frozen=True)
class Layout:
    """The row format of an encoder.

    cls, sep, pad, unknown: ids of the special tokens.
    positions:              maximum number of tokens per row.
    segments:               whether the encoder has two segment embeddings.
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
    starts:   (n,) position of the [CLS] of each sentence.
    owners:   (m,) index of the sentence of each word piece; -1 for [CLS] and [SEP].
    cut:      (n,) True for a truncated sentence.
    """

    ids: NDArray[np.int64]
    segments: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]
    cut: NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """A batch of rows of up to m tokens and n sentences, padded on the right: as `Row`, and

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
    """Convert documents to rows with a tokenizer.

    A packer is thread-safe.

    source: where the tokenizer comes from, for error messages.
    """

    def __init__(self, tokenizer: Tokenizer, layout: Layout, source: str = "the tokenizer") -> None:
        # The file of a tokenizer may enable both.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        # "[SEP]" in a user's text must not become a special token.
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        self.layout = layout
        self.source = source
        self._remembered = _Remembered()

    def __reduce__(self) -> tuple[type["Packer"], tuple[Tokenizer, Layout, str]]:
        """Pickle the constructor's arguments: a tokenizer does not pickle all of its settings."""
        return type(self), (self.tokenizer, self.layout, self.source)

    def pieces(self, sentences: Sequence[str]) -> list[list[int]]:
        """The word pieces of each sentence; a sentence without any becomes one unknown token."""
        cache = self._remembered.pieces
        if cache is None:
            return self._tokenize(sentences)
        missing = [sentence for sentence in dict.fromkeys(sentences) if sentence not in cache]
        cache.update(zip(missing, self._tokenize(missing), strict=True))
        return [cache[sentence] for sentence in sentences]

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Tokenize each sentence once in this block, in the thread that enters it.

        Word pieces are needed once for the length of a document, and again in each pass and window.
        They are forgotten at the end of the block.
        """
        self._remembered.pieces = {}
        try:
            yield
        finally:
            self._remembered.pieces = None

    def _tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        # JSON can contain lone surrogates, which the tokenizer refuses: replace them by "?".
        texts = [sentence.encode(errors="replace").decode() for sentence in sentences]
        try:
            encoded = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        except BaseException as error:  # a panic in tokenizers is not an Exception
            if is_interrupt(error):
                raise
            raise UserError(f"{self.source}: cannot tokenize a text: {first_line(error)}") from None
        return [encoding.ids or [self.layout.unknown] for encoding in encoded]

    def pack(self, sentences: Sequence[str]) -> Row:
        """The row of a document."""
        return self.pack_all([sentences])[0]

    def pack_all(self, documents: Sequence[Sequence[str]]) -> list[Row]:
        """The rows of some documents, whose sentences are tokenized in one batch."""
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
        """Pad rows of different lengths to a batch."""
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
        """Write the files that `load` reads."""
        self.tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "layout.json").write_text(json.dumps(asdict(self.layout), indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "Packer":
        """Read the files that `save` wrote."""
        path = folder / "tokenizer.json"
        tokenizer = _parse_tokenizer(read_text(path, MAX_TOKENIZER_BYTES), path)
        return cls(tokenizer, _read_layout(folder / "layout.json"), str(path))


def _read_layout(path: Path) -> Layout:
    values = read_object(path)
    check_keys(path, values, [field.name for field in fields(Layout)])
    cls, sep, pad, unknown = (
        integer(path, values, name, 0, MAX_VOCABULARY) for name in ("cls", "sep", "pad", "unknown")
    )
    return Layout(
        cls=cls,
        sep=sep,
        pad=pad,
        unknown=unknown,
        positions=integer(path, values, "positions", MIN_POSITIONS, MAX_POSITIONS),
        segments=boolean(path, values, "segments"),
    )


def _parse_tokenizer(text: str, path: Path) -> Tokenizer:
    """Load a tokenizer from JSON; refuse one with which tokenizing could take forever."""
    # Parsing the JSON is slow, and most tokenizers have no such parts. A key may be escaped.
    if any(mark in text for mark in ("Regex", "Replace", "\\u")):
        check_patterns(parse_json(text, path), path)
    try:
        tokenizer = Tokenizer.from_str(text)
    except BaseException as error:  # a panic in tokenizers is not an Exception
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
    """Refuse a tokenizer (as JSON) with an unknown regular expression, or that lengthens text."""
    for part in _objects(tokenizer):
        pattern = part.get("Regex")
        if isinstance(pattern, str) and pattern not in PATTERNS:
            raise UserError(
                f"{path}: the tokenizer has a regular expression that bert4so does not know: "
                f"{quote(pattern)}"
            )
        if part.get("type") == "Replace" and not _keeps_length(part):
            raise UserError(f"{path}: the tokenizer replaces text with longer text")


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """All objects in a JSON value. Scalars, such as those of vocabularies, are not visited."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += [inner for inner in value.values() if isinstance(inner, dict | list)]
        elif isinstance(value, list):
            stack += [inner for inner in value if isinstance(inner, dict | list)]


def _keeps_length(replace: dict[str, Any]) -> bool:
    """Whether a replacement never lengthens text: repeated doubling would fill the memory."""
    pattern, content = replace.get("pattern"), replace.get("content")
    if not isinstance(pattern, dict) or not isinstance(content, str):
        return False
    # A match of a known regular expression has at least one character.
    shortest = pattern.get("String", " ")
    return isinstance(shortest, str) and 0 < len(shortest) >= len(content)


def _padded(rows: Sequence[NDArray[Kind]], filler: int | bool) -> NDArray[Kind]:
    """(rows, longest) the rows, padded on the right with `filler`."""
    table = np.full((len(rows), max(map(len, rows))), filler, dtype=rows[0].dtype)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def kept_lengths(lengths: Sequence[int], positions: int) -> list[int]:
    """Number of word pieces to keep of each sentence, so that all fit a row with [CLS] and [SEP].

    The longest sentences are truncated first, all to the greatest common length that fits; the
    remaining positions go, one each, to the first truncated sentences.
    """
    room = positions - 2 * len(lengths)
    if sum(lengths) <= room:
        return list(lengths)
    if room < sum(min(length, MIN_WORD_PIECES) for length in lengths):
        raise UserError(
            f"a document of {len(lengths)} sentences and {sum(lengths)} word pieces is too long: "
            f"the model reads {positions} tokens, which is enough for "
            f"{positions // (MIN_WORD_PIECES + 2)} sentences of {MIN_WORD_PIECES} word pieces"
        )

    def total(longest: int) -> int:
        return sum(min(length, longest) for length in lengths)

    longest = bisect(range(max(lengths)), room, key=total) - 1
    kept = [min(length, longest) for length in lengths]
    for i, length in enumerate(lengths):
        if length > longest and sum(kept) < room:
            kept[i] += 1
    return kept
