"""What the paper claims, held against what was found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from bert4so.experiments.paper import COST
from bert4so.experiments.tables import (
    Facts,
    Results,
    by_document,
    epoch_seconds,
    ordering_seconds,
)
from bert4so.significance import t_test

Verdict = Literal["supported", "not supported", "not testable here"]
SURE = 0.05
"""The p-value below which a difference counts."""


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
    margin = results.finished("losses", system="bert4so")
    plain = results.finished("losses", system="bert4so-list-mle")
    if not margin or not plain:
        return "not testable here", "the runs have not been made"
    return _better(margin, plain, "NeurIPS, margin against plain")


def _faster(results: Results) -> tuple[Verdict, str]:
    margin = results.finished("losses", system="bert4so")
    plain = results.finished("losses", system="bert4so-list-mle")
    if not margin or not plain:
        return "not testable here", "the runs have not been made"
    # The mean over all validations of a run: the higher, the sooner it was good.
    one, other = (fmean(map(_mean_curve, runs)) for runs in (margin, plain))
    sure = min(map(_mean_curve, margin)) > max(map(_mean_curve, plain))
    numbers = (
        f"validation τ, the mean over a run, {one:.4f} against {other:.4f} over "
        f"{len(margin)} and {len(plain)} seeds"
    )
    return ("supported" if sure else "not supported"), numbers


def _interaction(results: Results) -> tuple[Verdict, str]:
    verdicts, numbers = [], []
    for corpus in results.corpora("table-1"):
        ours = results.finished("table-1", system="bert4so", corpus=corpus)
        theirs = results.finished("table-1", system="rank-tx-net", corpus=corpus)
        if ours and theirs:
            verdict, number = _better(ours, theirs, corpus)
            verdicts.append(verdict == "supported")
            numbers.append(number)
    return _most(verdicts), "; ".join(numbers) or "the runs have not been made"


def _joining(results: Results) -> tuple[Verdict, str]:
    verdicts, numbers = [], []
    corpora = results.corpora("table-2")
    for corpus in corpora:
        alone = results.finished("table-1", system="bert4so", corpus=corpus)
        joined = results.finished("table-2", corpus=corpus)
        if alone and joined:
            better, worse = (alone, joined) if corpus == "NSF" else (joined, alone)
            verdicts.append(_better(better, worse, corpus)[0] == "supported")
            numbers.append(_better(joined, alone, f"{corpus}, joined against separate")[1])
    if len(verdicts) < max(1, len(corpora)):
        return "not testable here", "; ".join(["not all runs have been made", *numbers])
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
                f"{corpus}: {training:.1f}× the training time (the paper: {paper}×), "
                f"{ordering:.1f}× the ordering time"
            )
    return _most([ratio >= 2 for ratio in ratios]), "; ".join(numbers) or "not yet run"


def _better(ours: Sequence[Facts], theirs: Sequence[Facts], what: str) -> tuple[Verdict, str]:
    """Whether the first are better by tau, surely."""
    one, other = by_document(ours, "τ"), by_document(theirs, "τ")
    p = t_test(one - other)
    sure = p < SURE and one.mean() > other.mean()
    numbers = f"{what}: τ {one.mean():.4f} against {other.mean():.4f} (p = {p:.2g})"
    return ("supported" if sure else "not supported"), numbers


def _most(verdicts: Sequence[bool]) -> Verdict:
    if not verdicts:
        return "not testable here"
    return "supported" if sum(verdicts) > len(verdicts) / 2 else "not supported"


def _mean_curve(cell: Facts) -> float:
    return fmean(validation["tau"] for validation in cell["validations"])
