"""What rounds of windows are worth: python benchmarks/long.py --out FILE.json.

On held-out text that does not fit a row: award abstracts, and fairy tales, put together of their
sections; and texts of about 40, 200 and 1,000 sentences, which are whole awards, or tales, one
after the other. Which of two awards comes first nobody can know: told is Kendall's tau of the
sentences of one document, the mean over documents, and what a round adds to that of the first, with
its standard error.
"""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from bert4so.data.corpus import find_corpus, read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Order, Puzzle
from bert4so.evaluation.metrics import kendall_tau
from bert4so.inference.onnx_model import ExportedModel
from bert4so.inference.orderer import BUNDLED
from bert4so.inference.passes import Passes
from bert4so.inference.windows import MAX_ROUNDS, Windows, fits_a_row
from harness import arguments, show, write_results

TALES, AWARDS = "fairytaleqa_sections", "nsf_awards"
SECTION = re.compile(r"-story-\d+$")
"""What the id of a section has after that of its tale."""

LENGTHS = (40, 200, 1000)
SENTENCES = 5000
"""At most so many are ordered of each kind of text."""


@dataclass(frozen=True)
class Text:
    """Documents one after the other: its sentences, and where each document ends."""

    sentences: tuple[str, ...]
    ends: tuple[int, ...]


def main() -> None:
    """Measure, and write it down."""
    parser = arguments(__doc__)
    parser.add_argument("--split", default="test")
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    args = parser.parse_args()
    model = ExportedModel.load(args.model)
    found = []
    for kind, texts in all_texts(args.split).items():
        long = (text for text in texts if not fits_a_row(model.packer, puzzle_of(text)))
        for one in by_rounds(model, at_most(long, args.sentences)):
            found.append({"texts": kind, **one})
            show(kind, one)
    write_results(args.out, {"found": found})


def all_texts(split: str) -> dict[str, list[Text]]:
    """Texts by what they are called."""
    sections = read_split(find_corpus(TALES), split)
    awards = read_split(find_corpus(AWARDS), split)
    by_tale = groupby(sections, key=lambda section: SECTION.sub("", section.id))
    tales = [tuple(s for section in own for s in section.sentences) for _, own in by_tale]
    whole = {"awards": [award.sentences for award in awards], "tales": tales}
    return {
        **{kind: [joined([one]) for one in some] for kind, some in whole.items()},
        **{
            f"{kind}, joined to {n:,} sentences": texts_of(some, n)
            for n in LENGTHS
            for kind, some in whole.items()
        },
    }


def joined(documents: Sequence[Sequence[str]]) -> Text:
    """Documents one after the other."""
    ends = np.cumsum([len(document) for document in documents]).tolist()
    return Text(tuple(s for document in documents for s in document), tuple(ends))


def texts_of(documents: Iterable[Sequence[str]], n: int) -> list[Text]:
    """Texts of n sentences or a few more, of whole documents."""
    texts: list[Text] = []
    waiting: list[Sequence[str]] = []
    for document in documents:
        waiting.append(document)
        if sum(map(len, waiting)) >= n:
            texts.append(joined(waiting))
            waiting = []
    return texts


def at_most(texts: Iterable[Text], most: int) -> list[Text]:
    """The first texts, of at most this many sentences together; one text at least."""
    chosen: list[Text] = []
    for text in texts:
        if chosen and sum(len(one.sentences) for one in [*chosen, text]) > most:
            break
        chosen.append(text)
    return chosen


def puzzle_of(text: Text) -> Puzzle:
    """The text at random, and its answer."""
    return shuffle(Document(text.sentences[0], text.sentences), 0)


def by_rounds(model: ExportedModel, texts: Sequence[Text]) -> list[dict[str, Any]]:
    """What one round gives, what two give, and so on, and the time per sentence of each."""
    puzzles = [puzzle_of(text) for text in texts]
    found: list[list[float]] = []
    rows = []
    for rounds in range(1, MAX_ROUNDS + 1):
        orders, milliseconds = ordered(Windows(Passes(model, 1), model.packer, rounds), puzzles)
        found.append(taus(orders, puzzles, texts))
        rows.append(
            {
                "number": len(texts),
                "sentences": round(sum(len(text.sentences) for text in texts) / len(texts)),
                "documents": len(found[-1]),
                "rounds": rounds,
                "tau": round(fmean(found[-1]), 4),
                "gain": round(fmean(found[-1]) - fmean(found[0]), 4),
                "error": round(standard_error(found[-1], found[0]), 4),
                "milliseconds_per_sentence": round(milliseconds, 2),
            }
        )
    return rows


def ordered(windows: Windows, puzzles: Sequence[Puzzle]) -> tuple[list[Order], float]:
    """The orders of some puzzles, and the milliseconds per sentence."""
    shown = [puzzle.without_answer() for puzzle in puzzles]
    began = time.perf_counter()
    orders = [ordering.order for ordering in windows.order(shown)]
    taken = time.perf_counter() - began
    return orders, 1000 * taken / sum(len(puzzle.sentences) for puzzle in puzzles)


def taus(orders: Sequence[Order], puzzles: Sequence[Puzzle], texts: Sequence[Text]) -> list[float]:
    """Kendall's tau of the sentences of each document."""
    found = []
    for order, puzzle, text in zip(orders, puzzles, texts, strict=True):
        true = np.argsort(puzzle.order or [])  # the place of each sentence in the text
        places = [int(true[i]) for i in order]
        for start, end in pairwise([0, *text.ends]):
            own = [place - start for place in places if start <= place < end]
            if len(own) > 1:
                found.append(kendall_tau(own, list(range(len(own)))))
    return found


def standard_error(own: Sequence[float], first: Sequence[float]) -> float:
    """Of the mean difference of two measures of the same documents."""
    return float(np.std(np.subtract(own, first), ddof=1) / len(own) ** 0.5)


if __name__ == "__main__":
    main()
