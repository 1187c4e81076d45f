"""The paper's tables, made from the cells of an experiment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean, stdev

from bert4so.data.stats import Statistics
from bert4so.evaluation.significance import t_test
from bert4so.experiments.finished_cell import FinishedCell, Scores
from bert4so.experiments.report.notes import notes, stand_ins
from bert4so.experiments.report.paper_numbers import (
    CHOSEN,
    CORPORA,
    COST,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TITLES,
)
from bert4so.experiments.report.table import MISSING, Entry, Number, Table
from bert4so.experiments.results import (
    Results,
    cost_ratios,
    differences,
    equally_trained,
    on_one_machine,
)

METRICS = ("τ", "PMR")
BRACKETS = "The paper's numbers are in brackets."
VARIED = {"model.gamma": "γ", "model.layers": "layers"}
"""Headings of varied settings."""


def table_1(results: Results) -> Table:
    """All systems on all corpora."""
    grid = results.plan.grids["table-1"]
    corpora = _in_paper_order(grid.corpora)
    columns = [(corpus, metric) for corpus in corpora for metric in METRICS]
    # The best of a column is only known when all its cells are finished.
    best = {
        (corpus, metric): max(
            _mean(results.finished("table-1", system=s, corpus=corpus), metric) or -1
            for s in grid.systems
        )
        for corpus, metric in columns
        if results.is_decided("table-1", corpus=corpus)
    }
    rows = []
    for system in grid.systems:
        row = []
        for corpus, metric in columns:
            own = results.finished("table-1", system=system, corpus=corpus)
            ours = results.finished("table-1", system="bert4so", corpus=corpus)
            mark = "" if system.startswith("bert4so") else _mark(own, ours, metric)
            top = bool(own) and _mean(own, metric) == best.get((corpus, metric))
            entry = _entry(own, metric, TABLE_1.get((system, corpus)))
            row.append(replace(entry, mark=mark, best=top))
        rows.append((TITLES.get(system, system), row))
    first = next((k for k, s in enumerate(grid.systems) if s == "bert4so"), 0)
    table_notes = [
        f"{BRACKETS} †, ‡: BERT4SO is better by the paired t-test over documents, p < 0.01 and "
        "p < 0.05; ▲: it is worse, p < 0.05. The tests compare these runs, with "
        f"{_count(len(grid.seeds), 'seed')} each; the variation between seeds is not covered.",
        *notes(results, results.planned("table-1")),
    ]
    return Table(
        name="systems",
        caption=f"Kendall's τ and PMR on the test documents{_time_limit(results)}.",
        groups=[(results.corpus_title(corpus), METRICS) for corpus in corpora],
        rows=rows,
        ruled=[first] if first else [],
        notes=table_notes,
    )


def table_2(results: Results) -> Table:
    """BERT4SO trained on each corpus and on all of them joined."""
    corpora = results.plan.grids["table-2"].corpora
    rows, shown = [], results.planned("table-2")
    for corpus in corpora:
        shown += results.planned("table-1", system="bert4so", corpus=corpus)
        alone = results.finished("table-1", system="bert4so", corpus=corpus)
        joined = results.finished("table-2", corpus=corpus)
        numbers = [(alone, TABLE_1.get(("bert4so", corpus))), (joined, TABLE_2.get(corpus))]
        entries = [_entry(c, m, paper) for c, paper in numbers for m in METRICS]
        rows.append((results.corpus_title(corpus), entries))
    return Table(
        name="joined",
        caption=f"BERT4SO trained on each corpus alone, and on {', '.join(corpora)} "
        f"joined{_time_limit(results)}.",
        groups=[("separate", METRICS), ("joined", METRICS)],
        rows=rows,
        notes=[BRACKETS, *notes(results, shown)],
    )


def table_3(results: Results, statistics: Mapping[str, Statistics]) -> Table:
    """The sizes of the corpora."""
    corpora = _in_paper_order(list(statistics))
    return Table(
        name="statistics",
        caption="The corpora: maximum and mean number of word pieces per document, and number of "
        "documents per split.",
        groups=[("", ["Max.", "Avg.", "Train", "Val.", "Test"])],
        rows=[(results.corpus_title(name), _sizes(name, statistics[name])) for name in corpora],
        notes=[BRACKETS, *stand_ins(results, list(statistics))],
    )


def _sizes(corpus: str, own: Statistics) -> list[Entry]:
    paper = TABLE_3.get(corpus)
    entries = []
    for index, form in ((1, "{:,}"), (0, "{:.2f}")):  # maximum, mean
        theirs = Number(paper.pieces[index], form) if paper else None
        entries.append(Entry(Number(own.pieces[index], form), paper=theirs))
    for split in ("train", "valid", "test"):
        theirs = Number(paper.documents[split], "{:,}") if paper else None
        entries.append(Entry(Number(own.documents.get(split, 0), "{:,}"), paper=theirs))
    return entries


def _in_paper_order(corpora: Sequence[str]) -> list[str]:
    """The paper's corpora in its order, then all others."""
    own = [name for name in corpora if name not in CORPORA]
    return [*(name for name in CORPORA if name in corpora), *own]


