"""Puts a shuffled story, abstract and recipe in order: python examples/demo.py."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from bert4so import Document, Orderer
from bert4so.data.corpus import read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import inverse
from bert4so.evaluation.metrics import kendall_tau

SAMPLE = Path(__file__).parent.parent / "data" / "sample"
SHOWN = {
    "A story": "fairytale-the-miserly-farmer-story-0",
    "An abstract": "acl-P19-1503",
    "A recipe": "recipe-simple-chicken-curry",
}


def show(console: Console, title: str, document: Document, orderer: Orderer) -> None:
    """Print a document shuffled, and as the model orders it, with the true places beside."""
    puzzle = shuffle(document, seed=0)
    ordering = orderer.order(puzzle.sentences)
    assert puzzle.order is not None
    place = inverse(puzzle.order)
    for state, order in ((", shuffled", range(len(place))), (", put in order", ordering.order)):
        table = Table("true place", "sentence", title=f"{title}{state}", title_justify="left")
        for i in order:
            table.add_row(str(place[i] + 1), puzzle.sentences[i])
        console.print(table)
    tau = kendall_tau(ordering.order, puzzle.order)
    console.print(f"confidence {ordering.confidence:.0%}; Kendall's tau {tau:.2f}\n")


def main() -> None:
    """Show all three, which the model has not seen."""
    documents = {document.id: document for document in read_split(SAMPLE, "test")}
    orderer = Orderer.from_pretrained()
    console = Console()
    console.print("\nThree documents that the bundled model has not seen, before and after.\n")
    for title, name in SHOWN.items():
        show(console, title, documents[name], orderer)


if __name__ == "__main__":
    main()
