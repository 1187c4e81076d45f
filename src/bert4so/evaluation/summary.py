"""All that is said of how right some orders are, for a person and for a program."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from bert4so.common.text_table import format_columns
from bert4so.document import Order, inverse
from bert4so.evaluation.intervals import Interval, intervals
from bert4so.evaluation.metrics import METRICS, Metrics, average, consistency, counted

Pair = tuple[Order, Order]


@dataclass(frozen=True)
class Shuffles:
    """The same documents shuffled several times, independently.

    mean, spread: of each metric, the mean and the standard deviation over the shuffles.
    consistency:  the share of pairs of shuffles that a document is read alike in, the mean over
                  documents.
    """

    number: int
    mean: dict[str, float]
    spread: dict[str, float]
    consistency: float


@dataclass(frozen=True)
class Summary:
    """Averages, intervals, and how much depends on the shuffle where there were several."""

    metrics: Metrics
    intervals: dict[str, Interval]
    shuffles: Shuffles | None = None


def summarize(rounds: Sequence[Sequence[Pair]], count_single: bool = False) -> Summary:
    """The summary of one or more rounds of (predicted, true) orders of the same documents.

    Metrics and intervals are those of the first.
    """
    metrics = [average(pairs, count_single) for pairs in rounds]
    between = intervals(rounds[0], count_single)
    if len(rounds) == 1:
        return Summary(metrics[0], between)
    values = {name: [getattr(one, name) for one in metrics] for name in METRICS}
    shuffles = Shuffles(
        number=len(rounds),
        mean={name: fmean(some) for name, some in values.items()},
        spread={name: stdev(some) for name, some in values.items()},
        consistency=consistent(rounds, count_single),
    )
    return Summary(metrics[0], between, shuffles)


def consistent(rounds: Sequence[Sequence[Pair]], count_single: bool = False) -> float:
    """How alike the same documents are read, whatever the shuffle."""
    chosen = [counted(pairs, count_single)[0] for pairs in rounds]
    readings = [
        [[inverse(true)[sentence] for sentence in predicted] for predicted, true in pairs]
        for pairs in zip(*chosen, strict=True)
    ]
    return sum(map(consistency, readings)) / len(readings)


def rows(summary: Summary) -> list[tuple[str, str, str, str]]:
    """Each metric as text: its name, its value, its interval, and what it is."""
    lines = []
    for name, metric in METRICS.items():
        low, high = (shown(name, end) for end in summary.intervals[name])
        value = shown(name, getattr(summary.metrics, name))
        lines.append((name, value, f"[{low}, {high}]", metric.meaning))
    return lines


def table(summary: Summary) -> str:
    """The summary for a terminal."""
    lines = [["", "", "95 %", ""], *map(list, rows(summary))]
    if shuffles := summary.shuffles:
        lines[0].insert(3, f"{shuffles.number} shuffles")
        for line in lines[1:]:
            name = line[0]
            mean, spread = shown(name, shuffles.mean[name]), shown(name, shuffles.spread[name])
            line.insert(3, f"{mean} ± {spread}")
        same = f"{100 * shuffles.consistency:.2f}"
        lines.append(["consistency", same, "", "", "pairs of shuffles read alike"])
    return format_columns(lines, left=(0, len(lines[0]) - 1)) + counted_line(
        summary.metrics.documents, summary.metrics.left_out
    )


def counted_line(documents: int, left_out: int) -> str:
    """How many documents the averages are over, of how many there were."""
    of = f" of {documents + left_out}: {left_out} of one sentence left out" if left_out else ""
    return f"documents  {documents}{of}\n"


def shown(name: str, value: float) -> str:
    """A metric's value as papers print it: tau to four places, shares of 1 in per cent."""
    return f"{value:.4f}" if name == "tau" else f"{100 * value:.2f}"
