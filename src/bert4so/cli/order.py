"""`bert4so order`."""

import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import tee
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import SkipBad, bad_ones
from bert4so.data.bad import OnBad, Skipping
from bert4so.data.jsonl import Record, dumped
from bert4so.data.source import read_source
from bert4so.document import Ordering, Puzzle
from bert4so.evaluate import fits
from bert4so.orderer import Orderer


class Format(StrEnum):
    """How documents are written."""

    text = "text"
    jsonl = "jsonl"


def order(
    model: Annotated[
        Path, typer.Option("--model", metavar="RUN", help="A folder that `bert4so train` wrote.")
    ],
    file: Annotated[
        Path, typer.Argument(help="Text or JSONL; - for standard input.", show_default=False)
    ] = Path("-"),
    format: Annotated[
        Format | None,
        typer.Option(help="How to write the answer; as the input is written if not given."),
    ] = None,
    skip_bad: SkipBad = False,
) -> None:
    """Put the sentences of each document in order.

    Text has a sentence a line and a blank line between documents; so has the answer. JSONL has
    {"sentences": [...]} a line; the answer is the same line with order, scores, confidence and
    truncated added, and the other keys carried along.

    bert4so order story.txt --model runs/demo
    """
    on_bad = bad_ones(skip_bad)
    is_jsonl, records = read_source(file, on_bad)
    as_jsonl = format == Format.jsonl if format else is_jsonl
    orderer = Orderer.from_pretrained(model)
    given, waiting = tee(fitting(orderer, records, on_bad))
    orderings = orderer.order_all((record["sentences"] for record in waiting), progress=True)
    for number, (record, ordering) in enumerate(zip(given, orderings, strict=True)):
        if as_jsonl:
            sys.stdout.write(dumped(answered(record, ordering)))
        else:
            sys.stdout.write("\n" * (number > 0) + "\n".join(ordering.sentences) + "\n")
    if isinstance(on_bad, Skipping):
        on_bad.summary()


def fitting(
    orderer: Orderer, records: Iterable[tuple[str, Record]], on_bad: OnBad
) -> Iterator[Record]:
    """The records that the model can order."""
    for where, record in records:
        if fits(orderer.backend, Puzzle(tuple(record["sentences"])), where, on_bad):
            yield record


def answered(record: Record, ordering: Ordering) -> Record:
    """A record, what was found added to it."""
    return {
        **record,
        "order": ordering.order,
        "scores": ordering.scores,
        "confidence": ordering.confidence,
        "truncated": ordering.truncated,
    }
