"""What the paper claims, held against what was found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from bert4so.experiments.paper import COST, TITLES
from bert4so.experiments.tables import (
    Facts,
    Results,
    by_document,
    epoch_seconds,
    epochs_seen,
    ordering_seconds,
)
from bert4so.significance import t_test

Verdict = Literal["supported", "not supported", "not testable here"]
NOT_MADE: tuple[Verdict, str] = ("not testable here", "the runs have not been made")
SURE = 0.05
"""The p-value below which a difference counts."""

MANY = 3
"""How many times as much is "many times" as much."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it is borne out, and by which numbers."""

    text: str
    verdict: Verdict
    numbers: str


def claims(results: Results) -> list[Claim]:
    """All claims that the experiment was made for."""
    made: list[tuple[str, Callable[[Results], tuple[Verdict, str]]]] = [
        ("The margin in ListMLE helps where there is little to learn from (NeurIPS).", _margin),
        ("The margin makes training converge faster.", _faster),
        ("Letting the tokens of all sentences interact is better than RankTxNet.", _interaction),
        ("Joining corpora helps the small ones and hurts NSF.", _joining),
        ("B-TSort costs many times as much.", _cost),
    ]
    return [Claim(text, *found(results)) for text, found in made]


def _margin(results: Results) -> tuple[Verdict, str]:
    margin, plain = _losses(results)
    if not margin or not plain:
        return NOT_MADE
    gains = [
        one["metrics"]["test"]["tau"] - other["metrics"]["test"]["tau"]
        for one, other in zip(margin, plain, strict=True)
    ]
    verdict, numbers = _better(margin, plain, "NeurIPS, margin against plain")
    told = ", ".join(f"{gain:+.4f}" for gain in gains)
    # Documents are many and seeds are few: it has to hold for each.
    sure = verdict == "supported" and min(gains) > 0
    return ("supported" if sure else "not supported"), f"{numbers}; by seed {told}"


def _faster(results: Results) -> tuple[Verdict, str]:
    margin, plain = _losses(results)
    if not margin or not plain:
        return NOT_MADE
    # The mean over all validations of a run: the higher, the sooner it was good.
    one, other = (fmean(map(_mean_curve, runs)) for runs in (margin, plain))
    sure = min(map(_mean_curve, margin)) > max(map(_mean_curve, plain))
    numbers = (
        f"validation τ, the mean over a run, {one:.4f} against {other:.4f} over {len(margin)} "
        f"seeds each; {'every' if sure else 'not every'} run with the margin is above all without"
    )
    return ("supported" if sure else "not supported"), numbers


def _losses(results: Results) -> list[list[Facts]]:
    """The runs with the margin and without, where all are there, seed by seed."""
    return [results.complete("losses", system=s) for s in ("bert4so", "bert4so-list-mle")]


def _interaction(results: Results) -> tuple[Verdict, str]:
    verdicts, numbers = [], []
    corpora = results.corpora("table-1")
    for corpus in corpora:
        theirs = results.finished("table-1", system="rank-tx-net", corpus=corpus)
        # Against either loss: RankTxNet's is plain ListMLE.
        for system in ("bert4so", "bert4so-list-mle"):
            ours = results.finished("table-1", system=system, corpus=corpus)
            if ours and theirs:
                what = f"{TITLES[system]} on {results.called(corpus)}"
                verdict, number = _better(ours, theirs, what)
                verdicts += [verdict == "supported"] if system == "bert4so" else []
                numbers.append(number)
    return _of_all(verdicts, len(corpora)), "; ".join(numbers) or NOT_MADE[1]


def _joining(results: Results) -> tuple[Verdict, str]:
    verdicts, numbers, seen = [], [], []
    corpora = results.corpora("table-2")
    for corpus in corpora:
        alone = results.finished("table-1", system="bert4so", corpus=corpus)
        joined = results.finished("table-2", corpus=corpus)
        if alone and joined:
            better, worse = (alone, joined) if corpus == "NSF" else (joined, alone)
            verdicts.append(_better(better, worse, corpus)[0] == "supported")
            name = results.called(corpus)
            numbers.append(_better(joined, alone, f"{name}, joined against separate")[1])
            seen.append(epochs_seen(joined[0]))
    if len(verdicts) < max(1, len(corpora)):
        return "not testable here", "; ".join(["not all runs have been made", *numbers])
    if min(seen) < 1:
        why = (
            f"in equal time the joined corpora are seen {min(seen):.2f} times, so that less is "
            "seen of each than where it is alone"
        )
        return "not testable here", "; ".join([why, *numbers])
    return ("supported" if all(verdicts) else "not supported"), "; ".join(numbers)


def _cost(results: Results) -> tuple[Verdict, str]:
    ratios, numbers = [], []
    for corpus, paper in COST.items():
        ours = results.finished("table-1", system="bert4so", corpus=corpus)
        theirs = results.finished("table-1", system="b-tsort", corpus=corpus)
        if ours and theirs:
            training = epoch_seconds(theirs[0]) / epoch_seconds(ours[0])
            ordering = ordering_seconds(theirs[0]) / ordering_seconds(ours[0])
            ratios.append(training)
            numbers.append(
                f"{results.called(corpus)}: {training:.1f}× the time for an epoch (the paper: "
                f"{paper}× the training time), {ordering:.1f}× the ordering time"
            )
    verdict = _of_all([ratio >= MANY for ratio in ratios], len(COST))
    return verdict, "; ".join(numbers) or NOT_MADE[1]


def _better(ours: Sequence[Facts], theirs: Sequence[Facts], what: str) -> tuple[Verdict, str]:
    """Whether the first are better by tau, surely."""
    one, other = by_document(ours, "τ"), by_document(theirs, "τ")
    p = t_test(one - other)
    sure = p < SURE and one.mean() > other.mean()
    numbers = f"{what}: τ {one.mean():.4f} against {other.mean():.4f} (p = {p:.2g})"
    return ("supported" if sure else "not supported"), numbers


def _of_all(verdicts: Sequence[bool], wanted: int) -> Verdict:
    """What holds for most of them, where all are known."""
    if len(verdicts) < max(1, wanted):
        return "not testable here"
    return "supported" if sum(verdicts) > len(verdicts) / 2 else "not supported"


def _mean_curve(cell: Facts) -> float:
    return fmean(validation["tau"] for validation in cell["validations"])
