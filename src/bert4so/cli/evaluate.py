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
    bad_ones,
    need_report_extra,
    need_train_extra,
    write_summary,
)
from bert4so.common.progress import STDERR, progress_bar
from bert4so.data.corpus import find_corpus, read_split, shuffle_seed, split_path
from bert4so.document import Document, Puzzle
from bert4so.errors import shorten
from bert4so.evaluation.evaluate import Prediction, predictions, reshuffled, truths
from bert4so.evaluation.summary import Summary, rows, summarize
from bert4so.evaluation.workers import Alone, Workers
from bert4so.inference.backend import Backend, fits
from bert4so.inference.orderer import BUNDLED, Orderer
from bert4so.io.atomic import write_atomic
from bert4so.io.jsonl import write_records
from bert4so.io.on_error import OnBad, Skipping

PROCESS_COUNTS = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
"""Environment variables by which a launcher tells how many processes it started."""


def evaluate(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A folder that `bert4so train` or `export` wrote; bundled: the bundled model.",
            show_default=False,
        ),
    ],
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="A folder, or a name under ./data or $BERT4SO_DATA.",
            show_default=False,
        ),
    ],
    split: Annotated[str, typer.Option(help="Which documents: train, valid or test.")] = "test",
    shuffles: Annotated[
        int,
        typer.Option(
            min=1,
            help="Measure so many shuffles, the corpus's own the first; of two or more, their "
            "mean, their spread and how often they agree are printed too.",
        ),
    ] = 1,
    passes: Annotated[
        int,
        typer.Option(
            min=0,
            help="Ask as `order` does: so many times a document, and by windows where it does not "
            "fit. 0: once, as it was shuffled, as in the papers.",
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write predictions.jsonl and truth.jsonl there."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.html",
            help="Write a page: metrics, figures, calibration, the best and worst documents.",
        ),
    ] = None,
    count_single: CountSingle = False,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Measure a model on documents whose order is known.

    Every document is shuffled, the same way for every model and on every machine. Beside each
    metric stands the interval in which 95 % of its averages lie over resampled documents.

    bert4so evaluate runs/sample sample --report report.html
    """
    model_path = BUNDLED if str(run) == "bundled" else run
    workers = _workers(model_path)
    if report is not None:
        need_report_extra("--report")
    STDERR.quiet |= not workers.is_first
    on_bad = bad_ones(skip_bad)
    for place in [*([out] if out else []), *([report.parent] if report else [])]:
        place.mkdir(parents=True, exist_ok=True)  # what cannot be written is known before the work
    folder = find_corpus(corpus)
    orderer = Orderer.from_pretrained(model_path)
    workers.place(orderer.backend)
    model = orderer.build_backend(passes) if passes else orderer.backend
    documents = _fitting(model, read_split(folder, split, on_bad), on_bad)
    held_out = []
    if report is not None and split != "valid" and split_path(folder, "valid"):
        held_out = _fitting(model, read_split(folder, "valid", on_bad), on_bad)
    seeds = reshuffled(shuffle_seed(folder), shuffles)
    total = len(documents) * shuffles + len(held_out)
    with progress_bar("ordering", total, workers.is_first) as advance:
        rounds = [workers.solve(model, documents, seed, advance) for seed in seeds]
        checked = workers.solve(model, held_out, seeds[0], advance)
    if isinstance(on_bad, Skipping):
        on_bad.summary()
    if workers.is_first:
        summary = summarize([[one.orders for one in some] for some in rounds], count_single)
        if out is not None:
            write_records(out / "predictions.jsonl", predictions(rounds[0]))
            write_records(out / "truth.jsonl", truths(rounds[0]))
        write_summary(summary, as_json)
        if report is not None:
            _write_page(report, run, corpus, split, rounds[0], checked, summary)
    workers.close()


def _workers(model: Path) -> Workers:
    """This process alone; for a run of PyTorch, or if several were started, all of them."""
    several = any(os.environ.get(name, "1") != "1" for name in PROCESS_COUNTS)
    if not several and not (model / "run.toml").exists():
        return Alone()
    need_train_extra()
    from bert4so.training.distributed import Together

    return Together()


def _fitting(backend: Backend, documents: Sequence[Document], on_bad: OnBad) -> list[Document]:
    return [d for d in documents if fits(backend, Puzzle(d.sentences), shorten(d.id), on_bad)]


def _write_page(
    path: Path,
    run: Path,
    corpus: str,
    split: str,
    solved: Sequence[Prediction],
    held_out: Sequence[Prediction],
    summary: Summary,
) -> None:
    from bert4so.common.machine import machine
    from bert4so.evaluation.html_report import evaluation_page

    facts = [
        ("model", str(run)),
        ("corpus", f"{corpus}, {split}"),
        ("documents", f"{summary.metrics.documents}"),
        ("of one sentence, left out", f"{summary.metrics.left_out}"),
        ("command", shlex.join(["bert4so", *sys.argv[1:]])),
        ("machine", ", ".join(f"{name} {value}" for name, value in machine().items())),
    ]
    title = f"{run.name} on {corpus}"
    page = evaluation_page(title, facts, rows(summary), solved, held_out)
    write_atomic(path, page.encode())
