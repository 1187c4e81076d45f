"""Fill the tables of README, docs and model card from results/: python benchmarks/tables.py.

A table stands between `<!-- table NAME -->` and `<!-- end -->`; nothing there is typed by hand.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from bert4so.experiments.report.paper_numbers import CORPORA as PAPER
from bert4so.experiments.report.paper_numbers import TABLE_1

ROOT = Path(__file__).parent.parent
BUNDLED = ROOT / "src" / "bert4so" / "pretrained"
PAGES = [ROOT / "README.md", ROOT / "docs" / "benchmarks.md", BUNDLED / "README.md"]
BLOCK = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
ROWS = {"margin ListMLE": "bert4so", "ListMLE": "bert4so-list-mle"}
"""Of the paper's Table 1."""
NEURIPS = {"margin ListMLE": "bert4so-neurips", "ListMLE": "bert4so-neurips-list-mle"}


def neurips() -> str:
    """BERT4SO on the NeurIPS abstracts, by loss."""
    rows = [
        "| loss | validation τ / PMR | test τ / PMR / accuracy | paper | minutes | command |",
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
            f"PyTorch {machine['torch']}: {facts['tokens_per_second']:,} tokens per second in "
            f"training, {facts['padding']:.1%} of a batch is padding.",
        ]
    )


CORPORA = {
    "rocstories": "ROCStory",
    "neurips": "NeurIPS",
    "sind": "SIND",
    "acl_arc_abstracts": "AAN (a stand-in)",
    "nsf_awards": "NSF (a stand-in)",
    "fairytaleqa_sections": "fairy tales",
    "recipes_pd": "recipes",
}
"""Display names of corpora; those of the paper as the paper has them."""


LABELS = {
    "int8, few": "int8, on the documents of B-TSort",
    "B-TSort, few": "B-TSort",
    "int8, and long ones by windows": "int8, documents of any length",
    "the same without the encoder's dropout": "… without dropout in the encoder",
    "and like lengths together": "… and with documents of similar length in a batch",
}
"""Display names of variants that have others in the files of results."""


def facts() -> str:
    """The project in a few numbers."""
    speed = result("speed")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    size = sum(path.stat().st_size for path in BUNDLED.iterdir()) / 1e6
    stories, abstracts = (
        speed["corpora"][name]["documents_per_second"]["int8"]["median"]
        for name in ("rocstories", "nsf_awards")
    )
    return "\n".join(
        [
            "| | |",
            "|---|---|",
            f"| Model | 12 layers of width 384 in int8, {size:.0f} MB, part of the package |",
            f"| Speed on {speed['machine']['cores']} CPU cores | {stories:.0f} stories of 5 "
            f"sentences, or {abstracts:.0f} long abstracts, per second |",
            f"| From start to answer | {speed['cold_start']['order'][0]:.1f} s |",
            "| Language of the texts | English |",
            f"| Python | {project['requires-python'].removeprefix('>=')} or newer, on Linux, macOS "
            "and Windows |",
            f"| Licence | {project['license']} |",
        ]
    )


def bundled() -> str:
    """How good the bundled model is on test documents."""
    facts = result("bundled")
    rows = ["| dataset | test documents | τ | PMR | accuracy | paper's τ / PMR |"]
    rows.append("|---|---|---|---|---|---|")
    for corpus, found in facts["found"].items():
        name = CORPORA[corpus]
        paper = "{:.4f} / {:.2f}".format(*TABLE_1["bert4so", name]) if name in PAPER else ""
        metrics, (low, high) = found["metrics"], found["intervals"]["tau"]
        rows.append(
            f"| {name} | {metrics['documents']:,} | {metrics['tau']:.4f} ({low:.4f} to {high:.4f}) "
            f"| {percent(metrics['pmr'])} | {percent(metrics['accuracy'])} | {paper} |"
        )
    return "\n".join([*rows, "", f"95 % intervals in brackets. {measured(facts)}"])


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
    "nsf_awards_4000": ("NSF, award abstracts", "published by the US government"),
}
"""Training data of the bundled model: name and terms of use."""


def learned() -> str:
    """Training data of the bundled model, in its two runs."""
    runs = [result("bundled-start"), result("bundled")]
    rows = ["| corpus | first run | second run | terms |", "|---|---|---|---|"]
    for corpus in dict.fromkeys(corpus for facts in runs for corpus in facts["learned"]):
        name, terms = LEARNED[corpus]
        counts = [facts["learned"].get(corpus) for facts in runs]
        shown = " | ".join(f"{count:,}" if count else "" for count in counts)
        rows.append(f"| {name} | {shown} | {terms} |")
    costs = [
        f"{which}: {spent(facts)}" for which, facts in zip(("First", "Second"), runs, strict=True)
    ]
    leaks = {document for facts in runs for document in facts["leaks"]}
    return "\n".join(
        [
            *rows,
            "",
            f"Number of documents. {' '.join(costs)} {len(leaks)} training documents share two or "
            "more sentences with a test document of the table above.",
        ]
    )


