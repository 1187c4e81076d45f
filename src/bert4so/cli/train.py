"""`bert4so train`."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import SkipBad, bad_record_handler, need_train_extra
from bert4so.common.progress import STDERR
from bert4so.data.corpus import find_corpus
from bert4so.errors import UserError, os_message
from bert4so.io.on_error import Skipping


def train(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG.toml",
            help="Configuration of the run, such as configs/sample.toml.",
            show_default=False,
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override a setting, such as train.epochs=1; can be repeated.",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Corpus: a folder, or a name under ./data or $BERT4SO_DATA.",
            show_default="the configuration's",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Folder to write.", show_default="runs/CONFIG"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an unfinished run from its newest snapshot.")
    ] = False,
    snapshot_minutes: Annotated[
        float,
        typer.Option(min=0, help="Minutes between snapshots for --resume; 0 for one every step."),
    ] = 5,
    skip_bad: SkipBad = False,
) -> None:
    """Train a model and evaluate it on the test documents.

    A corpus is a folder with train.jsonl, valid.jsonl and test.jsonl (or .jsonl.gz), or the name of
    one under ./data or $BERT4SO_DATA. The model is written to a new folder. If the corpus is
    unchanged, a resumed run ends with the same weights as an uninterrupted one.

    bert4so train configs/bert4so-neurips.toml --set train.epochs=1
    """
    need_train_extra()
    from bert4so.systems.run_config import read_run
    from bert4so.training.distributed import processes, shutdown_processes
    from bert4so.training.loop import train as learn
    from bert4so.training.run_documents import splits_of
    from bert4so.training.run_folder import check_folder, hold_folder

    assignments = [*(set_ or []), *([f"corpus={json.dumps(corpus)}"] if corpus else [])]
    run = read_run(config, assignments)
    find_corpus(run.corpus)  # fail before anything is written
    folder = out or Path("runs") / config.stem
    first = processes().is_main_process
    STDERR.quiet |= not first
    on_bad = bad_record_handler(skip_bad)
    command = shlex.join(["bert4so", *sys.argv[1:]])
    try:
        with hold_folder(folder):
            check_folder(folder, resume)
            splits = splits_of(run, on_bad)
            measured = learn(run, splits, folder, command, resume, snapshot_minutes, on_bad)
    except OSError as error:
        raise UserError(
            f"{os_message(error)}: fix this, then run the same command with --resume"
        ) from None
    if isinstance(on_bad, Skipping):
        on_bad.summary()
    if first:
        for split, metrics in measured.items():
            sys.stdout.write(f"{split}: {metrics}\n")
        sys.stdout.write(f"{folder}\n")
    shutdown_processes()
