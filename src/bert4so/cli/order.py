"""`bert4so order`."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from itertools import tee
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import SkipBad, bad_record_handler
from bert4so.common.progress import Advance, bars_are_shown, progress_bar, say
from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.inference.attempts import attempts
from bert4so.inference.backend import Backend, fits
from bert4so.inference.orderer import BUFFER_SENTENCES, BUNDLED, MAX_PASSES, Orderer
from bert4so.io.files import STDIN
from bert4so.io.jsonl import Record, to_json_line
from bert4so.io.model_files import hash_model
from bert4so.io.on_error import OnBad, Skipping
from bert4so.io.open_writer import open_writer
from bert4so.io.output_state import Settings
from bert4so.io.read_ahead import until_pauses
from bert4so.io.resumable_writer import ResumableWriter
from bert4so.io.source import count_documents, read_source


class Format(StrEnum):
    """Output format on stdout."""

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
            help="Folder that `bert4so train` or `export` wrote.",
            show_default="the bundled model",
        ),
    ] = BUNDLED,
    passes: Annotated[
        int,
        typer.Option(
            min=1,
            max=MAX_PASSES,
            help="Number of shuffled readings to average.",
        ),
    ] = 1,
    format: Annotated[
        Format | None,
        typer.Option(help="Format on stdout.", show_default="that of the input"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="File to write: .jsonl, .jsonl.gz, .jsonl.zst, or .parquet (a folder).",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an unfinished --out file.")
    ] = False,
    skip_bad: SkipBad = False,
) -> None:
    """Put the sentences of each document in order.

    Text has one sentence per line and a blank line between documents, as input and as output. JSONL
    has one {"sentences": [...]} per line; the output adds the keys order (indices of the sentences,
    from 0, in reading order), scores, confidence and truncated, and keeps all other keys; the key
    sentences is unchanged. A document may have up to 10,000 sentences. The order of the input
    sentences does not affect the result.

    bert4so order story.txt

    bert4so order stories.jsonl --out ordered.jsonl.gz --resume
    """
    if resume and (out is None or file == STDIN):
        raise UserError("--resume requires an input file and --out")
    if format and out:
        raise UserError("--format applies to stdout only; with --out the file extension decides")
    on_bad = bad_record_handler(skip_bad)
    has_records, records = read_source(file, on_bad)
    backend = Orderer.from_pretrained(model).build_backend(passes)
    work = Work(backend, BUFFER_SENTENCES // passes, on_bad, file, records)
    if out is not None:
        settings: Settings = {"model": hash_model(model), "passes": passes, "skip_bad": skip_bad}
        write_answers(work, open_writer(out, resume, settings))
        sys.stdout.write(f"{out}\n")
    else:
        print_answers(work, as_jsonl=format == Format.jsonl if format else has_records)
    if isinstance(on_bad, Skipping):
        on_bad.summary()


@dataclass(frozen=True)
class Work:
    """Documents to order, and how.

    buffer:  sentences that are ordered together.
    file:    the input.
    records: its documents, validated, each with its location in the file.
    """

    backend: Backend
    buffer: int
    on_bad: OnBad
    file: Path
    records: Iterator[tuple[str, Record]]

    def documents(self) -> Iterator[Record]:
        """The documents that the model can order."""
        for where, record in self.records:
            if fits(self.backend, _puzzle(record), where, self.on_bad):
                yield record

    def answers(self) -> Iterator[tuple[Record, Ordering]]:
        """Each of these documents with its ordering.

        When a pipe pauses, the documents read so far are ordered without waiting for more.
        """
        for group in [self.records] if self._is_stored() else until_pauses(self.records):
            records, copies = tee(group)
            puzzles = (_puzzle(record) for _, record in copies)
            results = attempts(self.backend, puzzles, self.buffer)
            for (where, record), result in zip(records, results, strict=True):
                if isinstance(result, UserError):
                    self.on_bad(UserError(f"{where}: {result}"))
                else:
                    yield record, result

    def bar(self, shown: bool = True) -> AbstractContextManager[Advance]:
        """A progress bar over the documents; they are counted only if the bar is visible."""
        countable = shown and bars_are_shown() and self._is_stored()
        total = count_documents(self.file) if countable else None
        return progress_bar("ordering", total, shown)

    def _is_stored(self) -> bool:
        """Whether the documents can be read twice, unlike those from a pipe."""
        return self.file != STDIN and (self.file.is_file() or self.file.is_dir())


def _puzzle(record: Record) -> Puzzle:
    return Puzzle.unchecked(record["sentences"])


def write_answers(work: Work, out: ResumableWriter) -> None:
    """Write the answers that the file does not have yet."""
    with out, work.bar() as advance:
        out.start(work.documents(), work.file)
        if out.done:
            say(f"{out.path}: resuming after {out.done} documents")
        advance(out.done)
        for record, ordering in work.answers():
            out.add(record, answered(record, ordering))
            advance(1)


def print_answers(work: Work, as_jsonl: bool) -> None:
    """Print each answer as soon as it is known."""
    # On a terminal, the answers themselves show the progress.
    with work.bar(shown=not sys.stdout.isatty()) as advance:
        for number, (record, ordering) in enumerate(work.answers()):
            if as_jsonl:
                sys.stdout.write(to_json_line(answered(record, ordering)))
            else:
                sys.stdout.write("\n" * (number > 0) + "\n".join(ordering.sentences) + "\n")
            sys.stdout.flush()
            advance(1)


def answered(record: Record, ordering: Ordering) -> Record:
    """Add the answer to a record.

    Its `sentences` are unchanged; those of `Ordering.to_dict` are in the predicted order.
    """
    return {
        **record,
        "order": ordering.order,
        "scores": ordering.scores,
        "confidence": ordering.confidence,
        "truncated": ordering.truncated,
    }