def overlap() -> str:
    """Test documents that are similar to a training document."""
    facts = result("overlap")
    similar = [
        f"{CORPORA[corpus]} {found['known']} (τ {found['tau_of_known']:.4f}; all others "
        f"{found['tau_without']:.4f})"
        for (corpus, split), found in ((p.split("/"), f) for p, f in facts["found"].items())
        if split == "test" and found["known"]
    ]
    validation = [
        f"{found['known']} of {found['documents']:,} of {CORPORA[place.split('/')[0]]}"
        for place, found in facts["found"].items()
        if place.endswith("/valid")
    ]
    return (
        f"Test documents that have {percent(facts['much'])[:-3]} % or more of their runs of "
        f"{facts['words']} words in common with one training document: {', '.join(similar)}. "
        f"Validation documents, by which the model was chosen: {', '.join(validation)}. Documents "
        f"that share two sentences: {facts['sharing_two_sentences']}. {measured(facts)}"
    )


def spent(facts: dict[str, Any]) -> str:
    """The cost of a training run."""
    run, machine = facts["run"], facts["run"]["machine"]
    return (
        f"{run['steps']:,} steps, {facts['epochs']:.2f} epochs, {run['minutes'] / 60:.1f} hours "
        f"({run['cpu_minutes'] / 60:.1f} of CPU time per thread) on {machine['cores']} "
        f"cores of {machine['processor']} in {run['run']['train']['precision']}, "
        f"{run['tokens_per_second']:,} tokens per second; {run['left_out_of_training']} documents "
        "excluded as overlapping."
    )


def proxies() -> str:
    """Short runs that compare encoders and losses."""
    runs: Any = result("proxies")  # a list, not one object
    rows = ["| encoder | learning rate | loss | steps | validation τ | PMR |"]
    rows.append("|---|---|---|---|---|---|")
    for one in runs:
        model, valid = one["model"], one["valid"]
        rows.append(
            f"| {Path(model['encoder']).name} | {one['learning_rate']['sentence_encoder']:g} "
            f"| {model['loss']} | {one['steps']} "
            f"| {valid['tau']:.4f} | {percent(valid['pmr'])} |"
        )
    return "\n".join(rows)


