"""`bert4so score`."""

from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import CountSingle, Json, write_summary
from bert4so.evaluation.predictions import read_pairs
from bert4so.evaluation.summary import summarize


def score(
    predicted: Annotated[
        Path,
        typer.Argument(metavar="PREDICTED.jsonl", help="The predicted orders.", show_default=False),
    ],
    true: Annotated[
        Path, typer.Argument(metavar="TRUE.jsonl", help="The true orders.", show_default=False)
    ],
    count_single: CountSingle = False,
    as_json: Json = False,
) -> None:
    """Score predicted orders, of any system, against the true orders.

    Both files have the same ids and one {"id": ..., "order": [...]} per line. order[k] is the
    index, from 0, of the k-th sentence to read; indices refer to the shuffled sentences. If the
    true file also has the key sentences (shuffled), identical sentences are interchangeable.
    `bert4so evaluate --out DIR` writes both files.

    bert4so score predictions.jsonl truth.jsonl
    """
    write_summary(summarize([read_pairs(predicted, true)], count_single), as_json)
