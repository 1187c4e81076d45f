"""What the paper claims, held against what was found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from bert4so.experiments.paper import COST, TITLES
from bert4so.experiments.results import (
    Facts,
    Results,
    by_document,
    cost_ratios,
    differences,
    epochs_seen,
)
from bert4so.significance import t_test

Verdict = Literal["supported", "not supported", "not testable here"]
NEAR = 0.95
"""The share of its best tau at which a run counts as converged."""

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
        return _not_made(results, "losses")
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
        return _not_made(results, "losses")
    pairs = []
    for one, other in zip(margin, plain, strict=True):
        # The same level for both, so that the one that ends higher is not taken for the faster.
        level = NEAR * min(_best(one), _best(other))
        pairs.append((_steps_to(level, one), _steps_to(level, other)))
    told = ", ".join(f"{ours:.0f} against {theirs:.0f}" for ours, theirs in pairs)
    numbers = (
        f"NeurIPS, steps with the margin and without until validation τ is {NEAR:.0%} of the lower "
        f"of the two runs' best, by seed: {told}"
    )
    # Seeds are few: it has to hold for each.
    sure = all(ours < theirs for ours, theirs in pairs)
    return ("supported" if sure else "not supported"), numbers


def _best(cell: Facts) -> float:
    return float(max(validation["tau"] for validation in cell["validations"]))


def _steps_to(level: float, cell: Facts) -> float:
    """The steps after which a run is so good first, on the line from one validation to the next."""
    before, reached = 0, 0.0  # an untrained model puts sentences in any order
    for validation in cell["validations"]:
        step, tau = validation["step"], validation["tau"]
        if tau >= level:
            share = (level - reached) / (tau - reached) if tau > reached else 0.0
            return float(before + share * (step - before))
        before, reached = step, tau
    return float(before)


def _not_made(results: Results, grid: str) -> tuple[Verdict, str]:
    """How much is missing."""
    planned, found = results.planned(grid), results.finished(grid)
    return "not testable here", f"{len(planned) - len(found)} of {len(planned)} runs are missing"


def _losses(results: Results) -> list[list[Facts]]:
    """The runs with the margin and without, where all are there, seed by seed."""
    return [results.complete("losses", system=s) for s in ("bert4so", "bert4so-list-mle")]


def _interaction(results: Results) -> tuple[Verdict, str]:
    corpora = results.corpora("table-1")
    better, worse, judged, numbers = 0, 0, 0, []
    for corpus in corpora:
        theirs = results.finished("table-1", system="rank-tx-net", corpus=corpus)
        for system in ("bert4so", "bert4so-list-mle"):
            ours = results.finished("table-1", system=system, corpus=corpus)
            if not ours or not theirs:
                continue
            what = f"{TITLES[system]} on {results.called(corpus)}"
            verdict, number = _better(ours, theirs, what)
            numbers.append(number)
            # RankTxNet's loss is plain ListMLE: with it the two differ in what they read alone.
            if system == "bert4so-list-mle":
                judged += 1
                better += verdict == "supported"
                worse += _better(theirs, ours, what)[0] == "supported"
    if judged < max(1, len(corpora)):
        why = f"{len(corpora) - judged} of {len(corpora)} corpora are missing"
        return "not testable here", "; ".join([why, *numbers])
    counts = f"with its loss, ListMLE, better on {better} of {judged} corpora, worse on {worse}"
    sure = better > judged / 2 and not worse
    return ("supported" if sure else "not supported"), "; ".join([counts, *numbers])


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
            training, epoch, ordering = cost_ratios(ours[0], theirs[0])
            ratios.append(training)
            numbers.append(
                f"{results.called(corpus)}: {training:.1f}× the training time (the paper: "
                f"{paper}×), {epoch:.1f}× that of an epoch, {ordering:.1f}× the ordering time"
            )
    if len(ratios) < len(COST):
        why = f"{len(COST) - len(ratios)} of {len(COST)} corpora are missing"
        return "not testable here", "; ".join([why, *numbers])
    many = all(ratio >= MANY for ratio in ratios)
    numbers.append(f"{MANY}× and more counts as many times")
    return ("supported" if many else "not supported"), "; ".join(numbers)


def _better(ours: Sequence[Facts], theirs: Sequence[Facts], what: str) -> tuple[Verdict, str]:
    """Whether the first are better by tau, surely."""
    p = t_test(differences(ours, theirs, "τ"))
    one, other = by_document(ours, "τ"), by_document(theirs, "τ")
    sure = p < SURE and one.mean() > other.mean()
    numbers = f"{what}: τ {one.mean():.4f} against {other.mean():.4f} (p = {p:.2g})"
    return ("supported" if sure else "not supported"), numbers
