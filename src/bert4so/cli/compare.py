"""`bert4so compare`."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import CountSingle, Json, need_data_extra
from bert4so.common.text_table import format_columns
from bert4so.evaluation.metrics import scored_pairs
from bert4so.evaluation.predictions import read_pairs
from bert4so.evaluation.summary import documents_line, format_metric


def compare(
    predicted_a: Annotated[
        Path,
        typer.Argument(metavar="A.jsonl", help="Orders predicted by system A.", show_default=False),
    ],
    predicted_b: Annotated[
        Path,
        typer.Argument(metavar="B.jsonl", help="Orders predicted by system B.", show_default=False),
    ],
    true: Annotated[
        Path, typer.Argument(metavar="TRUE.jsonl", help="The true orders.", show_default=False)
    ],
    count_single: CountSingle = False,
    as_json: Json = False,
) -> None:
    """Test whether the difference between two systems is significant.

    All three files have the same ids and one {"id": ..., "order": [...]} per line, as for
    `bert4so score`. For each metric, prints the probability of a difference this large if the
    systems were equally good: by the paired t-test († p < 0.01, ‡ p < 0.05) and by a paired
    permutation test.

    bert4so compare a/predictions.jsonl b/predictions.jsonl truth.jsonl
    """
    need_data_extra()
    from bert4so.evaluation.significance import compare as compare_pairs

    pairs_a, left_out = scored_pairs(read_pairs(predicted_a, true), count_single)
    pairs_b, _ = scored_pairs(read_pairs(predicted_b, true), count_single)
    comparisons = compare_pairs(pairs_a, pairs_b)
    if as_json:
        sys.stdout.write(json.dumps([asdict(each) for each in comparisons], indent=1) + "\n")
        return
    rows = [["", "A", "B", "A - B", "t-test p", "", "permutation p"]]
    for each in comparisons:
        means = (each.one, each.other, each.one - each.other)
        values = [format_metric(each.metric, value) for value in means]
        p_values = [f"{each.t_test:.4f}", each.mark, f"{each.permutation:.4f}"]
        rows.append([each.metric, *values, *p_values])
    sys.stdout.write(format_columns(rows) + documents_line(len(pairs_a), left_out))
