"""Figures of an evaluation, as SVG to be put into a page, whose text color they take."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy.special import stdtrit

from bert4so.document import inverse
from bert4so.evaluation.calibration import Bin
from bert4so.evaluation.evaluate import Prediction
from bert4so.evaluation.metrics import kendall_tau

INK = "#010101"
"""Stands for the text color of the page until the figure is text."""

BLUE, ORANGE = "#3f8ccb", "#d97a2b"
"""Legible on white and on black."""

STYLE: dict[Any, object] = {
    **dict.fromkeys(["text.color", "axes.labelcolor", "axes.edgecolor"], INK),
    **dict.fromkeys(["xtick.color", "ytick.color"], INK),
    "font.sans-serif": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "bert4so",
}

SIZE = (4.6, 4.4)
TENTHS = 10
MOST_NUMBERED = 12
"""Heat maps with more rows than this have no numbers in their cells: they would not fit."""


@dataclass(frozen=True)
class Length:
    """The documents of n sentences: how many, their mean tau, and the ends of its 95 % interval.

    The interval is Student's, within what tau can be; for a single document there is none.
    """

    n: int
    documents: int
    tau: float
    interval: tuple[float, float] | None


def tau_by_length(solved: Sequence[Prediction]) -> list[Length]:
    """The mean tau of documents with equally many sentences, from few sentences to many."""
    taus = defaultdict[int, list[float]](list)
    for one in solved:
        taus[len(one.puzzle.sentences)].append(kendall_tau(*one.orders))
    return [_length(n, taus[n]) for n in sorted(taus)]


def _length(n: int, taus: Sequence[float]) -> Length:
    mean, count = float(np.mean(taus)), len(taus)
    if count == 1:
        return Length(n, count, mean, None)
    half = stdtrit(count - 1, 0.975) * np.std(taus, ddof=1) / count**0.5
    return Length(n, count, mean, (max(-1.0, float(mean - half)), min(1.0, float(mean + half))))


def tenths(solved: Sequence[Prediction]) -> NDArray[np.float64]:
    """(10, 10) how much of each tenth of a true text (row) is read in each tenth of that found.

    Every sentence takes an equal share of its text, and is spread evenly over the tenths that this
    share lies in, so that documents of all lengths can be added. Every document weighs the same;
    rows sum to 1. By chance all shares are 1/10.
    """
    shares = np.zeros((TENTHS, TENTHS))
    for one in solved:
        predicted, true = one.orders
        n = len(true)
        # A text in 10 n slices, of which ten are a sentence and n are a tenth.
        slices, lies = np.arange(TENTHS * n), np.zeros((n, TENTHS))
        np.add.at(lies, (slices // TENTHS, slices // n), 1)
        found = np.array(inverse(predicted))[true]
        shares += (lies / n).T @ (lies[found] / TENTHS)
    return shares / len(solved)


def usual_length(solved: Sequence[Prediction]) -> int:
    """The most frequent number of sentences; the smallest of those equally frequent."""
    counts = Counter(len(one.puzzle.sentences) for one in solved)
    return min(counts, key=lambda n: (-counts[n], n))


def places(solved: Sequence[Prediction], n: int) -> NDArray[np.float64]:
    """(n, n) how often the sentence of each true place (row) is read at each place; rows sum to 1.

    Over the documents of n sentences.
    """
    shares = np.zeros((n, n))
    of_n = [one.orders for one in solved if len(one.puzzle.sentences) == n]
    for predicted, true in of_n:
        shares[np.arange(n), np.array(inverse(predicted))[true]] += 1
    return shares / len(of_n)


@rc_context(STYLE)
def tau_figure(lengths: Sequence[Length]) -> str:
    """Mean tau with its interval against the number of sentences, and the number of documents."""
    figure, above, below = _panels()
    n = [one.n for one in lengths]
    above.axhline(0, color=INK, linewidth=0.8, linestyle=":")
    for one in lengths:
        above.plot([one.n] * 2, one.interval or [one.tau] * 2, color=BLUE)
    above.plot(n, [one.tau for one in lengths], "o", color=BLUE)
    above.set_ylabel("τ", rotation=0)
    below.bar(n, [one.documents for one in lengths], width=0.6, color=BLUE)
    below.set(xlabel="sentences", xlim=(min(n) - 0.6, max(n) + 0.6))
    below.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    told = ", ".join(f"{one.n}: {one.tau:.2f}" for one in lengths)
    return _svg(figure, "tau", f"Mean tau by number of sentences: {told}")


@rc_context(STYLE)
def places_figure(shares: NDArray[np.float64], name: str, unit: str) -> str:
    """A heat map of true against predicted place, in percent; `unit` is what a row stands for."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes, n = figure.subplots(), len(shares)
    shades = LinearSegmentedColormap.from_list("", [to_rgba(BLUE, 0), to_rgba(BLUE, 0.8)])
    edges = np.arange(n + 1) + 0.5
    axes.pcolormesh(edges, edges, shares, cmap=shades, vmin=0, edgecolor=(INK, 0.15), linewidth=0.5)
    for row, column in np.ndindex(n, n) if n <= MOST_NUMBERED else ():
        percent = f"{100 * shares[row, column]:.0f}"
        axes.text(column + 1, row + 1, percent, ha="center", va="center_baseline", size=9)
    axes.set(xlabel=f"predicted {unit}", ylabel=f"true {unit}", aspect="equal")
    axes.invert_yaxis()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=MOST_NUMBERED, min_n_ticks=1))
    told = ", ".join(str(place + 1) for place in shares.argmax(1))
    return _svg(figure, name, f"For each true {unit}, the one predicted most often: {told}")


@rc_context(STYLE)
def calibration_figure(before: Sequence[Bin], after: Sequence[Bin]) -> str:
    """The share of right orders against confidence; `after` a temperature, where there is one."""
    figure, above, below = _panels()
    above.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
    # Bars stand to the left and to the right of the mark above them, not in front of each other.
    _bins(above, below, before, "as given", "o", BLUE, -0.02)
    if after:
        _bins(above, below, after, "with temperature", "s", ORANGE, 0.02)
    above.set(ylabel="share exactly right", ylim=(-0.05, 1.05))
    above.legend(frameon=False, loc="upper left")
    below.set(xlabel="confidence", xlim=(-0.05, 1.05))
    told = ", ".join(f"{one.confidence:.2f}: {one.right:.2f}" for one in before)
    return _svg(figure, "calibration", f"Share of right orders by confidence: {told}")


def _bins(
    above: Axes, below: Axes, bins: Sequence[Bin], name: str, mark: str, color: str, width: float
) -> None:
    sure = [one.confidence for one in bins]
    above.plot(sure, [one.right for one in bins], mark, color=color, label=name)
    below.bar(sure, [one.documents for one in bins], width, align="edge", color=color)


def _panels() -> tuple[Figure, Axes, Axes]:
    """A figure with a panel above, and a lower one below it for the number of documents."""
    figure = Figure(figsize=SIZE, layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
    below.set(ylabel="documents")
    below.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=3))
    return figure, above, below


def _svg(figure: Figure, name: str, told: str) -> str:
    """The figure as an SVG element; `name` keeps its ids apart from those of other figures."""
    text = StringIO()
    nothing = dict.fromkeys(["Date", "Creator", "Format", "Type"])
    figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(told)}"', 1).strip()
