"""`bert4so evaluate`."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import (
    CountSingle,
    Json,
    SkipBad,
    bad_record_handler,
    need_report_extra,
    need_train_extra,
    write_summary,
)
from bert4so.common.progress import STDERR, progress_bar
from bert4so.data.corpus import find_corpus, read_split, shuffle_seed, split_path
from bert4so.document import Document, Puzzle
from bert4so.errors import shorten
from bert4so.evaluation.evaluate import (
    Prediction,
    independent_seeds,
    prediction_records,
    truth_records,
)
from bert4so.evaluation.summary import Summary, rows, summarize
from bert4so.evaluation.workers import SingleProcess, Workers
from bert4so.inference.backend import Backend, fits
from bert4so.inference.orderer import BUNDLED, Orderer
from bert4so.io.atomic import write_atomic
from bert4so.io.jsonl import write_records
from bert4so.io.on_error import OnBad, Skipping

PROCESS_COUNTS = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
"""Environment variables in which launchers store the number of processes they started."""


def evaluate(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Folder that `train` or `export` wrote, or `bundled`.",
            show_default=False,
        ),
    ],
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="Folder, or name under ./data or $BERT4SO_DATA.",
            show_default=False,
        ),
    ],
    split: Annotated[str, typer.Option(help="Split to evaluate: train, valid or test.")] = "test",
    shuffles: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of shuffles to evaluate; the first is the canonical one.",
        ),
    ] = 1,
    passes: Annotated[
        int,
        typer.Option(
            min=0,
            help="Shuffled readings to average, as in `order`; 0 reads once.",
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for predictions.jsonl and truth.jsonl."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.html",
            help="HTML report: metrics, figures, calibration, best and worst documents.",
        ),
    ] = None,
    count_single: CountSingle = False,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Evaluate a model on documents whose order is known.

    Every document is shuffled, the same way for every model and on every machine. Each metric is
    printed with its 95 % bootstrap interval over documents; with several shuffles also the mean,
    the standard deviation and the consistency over shuffles. With --passes 0, the model reads each
    document once, as it was shuffled, as in the papers; with 1 or more, documents that do not fit
    are read in windows.

    bert4so evaluate runs/sample sample --report report.html
    """
    model_path = BUNDLED if str(run) == "bundled" else run
    workers = _workers(model_path)
    if report is not None:
        need_report_extra("--report")
    STDERR.quiet |= not workers.is_first
    on_bad = bad_record_handler(skip_bad)
    for target in [*([out] if out else []), *([report.parent] if report else [])]:
        target.mkdir(parents=True, exist_ok=True)  # fail before the work, not after it
    folder = find_corpus(corpus)
    orderer = Orderer.from_pretrained(model_path)
    workers.place(orderer.backend)
    model = orderer.build_backend(passes) if passes else orderer.backend
    documents = _fitting(model, read_split(folder, split, on_bad), on_bad)
    held_out = []
    if report is not None and split != "valid" and split_path(folder, "valid"):
        held_out = _fitting(model, read_split(folder, "valid", on_bad), on_bad)
    seeds = independent_seeds(shuffle_seed(folder), shuffles)
    total = len(documents) * shuffles + len(held_out)
    with progress_bar("ordering", total, workers.is_first) as advance:
        rounds = [workers.solve(model, documents, seed, advance) for seed in seeds]
        held_out_predictions = workers.solve(model, held_out, seeds[0], advance)
    if isinstance(on_bad, Skipping):
        on_bad.summary()
    if workers.is_first:
        summary = summarize(
            [[p.orders for p in predictions] for predictions in rounds], count_single
        )
        if out is not None:
            write_records(out / "predictions.jsonl", prediction_records(rounds[0]))
            write_records(out / "truth.jsonl", truth_records(rounds[0]))
        write_summary(summary, as_json)
        if report is not None:
            _write_page(report, run, corpus, split, rounds[0], held_out_predictions, summary)
    workers.close()


def _workers(model: Path) -> Workers:
    """One process without PyTorch, if only one was started and the model does not need it."""
    several = any(os.environ.get(name, "1") != "1" for name in PROCESS_COUNTS)
    if not several and not (model / "run.toml").exists():
        return SingleProcess()
    need_train_extra()
    from bert4so.training.distributed import LaunchedProcesses

    return LaunchedProcesses()


def _fitting(backend: Backend, documents: Sequence[Document], on_bad: OnBad) -> list[Document]:
    return [d for d in documents if fits(backend, Puzzle(d.sentences), shorten(d.id), on_bad)]


def _write_page(
    path: Path,
    run: Path,
    corpus: str,
    split: str,
    predictions: Sequence[Prediction],
    held_out: Sequence[Prediction],
    summary: Summary,
) -> None:
    from bert4so.common.machine import machine
    from bert4so.evaluation.html_report import evaluation_page

    facts = [
        ("model", str(run)),
        ("corpus", f"{corpus}, {split}"),
        ("documents", f"{summary.metrics.documents}"),
        ("left out (one sentence)", f"{summary.metrics.left_out}"),
        ("command", shlex.join(["bert4so", *sys.argv[1:]])),
        ("machine", ", ".join(f"{name} {value}" for name, value in machine().items())),
    ]
    title = f"{run.name} on {corpus}"
    page = evaluation_page(title, facts, rows(summary), predictions, held_out)
    write_atomic(path, page.encode())
