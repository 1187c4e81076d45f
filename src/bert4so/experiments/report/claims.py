"""The paper's claims, and whether the runs support them."""

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
    all_true,
    comparison,
    is_better,
    known_better,
    min_epochs,
    trained_enough,
    verdict,
)
from bert4so.experiments.results import (
    Results,
    by_document,
    cost_ratios,
    equally_trained,
    on_one_machine,
)

CONVERGED_SHARE_OF_BEST_TAU = 0.95
"""A run counts as converged at this share of its best validation tau."""

MIN_MANY_TIMES = 3
"""The smallest ratio that counts as "many times" as much."""

ONE_SEED = "one seed each"
"""Note for p-values over documents only: other seeds may give another result."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the verdict on it, and the numbers behind the verdict, in lines."""

    text: str
    verdict: Verdict
    numbers: str


def claims(results: Results) -> list[Claim]:
    """The verdicts on the paper's claims, in the paper's order."""
    checks: list[tuple[str, Callable[[Results], tuple[Verdict, str]]]] = [
        (f"BERT4SO is better than all others on {_listed(BEST_ON)}.", _best_of_all),
        (f"BERT4SO is as good as B-TSort on {_listed(EVEN_ON)}.", _even),
        ("Systems with BERT are better than systems without.", _with_bert),
        ("Interaction between the tokens of all sentences is better than RankTxNet.", _interaction),
        ("B-TSort costs many times as much as BERT4SO.", _cost),
        ("The margin in ListMLE helps with little training data (NeurIPS).", _margin),
        ("The margin makes training converge faster.", _faster),
        ("Joining corpora helps the small ones and hurts NSF.", _joining),
    ]
    return [Claim(text, *check(results)) for text, check in checks]


def _best_of_all(results: Results) -> tuple[Verdict, str]:
    others = [system for system in TITLES if not system.startswith("bert4so")]
    needed = [_planned(results, system, BEST_ON) for system in ("bert4so", *others)]
    if why := _obstacle(results, needed):
        return "not testable here", why
    answers: list[bool | None] = []
    numbers = [ONE_SEED]
    for corpus in BEST_ON:
        ours = results.finished("table-1", system="bert4so", corpus=corpus)
        theirs = {s: results.finished("table-1", system=s, corpus=corpus) for s in others}
        best = max(others, key=lambda s: by_document(theirs[s], "τ").mean())
        what = f"{results.corpus_title(corpus)}, BERT4SO against the best other, {TITLES[best]}"
        numbers.append(comparison(what, ours, theirs[best]))
        if unbeaten := [TITLES[s] for s in others if not is_better(ours, theirs[s])]:
            numbers.append(f"not significantly better than {_listed(unbeaten)}")
        answers += [known_better(ours, theirs[s]) for s in others]
    return verdict(all_true(answers), numbers)


def _even(results: Results) -> tuple[Verdict, str]:
    needed = [_planned(results, system, EVEN_ON) for system in ("bert4so", "b-tsort")]
    if why := _obstacle(results, needed):
        return "not testable here", why
    answers: list[bool | None] = []
    numbers = [ONE_SEED]
    for corpus in EVEN_ON:
        ours, theirs = (
            results.finished("table-1", system=system, corpus=corpus)
            for system in ("bert4so", "b-tsort")
        )
        what = f"{results.corpus_title(corpus)}, BERT4SO against B-TSort"
        numbers.append(comparison(what, ours, theirs))
        worse = known_better(theirs, ours)
        answers.append(None if worse is None else not worse)
    return verdict(all_true(answers), numbers)


