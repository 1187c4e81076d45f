"""Fills the tables of the README and of the model card from results/: python benchmarks/tables.py.

A table stands between `<!-- table NAME -->` and `<!-- end -->`; nothing there is typed by hand.
"""

import json
import re
from pathlib import Path
from typing import Any

from bert4so.experiments.paper import TABLE_1

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "src" / "bert4so" / "pretrained" / "README.md"]
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


CORPORA = {
    "rocstories": ("ROCStory", "0.8487 / 55.65"),
    "neurips": ("NeurIPS", "0.7778 / 30.70"),
    "sind": ("SIND", "0.5916 / 19.07"),
    "acl_arc_abstracts": ("AAN (a stand-in)", ""),
    "nsf_awards": ("NSF (a stand-in)", ""),
    "fairytaleqa_sections": ("fairy tales", ""),
    "recipes_pd": ("recipes", ""),
}
"""What corpora are called, and what the paper has on them."""


def bundled() -> str:
    """How good the bundled model is on test documents."""
    facts = result("bundled")
    rows = ["| test documents of | number | τ | PMR | accuracy | the paper's τ / PMR |"]
    rows.append("|---|---|---|---|---|---|")
    for corpus, found in facts["found"].items():
        name, paper = CORPORA[corpus]
        metrics, (low, high) = found["metrics"], found["intervals"]["tau"]
        rows.append(
            f"| {name} | {metrics['documents']:,} | {metrics['tau']:.4f} ({low:.4f} to {high:.4f}) "
            f"| {percent(metrics['pmr'])} | {percent(metrics['accuracy'])} | {paper} |"
        )
    return "\n".join([*rows, "", f"In brackets 95 % intervals. {measured(facts)}"])


LEARNED = {
    "rocstories": ("ROCStory", "given to those who register with its authors"),
    "rocstories_lower": ("ROCStory, more of it", "given to those who register with its authors"),
    "sind_small": ("SIND, a part of its validation set", "given by its authors"),
    "fairytaleqa_sections": ("FairytaleQA, sections of fairy tales", "Apache License 2.0"),
    "recipes_pd": ("recipes", "public domain"),
    "neurips": ("NeurIPS abstracts to 2015", "of their authors"),
    "neurips_2016_2019": ("NeurIPS abstracts of 2016 to 2019", "of their authors"),
    "peerread_arxiv": ("PeerRead, arXiv abstracts", "of their authors"),
    "scitldr_a": ("SciTLDR, abstracts", "Apache License 2.0"),
    "csabstruct": ("CSAbstruct, abstracts", "Apache License 2.0"),
    "acl_arc_abstracts": ("ACL Anthology, abstracts of the years of AAN", "of their authors"),
}
"""What the bundled model learned from, and on which terms."""


def learned() -> str:
    """What the bundled model learned from."""
    facts = result("bundled")
    rows = ["| corpus | documents | terms |", "|---|---|---|"]
    for corpus, count in facts["learned"].items():
        name, terms = LEARNED[corpus]
        rows.append(f"| {name} | {count:,} | {terms} |")
    run = facts["run"]
    machine = run["machine"]
    return "\n".join(
        [
            *rows,
            "",
            f"{run['steps']:,} steps, {run['cpu_minutes'] / 60:.1f} hours on {machine['cores']} "
            f"cores of {machine['processor']} at {run['tokens_per_second']:,} tokens a second: "
            f"{run['epoch']} epochs begun. {run['left_out_of_training']} documents were left out.",
        ]
    )


def speed() -> str:
    """Documents a second, and how many times those of the alternatives."""
    facts = result("speed")
    ways = list(next(iter(facts["corpora"].values()))["documents_per_second"])
    rows = [f"| documents a second | {' | '.join(ways)} |", f"|---|{'---|' * len(ways)}"]
    for corpus, found in facts["corpora"].items():
        speeds = found["documents_per_second"]
        shown = [f"{speed:,.1f} ({speeds['int8'] / speed:.1f}×)" for speed in speeds.values()]
        rows.append(f"| {CORPORA[corpus][0]} | {' | '.join(shown)} |")
    limits = "; ".join(
        f"{CORPORA[corpus][0]} {facts['limit'][corpus]['int8']:.0%} in int8, "
        f"{facts['limit'][corpus]['float32']:.0%} in float32"
        for corpus in facts["corpora"]
    )
    return "\n".join(
        [
            *rows,
            "",
            "In brackets: how many times as fast int8 is. Of what a large product of matrices "
            f"reaches on the same cores: {limits}. From the start of `bert4so order` to its end: "
            f"{facts['cold_start']['order']:.2f} s; `import bert4so`: "
            f"{facts['cold_start']['import']:.2f} s. {measured(facts)}",
        ]
    )


def passes() -> str:
    """What a pass is worth."""
    facts = result("passes")
    counts = sorted({one["passes"] for one in facts["found"]})
    rows = [f"| τ / same order twice | {' | '.join(f'{k} passes' for k in counts)} |"]
    rows.append(f"|---|{'---|' * len(counts)}")
    for corpus in dict.fromkeys(one["corpus"] for one in facts["found"]):
        own = {one["passes"]: one for one in facts["found"] if one["corpus"] == corpus}
        shown = [f"{own[k]['tau']:.4f} / {own[k]['consistency']:.0%}" for k in counts]
        rows.append(f"| {CORPORA[corpus][0]} | {' | '.join(shown)} |")
    return "\n".join([*rows, "", measured(facts)])


def long() -> str:
    """What rounds of windows are worth."""
    facts = result("long")
    rounds = sorted({one["rounds"] for one in facts["found"]})
    rows = [f"| τ / seconds | {' | '.join(f'{k} rounds' for k in rounds)} |"]
    rows.append(f"|---|{'---|' * len(rounds)}")
    for n in dict.fromkeys(one["sentences"] for one in facts["found"]):
        own = {one["rounds"]: one for one in facts["found"] if one["sentences"] == n}
        shown = [f"{own[k]['tau']:.4f} / {own[k]['seconds_per_document']:.1f}" for k in rounds]
        rows.append(f"| {n:,} sentences | {' | '.join(shown)} |")
    return "\n".join([*rows, "", measured(facts)])


def training() -> str:
    """Training speed against a plain loop."""
    facts = result("training")
    rows = ["| tokens a second | `bert4so train` | a plain loop | |", "|---|---|---|---|"]
    for corpus, found in facts["corpora"].items():
        own, plain = (found["tokens_per_second"][k] for k in ("bert4so train", "plain loop"))
        rows.append(f"| {CORPORA[corpus][0]} | {own:,} | {plain:,} | {found['ratio']:.1f}× |")
    return "\n".join([*rows, "", measured(facts)])


def measured(facts: dict[str, Any]) -> str:
    """What something was measured by, and on."""
    machine = facts["machine"]
    return f"`{facts['command']}` on {machine['cores']} cores of {machine['processor']}."


def result(name: str) -> dict[str, Any]:
    """A file of results/."""
    facts: dict[str, Any] = json.loads((ROOT / "results" / f"{name}.json").read_text())
    return facts


def percent(share: float) -> str:
    """A share in hundredths, as the papers print it."""
    return f"{100 * share:.2f}"


TABLES = {
    "neurips": neurips,
    "bundled": bundled,
    "learned": learned,
    "speed": speed,
    "passes": passes,
    "long": long,
    "training": training,
}


def filled(text: str) -> str:
    """A text with its tables made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
