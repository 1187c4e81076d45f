"""Puts a shuffled story and a shuffled abstract in order: python examples/demo.py runs/demo."""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bert4so import Document, Orderer
from bert4so.data.corpus import read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import inverse
from bert4so.metrics import kendall_tau

SAMPLE = Path(__file__).parent.parent / "data" / "sample"
SHOWN = {"A story": "fairytale-the-miserly-farmer-story-0", "An abstract": "acl-P19-1503"}


def show(console: Console, title: str, document: Document, orderer: Orderer) -> None:
    """Print a document shuffled, and as the model orders it, with the true places beside."""
    puzzle = shuffle(document, seed=0)
    ordering = orderer.order(puzzle.sentences)
    assert puzzle.order is not None
    assert ordering.scores is not None
    place = inverse(puzzle.order)
    before = Table("true place", "sentence", title=f"{title}, shuffled", title_justify="left")
    for i, sentence in enumerate(puzzle.sentences):
        before.add_row(str(place[i] + 1), sentence)
    after = Table(
        "true place", "score", "sentence", title=f"{title}, put in order", title_justify="left"
    )
    for i in ordering.order:
        after.add_row(str(place[i] + 1), f"{ordering.scores[i]:.2f}", puzzle.sentences[i])
    console.print(before, after)
    tau = kendall_tau(ordering.order, puzzle.order)
    console.print(f"Kendall's tau {tau:.2f}; confidence {ordering.confidence:.0%}\n")


def main(folder: str) -> None:
    """Show both documents, which the model has not seen."""
    orderer = Orderer.from_pretrained(folder)
    documents = {document.id: document for document in read_split(SAMPLE, "test")}
    console = Console()
    console.print("\nTwo documents that the model has not seen, before and after.\n")
    for title, name in SHOWN.items():
        show(console, title, documents[name], orderer)


if __name__ == "__main__":
    main(sys.argv[1])
