"""`bert4so compare`."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import CountSingle, Json, need_data_extra
from bert4so.common.text_table import format_columns
from bert4so.evaluation.metrics import counted
from bert4so.evaluation.predictions import read_pairs
from bert4so.evaluation.summary import counted_line, shown


def compare(
    one: Annotated[
        Path, typer.Argument(metavar="A.jsonl", help="The orders of a system.", show_default=False)
    ],
    other: Annotated[
        Path, typer.Argument(metavar="B.jsonl", help="Those of another.", show_default=False)
    ],
    true: Annotated[
        Path, typer.Argument(metavar="TRUE.jsonl", help="The true orders.", show_default=False)
    ],
    count_single: CountSingle = False,
    as_json: Json = False,
) -> None:
    """Say whether one system is better than another, or only luckier.

    All three files have {"id": ..., "order": [...]} a line, and the same ids: as `bert4so score`
    takes them. Printed are the probabilities of so great a difference were there none: by the
    paired t-test († p < 0.01, ‡ p < 0.05) and by a paired permutation test.

    bert4so compare a/predictions.jsonl b/predictions.jsonl truth.jsonl
    """
    need_data_extra()
    from bert4so.evaluation.significance import compare as tested

    ones, left_out = counted(read_pairs(one, true), count_single)
    others, _ = counted(read_pairs(other, true), count_single)
    found = tested(ones, others)
    if as_json:
        sys.stdout.write(json.dumps([asdict(each) for each in found], indent=1) + "\n")
        return
    lines = [["", "A", "B", "A - B", "t-test p", "", "permutation p"]]
    for each in found:
        values = [shown(each.metric, v) for v in (each.one, each.other, each.one - each.other)]
        p_values = [f"{each.t_test:.4f}", each.mark, f"{each.permutation:.4f}"]
        lines.append([each.metric, *values, *p_values])
    sys.stdout.write(format_columns(lines) + counted_line(len(ones), left_out))
