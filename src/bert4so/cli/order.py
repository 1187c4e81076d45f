"""`bert4so order`."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from enum import StrEnum
from itertools import islice, tee
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import SkipBad, bad_ones
from bert4so.common.progress import Advance, bars_are_shown, progress_bar, say
from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.evaluation.metrics import kendall_tau
from bert4so.inference.backend import Backend, fits
from bert4so.inference.orderer import BUNDLED, MOST_PASSES, Orderer
from bert4so.io.files import STDIN
from bert4so.io.jsonl import Record, dumped
from bert4so.io.on_error import OnBad, Skipping
from bert4so.io.open_writer import open_answers
from bert4so.io.resumable_writer import Answers
from bert4so.io.source import count_documents, read_source

NEAR = 0.05
"""Scores that differ by less are of the same model."""

ALIKE = 0.9
"""So are orders of long documents whose Kendall's tau is higher."""


class Format(StrEnum):
    """How documents are written."""

    text = "text"
    jsonl = "jsonl"


def order(
    file: Annotated[
        Path,
        typer.Argument(help="Text, JSONL or Parquet; - for standard input.", show_default=False),
    ] = STDIN,
    model: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="A folder that `bert4so train` or `export` wrote.",
            show_default="the bundled model",
        ),
    ] = BUNDLED,
    passes: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_PASSES,
            help="Read each document so many times, shuffled, and average.",
        ),
    ] = 1,
    format: Annotated[
        Format | None,
        typer.Option(help="How to print the answer.", show_default="as the input is written"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="Write the answers there instead: .jsonl, .jsonl.gz, .jsonl.zst, or .parquet "
            "(a folder of parts).",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an OUT that was not finished.")
    ] = False,
    skip_bad: SkipBad = False,
) -> None:
    """Put the sentences of each document in order.

    Text has a sentence a line and a blank line between documents; so has the answer. JSONL has
    {"sentences": [...]} a line; the answer is the same line with order (the numbers, from 0, of the
    sentences as they are to be read), scores, confidence and truncated added, and the other keys
    carried along; sentences stay as they were given. A document may have any number of sentences.
    What the answer is does not depend on how they were shuffled.

    bert4so order story.txt

    bert4so order stories.jsonl --out ordered.jsonl.gz --resume
    """
    if resume and (out is None or file == STDIN):
        raise UserError("--resume needs a file to read again, and --out with what was written")
    if format and out:
        raise UserError("--format is of what is printed: --out is written as its name says")
    on_bad = bad_ones(skip_bad)
    has_records, records = read_source(file, on_bad)
    orderer = Orderer.from_pretrained(model)
    documents = fitting(orderer.build_backend(passes), records, on_bad)
    if out is not None:
        with open_answers(out, resume) as answers, _bar(file) as advance:
            left = after(answers, documents, out, file)
            check_same(answers.last, orderer, passes, out)
            advance(answers.done)
            for record, ordering in ordered(orderer, passes, left):
                answers.add(answered(record, ordering))
                advance(1)
        sys.stdout.write(f"{out}\n")
    else:
        as_jsonl = format == Format.jsonl if format else has_records
        # On a terminal the answers themselves show how far it is.
        with _bar(file, shown=not sys.stdout.isatty()) as advance:
            for number, (record, ordering) in enumerate(ordered(orderer, passes, documents)):
                if as_jsonl:
                    sys.stdout.write(dumped(answered(record, ordering)))
                else:
                    sys.stdout.write("\n" * (number > 0) + "\n".join(ordering.sentences) + "\n")
                advance(1)
    if isinstance(on_bad, Skipping):
        on_bad.summary()


def _bar(file: Path, shown: bool = True) -> AbstractContextManager[Advance]:
    """A progress bar over the documents of a file, which are counted where anyone sees it."""
    # A pipe can be read once only.
    countable = shown and bars_are_shown() and (file.is_file() or file.is_dir())
    return progress_bar("ordering", count_documents(file) if countable else None, shown)


def ordered(
    orderer: Orderer, passes: int, documents: Iterable[Record]
) -> Iterator[tuple[Record, Ordering]]:
    """Each document with what was found."""
    given, waiting = tee(documents)
    sentences = (record["sentences"] for record in waiting)
    return zip(given, orderer.order_all(sentences, passes=passes), strict=True)


def after(answers: Answers, documents: Iterator[Record], out: Path, file: Path) -> Iterator[Record]:
    """The documents that have no answer yet; those that have one must be the same as before."""
    if answers.done:
        seen = next(islice(documents, answers.done - 1, None), None)
        if seen is None or answers.last is None or seen["sentences"] != answers.last["sentences"]:
            raise UserError(
                f"{out} holds {answers.done} answers, but not to the first documents of {file}: "
                "it cannot be gone on with"
            )
        say(f"{out}: going on after {answers.done} documents")
    return documents


def check_same(last: Record | None, orderer: Orderer, passes: int, out: Path) -> None:
    """Refuse to go on with answers that this model would not have given."""
    if last is None:
        return
    now = orderer.order(last["sentences"], passes)
    before = last.get("scores")
    if now.scores is None or before is None:
        same = now.order == last.get("order")
    elif orderer.by_windows(last["sentences"]):
        # The least difference moves the windows, and a few sentences with them.
        same = kendall_tau(now.order, last["order"]) > ALIKE
    else:
        # Of another version of onnxruntime they may differ a little.
        same = max(abs(a - b) for a, b in zip(now.scores, before, strict=True)) < NEAR
    if not same:
        raise UserError(f"{out} was begun by another model, or by other --passes")


def fitting(
    backend: Backend, records: Iterable[tuple[str, Record]], on_bad: OnBad
) -> Iterator[Record]:
    """The records that the model can order."""
    for where, record in records:
        if fits(backend, Puzzle(tuple(record["sentences"])), where, on_bad):
            yield record


def answered(record: Record, ordering: Ordering) -> Record:
    """A record with its answer added.

    Its `sentences` stay as they were given; those of `Ordering.to_dict` are in the order found.
    """
    return {
        **record,
        "order": ordering.order,
        "scores": ordering.scores,
        "confidence": ordering.confidence,
        "truncated": ordering.truncated,
    }
