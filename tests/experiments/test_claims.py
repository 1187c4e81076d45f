"""The paper's claims, held against runs that are made up."""

import re

import pytest

from bert4so.experiments.plan import Grid
from bert4so.experiments.report.claims import claims
from bert4so.experiments.report.paper_numbers import CORPORA, TITLES
from made_up_cells import BAD, GOOD, SAME, facts, results_of


def judged(experiment, found, beginning):
    """The one claim that begins so."""
    (claim,) = (c for c in claims(results_of(experiment, found)) if c.text.startswith(beginning))
    return claim


def cells(taus):
    """Finished cells of the main table, by name, of the taus of a system on a corpus."""
    return {
        f"{system}-{corpus.lower()}-seed-1": facts(system, corpus, some)
        for (system, corpus), some in taus.items()
    }


def test_what_an_experiment_is_not_about_is_said(desk):
    grids = {"table-1": Grid(systems=["bert4so", "b-tsort"], corpora=["NeurIPS", "AAN"])}
    small = desk.model_copy(update={"grids": grids})
    told = {claim.text: claim.numbers for claim in claims(results_of(small, {}))}
    assert told.pop("On NeurIPS and AAN it is as good as B-TSort.") == "4 of 4 runs are missing"
    assert set(told.values()) == {"this experiment has no such runs"}


@pytest.mark.parametrize(
    "system, corpus, taus, verdict",
    [
        ("b-tsort", "NSF", BAD, "supported"),
        ("b-tsort", "NSF", [*GOOD[:-1], 0.7], "not supported"),
        ("cnn-ptrnet", "ROCStory", GOOD, "not supported"),
        ("b-tsort", "NeurIPS", GOOD, "supported"),  # of which it is not said
        ("bert4so-list-mle", "NSF", GOOD, "supported"),  # which is none of the others
    ],
)
def test_the_best_is_better_than_every_other(desk, system, corpus, taus, verdict):
    every = {(s, c): GOOD if s == "bert4so" else BAD for s in TITLES for c in CORPORA}
    claim = judged(desk, cells(every | {(system, corpus): taus}), "BERT4SO is better")
    assert claim.verdict == verdict
    told = f"not surely better than {TITLES[system]}"
    assert (told in claim.numbers) == (verdict == "not supported")


@pytest.mark.parametrize(
    "theirs, verdict", [(BAD, "supported"), (SAME, "supported"), (GOOD, "not supported")]
)
def test_as_good_is_not_surely_worse(desk, theirs, verdict):
    found = {("bert4so", corpus): SAME for corpus in CORPORA}
    found |= {("b-tsort", "NeurIPS"): SAME, ("b-tsort", "AAN"): theirs}
    assert judged(desk, cells(found), "On NeurIPS and AAN").verdict == verdict


@pytest.mark.parametrize(
    "behind, verdict",
    [([], "supported"), (["NSF"], "supported"), (["SIND", "AAN"], "not supported")],
)
def test_with_bert_is_better_where_its_last_is_above_the_others_first(desk, behind, verdict):
    with_bert = ("rank-tx-net", "b-tsort", "bert4so")
    found = {(s, c): GOOD if s in with_bert else BAD for s in TITLES for c in CORPORA}
    found |= {("se-graph", corpus): [1.0] * 40 for corpus in behind}
    claim = judged(desk, cells(found), "Systems with BERT")
    assert claim.verdict == verdict
    # A corpus of one's own has no row there.
    own = desk.model_copy(deep=True)
    own.corpora["Mine"] = own.corpora["NSF"]
    own.grids["table-1"].corpora.append("Mine")
    every = cells(found | {(system, "Mine"): GOOD for system in TITLES})
    assert judged(own, every, "Systems with BERT") == claim
    # In the paper NSF is not: SE-Graph has 0.5602, B-TSort 0.4813.
    assert f"on {5 - len(behind)} of 5 corpora (in the paper on 4)" in claim.numbers


def test_claims_are_held_against_what_was_found(desk):
    nothing = claims(results_of(desk, {}))
    assert {claim.verdict for claim in nothing} == {"not testable here"}
    found = {}
    for seed in (1, 2, 3):
        found[f"bert4so-neurips-seed-{seed}"] = facts("bert4so", "NeurIPS", GOOD)
        found[f"bert4so-list-mle-neurips-seed-{seed}"] = facts("bert4so-list-mle", "NeurIPS", BAD)
    margin, faster = judged(desk, found, "The margin in"), judged(desk, found, "The margin makes")
    assert (margin.verdict, faster.verdict) == ("supported", "supported")
    assert "0.9500 against 0.6500" in margin.numbers
    assert "by seed +0.3000, +0.3000, +0.3000" in margin.numbers


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
def test_reading_together_is_judged_by_the_same_loss_on_all_corpora(desk, ours, theirs, verdict):
    found = {}
    for corpus, one, other in zip(CORPORA, ours, theirs, strict=True):
        before = judged(desk, found, "Letting")
        assert before.verdict == "not testable here"
        name = corpus.lower()
        # With the margin it is better everywhere: that is not what is asked.
        found[f"bert4so-{name}-seed-1"] = facts("bert4so", corpus, [1.0] * 40)
        found[f"bert4so-list-mle-{name}-seed-1"] = facts("bert4so-list-mle", corpus, one)
        found[f"rank-tx-net-{name}-seed-1"] = facts("rank-tx-net", corpus, other)
    assert judged(desk, found, "Letting").verdict == verdict


