"""The cells of experiments, their plans, and the estimate of the time left."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bert4so.common.value_trees import leaves
from bert4so.errors import UserError
from bert4so.experiments.eta import remaining
from bert4so.experiments.plan import all_cells, grid_cells, make_plan, read_experiment
from bert4so.experiments.plan_file import read_plan, write_plan
from bert4so.experiments.report.paper_numbers import CORPORA, TITLES
from bert4so.experiments.store import CellStore
from bert4so.modeling.losses import LEAST_GAP
from bert4so.modeling.sentence_encoders.row_encoder import MAX_STORED_TOKENS
from bert4so.systems import SYSTEMS
from made_up_cells import finish, plan_of

EXPERIMENTS = Path(__file__).parents[2] / "configs" / "experiments"


def test_desk_runs_all_systems_and_corpora_for_ten_minutes(desk):
    found = grid_cells(desk, "table-1")
    assert {(cell.run.system, cell.corpus) for cell in found} == {
        (system, corpus) for system in SYSTEMS if system in TITLES for corpus in CORPORA
    }
    assert {cell.run.minutes for cell in found} == {10}


def test_bert4so_is_trained_for_all_epochs_on_two_corpora(desk):
    whole = {cell.name: cell.run for cell in grid_cells(desk, "long")}
    assert list(whole) == ["bert4so-neurips-long-seed-1", "bert4so-rocstory-long-seed-1"]
    for run in whole.values():
        assert (run.minutes, run.validations, run.valid_documents, run.test_documents) == (0,) * 4


def test_the_same_run_in_two_grids_is_one_cell(desk):
    by_name = {}
    for grid in desk.grids:
        for cell in grid_cells(desk, grid):
            assert by_name.setdefault(cell.name, cell.run) == cell.run
    runs = [cell.run for cell in all_cells(desk)]
    assert len({run.model_dump_json() for run in runs}) == len(runs)
    assert "bert4so-neurips-seed-1" in by_name
    assert "bert4so-neurips-gamma-0.5-seed-3" in by_name


def test_a_stand_in_has_the_settings_of_the_papers_corpus(desk):
    layers = {c.corpus: c.run.model.layers for c in all_cells(desk) if c.system == "se-graph"}
    assert layers["AAN"] == layers["NeurIPS"] == 2
    assert layers["SIND"] != 2


def test_joined_runs_train_on_the_other_corpora(desk):
    joined = {cell.corpus: cell.run.join for cell in grid_cells(desk, "table-2")}
    assert joined["NSF"] == ["neurips", "acl_arc_abstracts"]


def test_cells_run_in_file_order_and_by_seed(tmp_path):
    (tmp_path / "x.toml").write_text(
        'scale = "desk"\n[corpora]\nSIND = {folder = "s"}\nNSF = {folder = "n"}\n'
        "[systems]\nbert4so = {}\nrank-tx-net = {}\n"
        '[grids.seeds]\nsystems = ["bert4so"]\ncorpora = ["SIND"]\nseeds = [1, 2]\n'
        '[grids.table-1]\nsystems = ["rank-tx-net", "bert4so"]\ncorpora = ["NSF", "SIND"]\n'
    )
    assert [cell.name for cell in all_cells(read_experiment(tmp_path / "x.toml"))] == [
        "bert4so-sind-seed-1",
        "bert4so-sind-seed-2",
        "rank-tx-net-nsf-seed-1",
        "bert4so-nsf-seed-1",
        "rank-tx-net-sind-seed-1",
    ]


def test_settings_of_a_system_override_those_of_a_corpus(tmp_path):
    (tmp_path / "x.toml").write_text(
        'scale = "desk"\n[set]\ntrain_documents = 40\nvalid_documents = 4\n[corpora]\n'
        'SIND = {folder = "s", set = {train_documents = 60, valid_documents = 6}}\n'
        'NSF = {folder = "n"}\n[systems]\nbert4so = {}\nrank-tx-net = {valid_documents = 9}\n'
        '[grids.table-1]\nsystems = ["bert4so", "rank-tx-net"]\ncorpora = ["SIND", "NSF"]\n'
    )
    runs = {cell.name: cell.run for cell in all_cells(read_experiment(tmp_path / "x.toml"))}
    assert {name: (run.train_documents, run.valid_documents) for name, run in runs.items()} == {
        "bert4so-sind-seed-1": (60, 6),
        "rank-tx-net-sind-seed-1": (60, 9),
        "bert4so-nsf-seed-1": (40, 4),
        "rank-tx-net-nsf-seed-1": (40, 9),
    }


def test_equal_data_trains_all_systems_on_the_same_documents():
    experiment = read_experiment(EXPERIMENTS / "equal-data.toml")
    for cell in all_cells(experiment):
        assert cell.run.train_documents == (6000 if cell.corpus == "ROCStory" else 4000)
        assert (cell.run.valid_documents, cell.run.test_documents) == (400, 2000)
        assert (cell.run.minutes, cell.run.train.epochs) == (0, 5)
        assert (cell.run.train.precision, cell.run.model.pooling) == ("bf16", "mean")
        rates = cell.run.train.learning_rate
        assert (rates.sentence_encoder, rates.document_encoder, rates.decoder) == (2e-4, 2e-4, 1e-3)
    seeds = {(c.system, c.corpus, c.run.seed) for c in grid_cells(experiment, "seeds")}
    assert len(seeds) == 3 * 3 * 3
    joined = {cell.corpus: cell.run.join for cell in grid_cells(experiment, "table-2")}
    assert joined["NeurIPS"] == ["acl_arc_abstracts", "nsf_awards"]


def test_paper_size_has_the_papers_settings():
    cells = all_cells(read_experiment(EXPERIMENTS / "paper-size.toml"))
    for run in (cell.run for cell in cells):
        assert (run.model.pooling, run.model.encoder_dropout) == ("cls", 0.1)
        rates = run.train.learning_rate
        assert (rates.sentence_encoder, rates.document_encoder, rates.decoder) == (5e-5, 5e-5, 5e-3)
        assert (run.train.batch, run.train.warmup, run.train_documents) == (32, 0.2, 0)
    assert [(cell.corpus, cell.run.model.loss, cell.run.train.epochs) for cell in cells] == [
        ("NeurIPS", "margin-list-mle", 5),
        ("NeurIPS", "list-mle", 5),
        ("ROCStory", "margin-list-mle", 2),
    ]


def test_an_unknown_system_is_an_error(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        'scale = "desk"\n[corpora]\nSIND = {folder = "s"}\n[systems]\nbert4so = {}\n'
        '[grids.table-1]\nsystems = ["b-tsort"]\ncorpora = ["SIND"]\n'
    )
    with pytest.raises(UserError, match='unknown system "b-tsort"'):
        read_experiment(path)


def test_time_left_is_estimated_from_similar_cells(desk, tmp_path):
    store = CellStore(tmp_path, plan_of(desk.model_dump_json()))
    planned = list(store.plan.cells)

    def left(*part):
        return remaining(store, part or planned, (part or planned)[0])

    nsf = "b-tsort-nsf-seed-1"
    name = planned[0]
    assert left() == f"cell 1 of 80: {name}; 80 left, about 13:00 h and 2 of unknown duration"
    finish(store, "cnn-ptrnet-neurips-seed-1", 20)
    assert left() == f"cell 1 of 80: {name}; 79 left, about 25:40 h and 2 of unknown duration"
    assert left(nsf).endswith("; 1 left, about 0:20 h")  # from a cell of another shard
    finish(store, "rank-tx-net-nsf-seed-1", 40)
    finish(store, "bert4so-nsf-seed-1", 50)
    assert left(nsf).endswith("; 1 left, about 0:45 h")
    assert left("bert4so-nsf-joined-seed-1").endswith("about 0:50 h")
    assert left("bert4so-sind-seed-1").endswith("about 0:40 h")


def test_time_by_epochs_is_estimated_on_the_same_corpus_only(desk, tmp_path):
    plan = plan_of(desk.model_dump_json())
    neurips, rocstory = (name for name in plan.cells if "-long-" in name)
    again = replace(plan.cells[rocstory], name="again", corpus="NeurIPS")
    store = CellStore(tmp_path, replace(plan, cells={**plan.cells, "again": again}))
    planned = list(plan.cells)
    finish(store, neurips, 30)
    assert remaining(store, [rocstory], rocstory).endswith("; 1 left")
    assert remaining(store, planned, planned[0]).endswith("13:00 h and 1 of unknown duration")
    assert remaining(store, ["again"], "again").endswith("; 1 left, about 0:30 h")


def test_a_plan_is_read_back_unchanged(desk, tmp_path):
    plan = make_plan(desk)
    path = write_plan(plan, tmp_path)
    assert read_plan(tmp_path) == plan
    json.loads(path.read_text(), parse_constant=pytest.fail)  # JSON has no infinity


def test_a_plan_has_the_cells_and_settings_of_its_experiment(desk):
    plan = make_plan(desk)
    cells = all_cells(desk)
    assert list(plan.cells) == [cell.name for cell in cells]
    for cell in cells:
        settings = dict(leaves(cell.run.model_dump()))
        assert dict(leaves(plan.cells[cell.name].settings)) == {
            key: "Infinity" if value == math.inf else value for key, value in settings.items()
        }
    for name in desk.grids:
        assert plan.grids[name].cells == {c.name: c.varied for c in grid_cells(desk, name)}
    assert (plan.minutes, plan.least_gap, plan.kept_tokens) == (10, LEAST_GAP, MAX_STORED_TOKENS)
    assert plan.systems["bert4so-list-mle"].system == "bert4so"
    assert plan.systems["b-tsort"].paper_settings["scale"] == "paper"


def test_a_plan_lists_changed_settings(desk):
    cells = make_plan(desk).cells
    given = ["minutes", "validations", "valid_documents", "test_documents"]
    assert cells["bert4so-nsf-seed-1"].changed == given
    assert cells["bert4so-neurips-gamma-0.5-seed-3"].changed == [
        "seed",
        *given,
        "model.gamma",
    ]


@pytest.mark.parametrize("name", ["desk", "equal-data"])
def test_stored_plans_match_their_experiments(name):
    folder = EXPERIMENTS.parents[1] / "results" / name
    again = f"run: bert4so experiment plan {folder}/experiment.toml --out {folder}"
    assert read_plan(folder) == make_plan(read_experiment(folder / "experiment.toml")), again


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "no plan.json: write it with `bert4so experiment plan CONFIG.toml --out "),
        ("{", "plan.json: not a plan of an experiment: "),
        ("[]", "plan.json: not a plan of an experiment: "),
        ("{}", "plan.json: not a plan of an experiment: 'version'"),
        ('{"version": 1}', "plan.json: not a plan of an experiment: "),
        ('{"version": 2}', "plan.json: version 2; this bert4so reads version 1"),
    ],
)
def test_an_invalid_plan_is_an_error(tmp_path, text, message):
    if text is not None:
        (tmp_path / "plan.json").write_text(text)
    with pytest.raises(UserError, match=re.escape(message)):
        read_plan(tmp_path)
