"""Fills the tables of README.md from results/: python benchmarks/tables.py.

A table stands between `<!-- table NAME -->` and `<!-- end -->`; nothing there is typed by hand.
"""

import json
import re
from pathlib import Path
from typing import Any

from bert4so.experiments.paper import TABLE_1

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
ROWS = {"margin ListMLE": "bert4so", "ListMLE": "bert4so-list-mle"}
"""Of the paper's Table 1."""
NEURIPS = {"margin ListMLE": "bert4so-neurips", "ListMLE": "bert4so-neurips-list-mle"}


def neurips() -> str:
    """BERT4SO on the NeurIPS abstracts, by loss."""
    rows = [
        "| loss | validation τ / PMR | test τ / PMR / accuracy | the paper's | minutes | command |",
        "|---|---|---|---|---|---|",
    ]
    for loss, name in NEURIPS.items():
        facts = result(name)
        valid, test = facts["valid"], facts["test"]
        tau, pmr = TABLE_1[ROWS[loss], "NeurIPS"]
        rows.append(
            f"| {loss} | {valid['tau']:.4f} / {percent(valid['pmr'])} "
            f"| {test['tau']:.4f} / {percent(test['pmr'])} / {percent(test['accuracy'])} "
            f"| {tau:.4f} / {pmr:.2f} | {facts['minutes']:.0f} | `{facts['command']}` |"
        )
    facts = result(NEURIPS["margin ListMLE"])
    machine, model = facts["machine"], facts["run"]["model"]
    return "\n".join(
        [
            *rows,
            "",
            f"Encoder {model['encoder']}, {facts['test']['documents']} test documents, seed "
            f"{facts['run']['seed']}; on {machine['cores']} cores of {machine['processor']}, "
            f"PyTorch {machine['torch']}: {facts['tokens_per_second']:,} tokens a second in "
            f"training, {facts['padding']:.1%} of a batch padding.",
        ]
    )


def result(name: str) -> dict[str, Any]:
    """A file of results/."""
    facts: dict[str, Any] = json.loads((ROOT / "results" / f"{name}.json").read_text())
    return facts


def percent(share: float) -> str:
    """A share in hundredths, as the papers print it."""
    return f"{100 * share:.2f}"


TABLES = {"neurips": neurips}


def filled(text: str) -> str:
    """A text with its tables made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8")), encoding="utf-8")
