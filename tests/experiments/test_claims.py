"""Verdicts on the paper's claims, from made-up runs."""

import re

import pytest

from bert4so.experiments.plan import Grid
from bert4so.experiments.report.claims import claims
from bert4so.experiments.report.paper_numbers import CORPORA, TITLES
from made_up_cells import BAD, GOOD, SAME, facts, results_of


def claim_of(experiment, finished, beginning):
    """The claim that begins with these words."""
    (claim,) = (c for c in claims(results_of(experiment, finished)) if c.text.startswith(beginning))
    return claim


def cells(taus):
    """Finished cells of the main table by name, from the taus of each system on each corpus."""
    return {
        f"{system}-{corpus.lower()}-seed-1": facts(system, corpus, of_cell)
        for (system, corpus), of_cell in taus.items()
    }


def test_claims_without_runs_are_not_testable(desk):
    grids = {"table-1": Grid(systems=["bert4so", "b-tsort"], corpora=["NeurIPS", "AAN"])}
    small = desk.model_copy(update={"grids": grids})
    numbers = {claim.text: claim.numbers for claim in claims(results_of(small, {}))}
    assert (
        numbers.pop("BERT4SO is as good as B-TSort on NeurIPS and AAN.")
        == "4 of 4 runs are missing"
    )
    assert set(numbers.values()) == {"this experiment has no such runs"}


@pytest.mark.parametrize(
    "system, corpus, taus, verdict",
    [
        ("b-tsort", "NSF", BAD, "supported"),
        ("b-tsort", "NSF", [*GOOD[:-1], 0.7], "not supported"),
        ("cnn-ptrnet", "ROCStory", GOOD, "not supported"),
        ("b-tsort", "NeurIPS", GOOD, "supported"),  # the claim does not cover NeurIPS
        ("bert4so-list-mle", "NSF", GOOD, "supported"),  # not another system
    ],
)
def test_best_of_all_requires_a_win_over_every_system(desk, system, corpus, taus, verdict):
    every = {(s, c): GOOD if s == "bert4so" else BAD for s in TITLES for c in CORPORA}
    claim = claim_of(desk, cells(every | {(system, corpus): taus}), "BERT4SO is better")
    assert claim.verdict == verdict
    line = f"not significantly better than {TITLES[system]}"
    assert (line in claim.numbers) == (verdict == "not supported")


@pytest.mark.parametrize(
    "theirs, verdict", [(BAD, "supported"), (SAME, "supported"), (GOOD, "not supported")]
)
def test_as_good_means_not_significantly_worse(desk, theirs, verdict):
    finished = {("bert4so", corpus): SAME for corpus in CORPORA}
    finished |= {("b-tsort", "NeurIPS"): SAME, ("b-tsort", "AAN"): theirs}
    assert claim_of(desk, cells(finished), "BERT4SO is as good").verdict == verdict


@pytest.mark.parametrize(
    "behind, verdict",
    [([], "supported"), (["NSF"], "supported"), (["SIND", "AAN"], "not supported")],
)
def test_with_bert_compares_the_worst_with_the_best_without(desk, behind, verdict):
    with_bert = ("rank-tx-net", "b-tsort", "bert4so")
    finished = {(s, c): GOOD if s in with_bert else BAD for s in TITLES for c in CORPORA}
    finished |= {("se-graph", corpus): [1.0] * 40 for corpus in behind}
    claim = claim_of(desk, cells(finished), "Systems with BERT")
    assert claim.verdict == verdict
    # The paper has no row for other corpora.
    own = desk.model_copy(deep=True)
    own.corpora["Mine"] = own.corpora["NSF"]
    own.grids["table-1"].corpora.append("Mine")
    every = cells(finished | {(system, "Mine"): GOOD for system in TITLES})
    assert claim_of(own, every, "Systems with BERT") == claim
    # In the paper, NSF is the exception: SE-Graph has 0.5602, B-TSort 0.4813.
    assert f"on {5 - len(behind)} of 5 corpora (in the paper on 4)" in claim.numbers


