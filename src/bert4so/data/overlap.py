"""Which documents stand in two places: whole, or with two or more of their sentences."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from typing import Generic, TypeVar

from bert4so.document import Document

Group = TypeVar("Group", bound=Hashable)
Prints = tuple[int, ...]


@dataclass(frozen=True)
class Shared(Generic[Group]):
    """A document that another group, or its own, has as well.

    same: whether it stands there whole, in the same order; else two or more of its sentences do.
    """

    group: Group
    document: Document
    other: Group
    same: bool


def fingerprint(sentence: str) -> int:
    """A number for a sentence, whatever its case, spaces and punctuation; 0 where that is all."""
    letters = "".join(filter(str.isalnum, sentence.casefold()))
    if not letters:
        return 0
    return int.from_bytes(blake2b(letters.encode(errors="replace"), digest_size=8).digest())


def overlaps(groups: Mapping[Group, Sequence[Document]]) -> Iterator[Shared[Group]]:
    """Each document that shares two or more sentences with another, once for each group it is in.

    Two documents share two sentences where they share a pair of sentences. So every document gives
    the pairs of those of its sentences that stand in other documents too, and each pair remembers
    the groups it was seen in: the work grows with the documents, not with pairs of documents,
    however many repeat the same boilerplate.
    """
    prints = {
        group: [tuple(map(fingerprint, document.sentences)) for document in documents]
        for group, documents in groups.items()
    }
    spread = Counter(one for every in prints.values() for some in every for one in set(some))
    whole, part = Counter[tuple[Prints, Group]](), Counter[tuple[Prints, Group]]()
    for group, every in prints.items():
        for some in every:
            whole[some, group] += 1
            part.update((pair, group) for pair in _pairs(some, spread))
    for group, documents in groups.items():
        for document, some in zip(documents, prints[group], strict=True):
            pairs = list(_pairs(some, spread))
            for other in groups:
                own = int(group == other)  # a document is no copy of itself
                same = whole[some, other] > own
                if same or any(part[pair, other] > own for pair in pairs):
                    yield Shared(group, document, other, same)


def _pairs(some: Prints, spread: Mapping[int, int]) -> Iterator[Prints]:
    """The pairs of a document's sentences that stand in other documents, too."""
    return combinations(sorted({one for one in some if one and spread[one] > 1}), 2)
