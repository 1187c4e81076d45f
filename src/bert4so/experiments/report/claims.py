"""What the paper claims, held against what was found."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.plan_file import PlannedCell
from bert4so.experiments.report.paper_numbers import (
    BEST_ON,
    CORPORA,
    COST,
    EVEN_ON,
    TABLE_1,
    TITLES,
    WITH_BERT,
)
from bert4so.experiments.report.verdicts import (
    Verdict,
    compared,
    every,
    is_better,
    judged,
    known_better,
    learned,
    seen,
)
from bert4so.experiments.results import (
    Results,
    by_document,
    cost_ratios,
    of_equal_training,
    of_one_machine,
)

NEAR = 0.95
"""The share of its best tau at which a run counts as converged."""

MANY = 3
"""How many times as much is "many times" as much."""

ONE_SEED = "one seed each"
"""What must be said where p is over documents alone: another seed may give another answer."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it is borne out, and by which numbers, in lines."""

    text: str
    verdict: Verdict
    numbers: str


def claims(results: Results) -> list[Claim]:
    """What the paper says of its results, in the order in which it does."""
    made: list[tuple[str, Callable[[Results], tuple[Verdict, str]]]] = [
        (f"BERT4SO is better than all others on {_listed(BEST_ON)}.", _best_of_all),
        (f"On {_listed(EVEN_ON)} it is as good as B-TSort.", _even),
        ("Systems with BERT are better than those without.", _with_bert),
        ("Letting the tokens of all sentences interact is better than RankTxNet.", _interaction),
        ("B-TSort costs many times as much.", _cost),
        ("The margin in ListMLE helps where there is little to learn from (NeurIPS).", _margin),
        ("The margin makes training converge faster.", _faster),
        ("Joining corpora helps the small ones and hurts NSF.", _joining),
    ]
    return [Claim(text, *found(results)) for text, found in made]


def _best_of_all(results: Results) -> tuple[Verdict, str]:
    others = [system for system in TITLES if not system.startswith("bert4so")]
    needed = [_planned(results, system, BEST_ON) for system in ("bert4so", *others)]
    if why := _unmade(results, needed):
        return "not testable here", why
    answers: list[bool | None] = []
    numbers = [ONE_SEED]
    for corpus in BEST_ON:
        ours = results.finished("table-1", system="bert4so", corpus=corpus)
        theirs = {s: results.finished("table-1", system=s, corpus=corpus) for s in others}
        best = max(others, key=lambda s: by_document(theirs[s], "τ").mean())
        what = f"{results.called(corpus)}, against {TITLES[best]}, the best of them"
        numbers.append(compared(what, ours, theirs[best]))
        if unbeaten := [TITLES[s] for s in others if not is_better(ours, theirs[s])]:
            numbers.append(f"not surely better than {_listed(unbeaten)}")
        answers += [known_better(ours, theirs[s]) for s in others]
    return judged(every(answers), numbers)


def _even(results: Results) -> tuple[Verdict, str]:
    needed = [_planned(results, system, EVEN_ON) for system in ("bert4so", "b-tsort")]
    if why := _unmade(results, needed):
        return "not testable here", why
    answers: list[bool | None] = []
    numbers = [ONE_SEED]
    for corpus in EVEN_ON:
        ours, theirs = (
            results.finished("table-1", system=system, corpus=corpus)
            for system in ("bert4so", "b-tsort")
        )
        numbers.append(compared(results.called(corpus), ours, theirs))
        worse = known_better(theirs, ours)
        answers.append(None if worse is None else not worse)
    return judged(every(answers), numbers)