def test_margin_claims_are_supported_by_better_runs(desk):
    nothing = claims(results_of(desk, {}))
    assert {claim.verdict for claim in nothing} == {"not testable here"}
    finished = {}
    for seed in (1, 2, 3):
        finished[f"bert4so-neurips-seed-{seed}"] = facts("bert4so", "NeurIPS", GOOD)
        finished[f"bert4so-list-mle-neurips-seed-{seed}"] = facts(
            "bert4so-list-mle", "NeurIPS", BAD
        )
    margin = claim_of(desk, finished, "The margin in")
    faster = claim_of(desk, finished, "The margin makes")
    assert (margin.verdict, faster.verdict) == ("supported", "supported")
    assert "0.9500 against 0.6500" in margin.numbers
    assert "by seed: +0.3000, +0.3000, +0.3000" in margin.numbers


@pytest.mark.parametrize(
    "ours, theirs, verdict",
    [
        ([GOOD] * 5, [BAD] * 5, "supported"),
        ([GOOD] * 3 + [SAME] * 2, [BAD] * 3 + [SAME] * 2, "supported"),
        ([SAME] * 5, [SAME] * 5, "not supported"),
        ([GOOD] * 4 + [BAD], [BAD] * 4 + [GOOD], "not supported"),
        ([BAD] * 5, [GOOD] * 5, "not supported"),
    ],
    ids=["on all", "on most", "on none", "but on one", "on none but worse"],
)
def test_interaction_is_tested_with_the_same_loss_on_all_corpora(desk, ours, theirs, verdict):
    finished = {}
    for corpus, one, other in zip(CORPORA, ours, theirs, strict=True):
        before = claim_of(desk, finished, "Interaction")
        assert before.verdict == "not testable here"
        name = corpus.lower()
        # BERT4SO with the margin is better everywhere, which must not count.
        finished[f"bert4so-{name}-seed-1"] = facts("bert4so", corpus, [1.0] * 40)
        finished[f"bert4so-list-mle-{name}-seed-1"] = facts("bert4so-list-mle", corpus, one)
        finished[f"rank-tx-net-{name}-seed-1"] = facts("rank-tx-net", corpus, other)
    assert claim_of(desk, finished, "Interaction").verdict == verdict


@pytest.mark.parametrize(
    "margin, plain, verdict, steps",
    [
        # 95 % of .8 is .76: after 1.9 of 2 steps, and after 2 + .16 / .2 * 2.
        ([0.8, 0.9], [0.6, 0.8], "supported", "1.9 against 3.6"),
        # Better at the end, but slower before.
        ([0.2, 0.4, 0.5, 1.0], [0.7, 0.78, 0.79, 0.8], "not supported", "7.0 against 3.5"),
    ],
)
def test_faster_means_fewer_steps_to_the_same_level(desk, margin, plain, verdict, steps):
    finished = {}
    for seed in (1, 2, 3):
        for system, taus in (("bert4so", margin), ("bert4so-list-mle", plain)):
            cell = facts(system, "NeurIPS", GOOD)
            cell["validations"] = [
                {"step": 2 * k, "minutes": k, "tau": t, "pmr": 0.0} for k, t in enumerate(taus, 1)
            ]
            finished[f"{system}-neurips-seed-{seed}"] = cell
    faster = claim_of(desk, finished, "The margin makes")
    assert faster.verdict == verdict
    assert f"by seed: {steps}, {steps}, {steps}" in faster.numbers


def test_cost_is_tested_on_both_corpora(desk):
    finished = {}
    for corpus, tokens, verdict in (
        ("NSF", 200_000, "not testable here"),
        ("SIND", 200_000, "supported"),
        ("SIND", 10_000, "not supported"),
    ):
        name = corpus.lower()
        finished[f"bert4so-{name}-seed-1"] = facts("bert4so", corpus, GOOD)
        theirs = facts("b-tsort", corpus, BAD, epoch_tokens=tokens)
        finished[f"b-tsort-{name}-seed-1"] = theirs
        assert claim_of(desk, finished, "B-TSort costs").verdict == verdict