def _with_bert(results: Results) -> tuple[Verdict, str]:
    """Supported on as many corpora as in the paper's own table, which is not all of them."""
    without = [s for s in TITLES if s not in WITH_BERT and not s.startswith("bert4so")]
    corpora = [corpus for corpus in results.corpora("table-1") if corpus in CORPORA]
    needed = [_planned(results, system, corpora) for system in (*WITH_BERT, *without)]
    if why := _obstacle(results, needed):
        return "not testable here", why
    true_on, unknown_on, in_paper, numbers = 0, 0, 0, []
    for corpus in corpora:
        runs = {cell.system: cell for cell in results.finished("table-1", corpus=corpus)}
        taus = {system: cell.test.tau for system, cell in runs.items()}
        worst = min(WITH_BERT, key=taus.__getitem__)
        best = max(without, key=taus.__getitem__)
        is_true = taus[worst] > taus[best]
        known = trained_enough([runs[best if is_true else worst]])
        true_on, unknown_on = true_on + (known and is_true), unknown_on + (not known)
        numbers.append(
            f"{results.corpus_title(corpus)}: {TITLES[worst]} {taus[worst]:.4f}, {TITLES[best]} "
            f"{taus[best]:.4f} ({min_epochs([runs[worst]]):.2f} and "
            f"{min_epochs([runs[best]]):.2f} epochs)"
        )
        theirs = {s: TABLE_1[s, corpus][0] for s in (*WITH_BERT, *without)}
        in_paper += min(theirs[s] for s in WITH_BERT) > max(theirs[s] for s in without)
    counts = (
        f"the lowest τ of the three systems with BERT is above the highest of the others on "
        f"{true_on} of {len(corpora)} corpora (in the paper on {in_paper})"
    )
    claim = True if true_on >= in_paper else None if true_on + unknown_on >= in_paper else False
    return verdict(claim, [ONE_SEED, counts, *numbers])


def _interaction(results: Results) -> tuple[Verdict, str]:
    corpora = results.corpora("table-1")
    systems = ("rank-tx-net", "bert4so", "bert4so-list-mle")
    why = _obstacle(results, [_planned(results, system, corpora) for system in systems])
    better, worse, unknown, numbers = 0, 0, 0, []
    for corpus in corpora:
        theirs, ours, same_loss = (
            results.finished("table-1", system=system, corpus=corpus) for system in systems
        )
        runs = (ours, theirs, same_loss)
        if not all(runs) or not equally_trained(chain(*runs)):
            continue
        for one, system in ((ours, systems[1]), (same_loss, systems[2])):
            what = f"{results.corpus_title(corpus)}, {TITLES[system]} against RankTxNet"
            numbers.append(comparison(what, one, theirs))
        # RankTxNet's loss is plain ListMLE: with the same loss, only the interaction differs.
        ahead, behind = known_better(same_loss, theirs), known_better(theirs, same_loss)
        better, worse = better + (ahead is True), worse + (behind is True)
        unknown += None in (ahead, behind)
    if why:
        return "not testable here", "\n".join([why, *numbers])
    counts = (
        f"BERT4SO with RankTxNet's loss, ListMLE, is better on {better} of {len(corpora)} corpora, "
        f"worse on {worse}, unknown on {unknown}"
    )
    refuted = worse > 0 or better + unknown <= len(corpora) / 2
    claim = False if refuted else None if unknown else True
    return verdict(claim, [ONE_SEED, counts, *numbers])


def _cost(results: Results) -> tuple[Verdict, str]:
    systems = ("bert4so", "b-tsort")
    why = _obstacle(results, [_planned(results, system, COST) for system in systems])
    ratios, numbers = [], []
    for corpus, paper in COST.items():
        ours, theirs = (
            results.finished("table-1", system=system, corpus=corpus) for system in systems
        )
        if not on_one_machine([*ours, *theirs]):
            why = why or f"the runs on {corpus} are from several machines"
        elif ours and theirs:
            training, epoch, ordering = cost_ratios(ours[0], theirs[0])
            ratios.append(training)
            numbers.append(
                f"{results.corpus_title(corpus)}: {training:.1f}× the training time (the paper: "
                f"{paper}×), {epoch:.1f}× the time per epoch, {ordering:.1f}× the ordering time"
            )
    if why:
        return "not testable here", "\n".join([why, *numbers])
    numbers.append(f"at least {MIN_MANY_TIMES}× counts as many times")
    return verdict(min(ratios) >= MIN_MANY_TIMES, numbers)


def _margin(results: Results) -> tuple[Verdict, str]:
    margin, plain, why = _losses(results)
    if why:
        return "not testable here", why
    gains = [one.test.tau - other.test.tau for one, other in zip(margin, plain, strict=True)]
    numbers = comparison("NeurIPS, margin against plain ListMLE", margin, plain)
    by_seed = ", ".join(f"{gain:+.4f}" for gain in gains)
    # There are many documents but few seeds, so the claim must hold for each seed.
    claim = is_better(margin, plain) and min(gains) > 0
    return verdict(claim, [numbers, f"difference by seed: {by_seed}"])


