"""The table of all kinds, for people and as JSON."""

from collections.abc import Sequence
from typing import Any

from torture.runner import Tally
from torture.trial import Verdict

HEAD = ("kind", "tried", "held", "refused", "failed", "seconds")


def table(tallies: Sequence[Tally]) -> str:
    """One line per kind, and one of the sums."""
    rows = [_row(tally.kind.what, [tally]) for tally in tallies]
    rows = [HEAD, *rows, _row("all", tallies)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    return "".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + "\n"
        for row in rows
    )


def _row(what: str, tallies: Sequence[Tally]) -> tuple[str, ...]:
    counts = [sum(tally.counts[verdict] for tally in tallies) for verdict in Verdict]
    seconds = sum(tally.seconds for tally in tallies)
    return (what, *(f"{count:,}" for count in (sum(counts), *counts)), f"{seconds:.0f}")


def facts(tallies: Sequence[Tally]) -> list[dict[str, Any]]:
    """The same as JSON, with the failures and how to reproduce them."""
    return [
        {
            "kind": tally.kind.name,
            "what": tally.kind.what,
            "trials": tally.trials,
            "tried": sum(tally.counts.values()),
            **{verdict.value: tally.counts[verdict] for verdict in Verdict},
            "seconds": round(tally.seconds),
            "failures": [
                {"what": note, "reproduce": tally.reproduce(number)}
                for number, note in tally.failures
            ],
        }
        for tally in tallies
    ]