@pytest.mark.parametrize(
    "margin, plain, verdict, steps",
    [
        # 95 % of .8 is .76: after 1.9 of 2 steps, and after 2 + .16 / .2 * 2.
        ([0.8, 0.9], [0.6, 0.8], "supported", "1.9 against 3.6"),
        # Better in the end, but behind until then.
        ([0.2, 0.4, 0.5, 1.0], [0.7, 0.78, 0.79, 0.8], "not supported", "7.0 against 3.5"),
    ],
)
def test_faster_is_sooner_at_the_same_level(desk, margin, plain, verdict, steps):
    found = {}
    for seed in (1, 2, 3):
        for system, taus in (("bert4so", margin), ("bert4so-list-mle", plain)):
            cell = facts(system, "NeurIPS", GOOD)
            cell["validations"] = [
                {"step": 2 * k, "minutes": k, "tau": t, "pmr": 0.0} for k, t in enumerate(taus, 1)
            ]
            found[f"{system}-neurips-seed-{seed}"] = cell
    faster = judged(desk, found, "The margin makes")
    assert faster.verdict == verdict
    assert f"by seed: {steps}, {steps}, {steps}" in faster.numbers


def test_the_cost_claim_is_judged_on_both_corpora(desk):
    found = {}
    for corpus, tokens, verdict in (
        ("NSF", 200_000, "not testable here"),
        ("SIND", 200_000, "supported"),
        ("SIND", 10_000, "not supported"),
    ):
        name = corpus.lower()
        found[f"bert4so-{name}-seed-1"] = facts("bert4so", corpus, GOOD)
        theirs = facts("b-tsort", corpus, BAD, epoch_tokens=tokens)
        found[f"b-tsort-{name}-seed-1"] = theirs
        assert judged(desk, found, "B-TSort costs").verdict == verdict


def test_a_margin_that_helps_not_with_every_seed_is_not_said_to_help(desk):
    found = {}
    for seed, taus in ((1, GOOD), (2, GOOD), (3, BAD)):
        found[f"bert4so-neurips-seed-{seed}"] = facts("bert4so", "NeurIPS", taus)
        plain = GOOD if seed == 3 else BAD
        found[f"bert4so-list-mle-neurips-seed-{seed}"] = facts("bert4so-list-mle", "NeurIPS", plain)
    assert judged(desk, found, "The margin in").verdict == "not supported"


@pytest.mark.parametrize("nsf, verdict", [(BAD, "supported"), (GOOD, "not supported")])
def test_joining_is_to_help_the_small_and_hurt_nsf(desk, nsf, verdict):
    found = {}
    for corpus, taus in (("NeurIPS", GOOD), ("AAN", GOOD), ("NSF", nsf)):
        name, alone = corpus.lower(), GOOD if taus is BAD else BAD
        found[f"bert4so-{name}-seed-1"] = facts("bert4so", corpus, alone)
        found[f"bert4so-{name}-joined-seed-1"] = facts("bert4so", corpus, taus, join=["x"])
    assert judged(desk, found, "Joining").verdict == verdict


EVERY = {(s, c): GOOD if s == "bert4so" else BAD for s in TITLES for c in CORPORA}


@pytest.mark.parametrize("beginning", ["BERT4SO is", "On NeurIPS", "Systems", "Letting", "Joining"])
def test_what_had_its_minutes_on_another_machine_is_not_compared(desk, beginning):
    found = cells(EVERY)
    for corpus in ("NeurIPS", "AAN", "NSF"):
        joined = facts("bert4so", corpus, GOOD, join=["x"])
        found[f"bert4so-{corpus.lower()}-joined-seed-1"] = joined
    assert judged(desk, found, beginning).verdict != "not testable here"
    for corpus in CORPORA:
        found[f"bert4so-{corpus.lower()}-seed-1"]["metrics"]["machine"]["processor"] = "slow"
    claim = judged(desk, found, beginning)
    assert claim.verdict == "not testable here"
    assert re.fullmatch(
        r"the runs on \w+ are of several machines, with no equal training", claim.numbers
    )


@pytest.mark.parametrize("limit", [10.0, 0.0])
def test_what_it_costs_is_not_judged_by_two_machines(desk, limit):
    found = cells({(s, c): GOOD for s in ("bert4so", "b-tsort") for c in CORPORA})
    for cell in found.values():
        cell["metrics"]["run"]["minutes"] = limit
    found["b-tsort-sind-seed-1"]["metrics"]["machine"]["processor"] = "slow"
    claim = judged(desk, found, "B-TSort costs")
    assert claim.verdict == "not testable here"
    assert claim.numbers.startswith("the runs on SIND are of several machines")
    assert "NSF (stand-in): " in claim.numbers
    assert "SIND (stand-in): " not in claim.numbers