def _faster(results: Results) -> tuple[Verdict, str]:
    margin, plain, why = _losses(results)
    if why:
        return "not testable here", why
    pairs = []
    for one, other in zip(margin, plain, strict=True):
        # The same level for both, so that the run that ends higher is not called the faster.
        level = CONVERGED_SHARE_OF_BEST_TAU * min(_best(one), _best(other))
        pairs.append((_steps_to(level, one), _steps_to(level, other)))
    by_seed = ", ".join(f"{ours:.1f} against {theirs:.1f}" for ours, theirs in pairs)
    numbers = (
        f"NeurIPS, steps with the margin against steps without it until validation τ reaches "
        f"{CONVERGED_SHARE_OF_BEST_TAU:.0%} of the best τ of the weaker run, by seed: {by_seed}; "
        f"if both were equally fast, the margin would be faster with every seed in one of "
        f"{2 ** len(pairs)} such experiments"
    )
    # There are few seeds, so the claim must hold for each.
    return verdict(all(ours < theirs for ours, theirs in pairs), [numbers])


def _losses(results: Results) -> tuple[list[FinishedCell], list[FinishedCell], str]:
    """The runs with and without the margin, by seed, and the obstacle to a comparison or ""."""
    systems = ("bert4so", "bert4so-list-mle")
    why = _obstacle(results, [results.planned("losses", system=system) for system in systems])
    margin, plain = (results.finished("losses", system=system) for system in systems)
    return margin, plain, why


def _best(cell: FinishedCell) -> float:
    return max(validation.tau for validation in cell.validations)


def _steps_to(level: float, cell: FinishedCell) -> float:
    """The steps until tau first reaches a level, interpolated linearly between validations."""
    last_step, last_tau = 0, 0.0  # an untrained model orders by chance
    for validation in cell.validations:
        step, tau = validation.step, validation.tau
        if tau >= level:
            share = (level - last_tau) / (tau - last_tau) if tau > last_tau else 0.0
            return float(last_step + share * (step - last_step))
        last_step, last_tau = step, tau
    return float(last_step)


def _joining(results: Results) -> tuple[Verdict, str]:
    corpora = results.corpora("table-2")
    needed = [_planned(results, "bert4so", corpora), results.planned("table-2")]
    why = _obstacle(results, needed)
    answers: list[bool | None] = []
    numbers = []
    for corpus in corpora:
        alone = results.finished("table-1", system="bert4so", corpus=corpus)
        joined = results.finished("table-2", corpus=corpus)
        if alone and joined and equally_trained([*alone, *joined]):
            better, worse = (alone, joined) if corpus == "NSF" else (joined, alone)
            answers.append(known_better(better, worse))
            what = f"{results.corpus_title(corpus)}, joined against separate"
            numbers.append(comparison(what, joined, alone))
    if why:
        return "not testable here", "\n".join([why, *numbers])
    return verdict(all_true(answers), [ONE_SEED, *numbers])


def _planned(results: Results, system: str, corpora: Iterable[str]) -> list[PlannedCell]:
    """The cells of a system in the main table; none if a corpus has none."""
    per_corpus = [results.planned("table-1", system=system, corpus=corpus) for corpus in corpora]
    return [cell for cells in per_corpus for cell in cells] if all(per_corpus) else []


def _obstacle(results: Results, groups: Sequence[Sequence[PlannedCell]]) -> str:
    """Why a claim about all cells of these groups cannot be tested; "" if it can."""
    if not groups or not all(groups):
        return "this experiment has no such runs"
    names = {cell.name for group in groups for cell in group}
    if missing := len(names - results.cells.keys()):
        return f"{missing} of {len(names)} runs are missing"
    for corpus in dict.fromkeys(cell.corpus for group in groups for cell in group):
        cells = [cell for group in groups for cell in group if cell.corpus == corpus]
        if not equally_trained(results.finished_of(cells)):
            return f"the runs on {corpus} are from several machines and not equally trained"
    return ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
