"""`bert4so evaluate`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import CountSingle, SkipBad, bad_ones, need_train_extra
from bert4so.data.bad import Skipping
from bert4so.data.corpus import find_corpus, read_split
from bert4so.data.jsonl import write_records
from bert4so.document import Puzzle
from bert4so.evaluate import fits, measure, predictions, truths
from bert4so.progress import STDERR, progress_bar


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
    from bert4so.checkpoint import load_model
    from bert4so.processes import processes, solve_together

    first = processes().is_main_process
    STDERR.quiet |= not first
    on_bad = bad_ones(skip_bad)
    documents = read_split(find_corpus(corpus), split, on_bad)
    _, model = load_model(run)
    documents = [d for d in documents if fits(model, Puzzle(d.sentences), d.id, on_bad)]
    with progress_bar("ordering", len(documents), first) as advance:
        solved = solve_together(model, documents, advance)
    if isinstance(on_bad, Skipping):
        on_bad.summary()
    if not first:
        return
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_records(out / "predictions.jsonl", predictions(solved))
        write_records(out / "truth.jsonl", truths(solved))
    sys.stdout.write(f"{measure(solved, count_single)}\n")