def test_seeds_may_be_shared_among_machines(desk):
    found = {}
    for seed, processor in ((1, "p"), (2, "slow"), (3, "slow")):
        for system, taus in (("bert4so", GOOD), ("bert4so-list-mle", BAD)):
            cell = facts(system, "NeurIPS", taus, seed=seed, processor=processor)
            found[f"{system}-neurips-seed-{seed}"] = cell
    assert judged(desk, found, "The margin in").verdict == "supported"
    found["bert4so-neurips-seed-3"]["metrics"]["machine"]["processor"] = "p"
    assert judged(desk, found, "The margin in").verdict == "not testable here"


LOW = [0.6] * 40
HALF = {"steps": 5}  # of ten to an epoch


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
@pytest.mark.parametrize("corpus, beginning", [("NSF", "BERT4SO is"), ("AAN", "On NeurIPS")])
def test_falling_behind_counts_if_all_documents_were_seen(
    desk, corpus, beginning, ours, theirs, verdict
):
    found = cells({k: LOW if k[0] != "bert4so" else GOOD for k in EVERY})
    for system, (taus, steps) in (("bert4so", ours), ("b-tsort", theirs)):
        found[f"{system}-{corpus.lower()}-seed-1"] = facts(system, corpus, taus, **steps)
    claim = judged(desk, found, beginning)
    assert claim.verdict == verdict
    told = "having seen their documents less than once" in claim.numbers
    assert told == (verdict == "not testable here")


def test_one_that_is_not_beaten_decides_whatever_the_others_have_seen(desk):
    found = cells(EVERY)
    found["b-tsort-nsf-seed-1"] = facts("b-tsort", "NSF", BAD, **HALF)
    found["se-graph-sind-seed-1"] = facts("se-graph", "SIND", GOOD)
    assert judged(desk, found, "BERT4SO is").verdict == "not supported"


@pytest.mark.parametrize(
    "unseen, behind, verdict",
    [
        (["SIND"], ["SIND"], "supported"),  # on the four others it is so
        (["SIND", "AAN"], ["SIND", "AAN"], "not testable here"),
        (["SIND"], ["SIND", "AAN"], "not testable here"),
        (["SIND"], ["SIND", "AAN", "NSF"], "not supported"),
        (["SIND", "AAN"], [], "supported"),
    ],
)
def test_with_bert_the_last_is_to_have_seen_its_documents(desk, unseen, behind, verdict):
    with_bert = ("rank-tx-net", "b-tsort", "bert4so")
    found = cells({k: GOOD if k[0] in with_bert else BAD for k in EVERY})
    for corpus in {*unseen, *behind}:
        taus, steps = LOW if corpus in behind else GOOD, HALF if corpus in unseen else {}
        found[f"b-tsort-{corpus.lower()}-seed-1"] = facts("b-tsort", corpus, taus, **steps)
    assert judged(desk, found, "Systems").verdict == verdict


@pytest.mark.parametrize(
    "unseen, better, worse, verdict",
    [
        (["NSF", "AAN"], ["NeurIPS", "SIND", "ROCStory"], [], "not testable here"),
        (["NSF", "AAN"], [], ["NSF", "AAN"], "not supported"),  # the other three are even
        (["NSF", "AAN", "SIND"], [], ["NSF"], "not testable here"),
        (["NSF", "AAN", "SIND"], [], ["NSF", "NeurIPS"], "not supported"),
    ],
)
def test_reading_together_is_unknown_where_too_little_was_seen(
    desk, unseen, better, worse, verdict
):
    found = cells({k: SAME for k in EVERY})
    for corpus in CORPORA:
        steps = HALF if corpus in unseen else {}
        for system, good in (("rank-tx-net", worse), ("bert4so-list-mle", better)):
            taus = [1.0] * 40 if corpus in good else SAME
            found[f"{system}-{corpus.lower()}-seed-1"] = facts(system, corpus, taus, **steps)
    claim = judged(desk, found, "Letting")
    assert claim.verdict == verdict
    assert f"unknown on {len(unseen)}" in claim.numbers


@pytest.mark.parametrize("joined, verdict", [(BAD, "not testable here"), (GOOD, "not supported")])
def test_joining_is_not_judged_where_too_little_was_seen(desk, joined, verdict):
    found = {}
    alone = GOOD if joined is BAD else BAD
    for corpus in ("NeurIPS", "AAN", "NSF"):
        name = corpus.lower()
        found[f"bert4so-{name}-seed-1"] = facts("bert4so", corpus, alone)
        both = facts("bert4so", corpus, joined, join=["x"], **HALF)
        found[f"bert4so-{name}-joined-seed-1"] = both
    joining = judged(desk, found, "Joining")
    assert joining.verdict == verdict  # that it helps NSF, too, is seen by the little there was
    assert "seen 0.50 and 2.00 times" in joining.numbers