def test_margin_must_help_with_every_seed(desk):
    finished = {}
    for seed, taus in ((1, GOOD), (2, GOOD), (3, BAD)):
        finished[f"bert4so-neurips-seed-{seed}"] = facts("bert4so", "NeurIPS", taus)
        plain = GOOD if seed == 3 else BAD
        finished[f"bert4so-list-mle-neurips-seed-{seed}"] = facts(
            "bert4so-list-mle", "NeurIPS", plain
        )
    assert claim_of(desk, finished, "The margin in").verdict == "not supported"


@pytest.mark.parametrize("nsf, verdict", [(BAD, "supported"), (GOOD, "not supported")])
def test_joining_must_help_small_corpora_and_hurt_nsf(desk, nsf, verdict):
    finished = {}
    for corpus, taus in (("NeurIPS", GOOD), ("AAN", GOOD), ("NSF", nsf)):
        name, alone = corpus.lower(), GOOD if taus is BAD else BAD
        finished[f"bert4so-{name}-seed-1"] = facts("bert4so", corpus, alone)
        finished[f"bert4so-{name}-joined-seed-1"] = facts("bert4so", corpus, taus, join=["x"])
    assert claim_of(desk, finished, "Joining").verdict == verdict


EVERY = {(s, c): GOOD if s == "bert4so" else BAD for s in TITLES for c in CORPORA}


@pytest.mark.parametrize(
    "beginning", ["BERT4SO is better", "BERT4SO is as good", "Systems", "Interaction", "Joining"]
)
def test_runs_with_a_time_limit_on_two_machines_are_not_compared(desk, beginning):
    finished = cells(EVERY)
    for corpus in ("NeurIPS", "AAN", "NSF"):
        joined = facts("bert4so", corpus, GOOD, join=["x"])
        finished[f"bert4so-{corpus.lower()}-joined-seed-1"] = joined
    assert claim_of(desk, finished, beginning).verdict != "not testable here"
    for corpus in CORPORA:
        finished[f"bert4so-{corpus.lower()}-seed-1"]["metrics"]["machine"]["processor"] = "slow"
    claim = claim_of(desk, finished, beginning)
    assert claim.verdict == "not testable here"
    assert re.fullmatch(
        r"the runs on \w+ are from several machines and not equally trained", claim.numbers
    )


@pytest.mark.parametrize("limit", [10.0, 0.0])
def test_cost_is_not_tested_on_two_machines(desk, limit):
    finished = cells({(s, c): GOOD for s in ("bert4so", "b-tsort") for c in CORPORA})
    for cell in finished.values():
        cell["metrics"]["run"]["minutes"] = limit
    finished["b-tsort-sind-seed-1"]["metrics"]["machine"]["processor"] = "slow"
    claim = claim_of(desk, finished, "B-TSort costs")
    assert claim.verdict == "not testable here"
    assert claim.numbers.startswith("the runs on SIND are from several machines")
    assert "NSF (stand-in): " in claim.numbers
    assert "SIND (stand-in): " not in claim.numbers


def test_seeds_can_run_on_different_machines(desk):
    finished = {}
    for seed, processor in ((1, "p"), (2, "slow"), (3, "slow")):
        for system, taus in (("bert4so", GOOD), ("bert4so-list-mle", BAD)):
            cell = facts(system, "NeurIPS", taus, seed=seed, processor=processor)
            finished[f"{system}-neurips-seed-{seed}"] = cell
    assert claim_of(desk, finished, "The margin in").verdict == "supported"
    finished["bert4so-neurips-seed-3"]["metrics"]["machine"]["processor"] = "p"
    assert claim_of(desk, finished, "The margin in").verdict == "not testable here"


LOW = [0.6] * 40
HALF = {"steps": 5}  # half an epoch of ten steps


