"""Differences between the runs and the paper's numbers, and their possible reasons."""

from dataclasses import dataclass
from pathlib import Path

from bert4so.common.value_trees import leaves
from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.report.paper_numbers import CORPORA, TABLE_1, TABLE_3, TITLES
from bert4so.experiments.results import Results, epochs_seen

UNLISTED_SETTINGS = {"model.loss", "model.vectors", "model.tagger"}
"""Settings that are not listed as changed: titles of systems or notes of tables name them."""


@dataclass(frozen=True)
class Gap:
    """A run compared with the paper's.

    tau, pmr: its metrics minus the paper's.
    """

    stand_in: bool
    tau: float
    pmr: float
    title: str
    cell: FinishedCell

    @property
    def corpus(self) -> str:
        """The name of the corpus in the paper."""
        return self.cell.corpus

    @property
    def epochs(self) -> str:
        """How often the run saw each training document."""
        return f"{epochs_seen(self.cell):.1f}"


def compare_with_paper(results: Results) -> str:
    """All runs that the paper reports too, those furthest below it first."""
    short, whole = _gaps(results, "table-1", ""), _gaps(results, "long", ", all epochs")
    rows = sorted([*short, *whole], key=lambda gap: (gap.stand_in, gap.tau, gap.pmr))
    lines = [
        f"| {gap.title} | {results.corpus_title(gap.corpus)} | {gap.tau:+.4f} | {gap.pmr:+.2f} "
        f"| {gap.epochs} | {_best_at(gap.cell):.0%} | {_documents(gap)} | {_encoder(gap.cell)} |"
        for gap in rows
    ]
    return "\n".join(
        [
            *_reasons(short, whole),
            "For each run, the table shows its τ and PMR minus the paper's, the number of epochs, "
            "the share of its training at which it was best on validation, the number of training "
            "documents (the paper's in brackets), and its pretrained encoder, if it has one (the "
            "paper's is BERT-base). Stand-ins come last: they are other corpora, so their numbers "
            "say nothing about the paper's.",
            "",
            "| system | corpus | τ minus paper | PMR minus paper | epochs | best at | documents "
            "| encoder |",
            "|---|---|---|---|---|---|---|---|",
            *lines,
            "",
            "Settings that differ from those for a GPU with BERT-base:",
            "",
            *_settings(results),
        ]
    )


def _gaps(results: Results, grid: str, how: str) -> list[Gap]:
    """The first run of each system on each corpus of a grid."""
    gaps = []
    for corpus in (name for name in CORPORA if name in results.corpora(grid)):
        for system in TITLES:
            for cell in results.finished(grid, system=system, corpus=corpus)[:1]:
                tau, pmr = TABLE_1[system, corpus]
                gaps.append(
                    Gap(
                        stand_in=bool(results.plan.corpora[corpus].stand_in),
                        tau=cell.test.tau - tau,
                        pmr=100 * cell.test.pmr - pmr,
                        title=TITLES[system] + how,
                        cell=cell,
                    )
                )
    return gaps


def _reasons(short: list[Gap], whole: list[Gap]) -> list[str]:
    """Reasons for lower numbers than the paper's, as far as the runs show them."""
    own = [gap for gap in short if not gap.stand_in]
    below = sum(gap.tau < 0 for gap in own)
    if not below:
        return []
    sentences = [f"On the paper's own corpora, {below} of {len(own)} runs are below its τ."]
    pairs = [
        (longer, gap)
        for longer in whole
        for gap in own
        if (gap.cell.system, gap.corpus) == (longer.cell.system, longer.corpus)
    ]
    sentences += [
        f"On {longer.corpus}, the difference of {longer.title}, is {longer.tau:+.4f} "
        f"({longer.epochs} epochs) instead of {gap.tau:+.4f} ({gap.epochs} epochs)."
        for longer, gap in pairs
    ]
    if pairs:
        sentences.append(
            "The difference that is left after all epochs has other reasons (the known ones are "
            "listed below) or is chance, because there is one seed."
        )
    sentences.append(
        'A run keeps the model that was best on validation; "best at" is the share of its training '
        "up to that point. Later training did not improve it."
    )
    return [" ".join(sentences), ""]


def _best_at(cell: FinishedCell) -> float:
    """The share of its steps at which a run was best on validation."""
    best = max(cell.validations, key=lambda validation: validation.tau + validation.pmr)
    return best.step / cell.validations[-1].step


def _documents(gap: Gap) -> str:
    """The number of training documents, and the paper's."""
    theirs = TABLE_3[gap.corpus].documents["train"]
    return f"{gap.cell.training_documents:,} ({theirs:,})"


def _encoder(cell: FinishedCell) -> str:
    """The name of the pretrained encoder; "" if the system has none."""
    return Path(cell.settings.encoder or "").name


def _settings(results: Results) -> list[str]:
    """The settings of each system that differ between the paper's scale and this one."""
    lines = ["| system | setting | at the paper's scale | here |", "|---|---|---|---|"]
    for name, system in results.plan.systems.items():
        cell = next(iter(results.planned("table-1", system=name)), None)
        if cell is None or name not in TITLES:
            continue
        paper, here = dict(leaves(system.paper_settings)), dict(leaves(cell.settings))
        for key in (key for key in here if key.startswith(("model.", "train."))):
            if here[key] != paper.get(key) and key not in UNLISTED_SETTINGS:
                lines.append(f"| {TITLES[name]} | `{key}` | {paper.get(key)} | {here[key]} |")
    return lines
