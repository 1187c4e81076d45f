"""Where runs are worse than the paper's, and better, and what may be the reason."""

from dataclasses import dataclass
from pathlib import Path

from bert4so.common.value_trees import leaves
from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.report.paper_numbers import CORPORA, TABLE_1, TABLE_3, TITLES
from bert4so.experiments.results import Results, epochs_seen

TOLD_ELSEWHERE = {"model.loss", "model.vectors", "model.tagger"}
"""Numbers of a system that are not listed as different from the paper's."""


@dataclass(frozen=True)
class Gap:
    """A run beside the paper's.

    tau, pmr: by how much it is above the paper's.
    """

    stand_in: bool
    tau: float
    pmr: float
    title: str
    cell: FinishedCell

    @property
    def corpus(self) -> str:
        """Its name in the paper."""
        return self.cell.corpus

    @property
    def seen(self) -> str:
        """How often the run saw each training document."""
        return f"{epochs_seen(self.cell):.1f}"


def against_the_paper(results: Results) -> str:
    """Every run that the paper has too, those that are furthest below it first."""
    short, whole = _gaps(results, "table-1", ""), _gaps(results, "long", ", all epochs")
    rows = sorted([*short, *whole], key=lambda gap: (gap.stand_in, gap.tau, gap.pmr))
    lines = [
        f"| {gap.title} | {results.called(gap.corpus)} | {gap.tau:+.4f} | {gap.pmr:+.2f} "
        f"| {gap.seen} | {_best_at(gap.cell):.0%} | {_documents(gap)} | {_encoder(gap.cell)} |"
        for gap in rows
    ]
    return "\n".join(
        [
            *_reasons(short, whole),
            "In what a run differs from the paper's: how often it saw each document, how many it "
            "had to learn from (in brackets the paper's), and from which encoder it began, where "
            "it has one (the paper's is BERT-base). Stand-ins are last: a corpus is "
            "another there, and nothing follows about the paper's numbers.",
            "",
            "| system | corpus | τ, against the paper's | PMR | times seen | best at | documents "
            "| encoder |",
            "|---|---|---|---|---|---|---|---|",
            *lines,
            "",
            "In which numbers the systems are not as they are for a GPU, with BERT-base:",
            "",
            *_settings(results),
        ]
    )


def _gaps(results: Results, grid: str, how: str) -> list[Gap]:
    """The first run of each system on each corpus of a grid."""
    made = []
    for corpus in (name for name in CORPORA if name in results.corpora(grid)):
        for system in TITLES:
            for cell in results.finished(grid, system=system, corpus=corpus)[:1]:
                tau, pmr = TABLE_1[system, corpus]
                made.append(
                    Gap(
                        stand_in=bool(results.plan.corpora[corpus].stand_in),
                        tau=cell.test.tau - tau,
                        pmr=100 * cell.test.pmr - pmr,
                        title=TITLES[system] + how,
                        cell=cell,
                    )
                )
    return made


def _reasons(short: list[Gap], whole: list[Gap]) -> list[str]:
    """What the runs tell of why they are below the paper's."""
    own = [gap for gap in short if not gap.stand_in]
    below = sum(gap.tau < 0 for gap in own)
    if not below:
        return []
    told = [f"On the paper's own corpora {below} of {len(own)} runs are below its τ."]
    pairs = [
        (longer, gap)
        for longer in whole
        for gap in own
        if (gap.cell.system, gap.corpus) == (longer.cell.system, longer.corpus)
    ]
    told += [
        f"{longer.title}, is at {longer.tau:+.4f} on {longer.corpus} (documents seen "
        f"{longer.seen} times) instead of {gap.tau:+.4f} ({gap.seen} times)."
        for longer, gap in pairs
    ]
    if pairs:
        told.append(
            "What is left after all epochs has other reasons, of which those that are known stand "
            "below, or is chance: it is of one seed."
        )
    told.append(
        "A run is kept as it was when it was best on validation, after the share of its training "
        'that stands under "best at": what it was trained after that did not help it.'
    )
    return [" ".join(told), ""]


def _best_at(cell: FinishedCell) -> float:
    """The share of its steps after which a run was best, and was kept."""
    best = max(cell.validations, key=lambda validation: validation.tau + validation.pmr)
    return best.step / cell.validations[-1].step


def _documents(gap: Gap) -> str:
    """How many a run had to learn from, and the paper's."""
    theirs = TABLE_3[gap.corpus].documents["train"]
    return f"{gap.cell.training_documents:,} ({theirs:,})"


def _encoder(cell: FinishedCell) -> str:
    """From which encoder a run began; "" where it has none."""
    return Path(cell.settings.encoder or "").name


def _settings(results: Results) -> list[str]:
    """What of each system is another at this scale than at the paper's."""
    lines = ["| system | | at the paper's scale | here |", "|---|---|---|---|"]
    for name, system in results.plan.systems.items():
        cell = next(iter(results.planned("table-1", system=name)), None)
        if cell is None or name not in TITLES:
            continue
        before, now = dict(leaves(system.paper_settings)), dict(leaves(cell.settings))
        for key in (key for key in now if key.startswith(("model.", "train."))):
            if now[key] != before.get(key) and key not in TOLD_ELSEWHERE:
                lines.append(f"| {TITLES[name]} | `{key}` | {before.get(key)} | {now[key]} |")
    return lines