@pytest.mark.parametrize(
    "ours, theirs, verdict",
    [
        ((GOOD, {}), (BAD, {}), "supported"),
        ((GOOD, HALF), (BAD, {}), "supported"),
        ((GOOD, {}), (BAD, HALF), "not testable here"),
        ((BAD, {}), (GOOD, HALF), "not supported"),
        ((BAD, HALF), (GOOD, {}), "not testable here"),
    ],
)
@pytest.mark.parametrize(
    "corpus, beginning", [("NSF", "BERT4SO is better"), ("AAN", "BERT4SO is as good")]
)
def test_a_weaker_run_counts_after_a_full_epoch(desk, corpus, beginning, ours, theirs, verdict):
    finished = cells({k: LOW if k[0] != "bert4so" else GOOD for k in EVERY})
    for system, (taus, steps) in (("bert4so", ours), ("b-tsort", theirs)):
        finished[f"{system}-{corpus.lower()}-seed-1"] = facts(system, corpus, taus, **steps)
    claim = claim_of(desk, finished, beginning)
    assert claim.verdict == verdict
    too_few = "trained for less than one epoch" in claim.numbers
    assert too_few == (verdict == "not testable here")


def test_one_unbeaten_system_decides_the_verdict(desk):
    finished = cells(EVERY)
    finished["b-tsort-nsf-seed-1"] = facts("b-tsort", "NSF", BAD, **HALF)
    finished["se-graph-sind-seed-1"] = facts("se-graph", "SIND", GOOD)
    assert claim_of(desk, finished, "BERT4SO is better").verdict == "not supported"


@pytest.mark.parametrize(
    "unseen, behind, verdict",
    [
        (["SIND"], ["SIND"], "supported"),  # true on the four others
        (["SIND", "AAN"], ["SIND", "AAN"], "not testable here"),
        (["SIND"], ["SIND", "AAN"], "not testable here"),
        (["SIND"], ["SIND", "AAN", "NSF"], "not supported"),
        (["SIND", "AAN"], [], "supported"),
    ],
)
def test_with_bert_needs_a_full_epoch_of_the_worst_system(desk, unseen, behind, verdict):
    with_bert = ("rank-tx-net", "b-tsort", "bert4so")
    finished = cells({k: GOOD if k[0] in with_bert else BAD for k in EVERY})
    for corpus in {*unseen, *behind}:
        taus, steps = LOW if corpus in behind else GOOD, HALF if corpus in unseen else {}
        finished[f"b-tsort-{corpus.lower()}-seed-1"] = facts("b-tsort", corpus, taus, **steps)
    assert claim_of(desk, finished, "Systems").verdict == verdict


@pytest.mark.parametrize(
    "unseen, better, worse, verdict",
    [
        (["NSF", "AAN"], ["NeurIPS", "SIND", "ROCStory"], [], "not testable here"),
        (["NSF", "AAN"], [], ["NSF", "AAN"], "not supported"),  # equal on the other three
        (["NSF", "AAN", "SIND"], [], ["NSF"], "not testable here"),
        (["NSF", "AAN", "SIND"], [], ["NSF", "NeurIPS"], "not supported"),
    ],
)
def test_interaction_is_unknown_with_too_few_epochs(desk, unseen, better, worse, verdict):
    finished = cells({k: SAME for k in EVERY})
    for corpus in CORPORA:
        steps = HALF if corpus in unseen else {}
        for system, good in (("rank-tx-net", worse), ("bert4so-list-mle", better)):
            taus = [1.0] * 40 if corpus in good else SAME
            finished[f"{system}-{corpus.lower()}-seed-1"] = facts(system, corpus, taus, **steps)
    claim = claim_of(desk, finished, "Interaction")
    assert claim.verdict == verdict
    assert f"unknown on {len(unseen)}" in claim.numbers


@pytest.mark.parametrize("joined, verdict", [(BAD, "not testable here"), (GOOD, "not supported")])
def test_joining_is_not_testable_with_too_few_epochs(desk, joined, verdict):
    finished = {}
    alone = GOOD if joined is BAD else BAD
    for corpus in ("NeurIPS", "AAN", "NSF"):
        name = corpus.lower()
        finished[f"bert4so-{name}-seed-1"] = facts("bert4so", corpus, alone)
        both = facts("bert4so", corpus, joined, join=["x"], **HALF)
        finished[f"bert4so-{name}-joined-seed-1"] = both
    joining = claim_of(desk, finished, "Joining")
    assert joining.verdict == verdict  # half an epoch shows that joining helps NSF, too
    assert "0.50 and 2.00 epochs" in joining.numbers
