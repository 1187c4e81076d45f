"""The comparison of made-up runs with the paper's numbers."""

from bert4so.experiments.report.gaps import compare_with_paper
from made_up_cells import BAD, GOOD, facts, results_of

BEST_FIRST = [
    {"step": 2, "minutes": 1.0, "tau": 0.5, "pmr": 0.5},
    {"step": 4, "minutes": 2.0, "tau": 0.6, "pmr": 0.1},
]


def page_lines(desk, finished):
    return compare_with_paper(results_of(desk, finished)).splitlines()


def test_runs_are_sorted_by_difference_with_stand_ins_last(desk):
    finished = {
        "bert4so-rocstory-seed-1": facts("bert4so", "ROCStory", BAD, steps=5),
        "bert4so-neurips-seed-1": facts("bert4so", "NeurIPS", BAD),
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", [0.0] * 40),
        "cnn-ptrnet-neurips-seed-1": facts("cnn-ptrnet", "NeurIPS", GOOD),
    }
    finished["bert4so-rocstory-seed-1"]["validations"] = BEST_FIRST
    finished["cnn-ptrnet-neurips-seed-1"]["metrics"]["run"]["model"] = {}
    lines = page_lines(desk, finished)
    first = next(number for number, line in enumerate(lines) if line.startswith("| BERT4SO |"))
    assert lines[first : first + 4] == [
        "| BERT4SO | ROCStory | -0.1987 | -55.65 | 0.5 | 50% | 40 (78,529) | e |",
        "| BERT4SO | NeurIPS | -0.1278 | -30.70 | 2.0 | 100% | 40 (2,448) | e |",
        "| CNN + PtrNet | NeurIPS | +0.2524 | +55.64 | 2.0 | 100% | 40 (2,448) |  |",
        "| BERT4SO | NSF (stand-in) | -0.6379 | -13.00 | 2.0 | 100% | 40 (96,017) | e |",
    ]
    assert lines[0].startswith(
        "On the paper's own corpora, 2 of 3 runs are below its τ. A run keeps"
    )


def test_short_and_long_training_are_compared(desk):
    finished = {
        "bert4so-rocstory-seed-1": facts("bert4so", "ROCStory", BAD, steps=5),
        "bert4so-list-mle-rocstory-seed-1": facts("bert4so-list-mle", "ROCStory", BAD),
        "bert4so-rocstory-long-seed-1": facts("bert4so", "ROCStory", GOOD, steps=50),
        "bert4so-neurips-long-seed-1": facts("bert4so", "NeurIPS", GOOD),  # without a short run
    }
    lines = page_lines(desk, finished)
    assert lines[0].startswith(
        "On the paper's own corpora, 2 of 2 runs are below its τ. On ROCStory, the difference of "
        "BERT4SO, all epochs, is +0.1013 (5.0 epochs) instead of -0.1987 (0.5 epochs). The "
        "difference that is left after all epochs has other reasons"
    )
    row = "| BERT4SO, all epochs | ROCStory | +0.1013 | +19.35 | 5.0 | 100% | 40 (78,529) | e |"
    assert row in lines


def test_no_reasons_if_no_run_is_below_the_paper(desk):
    lines = page_lines(desk, {"bert4so-neurips-seed-1": facts("bert4so", "NeurIPS", GOOD)})
    assert lines[0].startswith("For each run, the table")
