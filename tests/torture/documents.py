"""Random documents through Python: each is ordered, and the same alone as among others."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from random import Random

from bert4so import Orderer, UserError
from bert4so.document import Ordering, Puzzle
from bert4so.inference.windows import fits_a_row
from torture.answers import TOLERANCE, wrong
from torture.texts import document, words
from torture.trial import HELD, REFUSED, Kind, Outcome, Trial, Verdict, failed

DOCUMENTS = 250
"""Per trial."""

ALONE = 4
"""Of these, that are ordered once more, alone and shuffled otherwise."""

GAP = 1e-3
"""Scores that differ by more are in the same order after rounding."""

UNUSABLE: tuple[object, ...] = (
    *([], [""], [" \n"], ["a", "\u2003"], [None], [1], ["a", b"b"], [["a"]], "one string", [True]),
)


@cache
def bundled() -> Orderer:
    return Orderer.from_pretrained()


def documents(trial: Trial) -> Iterable[Outcome]:
    rng = trial.rng
    given = [document(rng) for _ in range(DOCUMENTS)]
    found = list(bundled().order_all(given))
    if len(found) != len(given):
        yield failed(f"{len(found)} answers to {len(given)} documents", len(given))
        return
    faults = [text for pair in zip(given, found, strict=True) if (text := _fault(*pair))]
    yield from (failed(text) for text in faults)
    yield Outcome(Verdict.held, tries=len(given) - len(faults))
    for k in rng.sample(range(len(given)), ALONE):
        yield from _again(given[k], found[k], rng)
    yield _extreme(rng)


def _fault(sentences: Sequence[str], ordering: Ordering) -> str:
    answer = vars(ordering) | {"sentences": sentences}
    if list(ordering.sentences) != [sentences[i] for i in ordering.order]:
        return f"{sentences!r}: the sentences are not those of the order"
    text = wrong(answer)
    return f"{sentences!r}: {text}" if text else ""


def _again(sentences: list[str], before: Ordering, rng: Random) -> Iterator[Outcome]:
    """The same document alone, and its sentences given in another order."""
    if not fits_a_row(bundled().packer, Puzzle(tuple(sentences))):
        return  # the least difference moves the windows
    shuffled = rng.sample(sentences, len(sentences))
    for given in (sentences, shuffled):
        ordering = bundled().order(given)
        yield (
            HELD
            if _same(ordering, before)
            else failed(
                f"{given!r}: alone {ordering.sentences!r}, but among others {before.sentences!r}"
            )
        )


def _same(one: Ordering, other: Ordering) -> bool:
    ones, others = (sorted(ordering.scores or (), reverse=True) for ordering in (one, other))
    near = all(abs(a - b) <= TOLERANCE for a, b in zip(ones, others, strict=True))
    distinct = all(a - b > GAP for a, b in pairwise(ones))
    return near and (not distinct or one.sentences == other.sentences)


def _extreme(rng: Random) -> Outcome:
    """A document that must be refused, or may be."""
    draw = rng.random()
    if draw < 0.6:
        given, must_refuse = rng.choice(UNUSABLE), True
    elif draw < 0.8:
        given, must_refuse = [words(rng, 3) for _ in range(rng.randint(500, 3000))], False
    else:
        given, must_refuse = ["a", "x" * 10 ** rng.randint(4, 6), f"{words(rng, 8)} " * 5000], False
    try:
        ordering = bundled().order(given)  # type: ignore[arg-type]
    except UserError as error:
        return failed(f"{error} has two lines") if "\n" in str(error) else REFUSED
    if must_refuse:
        return failed(f"{given!r} is not refused")
    text = _fault(given, ordering)
    return failed(text[:1000]) if text else HELD


KIND = Kind(
    name="documents",
    what="random documents through Orderer.order_all",
    trials=400,
    sample=1,
    run=documents,
)
