"""Figures of an evaluation, as SVG elements that inherit the text color of the page."""

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
"""Placeholder color that is replaced by the text color of the page."""

BLUE, ORANGE = "#3f8ccb", "#d97a2b"
"""Readable on white and on black."""

STYLE: dict[Any, object] = {
    **dict.fromkeys(["text.color", "axes.labelcolor", "axes.edgecolor"], INK),
    **dict.fromkeys(["xtick.color", "ytick.color"], INK),
    "font.sans-serif": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "bert4so",
}

SIZE_INCHES = (4.6, 4.4)
POSITION_BINS = 10
MAX_LABELED_ROWS = 12
"""Heat maps with more rows have no numbers in their cells, because they would not fit."""


@dataclass(frozen=True)
class LengthGroup:
    """The documents with n sentences: their number, mean tau, and its 95 % interval.

    The interval is Student's, clipped to the range of tau; None for a single document.
    """

    n: int
    documents: int
    tau: float
    interval: tuple[float, float] | None


def tau_by_length(predictions: Sequence[Prediction]) -> list[LengthGroup]:
    """The mean tau per number of sentences, sorted by number of sentences."""
    taus = defaultdict[int, list[float]](list)
    for one in predictions:
        taus[len(one.puzzle.sentences)].append(kendall_tau(*one.orders))
    return [_length_group(n, taus[n]) for n in sorted(taus)]


def _length_group(n: int, taus: Sequence[float]) -> LengthGroup:
    mean, count = float(np.mean(taus)), len(taus)
    if count == 1:
        return LengthGroup(n, count, mean, None)
    half = stdtrit(count - 1, 0.975) * np.std(taus, ddof=1) / count**0.5
    low, high = max(-1.0, float(mean - half)), min(1.0, float(mean + half))
    return LengthGroup(n, count, mean, (low, high))


def position_shares(predictions: Sequence[Prediction]) -> NDArray[np.float64]:
    """(10, 10) the share of each tenth of the true text (row) in each tenth of the predicted text.

    Every sentence covers an equal share of its text, spread evenly over the tenths that it
    overlaps, so that documents of all lengths can be averaged. Every document has the same weight;
    rows sum to 1. By chance, all shares are 1/10.
    """
    shares = np.zeros((POSITION_BINS, POSITION_BINS))
    for one in predictions:
        predicted, true = one.orders
        n = len(true)
        # Cut the text into 10 n slices: ten slices are a sentence, n slices are a tenth.
        slices, overlap = np.arange(POSITION_BINS * n), np.zeros((n, POSITION_BINS))
        np.add.at(overlap, (slices // POSITION_BINS, slices // n), 1)
        places = np.array(inverse(predicted))[true]
        shares += (overlap / n).T @ (overlap[places] / POSITION_BINS)
    return shares / len(predictions)


def most_frequent_length(predictions: Sequence[Prediction]) -> int:
    """The most frequent number of sentences; the smallest if several are equally frequent."""
    counts = Counter(len(one.puzzle.sentences) for one in predictions)
    return min(counts, key=lambda n: (-counts[n], n))


def place_shares(predictions: Sequence[Prediction], n: int) -> NDArray[np.float64]:
    """(n, n) how often the sentence at each true place (row) is predicted at each place (column).

    Over the documents with n sentences; rows sum to 1.
    """
    shares = np.zeros((n, n))
    of_n = [one.orders for one in predictions if len(one.puzzle.sentences) == n]
    for predicted, true in of_n:
        shares[np.arange(n), np.array(inverse(predicted))[true]] += 1
    return shares / len(of_n)


@rc_context(STYLE)
def tau_figure(lengths: Sequence[LengthGroup]) -> str:
    """Mean tau and its interval by number of sentences, and the number of documents."""
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
    values = ", ".join(f"{one.n}: {one.tau:.2f}" for one in lengths)
    return _svg(figure, "tau", f"Mean tau by number of sentences: {values}")


@rc_context(STYLE)
def places_figure(shares: NDArray[np.float64], name: str, unit: str) -> str:
    """Heat map of true against predicted place, in percent; `unit` names what a row shows."""
    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    axes, n = figure.subplots(), len(shares)
    shades = LinearSegmentedColormap.from_list("", [to_rgba(BLUE, 0), to_rgba(BLUE, 0.8)])
    edges = np.arange(n + 1) + 0.5
    axes.pcolormesh(edges, edges, shares, cmap=shades, vmin=0, edgecolor=(INK, 0.15), linewidth=0.5)
    for row, column in np.ndindex(n, n) if n <= MAX_LABELED_ROWS else ():
        percent = f"{100 * shares[row, column]:.0f}"
        axes.text(column + 1, row + 1, percent, ha="center", va="center_baseline", size=9)
    axes.set(xlabel=f"predicted {unit}", ylabel=f"true {unit}", aspect="equal")
    axes.invert_yaxis()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=MAX_LABELED_ROWS, min_n_ticks=1))
    most_frequent = ", ".join(str(place + 1) for place in shares.argmax(1))
    return _svg(figure, name, f"Most frequent prediction for each true {unit}: {most_frequent}")


@rc_context(STYLE)
def calibration_figure(before: Sequence[Bin], after: Sequence[Bin]) -> str:
    """The share of correct orders by confidence, before and, if fitted, after a temperature."""
    figure, above, below = _panels()
    above.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
    # Bars are drawn left and right of the marker above them, so that they do not overlap.
    _bins(above, below, before, "unscaled", "o", BLUE, -0.02)
    if after:
        _bins(above, below, after, "with temperature", "s", ORANGE, 0.02)
    above.set(ylabel="share of correct orders", ylim=(-0.05, 1.05))
    above.legend(frameon=False, loc="upper left")
    below.set(xlabel="confidence", xlim=(-0.05, 1.05))
    values = ", ".join(f"{one.confidence:.2f}: {one.right:.2f}" for one in before)
    return _svg(figure, "calibration", f"Share of correct orders by confidence: {values}")


def _bins(
    above: Axes, below: Axes, bins: Sequence[Bin], name: str, mark: str, color: str, width: float
) -> None:
    confidences = [one.confidence for one in bins]
    above.plot(confidences, [one.right for one in bins], mark, color=color, label=name)
    below.bar(confidences, [one.documents for one in bins], width, align="edge", color=color)


def _panels() -> tuple[Figure, Axes, Axes]:
    """A figure with a main panel, and a small panel below it for the number of documents."""
    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
    below.set(ylabel="documents")
    below.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=3))
    return figure, above, below


def _svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an SVG element; `name` makes its ids differ from those of other figures."""
    text = StringIO()
    no_metadata = dict.fromkeys(["Date", "Creator", "Format", "Type"])
    figure.savefig(text, format="svg", transparent=True, metadata=no_metadata)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1).strip()