def sweep(results: Results, grid: str, key: str, caption: str) -> Table:
    """BERT4SO with different values of one setting, which is chosen on validation."""
    values = results.plan.grids[grid].vary[key]
    runs = {value: results.finished(grid, varied={key: value}) for value in values}
    # The value is only chosen when all cells are finished and equally trained.
    selection_scores = {
        value: _selection_score(runs[value]) for value in runs if results.is_decided(grid)
    }
    rows = []
    for value, cells in runs.items():
        chosen = bool(selection_scores) and selection_scores[value] == max(
            selection_scores.values()
        )
        entries = [
            Entry(_spread([_value(one, metric) for one in scores], metric), best=best)
            for scores, best in (
                ([c.valid for c in cells], chosen),
                ([c.test for c in cells], False),
            )
            for metric in METRICS
        ]
        rows.append((f"{value}", entries))
    seeds = _count(len(results.plan.grids[grid].seeds), "seed")
    partial = len(results.finished(grid)) < len(results.planned(grid))
    return Table(
        name=grid,
        caption=f"{caption}{_time_limit(results)}: mean and standard deviation over {seeds}"
        f"{', or the finished ones' if partial else ''}; bold: chosen on validation, by τ + PMR. "
        f"The paper chooses {CHOSEN[key]}.",
        groups=[("validation", METRICS), ("test", METRICS)],
        rows=rows,
        corner=VARIED[key],
        notes=notes(results, results.planned(grid)),
    )


def cost(results: Results) -> Table:
    """The cost of B-TSort relative to BERT4SO."""
    rows = []
    shown = [
        cell
        for system, corpus in product(("bert4so", "b-tsort"), COST)
        for cell in results.planned("table-1", system=system, corpus=corpus)
    ]
    for corpus in (name for name in COST if name in results.plan.corpora):
        ours = results.finished("table-1", system="bert4so", corpus=corpus)
        theirs = results.finished("table-1", system="b-tsort", corpus=corpus)
        paper, name = Number(COST[corpus], "{}×"), results.corpus_title(corpus)
        if not ours or not theirs or not on_one_machine([*ours, *theirs]):
            rows.append((name, [Entry(paper=paper), MISSING, MISSING]))
            continue
        training, *others = (Number(k, "{:.1f}×") for k in cost_ratios(ours[0], theirs[0]))
        rows.append((name, [Entry(training, paper=paper), *map(Entry, others)]))
    return Table(
        name="cost",
        caption="CPU time of B-TSort divided by that of BERT4SO, with the same encoder: for "
        "training (each for the number of epochs in its own paper), for one epoch, and for "
        "ordering the test documents.",
        groups=[("", ["training", "one epoch", "ordering"])],
        rows=rows,
        axis="CPU time of B-TSort / CPU time of BERT4SO",
        notes=[
            f"{BRACKETS} The time of an epoch is the time per token times the tokens of all "
            "training documents.",
            *_read_twice(results),
            *notes(results, shown),
        ],
    )


