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
        typer.Argument(
            metavar="PREDICTED.jsonl", help="The orders of a system.", show_default=False
        ),
    ],
    true: Annotated[
        Path, typer.Argument(metavar="TRUE.jsonl", help="The true orders.", show_default=False)
    ],
    count_single: CountSingle = False,
    as_json: Json = False,
) -> None:
    """Score predicted orders against true ones, whatever system made them.

    Both files have {"id": ..., "order": [...]} a line, and the same ids: order[k] is the number,
    from 0, of the sentence that is read k-th, as the shuffled sentences are numbered. Where the
    true file also has the sentences as they were shown, identical ones are interchangeable.
    `bert4so evaluate --out DIR` writes both files.

    bert4so score predictions.jsonl truth.jsonl
    """
    write_summary(summarize([read_pairs(predicted, true)], count_single), as_json)
