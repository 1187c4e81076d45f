"""Verdicts: do the runs show that one system is better than another?"""

from collections.abc import Sequence
from typing import Literal

from bert4so.evaluation.significance import t_test
from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.results import by_document, differences, epochs_seen

Verdict = Literal["supported", "not supported", "not testable here"]

MAX_P = 0.05
"""A difference is significant if its p-value is below."""

TOO_FEW_EPOCHS = "it depends on weaker runs that were trained for less than one epoch"
"""Why a claim is not testable: the paper trained its systems to the end."""


def verdict(claim: bool | None, numbers: Sequence[str]) -> tuple[Verdict, str]:
    """The verdict on a claim that is true, false, or None: the weaker runs trained too little."""
    if claim is None:
        return "not testable here", "\n".join([TOO_FEW_EPOCHS, *numbers])
    return "supported" if claim else "not supported", "\n".join(numbers)


def all_true(answers: Sequence[bool | None]) -> bool | None:
    """Whether all answers are true; None if that depends on unknown ones."""
    return False if False in answers else None if None in answers else True


def known_better(ours: Sequence[FinishedCell], theirs: Sequence[FinishedCell]) -> bool | None:
    """Whether ours are significantly better; None if the weaker side trained too little."""
    better = is_better(ours, theirs)
    return better if trained_enough(theirs if better else ours) else None


def trained_enough(cells: Sequence[FinishedCell]) -> bool:
    """Whether all cells have seen their training documents at least once."""
    return min_epochs(cells) >= 1


def min_epochs(cells: Sequence[FinishedCell]) -> float:
    """The smallest number of epochs of the cells."""
    return min(map(epochs_seen, cells))


def is_better(ours: Sequence[FinishedCell], theirs: Sequence[FinishedCell]) -> bool:
    """Whether ours have a significantly higher tau."""
    gains = differences(ours, theirs, "τ")
    return bool(t_test(gains) < MAX_P and gains.mean() > 0)


def comparison(what: str, ours: Sequence[FinishedCell], theirs: Sequence[FinishedCell]) -> str:
    """A line with the mean tau of both sides, the p-value, and the epochs."""
    one, other = (by_document(cells, "τ").mean() for cells in (ours, theirs))
    p = t_test(differences(ours, theirs, "τ"))
    return (
        f"{what}: τ {one:.4f} against {other:.4f} (p = {p:.2g}; {min_epochs(ours):.2f} and "
        f"{min_epochs(theirs):.2f} epochs)"
    )