def _read_twice(results: Results) -> list[str]:
    """A note if B-TSort would be faster with more memory."""
    max_tokens = results.plan.kept_tokens
    corpora = [
        results.corpus_title(corpus)
        for corpus in COST
        for cell in results.finished("table-1", system="b-tsort", corpus=corpus)
        if cell.tokens / cell.steps > max_tokens
    ]
    if not corpora:
        return []
    return [
        f"B-TSort's steps on {', '.join(corpora)} have more than {max_tokens:,} tokens on average. "
        "To use no more memory than the other systems, its encoder recomputes their activations in "
        "the backward pass, which counts as training time."
    ]


def longer(results: Results) -> Table:
    """BERT4SO trained for as many epochs as in the paper."""
    corpora, rows, shown = results.corpora("long"), [], results.planned("long")
    for corpus in corpora:
        shown += results.planned("table-1", system="bert4so", corpus=corpus)
        short = results.finished("table-1", system="bert4so", corpus=corpus)
        whole = results.finished("long", corpus=corpus)
        paper = TABLE_1.get(("bert4so", corpus))
        minutes = Entry(Number(whole[0].cpu_minutes, "{:.0f}")) if whole else MISSING
        entries = [_entry(short, m, None) for m in METRICS] + [minutes]
        rows.append(
            (results.corpus_title(corpus), entries + [_entry(whole, m, paper) for m in METRICS])
        )
    return Table(
        name="longer",
        caption="BERT4SO trained for all its epochs and tested on all documents, compared with the "
        "short training and the test sample of Table 1.",
        groups=[("short", METRICS), ("all epochs", ["minutes", *METRICS])],
        rows=rows,
        notes=[BRACKETS, *notes(results, shown)],
    )


def _value(scores: Scores, metric: str) -> float:
    return scores.tau if metric == "τ" else 100 * scores.pmr


def _mean(cells: Sequence[FinishedCell], metric: str) -> float | None:
    return fmean(_value(cell.test, metric) for cell in cells) if cells else None


def _selection_score(cells: Sequence[FinishedCell]) -> float:
    return fmean(cell.valid.tau + cell.valid.pmr for cell in cells)


def _number(value: float, metric: str, spread: float | None = None) -> Number:
    return Number(value, "{:.4f}" if metric == "τ" else "{:.2f}", spread)


def _spread(values: Sequence[float], metric: str) -> Number | None:
    """The mean and standard deviation of several runs, or the value of a single one."""
    if not values:
        return None
    return _number(fmean(values), metric, stdev(values) if len(values) > 1 else None)


def _entry(cells: Sequence[FinishedCell], metric: str, paper: tuple[float, float] | None) -> Entry:
    theirs = _number(paper[METRICS.index(metric)], metric) if paper else None
    mean = _mean(cells, metric)
    return Entry(None if mean is None else _number(mean, metric), paper=theirs)


def _mark(theirs: Sequence[FinishedCell], ours: Sequence[FinishedCell], metric: str) -> str:
    """The mark for a significant difference: BERT4SO is better († or ‡) or worse (▲)."""
    if not ours or not theirs or not equally_trained([*ours, *theirs]):
        return ""
    gains = differences(ours, theirs, metric)
    p = t_test(gains)
    if p >= 0.05:
        return ""
    if gains.mean() < 0:
        return "▲"
    return "†" if p < 0.01 else "‡"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _time_limit(results: Results) -> str:
    minutes = results.plan.minutes
    return f", after {minutes} minutes of training (CPU time per thread)" if minutes else ""