def speed() -> str:
    """Documents per second, and the speedup over the alternatives."""
    facts = result("speed")
    names = list(facts["corpora"])
    rows = [
        f"| documents per second | {' | '.join(CORPORA[name] for name in names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    ways = [way for found in facts["corpora"].values() for way in found["documents_per_second"]]
    for way in dict.fromkeys(ways):
        paces = " | ".join(pace(facts["corpora"][name], way) for name in names)
        rows.append(f"| {LABELS.get(way, way)} | {paces} |")
    limits = "; ".join(
        f"{CORPORA[name]} {found['share_of_limit']['int8']:.0%} in int8, "
        f"{found['share_of_limit']['float32']:.0%} in float32"
        for name, found in facts["corpora"].items()
    )
    samples = "; ".join(
        f"{found['documents']} documents of {CORPORA[name]} that fit in one row, "
        f"{found['documents_of_b_tsort']} of them for B-TSort"
        + (f", and {found['by_windows']} that do not fit" if found["by_windows"] else "")
        for name, found in facts["corpora"].items()
    )
    start = facts["cold_start"]
    load = start["import bert4so"][0] - start["python"][0]
    return "\n".join(
        [
            *rows,
            "",
            "Median, slowest and fastest of five interleaved repeats, and the speedup of int8. "
            f"{samples}. Share of the throughput of one large matrix product on the same cores: "
            f"{limits}. From the start of `bert4so order` to its end: {start['order'][0]:.2f} s "
            f"({start['order'][1]:.2f} to {start['order'][2]:.2f}); "
            f"`import bert4so`: {load:.2f} s. {measured(facts)}",
        ]
    )


def pace(found: dict[str, Any], way: str) -> str:
    """Documents per second of a variant, and the speedup of int8 on the same documents."""
    paces = found["documents_per_second"]
    if way not in paces:
        return ""
    own, peer = paces[way], paces["int8, few" if "few" in way else "int8"]
    ratio = "" if own is peer or "windows" in way else f", {peer['median'] / own['median']:.1f}×"
    return f"{own['median']:,.1f} ({own['slowest']:,.1f} to {own['fastest']:,.1f}){ratio}"


def passes() -> str:
    """The gain of more passes."""
    facts = result("passes")
    counts = sorted({one["passes"] for one in facts["found"]})
    rows = [f"| τ / same order twice | documents | {' | '.join(f'K = {k}' for k in counts)} |"]
    rows.append(f"|---|---|{'---|' * len(counts)}")
    for corpus in dict.fromkeys(one["corpus"] for one in facts["found"]):
        own = {one["passes"]: one for one in facts["found"] if one["corpus"] == corpus}
        shown = [f"{own[k]['tau']:.4f} / {own[k]['consistency']:.0%}" for k in counts]
        rows.append(f"| {CORPORA[corpus]} | {own[counts[0]]['documents']} | {' | '.join(shown)} |")
    least = {
        kind: min(found[kind] for found in facts["promised"].values())
        for kind in ("shuffled otherwise", "alone")
    }
    return "\n".join(
        [
            *rows,
            "",
            "In each pass the model reads the sentences in another shuffle, drawn at random in "
            "this measurement. With the shuffles that `bert4so order` uses, the answer did not "
            "change when the sentences were given in another order in "
            f"{at_least(least['shuffled otherwise'])}, and was the same alone and in a batch in "
            f"{at_least(least['alone'])}. {measured(facts)}",
        ]
    )


def at_least(share: float) -> str:
    """A share of documents, rounded down to words."""
    return "all documents" if share == 1 else f"at least {share:.1%} of documents"


def long() -> str:
    """The gain of more rounds of windows."""
    facts = result("long")
    rounds = sorted({one["rounds"] for one in facts["found"]})
    rows = [
        "| texts | number | sentences | documents | "
        f"τ after {' | '.join(f'round {k}' for k in rounds)} | gain of the last "
        "| ms per sentence |",
        f"|---|---|---|---|{'---|' * (len(rounds) + 2)}",
    ]
    for kind in dict.fromkeys(one["texts"] for one in facts["found"]):
        own = [one for one in facts["found"] if one["texts"] == kind]
        first, last = own[0], own[-1]
        taus = " | ".join(f"{one['tau']:.4f}" for one in own)
        began, ended = (one["milliseconds_per_sentence"] for one in (first, last))
        rows.append(
            f"| {kind} | {first['number']} | {first['sentences']} | {first['documents']} "
            f"| {taus} | {last['gain']:+.4f} ± {last['error']:.4f} | {began:.1f} to {ended:.1f} |"
        )
    note = (
        "Gain of the last round over the first with its standard error over documents, and the "
        "time after the first and the last round. No one can know which of two awards or tales "
        "comes first: τ counts pairs of sentences of the same document only."
    )
    return "\n".join([*rows, "", f"{note} {measured(facts)}"])


def training() -> str:
    """Training speed, compared with a plain loop."""
    facts = result("training")
    names = list(facts["found"])
    rows = [
        f"| tokens per second | {' | '.join(CORPORA[name] for name in names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for way in next(iter(facts["found"].values())):
        shown = []
        for name in names:
            own, plain = facts["found"][name][way], facts["found"][name]["a plain loop"]
            ratio = "" if own is plain else f", {own['median'] / plain['median']:.2f}×"
            shown.append(f"{own['median']:,} ({own['slowest']:,} to {own['fastest']:,}){ratio}")
        rows.append(f"| {LABELS.get(way, way)} | {' | '.join(shown)} |")
    note = f"Median, slowest and fastest of five interleaved repeats. {measured(facts)}"
    return "\n".join([*rows, "", note])


def accuracy() -> str:
    """The accuracy after fast and after plain training."""
    facts = result("accuracy")
    taus = "; ".join(
        f"{way} {found['valid']['tau']:.4f} ± {found['valid']['sd']:.4f} on validation, "
        f"{found['test']['tau']:.4f} ± {found['test']['sd']:.4f} on test"
        for way, found in facts["summary"].items()
    )
    return (
        f"τ on NeurIPS after {facts['run']['train']['epochs']} epoch, mean and standard deviation "
        f"over three seeds: {taus}. {measured(facts)}"
    )


def memory() -> str:
    """Peak memory of many documents."""
    facts = result("memory")
    return (
        f"{facts['documents']:,} documents of {facts['sentences']} sentences from a generator, "
        f"every {facts['long_every']:,}th of {facts['sentences_of_long']} instead, took at most "
        f"{facts['megabytes']:,} MB. {measured(facts)}"
    )


def measured(facts: dict[str, Any]) -> str:
    """The command and the machine of a measurement."""
    machine = facts["machine"]
    return (
        f"Measured by `{facts['command']}` on {machine['cores']} cores of {machine['processor']}."
    )


def result(name: str) -> dict[str, Any]:
    """A file of results/."""
    facts: dict[str, Any] = json.loads((ROOT / "results" / f"{name}.json").read_text())
    return facts


def percent(share: float) -> str:
    """A share as a percentage, as the papers print it."""
    return f"{100 * share:.2f}"


TABLES = {
    "facts": facts,
    "neurips": neurips,
    "bundled": bundled,
    "learned": learned,
    "overlap": overlap,
    "proxies": proxies,
    "speed": speed,
    "passes": passes,
    "long": long,
    "training": training,
    "accuracy": accuracy,
    "memory": memory,
}


def filled(text: str) -> str:
    """A text with its tables regenerated."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
