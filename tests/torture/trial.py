"""Trials, and what they come to."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

from torture.commands import Result
from torture.workspace import Workspace


class Verdict(StrEnum):
    """Whether a promise was kept.

    held:    the command succeeded, and everything it answered is correct.
    refused: one clear line, exit code 2, and nothing changed.
    failed:  anything else.
    """

    held = "held"
    refused = "refused"
    failed = "failed"


@dataclass(frozen=True)
class Outcome:
    """The verdict on a number of tries (kills, documents, files) of one trial."""

    verdict: Verdict
    note: str = ""
    tries: int = 1


HELD = Outcome(Verdict.held)
REFUSED = Outcome(Verdict.refused)


def verdict(result: Result) -> Outcome:
    """The outcome of a command that kept its promise."""
    return REFUSED if result.code else HELD


def failed(note: str, tries: int = 1) -> Outcome:
    return Outcome(Verdict.failed, note, tries)


@dataclass(frozen=True)
class Trial:
    """What a trial is given; it depends on the kind, the seed and its number only.

    folder: empty, and deleted afterwards.
    rng:    seeded by the kind, the seed and the number.
    """

    workspace: Workspace
    folder: Path
    rng: Random
    seed: int
    number: int


@dataclass(frozen=True)
class Kind:
    """A kind of trial.

    trials: the number of trials in a complete run.
    sample: the number of trials in `make test`.
    """

    name: str
    what: str
    trials: int
    sample: int
    run: Callable[[Trial], Iterable[Outcome]]
