"""Whether some runs show that one system is better than another."""

from collections.abc import Sequence
from typing import Literal

from bert4so.evaluation.significance import t_test
from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.results import by_document, differences, epochs_seen

Verdict = Literal["supported", "not supported", "not testable here"]

SURE = 0.05
"""The p-value below which a difference counts."""

UNLEARNED = "it rests on runs that fall behind having seen their documents less than once"
"""Why nothing follows from some numbers: the paper's systems were trained to the end."""


def judged(held: bool | None, numbers: Sequence[str]) -> tuple[Verdict, str]:
    """The verdict on a claim that holds, does not, or rests on runs that learned too little."""
    if held is None:
        return "not testable here", "\n".join([UNLEARNED, *numbers])
    return "supported" if held else "not supported", "\n".join(numbers)


def every(answers: Sequence[bool | None]) -> bool | None:
    """Whether all are so; None where those that are not known decide."""
    return False if False in answers else None if None in answers else True


def known_better(ours: Sequence[FinishedCell], theirs: Sequence[FinishedCell]) -> bool | None:
    """Whether the first are better, surely; None where the others had no time to show it."""
    found = is_better(ours, theirs)
    return found if learned(theirs if found else ours) else None


def learned(cells: Sequence[FinishedCell]) -> bool:
    """Whether what they fall behind by may be held against them."""
    return seen(cells) >= 1


def seen(cells: Sequence[FinishedCell]) -> float:
    """How often they have seen their training documents, at the least."""
    return min(map(epochs_seen, cells))


def is_better(ours: Sequence[FinishedCell], theirs: Sequence[FinishedCell]) -> bool:
    """Whether the first are better by tau, surely."""
    gains = differences(ours, theirs, "τ")
    return bool(t_test(gains) < SURE and gains.mean() > 0)


def compared(what: str, ours: Sequence[FinishedCell], theirs: Sequence[FinishedCell]) -> str:
    """The numbers of such a comparison."""
    one, other = (by_document(cells, "τ").mean() for cells in (ours, theirs))
    p = t_test(differences(ours, theirs, "τ"))
    return (
        f"{what}: τ {one:.4f} against {other:.4f} (p = {p:.2g}; seen {seen(ours):.2f} and "
        f"{seen(theirs):.2f} times)"
    )