def _with_bert(results: Results) -> tuple[Verdict, str]:
    """In as many corpora as in the paper's own table, not in all of which it is so."""
    without = [s for s in TITLES if s not in WITH_BERT and not s.startswith("bert4so")]
    corpora = [corpus for corpus in results.corpora("table-1") if corpus in CORPORA]
    needed = [_planned(results, system, corpora) for system in (*WITH_BERT, *without)]
    if why := _unmade(results, needed):
        return "not testable here", why
    held, unknown, in_paper, numbers = 0, 0, 0, []
    for corpus in corpora:
        runs = {cell.system: cell for cell in results.finished("table-1", corpus=corpus)}
        taus = {system: cell.test.tau for system, cell in runs.items()}
        last, first = min(WITH_BERT, key=taus.__getitem__), max(without, key=taus.__getitem__)
        holds = taus[last] > taus[first]
        known = learned([runs[first if holds else last]])
        held, unknown = held + (known and holds), unknown + (not known)
        numbers.append(
            f"{results.called(corpus)} {taus[last]:.4f} ({TITLES[last]}) against "
            f"{taus[first]:.4f} ({TITLES[first]}; seen {seen([runs[last]]):.2f} and "
            f"{seen([runs[first]]):.2f} times)"
        )
        theirs = {s: TABLE_1[s, corpus][0] for s in (*WITH_BERT, *without)}
        in_paper += min(theirs[s] for s in WITH_BERT) > max(theirs[s] for s in without)
    counts = (
        f"the lowest τ of the three with BERT is above the highest of the others on {held} of "
        f"{len(corpora)} corpora (in the paper on {in_paper})"
    )
    enough = True if held >= in_paper else None if held + unknown >= in_paper else False
    return judged(enough, [ONE_SEED, counts, *numbers])


def _interaction(results: Results) -> tuple[Verdict, str]:
    corpora = results.corpora("table-1")
    systems = ("rank-tx-net", "bert4so", "bert4so-list-mle")
    why = _unmade(results, [_planned(results, system, corpora) for system in systems])
    better, worse, unknown, numbers = 0, 0, 0, []
    for corpus in corpora:
        theirs, ours, same_loss = (
            results.finished("table-1", system=system, corpus=corpus) for system in systems
        )
        found = (ours, theirs, same_loss)
        if not all(found) or not of_equal_training(chain(*found)):
            continue
        for one, system in ((ours, systems[1]), (same_loss, systems[2])):
            what = f"{TITLES[system]} on {results.called(corpus)}"
            numbers.append(compared(what, one, theirs))
        # RankTxNet's loss is plain ListMLE: with it the two differ in what they read alone.
        ahead, behind = known_better(same_loss, theirs), known_better(theirs, same_loss)
        better, worse = better + (ahead is True), worse + (behind is True)
        unknown += None in (ahead, behind)
    if why:
        return "not testable here", "\n".join([why, *numbers])
    counts = (
        f"with its loss, ListMLE, better on {better} of {len(corpora)} corpora, worse on {worse}, "
        f"unknown on {unknown}"
    )
    refuted = worse > 0 or better + unknown <= len(corpora) / 2
    held = False if refuted else None if unknown else True
    return judged(held, [ONE_SEED, counts, *numbers])


def _cost(results: Results) -> tuple[Verdict, str]:
    systems = ("bert4so", "b-tsort")
    why = _unmade(results, [_planned(results, system, COST) for system in systems])
    ratios, numbers = [], []
    for corpus, paper in COST.items():
        ours, theirs = (
            results.finished("table-1", system=system, corpus=corpus) for system in systems
        )
        if not of_one_machine([*ours, *theirs]):
            why = why or f"the runs on {corpus} are of several machines"
        elif ours and theirs:
            training, epoch, ordering = cost_ratios(ours[0], theirs[0])
            ratios.append(training)
            numbers.append(
                f"{results.called(corpus)}: {training:.1f}× the training time (the paper: "
                f"{paper}×), {epoch:.1f}× that of an epoch, {ordering:.1f}× the ordering time"
            )
    if why:
        return "not testable here", "\n".join([why, *numbers])
    numbers.append(f"{MANY}× and more counts as many times")
    return judged(min(ratios) >= MANY, numbers)


