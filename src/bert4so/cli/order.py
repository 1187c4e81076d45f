"""`bert4so order`."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from itertools import tee
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import SkipBad, bad_ones
from bert4so.common.progress import Advance, bars_are_shown, progress_bar, say
from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.inference.backend import fits
from bert4so.inference.orderer import BUNDLED, MAX_PASSES, Orderer
from bert4so.io.files import STDIN
from bert4so.io.jsonl import Record, dumped
from bert4so.io.model_files import hash_model
from bert4so.io.on_error import OnBad, Skipping
from bert4so.io.open_writer import open_answers
from bert4so.io.output_state import Settings
from bert4so.io.read_ahead import until_pauses
from bert4so.io.resumable_writer import Answers
from bert4so.io.source import count_documents, read_source


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
            max=MAX_PASSES,
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
        bool, typer.Option("--resume", help="Resume an OUT that was not finished.")
    ] = False,
    skip_bad: SkipBad = False,
) -> None:
    """Put the sentences of each document in order.

    Text has a sentence a line and a blank line between documents; so has the answer. JSONL has
    {"sentences": [...]} a line; the answer is the same line with order (the numbers, from 0, of the
    sentences as they are to be read), scores, confidence and truncated added, and the other keys
    carried along; sentences stay as they were given. A document may have up to 10,000 sentences.
    The answer does not depend on how they were shuffled.

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
    work = Work(orderer, passes, on_bad, file, records)
    if out is not None:
        settings: Settings = {"model": hash_model(model), "passes": passes, "skip_bad": skip_bad}
        write_answers(work, open_answers(out, resume, settings))
        sys.stdout.write(f"{out}\n")
    else:
        print_answers(work, as_jsonl=format == Format.jsonl if format else has_records)
    if isinstance(on_bad, Skipping):
        on_bad.summary()


@dataclass(frozen=True)
class Work:
    """The documents to order, and how.

    file:    where they come from.
    records: each with its place in the file.
    """

    orderer: Orderer
    passes: int
    on_bad: OnBad
    file: Path
    records: Iterator[tuple[str, Record]]

    def documents(self) -> Iterator[Record]:
        """The documents that the model can order."""
        return self._fitting(self.records)

    def answers(self) -> Iterator[tuple[Record, Ordering]]:
        """Each of these documents with its ordering.

        Those from a pipe are answered where it pauses, though more may follow.
        """
        for some in [self.records] if self._is_stored() else until_pauses(self.records):
            documents, waiting = tee(self._fitting(some))
            sentences = (document["sentences"] for document in waiting)
            orderings = self.orderer.order_all(sentences, passes=self.passes)
            yield from zip(documents, orderings, strict=True)

    def bar(self, shown: bool = True) -> AbstractContextManager[Advance]:
        """A progress bar over the documents, which are counted where anyone sees it."""
        countable = shown and bars_are_shown() and self._is_stored()
        total = count_documents(self.file) if countable else None
        return progress_bar("ordering", total, shown)

    def _is_stored(self) -> bool:
        """Whether the documents can be read twice; from a pipe they come once."""
        return self.file != STDIN and (self.file.is_file() or self.file.is_dir())

    def _fitting(self, records: Iterable[tuple[str, Record]]) -> Iterator[Record]:
        backend = self.orderer.build_backend(self.passes)
        for where, record in records:
            if fits(backend, Puzzle(tuple(record["sentences"])), where, self.on_bad):
                yield record


def write_answers(work: Work, out: Answers) -> None:
    """Write the answers that are not yet there."""
    with out, work.bar() as advance:
        out.start(work.documents(), work.file)
        if out.done:
            say(f"{out.path}: going on after {out.done} documents")
        advance(out.done)
        for record, ordering in work.answers():
            out.add(record, answered(record, ordering))
            advance(1)


def print_answers(work: Work, as_jsonl: bool) -> None:
    """Print each answer as soon as it is there."""
    # On a terminal the answers themselves show how far it is.
    with work.bar(shown=not sys.stdout.isatty()) as advance:
        for number, (record, ordering) in enumerate(work.answers()):
            if as_jsonl:
                sys.stdout.write(dumped(answered(record, ordering)))
            else:
                sys.stdout.write("\n" * (number > 0) + "\n".join(ordering.sentences) + "\n")
            sys.stdout.flush()
            advance(1)


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
