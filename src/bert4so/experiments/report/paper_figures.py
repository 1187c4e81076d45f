"""Figures of an experiment."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import XAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.report.paper_numbers import TITLES
from bert4so.experiments.report.table import Number, Table
from bert4so.experiments.results import Results, ordering_seconds
from bert4so.experiments.store import TIMED_LENGTHS

STYLE: dict[Any, object] = {
    "font.sans-serif": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": "small",
}
COLORS = [*(f"C{k}" for k in range(10)), "black"]
COLUMN_OFFSET_ROWS = 0.1
"""Vertical distance between the columns of a table in its figure, in rows."""

MIN_DOCUMENTS_PER_LENGTH = 10
"""Lengths with fewer documents are not shown, because their mean is mostly noise."""


def save(draw: Callable[[Axes], None], path: Path) -> None:
    """Draw a figure and write it."""
    with rc_context(STYLE):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.subplots())
        figure.savefig(path, dpi=130, metadata={"Software": None})


def table_figure(table: Table, shown: Sequence[str]) -> Callable[[Axes], None]:
    """The numbers of the shown columns of a table, row by row; the paper's are hollow."""

    def draw(axes: Axes) -> None:
        columns = [(group or column, column) for group, names in table.groups for column in names]
        selected = [k for k, (_, column) in enumerate(columns) if column in shown]
        for number, k in enumerate(selected):
            entries = [row[k] for _, row in table.rows]
            color, label = f"C{number}", columns[k][0]
            offset = COLUMN_OFFSET_ROWS * (number - (len(selected) - 1) / 2)
            _dots(axes, [entry.own for entry in entries], offset, color=color, label=label)
            _dots(axes, [entry.paper for entry in entries], offset, color=color, fillstyle="none")
        axes.set_yticks(range(len(table.rows)), [name for name, _ in table.rows])
        axes.set(xlabel=table.axis or shown[0], ylabel=table.corner)
        axes.set_ylim(len(table.rows) - 0.5, -0.5)
        axes.grid(axis="y", alpha=0.3)
        _legend(axes)

    return draw


def _dots(axes: Axes, numbers: Sequence[Number | None], offset: float, **style: Any) -> None:
    """A dot for each row with a number, with an error bar if it has a spread."""
    dots = [(one.value, y, one.spread or 0.0) for y, one in enumerate(numbers) if one is not None]
    axes.errorbar(
        [x for x, _, _ in dots],
        [y + offset for _, y, _ in dots],
        xerr=[spread for _, _, spread in dots],
        fmt="o",
        **style,
    )


def minutes_figure(results: Results, corpus: str) -> Callable[[Axes], None]:
    """Validation tau by minutes of training, for all systems."""

    def draw(axes: Axes) -> None:
        for cell in results.finished("table-1", corpus=corpus):
            minutes = [validation.minutes for validation in cell.validations]
            taus = [validation.tau for validation in cell.validations]
            axes.plot(minutes, taus, **_line(results, cell))
        axes.set(xlabel="minutes of training (CPU time per thread)", ylabel="validation τ")
        _legend(axes)

    return draw


def steps_figure(results: Results, grid: str) -> Callable[[Axes], None]:
    """Validation tau of BERT4SO by step, for both losses, one line per seed."""

    def draw(axes: Axes) -> None:
        losses = {"bert4so": ("margin ListMLE", "C0"), "bert4so-list-mle": ("ListMLE", "C1")}
        for system, (loss, color) in losses.items():
            for number, cell in enumerate(results.finished(grid, system=system)):
                steps = [validation.step for validation in cell.validations]
                taus = [validation.tau for validation in cell.validations]
                axes.plot(steps, taus, color=color, marker=".", label=None if number else loss)
        axes.set(xlabel="steps", ylabel="validation τ")
        _legend(axes)

    return draw


def sentences_figure(results: Results, corpus: str) -> Callable[[Axes], None]:
    """Test tau by number of sentences."""

    def draw(axes: Axes) -> None:
        for cell in results.finished("table-1", corpus=corpus):
            taus = tau_by_length(cell.lengths, cell.taus)
            axes.plot(list(taus), list(taus.values()), **_line(results, cell))
        axes.set(xlabel="sentences per document", ylabel="test τ")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        _legend(axes)

    return draw


def speed_figure(results: Results, corpus: str) -> Callable[[Axes], None]:
    """Test tau by documents ordered per second."""

    def draw(axes: Axes) -> None:
        for cell in results.finished("table-1", corpus=corpus):
            dot = {**_line(results, cell), "marker": "o", "linestyle": ""}
            axes.plot(1 / ordering_seconds(cell), cell.test.tau, **dot)
        xlabel = "documents per second (CPU time per thread)"
        axes.set(xlabel=xlabel, ylabel="test τ", xscale="log")
        _plain_numbers(axes.xaxis)
        _legend(axes)

    return draw


def time_figure(results: Results, corpus: str) -> Callable[[Axes], None]:
    """The time to order a document by its number of sentences."""

    def draw(axes: Axes) -> None:
        for cell in results.finished("table-1", corpus=corpus):
            seconds = cell.seconds_for
            axes.plot(list(seconds), list(seconds.values()), **_line(results, cell))
        ylabel = "seconds per document (CPU time per thread)"
        axes.set(xlabel="sentences", ylabel=ylabel, xscale="log", yscale="log")
        axes.set_xticks(TIMED_LENGTHS, [str(n) for n in TIMED_LENGTHS], minor=False)
        axes.xaxis.set_minor_formatter(NullFormatter())
        _legend(axes)

    return draw


def lengths(results: Results, corpus: str) -> set[int]:
    """The numbers of sentences with enough test documents."""
    cells = results.finished("table-1", corpus=corpus)
    return {n for cell in cells for n in tau_by_length(cell.lengths, cell.taus)}


def tau_by_length(lengths: Sequence[int], taus: Sequence[float]) -> dict[int, float]:
    """The mean tau by number of sentences, for numbers with enough documents."""
    by_length = defaultdict[int, list[float]](list)
    for n, tau in zip(lengths, taus, strict=True):
        by_length[n].append(tau)
    enough = MIN_DOCUMENTS_PER_LENGTH
    return {n: fmean(taus) for n, taus in sorted(by_length.items()) if len(taus) >= enough}


def _line(results: Results, cell: FinishedCell) -> dict[str, Any]:
    """The style of a system's line; its color does not depend on which systems are finished."""
    number = list(results.plan.systems).index(cell.system)
    label = TITLES.get(cell.system, cell.system)
    return {"label": label, "color": COLORS[number % len(COLORS)], "marker": "."}


def _plain_numbers(axis: XAxis) -> None:
    """Label a logarithmic axis with plain numbers, few enough to be readable."""
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(LogLocator(subs=(2, 5)))
    axis.set_minor_formatter("{x:g}")


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
