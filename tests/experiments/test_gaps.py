"""Where made-up runs are worse than the paper's, and what is told of why."""

from bert4so.experiments.report.gaps import against_the_paper
from made_up_cells import BAD, GOOD, facts, results_of

BEST_FIRST = [
    {"step": 2, "minutes": 1.0, "tau": 0.5, "pmr": 0.5},
    {"step": 4, "minutes": 2.0, "tau": 0.6, "pmr": 0.1},
]


def told(desk, found):
    return against_the_paper(results_of(desk, found)).splitlines()


def test_what_is_furthest_below_the_paper_comes_first_and_stand_ins_last(desk):
    found = {
        "bert4so-rocstory-seed-1": facts("bert4so", "ROCStory", BAD, steps=5),
        "bert4so-neurips-seed-1": facts("bert4so", "NeurIPS", BAD),
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", [0.0] * 40),
        "cnn-ptrnet-neurips-seed-1": facts("cnn-ptrnet", "NeurIPS", GOOD),
    }
    found["bert4so-rocstory-seed-1"]["validations"] = BEST_FIRST
    found["cnn-ptrnet-neurips-seed-1"]["metrics"]["run"]["model"] = {}
    lines = told(desk, found)
    first = next(number for number, line in enumerate(lines) if line.startswith("| BERT4SO |"))
    assert lines[first : first + 4] == [
        "| BERT4SO | ROCStory | -0.1987 | -55.65 | 0.5 | 50% | 40 (78,529) | e |",
        "| BERT4SO | NeurIPS | -0.1278 | -30.70 | 2.0 | 100% | 40 (2,448) | e |",
        "| CNN + PtrNet | NeurIPS | +0.2524 | +55.64 | 2.0 | 100% | 40 (2,448) |  |",
        "| BERT4SO | NSF (stand-in) | -0.6379 | -13.00 | 2.0 | 100% | 40 (96,017) | e |",
    ]
    assert lines[0].startswith("On the paper's own corpora 2 of 3 runs are below its τ. A run is")


def test_what_all_epochs_give_stands_beside_what_a_short_time_gave(desk):
    found = {
        "bert4so-rocstory-seed-1": facts("bert4so", "ROCStory", BAD, steps=5),
        "bert4so-list-mle-rocstory-seed-1": facts("bert4so-list-mle", "ROCStory", BAD),
        "bert4so-rocstory-long-seed-1": facts("bert4so", "ROCStory", GOOD, steps=50),
        "bert4so-neurips-long-seed-1": facts("bert4so", "NeurIPS", GOOD),  # with none beside it
    }
    lines = told(desk, found)
    assert lines[0].startswith(
        "On the paper's own corpora 2 of 2 runs are below its τ. BERT4SO, all epochs, is at "
        "+0.1013 on ROCStory (documents seen 5.0 times) instead of -0.1987 (0.5 times). What is "
        "left after all epochs has other reasons"
    )
    row = "| BERT4SO, all epochs | ROCStory | +0.1013 | +19.35 | 5.0 | 100% | 40 (78,529) | e |"
    assert row in lines


def test_nothing_is_explained_where_nothing_is_below(desk):
    lines = told(desk, {"bert4so-neurips-seed-1": facts("bert4so", "NeurIPS", GOOD)})
    assert lines[0].startswith("In what a run differs")
