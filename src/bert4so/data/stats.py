"""Statistics of the lengths of documents, as in Table 3 of the paper, for any corpus."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from bert4so.document import Document

BLOCK_DOCUMENTS = 1000
"""Number of documents that are tokenized at a time."""

SPECIAL_TOKENS_PER_SENTENCE = 2
"""In a row, each sentence has a [CLS] and a [SEP]."""


@dataclass(frozen=True)
class Statistics:
    """Statistics over all documents of a corpus; pairs are (mean, maximum) per document.

    documents: number of documents by split.
    sentences: sentences per document.
    pieces:    word pieces per document, without special tokens.
    tokens:    word pieces plus a [CLS] and a [SEP] per sentence.
    """

    documents: Mapping[str, int]
    sentences: tuple[float, int]
    pieces: tuple[float, int]
    tokens: tuple[float, int]


@dataclass(frozen=True)
class PaperStatistics:
    """A row of the paper's Table 3.

    The paper does not say whether special tokens are counted. It seems that they are not: on our
    SIND and ROCStory documents, its means differ by less than one from ours without them.
    """

    documents: Mapping[str, int]
    pieces: tuple[float, int]


def statistics(splits: Mapping[str, Sequence[Document]], tokenizer: Tokenizer) -> Statistics:
    """Count the documents, sentences and word pieces of a corpus."""
    all_documents = [document for documents in splits.values() for document in documents]
    sentences = [len(document.sentences) for document in all_documents]
    pieces = [sum(lengths) for lengths in piece_lengths(all_documents, tokenizer)]
    tokens = [p + SPECIAL_TOKENS_PER_SENTENCE * n for p, n in zip(pieces, sentences, strict=True)]
    return Statistics(
        documents={split: len(documents) for split, documents in splits.items()},
        sentences=_mean_and_max(sentences),
        pieces=_mean_and_max(pieces),
        tokens=_mean_and_max(tokens),
    )


def piece_lengths(documents: Sequence[Document], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """Yield the number of word pieces of each sentence, per document."""
    for start in range(0, len(documents), BLOCK_DOCUMENTS):
        block = documents[start : start + BLOCK_DOCUMENTS]
        texts = [s.encode(errors="replace").decode() for d in block for s in d.sentences]
        encoded = iter(tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        for document in block:
            yield [len(next(encoded).ids) for _ in document.sentences]


def compare_with_paper(
    name: str, ours: Statistics, paper: PaperStatistics | None
) -> list[list[str]]:
    """Table rows: the corpus and, if the paper has it, the paper's values and the difference."""
    counts = [ours.documents.get(split, 0) for split in ("train", "valid", "test")]
    numbers = [ours.sentences, ours.pieces, ours.tokens]
    row = [name, *(f"{count:,}" for count in counts)]
    row += [part for mean, maximum in numbers for part in (f"{mean:.2f}", f"{maximum:,}")]
    if paper is None:
        return [row]
    theirs = [paper.documents[split] for split in ("train", "valid", "test")]
    mean, maximum = paper.pieces
    return [
        row,
        ["  paper", *(f"{count:,}" for count in theirs), "", "", f"{mean:.2f}", f"{maximum:,}"],
        [
            "  difference",
            *(_difference(a, b) for a, b in zip(counts, theirs, strict=True)),
            *["", ""],
            f"{ours.pieces[0] - mean:+.2f}",
            _difference(ours.pieces[1], maximum),
        ],
    ]


TABLE_HEADER = [
    ["", "documents", "", "", "sentences", "", "word pieces", "", "with [CLS], [SEP]", ""],
    ["corpus", "train", "valid", "test", *["mean", "max"] * 3],
]


def _difference(ours: int, theirs: int) -> str:
    return f"{ours - theirs:+,}" if ours != theirs else "="


def _mean_and_max(counts: Sequence[int]) -> tuple[float, int]:
    return sum(counts) / len(counts), max(counts)
