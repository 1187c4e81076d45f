"""Find documents that occur twice, complete or with two or more of their sentences."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from typing import Generic, TypeVar

from bert4so.document import Document

Group = TypeVar("Group", bound=Hashable)
Fingerprints = tuple[int, ...]


@dataclass(frozen=True)
class Overlap(Generic[Group]):
    """A document of `group` that overlaps with a document of `other`, which may be the same group.

    same: whether all sentences are equal, in the same order; otherwise two or more are shared.
    """

    group: Group
    document: Document
    other: Group
    same: bool


def fingerprint(sentence: str) -> int:
    """A hash of a sentence that ignores case, spaces and punctuation; 0 if nothing else is left."""
    letters = "".join(filter(str.isalnum, sentence.casefold()))
    if not letters:
        return 0
    return int.from_bytes(blake2b(letters.encode(errors="replace"), digest_size=8).digest())


def overlaps(groups: Mapping[Group, Sequence[Document]]) -> Iterator[Overlap[Group]]:
    """Yield each document that equals or shares two sentences with another, once per other group.

    Two documents share two sentences if they share a pair of sentences. So each document is indexed
    by all pairs of its sentences that also occur elsewhere, with the group. The cost is linear in
    the number of documents, even if many repeat the same boilerplate.
    """
    prints = {
        group: [tuple(map(fingerprint, document.sentences)) for document in documents]
        for group, documents in groups.items()
    }
    frequency = Counter(one for rows in prints.values() for row in rows for one in set(row))
    whole, part = Counter[tuple[Fingerprints, Group]](), Counter[tuple[Fingerprints, Group]]()
    for group, rows in prints.items():
        for row in rows:
            whole[row, group] += 1
            part.update((pair, group) for pair in _pairs(row, frequency))
    for group, documents in groups.items():
        for document, row in zip(documents, prints[group], strict=True):
            pairs = list(_pairs(row, frequency))
            for other in groups:
                own = int(group == other)  # do not count the document itself
                same = whole[row, other] > own
                if same or any(part[pair, other] > own for pair in pairs):
                    yield Overlap(group, document, other, same)


def _pairs(row: Fingerprints, frequency: Mapping[int, int]) -> Iterator[Fingerprints]:
    """The pairs of a document's sentences that also occur in other documents."""
    return combinations(sorted({one for one in row if one and frequency[one] > 1}), 2)
