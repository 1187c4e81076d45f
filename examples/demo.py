"""Put a shuffled story, abstract and recipe in order: python examples/demo.py."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

from bert4so import Document, Orderer, load_corpus, metrics

SAMPLE = Path(__file__).parent.parent / "data" / "sample"
SHOWN = {
    "A story": "fairytale-the-miserly-farmer-story-0",
    "An abstract": "acl-P19-1503",
    "A recipe": "recipe-simple-chicken-curry",
}


def show(console: Console, title: str, document: Document, orderer: Orderer) -> None:
    """Print a document shuffled, and as the model orders it, with the true positions beside."""
    true = list(range(len(document.sentences)))
    shuffled = Random(0).sample(true, len(true))
    ordering = orderer.order([document.sentences[i] for i in shuffled])
    predicted = [shuffled[i] for i in ordering.order]
    print_table(console, f"{title}, shuffled", document, shuffled)
    print_table(console, f"{title}, put in order", document, predicted)
    tau = metrics.kendall_tau(predicted, true)
    console.print(f"confidence {ordering.confidence:.0%}; Kendall's tau {tau:.2f}\n")


def print_table(console: Console, title: str, document: Document, positions: Sequence[int]) -> None:
    """Print the sentences at these positions of a document."""
    table = Table("true position", "sentence", title=title, title_justify="left")
    for i in positions:
        table.add_row(str(i + 1), document.sentences[i])
    console.print(table)


def main() -> None:
    """Show all three, which the model has not seen."""
    documents = {document.id: document for document in load_corpus(SAMPLE).test}
    orderer = Orderer.from_pretrained()
    console = Console()
    console.print("\nThree documents that the bundled model has not seen, before and after.\n")
    for title, name in SHOWN.items():
        show(console, title, documents[name], orderer)


if __name__ == "__main__":
    main()
