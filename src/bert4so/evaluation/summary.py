"""The summary of an evaluation: metrics, intervals and shuffles, as data and as a text table."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from bert4so.common.text_table import format_columns
from bert4so.document import Order, inverse
from bert4so.evaluation.intervals import Interval, intervals
from bert4so.evaluation.metrics import METRICS, Metrics, average, consistency, scored_pairs

Pair = tuple[Order, Order]


@dataclass(frozen=True)
class Shuffles:
    """Results over several independent shuffles of the same documents.

    mean, spread: mean and standard deviation of each metric over the shuffles.
    consistency:  share of pairs of shuffles in which a document gets the same order, averaged over
                  documents.
    """

    number: int
    mean: dict[str, float]
    spread: dict[str, float]
    consistency: float


@dataclass(frozen=True)
class Summary:
    """Averages, intervals and, for several shuffles, the variation over shuffles."""

    metrics: Metrics
    intervals: dict[str, Interval]
    shuffles: Shuffles | None = None


def summarize(rounds: Sequence[Sequence[Pair]], count_single: bool = False) -> Summary:
    """The summary of one or more rounds of (predicted, true) orders of the same documents.

    A round is one shuffle of all documents; metrics and intervals are those of the first round.
    """
    metrics = [average(pairs, count_single) for pairs in rounds]
    first_intervals = intervals(rounds[0], count_single)
    if len(rounds) == 1:
        return Summary(metrics[0], first_intervals)
    values = {name: [getattr(one, name) for one in metrics] for name in METRICS}
    shuffles = Shuffles(
        number=len(rounds),
        mean={name: fmean(per_round) for name, per_round in values.items()},
        spread={name: stdev(per_round) for name, per_round in values.items()},
        consistency=mean_consistency(rounds, count_single),
    )
    return Summary(metrics[0], first_intervals, shuffles)


def mean_consistency(rounds: Sequence[Sequence[Pair]], count_single: bool = False) -> float:
    """The consistency over the rounds, averaged over documents."""
    scored = [scored_pairs(pairs, count_single)[0] for pairs in rounds]
    readings = [
        [[inverse(true)[sentence] for sentence in predicted] for predicted, true in pairs]
        for pairs in zip(*scored, strict=True)
    ]
    return sum(map(consistency, readings)) / len(readings)


def rows(summary: Summary) -> list[tuple[str, str, str, str]]:
    """The name, value, interval and meaning of each metric, as text."""
    texts = []
    for name, metric in METRICS.items():
        low, high = (format_metric(name, end) for end in summary.intervals[name])
        value = format_metric(name, getattr(summary.metrics, name))
        texts.append((name, value, f"[{low}, {high}]", metric.meaning))
    return texts


def table(summary: Summary) -> str:
    """The summary as a text table."""
    lines = [["", "", "95 %", ""], *map(list, rows(summary))]
    if shuffles := summary.shuffles:
        lines[0].insert(3, f"{shuffles.number} shuffles")
        for line in lines[1:]:
            name = line[0]
            mean = format_metric(name, shuffles.mean[name])
            line.insert(3, f"{mean} ± {format_metric(name, shuffles.spread[name])}")
        same = f"{100 * shuffles.consistency:.2f}"
        lines.append(["consistency", same, "", "", "pairs of shuffles with the same order"])
    return format_columns(lines, left=(0, len(lines[0]) - 1)) + documents_line(
        summary.metrics.documents, summary.metrics.left_out
    )


def documents_line(documents: int, left_out: int) -> str:
    """The line with the number of documents that the averages cover."""
    of = f" of {documents + left_out}: {left_out} of one sentence left out" if left_out else ""
    return f"documents  {documents}{of}\n"


def format_metric(name: str, value: float) -> str:
    """A metric's value as in papers: tau to four decimals, shares in percent."""
    return f"{value:.4f}" if name == "tau" else f"{100 * value:.2f}"
