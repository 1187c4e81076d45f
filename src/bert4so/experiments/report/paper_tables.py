"""The paper's tables, made of the cells of an experiment."""

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
    of_equal_training,
    of_one_machine,
)

METRICS = ("τ", "PMR")
VARIED = {"model.gamma": "γ", "model.layers": "layers"}
"""What a number that is varied is called."""


def table_1(results: Results) -> Table:
    """All systems on all corpora."""
    grid = results.plan.grids["table-1"]
    corpora = _in_the_papers_order(grid.corpora)
    columns = [(corpus, metric) for corpus in corpora for metric in METRICS]
    # Nothing is the best of its column before all of it is there.
    best = {
        (corpus, metric): max(
            _mean(results.finished("table-1", system=s, corpus=corpus), metric) or -1
            for s in grid.systems
        )
        for corpus, metric in columns
        if results.decided("table-1", corpus=corpus)
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
    told = [
        "In brackets the paper's own numbers. † and ‡: BERT4SO is better by the paired t-test over "
        "documents, p < 0.01 and p < 0.05; ▲: it is worse, p < 0.05. They tell of these runs, of "
        f"{_count(len(grid.seeds), 'seed')} each; what other seeds would give they do not.",
        *notes(results, results.planned("table-1")),
    ]
    return Table(
        name="systems",
        caption=f"Kendall's τ and PMR on the test documents{_how_long(results)}.",
        groups=[(results.called(corpus), METRICS) for corpus in corpora],
        rows=rows,
        ruled=[first] if first else [],
        notes=told,
    )


def table_2(results: Results) -> Table:
    """BERT4SO trained on one corpus, and on several joined."""
    corpora = results.plan.grids["table-2"].corpora
    rows, shown = [], results.planned("table-2")
    for corpus in corpora:
        shown += results.planned("table-1", system="bert4so", corpus=corpus)
        alone = results.finished("table-1", system="bert4so", corpus=corpus)
        joined = results.finished("table-2", corpus=corpus)
        numbers = [(alone, TABLE_1.get(("bert4so", corpus))), (joined, TABLE_2.get(corpus))]
        entries = [_entry(c, m, paper) for c, paper in numbers for m in METRICS]
        rows.append((results.called(corpus), entries))
    return Table(
        name="joined",
        caption=f"BERT4SO trained on each corpus, and on {', '.join(corpora)} "
        f"joined{_how_long(results)}.",
        groups=[("separate", METRICS), ("joined", METRICS)],
        rows=rows,
        notes=["In brackets the paper's own numbers.", *notes(results, shown)],
    )


def table_3(results: Results, statistics: Mapping[str, Statistics]) -> Table:
    """How large the corpora are."""
    corpora = _in_the_papers_order(list(statistics))
    return Table(
        name="statistics",
        caption="The corpora: word pieces of a document at most and on average, and documents.",
        groups=[("", ["Max.", "Avg.", "Train", "Val.", "Test"])],
        rows=[(results.called(name), _sizes(name, statistics[name])) for name in corpora],
        notes=["In brackets the paper's own numbers.", *stand_ins(results, list(statistics))],
    )


def _sizes(corpus: str, own: Statistics) -> list[Entry]:
    paper = TABLE_3.get(corpus)
    entries = []
    for place, form in ((1, "{:,}"), (0, "{:.2f}")):
        theirs = Number(paper.pieces[place], form) if paper else None
        entries.append(Entry(Number(own.pieces[place], form), paper=theirs))
    for split in ("train", "valid", "test"):
        theirs = Number(paper.documents[split], "{:,}") if paper else None
        entries.append(Entry(Number(own.documents.get(split, 0), "{:,}"), paper=theirs))
    return entries


def _in_the_papers_order(corpora: Sequence[str]) -> list[str]:
    """The paper's corpora as it has them, then those of one's own."""
    own = [name for name in corpora if name not in CORPORA]
    return [*(name for name in CORPORA if name in corpora), *own]


def sweep(results: Results, grid: str, key: str, caption: str) -> Table:
    """What one number of BERT4SO is worth; it is chosen on validation."""
    values = results.plan.grids[grid].vary[key]
    runs = {value: results.finished(grid, varied={key: value}) for value in values}
    # There is nothing to choose before all are there, and trained alike.
    worth = {value: _worth(runs[value]) for value in runs if results.decided(grid)}
    rows = []
    for value, cells in runs.items():
        chosen = bool(worth) and worth[value] == max(worth.values())
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
        caption=f"{caption}{_how_long(results)}: the mean and standard deviation over {seeds}"
        f"{', or as many as have been run' if partial else ''}; in bold what validation chooses, "
        f"by τ + PMR. The paper chooses {CHOSEN[key]}.",
        groups=[("validation", METRICS), ("test", METRICS)],
        rows=rows,
        corner=VARIED[key],
        notes=notes(results, results.planned(grid)),
    )


