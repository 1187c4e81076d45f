"""Puts a shuffled story and a shuffled abstract in order: python examples/demo.py runs/demo."""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bert4so import Orderer
from bert4so.data.corpus import read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import inverse
from bert4so.metrics import kendall_tau

SHOWN = {
    "A story": "fairytale-how-an-old-man-lost-his-wen-story-2",
    "An abstract": "acl-2021.emnlp-main.1",
}


def main(folder: str) -> None:
    """Order the documents with the model of a folder; print them before and after."""
    console = Console()
    orderer = Orderer.from_pretrained(folder)
    documents = {document.id: document for document in read_split(Path("data/sample"), "test")}
    for title, name in SHOWN.items():
        puzzle = shuffle(documents[name], seed=0)
        ordering = orderer.order(puzzle.sentences)
        place = inverse(puzzle.order)
        before = Table("", "true place", title=f"{title}, shuffled", title_justify="left")
        for i, sentence in enumerate(puzzle.sentences):
            before.add_row(sentence, str(place[i] + 1))
        after = Table("", "true place", "score", title=f"{title}, in order", title_justify="left")
        for i in ordering.order:
            after.add_row(puzzle.sentences[i], str(place[i] + 1), f"{ordering.scores[i]:.2f}")
        tau = kendall_tau(ordering.order, puzzle.order)
        console.print(before, after, f"Kendall's tau {tau:.2f}, the model's confidence ")
