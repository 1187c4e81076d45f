"""The command line: one function a command. Results go to stdout, everything else to stderr."""

import io
import json
import shlex
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from importlib import metadata
from itertools import tee
from pathlib import Path
from typing import Annotated

import typer

from bert4so.data.bad import OnBad, Skipping, stop
from bert4so.data.jsonl import Record, dumped
from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.orderer import Backend, Orderer
from bert4so.progress import STDERR

app = typer.Typer(
    name="bert4so",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out what cannot be used, and say how much it was.")
]
Model = Annotated[
    Path, typer.Option("--model", metavar="RUN", help="A folder that `bert4so train` wrote.")
]
CountSingle = Annotated[
    bool, typer.Option("--count-single", help="Count documents of one sentence as right.")
]


class Format(StrEnum):
    """How documents are written."""

    text = "text"
    jsonl = "jsonl"


@app.callback()
def everywhere(
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version, and end.", is_eager=True)
    ] = False,
) -> None:
    """Put sentences in order.

    bert4so order story.txt --model runs/demo
    """
    if version:
        sys.stdout.write(f"bert4so {metadata.version('bert4so')}\n")
        raise typer.Exit
    STDERR.quiet = quiet


@app.command()
def order(
    model: Model,
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
    from bert4so.data.source import read_source

    on_bad = Skipping() if skip_bad else stop
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


@app.command()
def train(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", show_default=False)],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value, as train.epochs=1."),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(metavar="DIR", help="Another corpus than the configuration's.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The folder to write: runs/CONFIG if not given."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was stopped.")
    ] = False,
    snapshot_minutes: Annotated[
        float, typer.Option(min=0, help="How often to put on disk where the run stands.")
    ] = 5,
) -> None:
    """Train a model, and measure it on the test documents.

    A corpus is a folder with train.jsonl, valid.jsonl and test.jsonl (or .jsonl.gz), or the name of
    one under ./data or $BERT4SO_DATA. What is learned goes to a new folder. A run that was stopped,
    by Ctrl-C or by anything, goes on with --resume as if it had not been.

    bert4so train configs/bert4so-neurips.toml --set train.epochs=1
    """
    need_train_extra()
    from bert4so.data.corpus import find_corpus
    from bert4so.report import write_report
    from bert4so.run import read_run
    from bert4so.snapshot import clear_snapshots
    from bert4so.train import train as learn

    assignments = [*(set_ or []), *([f"corpus={json.dumps(corpus)}"] if corpus else [])]
    run = read_run(config, assignments)
    source = find_corpus(run.corpus)
    folder = out or Path("runs") / config.stem
    if (folder / "metrics.json").exists():
        raise UserError(f"{folder}: a finished run: name another folder with --out")
    if folder.exists() and any(folder.iterdir()) and not resume:
        raise UserError(f"{folder}: not empty: go on with --resume, or name another with --out")
    try:
        history = learn(run, source, folder, resume, snapshot_minutes)
        if history is None:
            return
        command = shlex.join(["bert4so", *sys.argv[1:]])
        measured = write_report(run, source, folder, history, command)
        clear_snapshots(folder)
    except OSError as error:
        raise UserError(f"{os_message(error)}; mend that and go on with --resume") from None
    for split, metrics in measured.items():
        sys.stdout.write(f"{split}: {metrics}\n")
    sys.stdout.write(f"{folder}\n")


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", show_default=False)],
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", show_default=False)],
    split: Annotated[str, typer.Option(help="Which documents: train, valid or test.")] = "test",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write predictions.jsonl and truth.jsonl there."),
    ] = None,
    count_single: CountSingle = False,
    skip_bad: SkipBad = False,
) -> None:
    """Measure a model on documents whose order is known.

    Every document is shuffled, the same way for every model and on every machine.

    bert4so evaluate runs/demo sample
    """
    need_train_extra()
    from bert4so.data.corpus import find_corpus, read_split
    from bert4so.data.jsonl import write_records
    from bert4so.evaluate import measure, predictions, solve, truths
    from bert4so.progress import progress_bar

    on_bad = Skipping() if skip_bad else stop
    documents = read_split(find_corpus(corpus), split, on_bad)
    backend = Orderer.from_pretrained(run).backend
    documents = [d for d in documents if fits(backend, Puzzle(d.sentences), d.id, on_bad)]
    with progress_bar("ordering", len(documents)) as advance:
        solved = solve(backend, documents, advance)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_records(out / "predictions.jsonl", predictions(solved))
        write_records(out / "truth.jsonl", truths(solved))
    if isinstance(on_bad, Skipping):
        on_bad.summary()
    sys.stdout.write(f"{measure(solved, count_single)}\n")


@app.command()
def score(
    predicted: Annotated[Path, typer.Argument(metavar="PREDICTED.jsonl", show_default=False)],
    true: Annotated[Path, typer.Argument(metavar="TRUE.jsonl", show_default=False)],
    count_single: CountSingle = False,
) -> None:
    """Score predicted orders against true ones, whatever system made them.

    Both files have {"id": ..., "order": [...]} a line, and the same ids. Where the true file also
    has the sentences as they were shown, identical ones are interchangeable. `bert4so evaluate
    --out DIR` writes both files.

    bert4so score predictions.jsonl truth.jsonl
    """
    from bert4so.data.orders import read_pairs
    from bert4so.metrics import average

    sys.stdout.write(f"{average(read_pairs(predicted, true), count_single)}\n")


@app.command()
def doctor() -> None:
    """Say what is installed and what was found: versions, cores, extras, encoders, corpora.

    bert4so doctor
    """
    from bert4so.doctor import findings

    for name, finding in findings():
        sys.stdout.write(f"{name:12}{finding}\n")


def fitting(
    orderer: Orderer, records: Iterable[tuple[str, Record]], on_bad: OnBad
) -> Iterator[Record]:
    """The records that the model can order."""
    for where, record in records:
        if fits(orderer.backend, Puzzle(tuple(record["sentences"])), where, on_bad):
            yield record


def fits(backend: Backend, puzzle: Puzzle, where: str, on_bad: OnBad) -> bool:
    """Whether the backend can order the puzzle; what it cannot is bad."""
    try:
        backend.check(puzzle)
    except UserError as error:
        on_bad(UserError(f"{where}: {error}"))
        return False
    return True


def answered(record: Record, ordering: Ordering) -> Record:
    """A record, what was found added to it."""
    return {
        **record,
        "order": ordering.order,
        "scores": ordering.scores,
        "confidence": ordering.confidence,
        "truncated": ordering.truncated,
    }


def need_train_extra() -> None:
    """Say which extra to install, where PyTorch is missing."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise UserError("this command needs PyTorch: pip install 'bert4so[train]'") from None


def os_message(error: OSError) -> str:
    """What the system says is wrong, and with what."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


def main() -> None:
    """Run a command. Exits with 2 where the user has something to put right."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Half of a surrogate pair, which JSON can hold, goes out as it came in: as an escape.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app()
    except UserError as error:
        sys.stderr.write(f"bert4so: {error}\n")
        sys.exit(error.exit_code)