def cost(results: Results) -> Table:
    """What B-TSort costs more than BERT4SO."""
    rows = []
    shown = [
        cell
        for system, corpus in product(("bert4so", "b-tsort"), COST)
        for cell in results.planned("table-1", system=system, corpus=corpus)
    ]
    for corpus in (name for name in COST if name in results.plan.corpora):
        ours = results.finished("table-1", system="bert4so", corpus=corpus)
        theirs = results.finished("table-1", system="b-tsort", corpus=corpus)
        paper, name = Number(COST[corpus], "{}×"), results.called(corpus)
        if not ours or not theirs or not of_one_machine([*ours, *theirs]):
            rows.append((name, [Entry(paper=paper), MISSING, MISSING]))
            continue
        training, *others = (Number(k, "{:.1f}×") for k in cost_ratios(ours[0], theirs[0]))
        rows.append((name, [Entry(training, paper=paper), *map(Entry, others)]))
    return Table(
        name="cost",
        caption="How many times the CPU time of BERT4SO B-TSort takes, with its encoder: to be "
        "trained for as many epochs as each of their papers trains it, for one, and to order the "
        "test documents.",
        groups=[("", ["training", "an epoch of it", "ordering"])],
        rows=rows,
        axis="times the CPU time of BERT4SO",
        notes=[
            "In brackets the paper's own numbers. Of an epoch: the time a token takes, times the "
            "tokens of all training documents.",
            *_read_twice(results),
            *notes(results, shown),
        ],
    )


def _read_twice(results: Results) -> list[str]:
    """Where B-TSort's time is longer than it would be with more memory."""
    kept = results.plan.kept_tokens
    corpora = [
        results.called(corpus)
        for corpus in COST
        for cell in results.finished("table-1", system="b-tsort", corpus=corpus)
        if cell.tokens / cell.steps > kept
    ]
    if not corpora:
        return []
    return [
        f"B-TSort's steps on {', '.join(corpora)} have more than {kept:,} tokens on average. To "
        "use no more memory than the other systems, its encoder recomputes their activations in "
        "the backward pass, which counts as training time."
    ]


def longer(results: Results) -> Table:
    """BERT4SO trained as long as the paper trains it."""
    corpora, rows, shown = results.corpora("long"), [], results.planned("long")
    for corpus in corpora:
        shown += results.planned("table-1", system="bert4so", corpus=corpus)
        short = results.finished("table-1", system="bert4so", corpus=corpus)
        whole = results.finished("long", corpus=corpus)
        paper = TABLE_1.get(("bert4so", corpus))
        minutes = Entry(Number(whole[0].cpu_minutes, "{:.0f}")) if whole else MISSING
        entries = [_entry(short, m, None) for m in METRICS] + [minutes]
        rows.append((results.called(corpus), entries + [_entry(whole, m, paper) for m in METRICS]))
    return Table(
        name="longer",
        caption="BERT4SO trained for all its epochs and tested on all documents, beside what it "
        "has when its time is short, on the sample of Table 1.",
        groups=[("short", METRICS), ("whole", ["minutes", *METRICS])],
        rows=rows,
        notes=["In brackets the paper's own numbers.", *notes(results, shown)],
    )


def _value(scores: Scores, metric: str) -> float:
    return scores.tau if metric == "τ" else 100 * scores.pmr


def _mean(cells: Sequence[FinishedCell], metric: str) -> float | None:
    return fmean(_value(cell.test, metric) for cell in cells) if cells else None


def _worth(cells: Sequence[FinishedCell]) -> float:
    return fmean(cell.valid.tau + cell.valid.pmr for cell in cells)


def _number(value: float, metric: str, spread: float | None = None) -> Number:
    return Number(value, "{:.4f}" if metric == "τ" else "{:.2f}", spread)


def _spread(values: Sequence[float], metric: str) -> Number | None:
    """The mean and standard deviation of some runs; of one run its value."""
    if not values:
        return None
    return _number(fmean(values), metric, stdev(values) if len(values) > 1 else None)


def _entry(cells: Sequence[FinishedCell], metric: str, paper: tuple[float, float] | None) -> Entry:
    theirs = _number(paper[METRICS.index(metric)], metric) if paper else None
    mean = _mean(cells, metric)
    return Entry(None if mean is None else _number(mean, metric), paper=theirs)


def _mark(theirs: Sequence[FinishedCell], ours: Sequence[FinishedCell], metric: str) -> str:
    """Whether BERT4SO is better, or worse, and how surely."""
    if not ours or not theirs or not of_equal_training([*ours, *theirs]):
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


def _how_long(results: Results) -> str:
    minutes = results.plan.minutes
    return f", after {minutes} minutes of training (CPU time by thread)" if minutes else ""