def _margin(results: Results) -> tuple[Verdict, str]:
    margin, plain, why = _losses(results)
    if why:
        return "not testable here", why
    gains = [one.test.tau - other.test.tau for one, other in zip(margin, plain, strict=True)]
    numbers = compared("NeurIPS, margin against plain", margin, plain)
    told = ", ".join(f"{gain:+.4f}" for gain in gains)
    # Documents are many and seeds are few: it has to hold for each.
    held = is_better(margin, plain) and min(gains) > 0
    return judged(held, [numbers, f"by seed {told}"])


def _faster(results: Results) -> tuple[Verdict, str]:
    margin, plain, why = _losses(results)
    if why:
        return "not testable here", why
    pairs = []
    for one, other in zip(margin, plain, strict=True):
        # The same level for both, so that the one that ends higher is not taken for the faster.
        level = NEAR * min(_best(one), _best(other))
        pairs.append((_steps_to(level, one), _steps_to(level, other)))
    told = ", ".join(f"{ours:.1f} against {theirs:.1f}" for ours, theirs in pairs)
    numbers = (
        f"NeurIPS, steps with the margin and without until validation τ is {NEAR:.0%} of the lower "
        f"of the two runs' best, by seed: {told}; were the two alike, the margin would be the "
        f"faster for each seed in one of {2 ** len(pairs)} such experiments"
    )
    # Seeds are few: it has to hold for each.
    return judged(all(ours < theirs for ours, theirs in pairs), [numbers])


def _losses(results: Results) -> tuple[list[FinishedCell], list[FinishedCell], str]:
    """The runs with the margin and without, seed by seed, and why they cannot be compared."""
    systems = ("bert4so", "bert4so-list-mle")
    why = _unmade(results, [results.planned("losses", system=system) for system in systems])
    margin, plain = (results.finished("losses", system=system) for system in systems)
    return margin, plain, why


def _best(cell: FinishedCell) -> float:
    return max(validation.tau for validation in cell.validations)


def _steps_to(level: float, cell: FinishedCell) -> float:
    """The steps after which a run is so good first, on the line from one validation to the next."""
    before, reached = 0, 0.0  # an untrained model puts sentences in any order
    for validation in cell.validations:
        step, tau = validation.step, validation.tau
        if tau >= level:
            share = (level - reached) / (tau - reached) if tau > reached else 0.0
            return float(before + share * (step - before))
        before, reached = step, tau
    return float(before)


def _joining(results: Results) -> tuple[Verdict, str]:
    corpora = results.corpora("table-2")
    needed = [_planned(results, "bert4so", corpora), results.planned("table-2")]
    why = _unmade(results, needed)
    answers: list[bool | None] = []
    numbers = []
    for corpus in corpora:
        alone = results.finished("table-1", system="bert4so", corpus=corpus)
        joined = results.finished("table-2", corpus=corpus)
        if alone and joined and of_equal_training([*alone, *joined]):
            better, worse = (alone, joined) if corpus == "NSF" else (joined, alone)
            answers.append(known_better(better, worse))
            what = f"{results.called(corpus)}, joined against separate"
            numbers.append(compared(what, joined, alone))
    if why:
        return "not testable here", "\n".join([why, *numbers])
    return judged(every(answers), [ONE_SEED, *numbers])


def _planned(results: Results, system: str, corpora: Iterable[str]) -> list[PlannedCell]:
    """The cells of a system in the main table; none, where one of the corpora has none."""
    each = [results.planned("table-1", system=system, corpus=corpus) for corpus in corpora]
    return [cell for cells in each for cell in cells] if all(each) else []


def _unmade(results: Results, groups: Sequence[Sequence[PlannedCell]]) -> str:
    """Why nothing can be said that takes all cells of some groups; "" where it can."""
    if not groups or not all(groups):
        return "this experiment has no such runs"
    names = {cell.name for group in groups for cell in group}
    if missing := len(names - results.found.keys()):
        return f"{missing} of {len(names)} runs are missing"
    for corpus in dict.fromkeys(cell.corpus for group in groups for cell in group):
        cells = [cell for group in groups for cell in group if cell.corpus == corpus]
        if not of_equal_training(results.of(cells)):
            return f"the runs on {corpus} are of several machines, with no equal training"
    return ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
