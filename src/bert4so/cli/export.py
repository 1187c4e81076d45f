"""`bert4so export`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import need_train_extra
from bert4so.data.corpus import find_corpus, read_split, sample_documents
from bert4so.errors import UserError

CHECKED = 2000
"""At most so many documents are compared: of fewer, half a point of tau could be chance."""


def export(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="A folder that `bert4so train` wrote.", show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder to write.", show_default=False)
    ],
    int8: Annotated[
        bool, typer.Option("--int8", help="A quarter of the size, faster, not quite the same.")
    ] = False,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Whose validation documents both are compared on: a folder, or a name under "
            "./data or $BERT4SO_DATA.",
            show_default="the run's own",
        ),
    ] = None,
) -> None:
    """Write a trained bert4so model as a folder that needs no PyTorch.

    What was written is compared with the model it was made of, on real documents. It is refused
    where, in float32, fewer than 99 % of them come out in the same order, or where, in int8, more
    than half a point of tau is lost.

    bert4so export runs/sample --out models/sample --int8
    """
    need_train_extra()
    from bert4so.export.to_onnx import export as write
    from bert4so.training.checkpoint import load_model, load_run

    if out.exists():
        raise UserError(f"{out} exists: remove it, or choose another --out")
    folder = find_corpus(corpus or load_run(run).corpus)
    documents = sample_documents(read_split(folder, "valid"), CHECKED)
    command = shlex.join(["bert4so", *sys.argv[1:]])
    compared = write(*load_model(run), out, documents, int8, command)
    size = sum(path.stat().st_size for path in out.iterdir())
    sys.stdout.write(f"{compared}\n{out}: {size / 1e6:.1f} MB\n")
