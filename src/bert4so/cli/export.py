"""`bert4so export`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import need_train_extra
from bert4so.data.corpus import find_corpus, read_split, sample_documents
from bert4so.errors import UserError

MAX_COMPARED_DOCUMENTS = 2000
"""Documents to compare the export on; on fewer, half a point of tau could be chance."""


def export(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Folder that `bert4so train` wrote.", show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="New folder to write.", show_default=False)
    ],
    int8: Annotated[
        bool, typer.Option("--int8", help="Quantize: a quarter of the size, faster, less exact.")
    ] = False,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Corpus whose validation documents check the export.",
            show_default="the run's own",
        ),
    ] = None,
) -> None:
    """Export a trained bert4so model to a folder that needs no PyTorch.

    The export is checked against the trained model on the validation documents of a corpus (a
    folder, or a name under ./data or $BERT4SO_DATA). It fails if fewer than 99 % of the documents
    get the same order in float32, or if int8 loses more than half a point of tau.

    bert4so export runs/sample --out models/sample
    """
    need_train_extra()
    from bert4so.export.to_onnx import export as write
    from bert4so.training.checkpoint import load_model, load_run

    if out.exists():
        raise UserError(f"{out} already exists: delete it, or choose another --out")
    folder = find_corpus(corpus or load_run(run).corpus)
    documents = sample_documents(read_split(folder, "valid"), MAX_COMPARED_DOCUMENTS)
    command = shlex.join(["bert4so", *sys.argv[1:]])
    compared = write(*load_model(run), out, documents, int8, command)
    size = sum(path.stat().st_size for path in out.iterdir())
    sys.stdout.write(f"{compared}\n{out}: {size / 1e6:.1f} MB\n")
