"""How long the documents of a corpus are: the paper's Table 3, for any corpus."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from bert4so.document import Document

BLOCK = 1000
"""Documents that the tokenizer is given at once."""

SPECIAL = 2
"""A sentence in a row has a [CLS] and a [SEP]."""


@dataclass(frozen=True)
class Statistics:
    """Of all documents of a corpus: of what is counted, (the mean over documents, the most).

    documents: by split.
    sentences: of a document.
    pieces:    the word pieces of a document, without special tokens.
    tokens:    the same with a [CLS] and a [SEP] for every sentence.
    """

    documents: Mapping[str, int]
    sentences: tuple[float, int]
    pieces: tuple[float, int]
    tokens: tuple[float, int]


@dataclass(frozen=True)
class PaperStatistics:
    """A row of the paper's Table 3.

    It does not say whether special tokens are counted. It seems they are not: on the SIND and
    ROCStory documents that we have, its means are within one of ours without them.
    """

    documents: Mapping[str, int]
    pieces: tuple[float, int]


def statistics(splits: Mapping[str, Sequence[Document]], tokenizer: Tokenizer) -> Statistics:
    """Count the documents, sentences and word pieces of a corpus."""
    every = [document for documents in splits.values() for document in documents]
    sentences = [len(document.sentences) for document in every]
    pieces = [sum(lengths) for lengths in piece_lengths(every, tokenizer)]
    tokens = [p + SPECIAL * n for p, n in zip(pieces, sentences, strict=True)]
    return Statistics(
        documents={split: len(documents) for split, documents in splits.items()},
        sentences=_mean_and_most(sentences),
        pieces=_mean_and_most(pieces),
        tokens=_mean_and_most(tokens),
    )


def piece_lengths(documents: Sequence[Document], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """For each document, the word pieces of each of its sentences."""
    for start in range(0, len(documents), BLOCK):
        some = documents[start : start + BLOCK]
        texts = [s.encode(errors="replace").decode() for d in some for s in d.sentences]
        encoded = iter(tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        for document in some:
            yield [len(next(encoded).ids) for _ in document.sentences]


def compared(name: str, found: Statistics, paper: PaperStatistics | None) -> list[list[str]]:
    """The rows of a table: the corpus, the paper's where it has it, and by how much they differ."""
    counts = [found.documents.get(split, 0) for split in ("train", "valid", "test")]
    numbers = [found.sentences, found.pieces, found.tokens]
    row = [name, *(f"{count:,}" for count in counts)]
    row += [part for mean, most in numbers for part in (f"{mean:.2f}", f"{most:,}")]
    if paper is None:
        return [row]
    given = [paper.documents[split] for split in ("train", "valid", "test")]
    mean, most = paper.pieces
    return [
        row,
        ["  the paper's", *(f"{count:,}" for count in given), "", "", f"{mean:.2f}", f"{most:,}"],
        [
            "  difference",
            *(_difference(own, theirs) for own, theirs in zip(counts, given, strict=True)),
            *["", ""],
            f"{found.pieces[0] - mean:+.2f}",
            _difference(found.pieces[1], most),
        ],
    ]


HEAD = [
    ["", "documents", "", "", "sentences", "", "word pieces", "", "with [CLS], [SEP]", ""],
    ["corpus", "train", "valid", "test", *["mean", "most"] * 3],
]


def _difference(own: int, theirs: int) -> str:
    return f"{own - theirs:+,}" if own != theirs else "="


def _mean_and_most(counts: Sequence[int]) -> tuple[float, int]:
    return sum(counts) / len(counts), max(counts)
