"""Experiments: which runs there are, that they are kept, and what the tables say of them."""

import json
import re
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bert4so.data.jsonl import write_records
from bert4so.errors import UserError
from bert4so.experiments import cells
from bert4so.experiments.paper import CORPORA, TABLE_1, TITLES
from bert4so.experiments.pictures import tau_by_length
from bert4so.experiments.plan import Grid, all_cells, grid_cells, read_experiment
from bert4so.experiments.remaining import remaining
from bert4so.experiments.results import Results, epochs_seen
from bert4so.experiments.table import Entry, Table
from bert4so.experiments.tables import cost, sweep, table_1, table_2, table_3
from bert4so.models import MODELS
from bert4so.run import read_run
from bert4so.sentence_encoders.rows import KEPT
from conftest import TINY_MODEL
from forked import Forked
from found import BAD, GOOD, facts

CONFIGS = Path(__file__).parent.parent / "configs" / "experiments"


@pytest.fixture(scope="module")
def desk():
    return read_experiment(CONFIGS / "desk.toml")


def test_the_desk_has_all_systems_and_corpora_for_ten_minutes(desk):
    found = grid_cells(desk, "table-1")
    assert {(cell.run.system, cell.corpus) for cell in found} == {
        (system, corpus) for system in MODELS if system in TITLES for corpus in CORPORA
    }
    assert {cell.run.minutes for cell in found} == {10}


def test_bert4so_is_trained_on_two_corpora_as_long_as_it_needs(desk):
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
    assert "bert4so-neurips-gamma-0.5-seed-2" in by_name


def test_a_stand_in_has_the_numbers_of_the_corpus_it_stands_for(desk):
    layers = {c.corpus: c.run.model.layers for c in all_cells(desk) if c.system == "se-graph"}
    assert layers["AAN"] == layers["NeurIPS"] == 2
    assert layers["SIND"] != 2


def test_what_is_left_is_reckoned_by_what_is_most_like_it(desk, tmp_path):
    planned = all_cells(desk)
    named = {cell.name: cell for cell in planned}

    def left(part=planned):
        return remaining(tmp_path, planned, part, part[0])

    def finish(name, minutes):
        cells.file_of(tmp_path, named[name]).write_text(json.dumps({"wall_minutes": minutes}))

    nsf = [named["b-tsort-nsf-seed-1"]]
    name = planned[0].name
    assert left() == f"cell 1 of 80: {name}; 80 left, about 13:00 h and 2 by epochs"
    finish("cnn-ptrnet-neurips-seed-1", 20)
    assert left() == f"cell 1 of 80: {name}; 79 left, about 25:40 h and 2 by epochs"
    assert left(nsf).endswith("; 1 left, about 0:20 h")  # told by a run of another part
    finish("rank-tx-net-nsf-seed-1", 40)
    finish("bert4so-nsf-seed-1", 50)
    assert left(nsf).endswith("; 1 left, about 0:45 h")
    assert left([named["bert4so-nsf-joined-seed-1"]]).endswith("about 0:50 h")
    assert left([named["bert4so-sind-seed-1"]]).endswith("about 0:40 h")


def test_how_long_epochs_take_is_told_by_the_same_corpus_alone(desk, tmp_path):
    planned = all_cells(desk)
    neurips, rocstory = (c for c in planned if "-long-" in c.name)
    cells.file_of(tmp_path, neurips).write_text('{"wall_minutes": 30}')
    assert remaining(tmp_path, planned, [rocstory], rocstory).endswith("; 1 left")
    assert remaining(tmp_path, planned, planned, planned[0]).endswith("13:00 h and 1 by epochs")
    again = replace(rocstory, name="again", corpus="NeurIPS")
    assert remaining(tmp_path, planned, [again], again).endswith("; 1 left, about 0:30 h")


def test_joined_runs_learn_from_the_others(desk):
    joined = {cell.corpus: cell.run.join for cell in grid_cells(desk, "table-2")}
    assert joined["NSF"] == ["neurips", "acl_arc_abstracts"]


def test_an_unknown_name_is_told(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        'scale = "desk"\n[corpora]\nSIND = {folder = "s"}\n[systems]\nbert4so = {}\n'
        '[grids.table-1]\nsystems = ["b-tsort"]\ncorpora = ["SIND"]\n'
    )
    with pytest.raises(UserError, match='"b-tsort": no such system above'):
        read_experiment(path)


@pytest.fixture
def tiny(tmp_path, encoder, documents, monkeypatch):
    """An experiment of tiny models, in the folder that is made the working one."""
    records = [{"id": d.id, "sentences": d.sentences} for d in documents]
    for split in ("train", "valid", "test"):
        (tmp_path / "data" / "days").mkdir(parents=True, exist_ok=True)
        write_records(tmp_path / "data" / "days" / f"{split}.jsonl", records)
    small = f'model = {{ encoder = "{encoder}", heads = 2, pooling = "mean" }}'
    (tmp_path / "tiny.toml").write_text(
        f"""scale = "desk"
[set]
train.epochs = 2
train.batch = 4
[corpora]
NeurIPS = {{ folder = "days", stand_in = "days" }}
NSF = {{ folder = "days" }}
[systems]
rank-tx-net = {{ {small} }}
bert4so = {{ {small} }}
[grids.table-1]
systems = ["rank-tx-net", "bert4so"]
corpora = ["NeurIPS", "NSF"]
"""
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_cells_are_run_kept_and_not_run_again(bert4so, tiny):
    code, out, err = bert4so("experiment", "run", "tiny.toml", "--shard", "2/2")
    assert (code, out) == (0, "results/tiny: all 2 cells are there\n"), err
    assert "cell 1 of 2: bert4so-neurips-seed-1; 2 left" in err
    assert "cell 2 of 2: bert4so-nsf-seed-1; 1 left" in err
    kept = {path.name: path.read_bytes() for path in Path("results/tiny").glob("*-seed-1.json")}
    assert sorted(kept) == ["bert4so-neurips-seed-1.json", "bert4so-nsf-seed-1.json"]
    assert not Path("results/tiny/statistics.json").exists()  # the first part counts, it alone
    facts = json.loads(kept["bert4so-nsf-seed-1.json"])
    assert facts["source"] == cells.source_hash()
    Path("again.toml").write_text(facts["configuration"])
    assert read_run(Path("again.toml")).train.epochs == 2
    assert len(facts["documents"]["tau"]) == facts["metrics"]["test"]["documents"] == 16
    assert sum(facts["documents"]["tau"]) / 16 == pytest.approx(
        facts["metrics"]["test"]["tau"], abs=1e-6
    )
    assert [v["step"] for v in facts["validations"]] == [5, 10]
    code, _, err = bert4so("experiment", "run", "tiny.toml")
    assert (code, "cell 1 of 4: rank-tx-net-neurips-seed-1; 2 left, about 0:0" in err) == (0, True)
    for name, content in kept.items():
        assert (Path("results/tiny") / name).read_bytes() == content
    config = Path("tiny.toml").read_text()
    Path("tiny.toml").write_text(config.replace("epochs = 2", "epochs = 3"))
    code, _, err = bert4so("experiment", "run", "tiny.toml")
    assert (code, "was begun with train.epochs = 2" in err) == (2, True)
    Path("tiny.toml").write_text(config)
    assert bert4so("experiment", "run", "tiny.toml")[0] == 0
    code, out, _ = bert4so("experiment", "table", "tiny")
    assert (code, out) == (0, "docs/tiny.md\n")
    page = Path("docs/tiny.md").read_text()
    assert "4 of 4 runs are finished" in page
    assert json.loads(Path("results/tiny/statistics.json").read_text()).keys() == {"NeurIPS", "NSF"}
    assert "Stand-ins, not comparable with the paper's. NeurIPS: days." in page
    assert "(0.7778)" in page
    for name in ("minutes.png", "time.png", "systems.tex", "systems.png", "cost.tex"):
        assert (Path("docs/tiny") / name).stat().st_size > 100


def test_parts_that_run_at_once_do_not_disturb_each_other(tiny):
    parts = [Forked(["experiment", "run", "tiny.toml", "--shard", k], tiny) for k in ("1/2", "2/2")]
    for part in parts:
        out, err = part.communicate()
        assert (part.returncode, out) == (0, "results/tiny: all 2 cells are there\n"), err
    assert len(list(Path("results/tiny").glob("*-seed-1.json"))) == 4


def test_a_cell_of_before_a_setting_was_known_is_not_run_again(bert4so, tiny):
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")[0] == 0
    (kept,) = Path("results/tiny").glob("*-seed-1.json")
    facts = json.loads(kept.read_text())
    assert "validations = 0\n" in facts["configuration"]
    facts["configuration"] = facts["configuration"].replace("validations = 0\n", "")
    kept.write_text(json.dumps(facts))
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")[0] == 0
    assert json.loads(kept.read_text()) == facts


def test_a_cell_tells_what_vectors_and_nouns_were_given(bert4so, tiny):
    Path("glove.txt").write_text(f"wake{' 0.5' * 16}\neat{' 0.1' * 16}\n")
    start, grid = Path("tiny.toml").read_text().split("[systems]")[0], "[grids.table-1]"
    model = TINY_MODEL["se-graph"] | {"vectors": "glove.txt"}
    values = ", ".join(f"{key} = {json.dumps(value)}" for key, value in model.items())
    systems = f"[systems]\nse-graph = {{ model = {{ {values} }} }}\n"
    cells_of = 'systems = ["se-graph"]\ncorpora = ["NeurIPS"]\n'
    Path("tiny.toml").write_text(f"{start}{systems}{grid}\n{cells_of}")
    assert bert4so("experiment", "run", "tiny.toml")[0] == 0
    facts = json.loads(Path("results/tiny/se-graph-neurips-seed-1.json").read_text())
    assert (facts["tagger"], facts["vectors"]["words"]) == ("words", 2)
    assert bert4so("experiment", "table", "tiny")[0] == 0
    page = Path("docs/tiny.md").read_text()
    assert "Word vectors: glove.txt (2 words)." in page
    assert "SE-Graph's nouns by words." in page


def test_a_corpus_and_a_system_of_ones_own_are_shown(desk):
    own = desk.model_copy(
        update={
            "corpora": {**desk.corpora, "Mine": desk.corpora["NeurIPS"]},
            "systems": {**desk.systems, "better": {"system": "bert4so"}},
            "grids": {"table-1": Grid(systems=["better", "bert4so"], corpora=["Mine", "SIND"])},
        }
    )
    found = {
        "better-mine-seed-1": facts("better", "Mine", GOOD),
        "bert4so-mine-seed-1": facts("bert4so", "Mine", BAD),
    }
    table = table_1(Results(own, found))
    assert [corpus for corpus, _ in table.groups] == ["SIND (stand-in)", "Mine"]
    assert dict(table.rows)["better"][2] == Entry("0.9500", "▲", best=True)
    counted = {"documents": {"train": 3}, "pieces": [2.0, 4]}
    assert dict(table_3(Results(own, found), {"Mine": counted}).rows)["Mine"][2] == Entry("3")


def test_what_was_counted_of_another_corpus_is_not_shown(bert4so, tiny):
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")[0] == 0
    shutil.copytree("data/days", "data/nights")
    Path("data/nights/valid.jsonl").unlink()
    config = Path("results/tiny/experiment.toml")
    moved = config.read_text().replace('NSF = { folder = "days" }', 'NSF = { folder = "nights" }')
    config.write_text(moved)
    assert bert4so("experiment", "table", "tiny")[0] == 0
    assert "NSF" not in Path("docs/tiny/statistics.tex").read_text()
    Path("tiny.toml").write_text(moved)
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "1/4")[0] == 0
    assert bert4so("experiment", "table", "tiny")[0] == 0
    nsf = r"NSF & .* & 0 {\\scriptsize \(10,185\)} & "  # its validation documents: there are none
    assert re.search(nsf, Path("docs/tiny/statistics.tex").read_text())
    lines = [line for line in moved.splitlines() if not line.startswith("NSF")]
    config.write_text("\n".join(lines).replace(', "NSF"', ""))
    assert bert4so("experiment", "table", "tiny")[0] == 0
    assert "NSF" not in Path("docs/tiny/statistics.tex").read_text()


def test_a_cell_that_fails_does_not_stop_the_others(bert4so, tiny):
    config = Path("tiny.toml").read_text()
    Path("tiny.toml").write_text(config.replace("heads = 2", "heads = 5", 1))
    code, _, err = bert4so("experiment", "run", "tiny.toml")
    assert code == 2
    assert "2 of 4 cells failed: rank-tx-net-neurips-seed-1, rank-tx-net-nsf-seed-1" in err
    assert len(list(Path("results/tiny").glob("bert4so-*-seed-1.json"))) == 2


@pytest.mark.parametrize("missing", ["", "test.jsonl"])
def test_a_corpus_that_is_not_whole_does_not_stop_the_others(bert4so, tiny, missing):
    shutil.copytree("data/days", "data/nights")
    Path("tiny.toml").write_text(Path("tiny.toml").read_text().replace('"days"', '"nights"', 1))
    if missing:
        Path("data/nights", missing).unlink()
    else:
        shutil.rmtree("data/nights")
    code, _, err = bert4so("experiment", "run", "tiny.toml")
    assert code == 2
    assert "2 of 4 cells failed: rank-tx-net-neurips-seed-1, bert4so-neurips-seed-1" in err
    assert len(list(Path("results/tiny").glob("*-nsf-seed-1.json"))) == 2
    assert not list(Path("runs/tiny").glob("*neurips*/run.toml"))
    assert bert4so("experiment", "table", "tiny")[0] == 0


def test_a_finished_run_is_not_taken_for_one_by_another_configuration(bert4so, tiny):
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "4/4")[0] == 0
    Path("results/tiny/bert4so-nsf-seed-1.json").unlink()
    Path("tiny.toml").write_text(Path("tiny.toml").read_text().replace("epochs = 2", "epochs = 3"))
    code, _, err = bert4so("experiment", "run", "tiny.toml", "--shard", "4/4")
    assert code == 2
    assert "begun with train.epochs = 2: it cannot go on with 3" in err
    assert not Path("results/tiny/bert4so-nsf-seed-1.json").exists()


def test_killed_again_and_again_it_comes_to_its_end(tiny):
    for steps in (1, 7, 15, 23):  # of four cells, each of ten steps and two validations
        process = Forked(["experiment", "run", "tiny.toml"], tiny)
        process.wait_for(lambda steps=steps: steps_taken() >= steps)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    last = Forked(["experiment", "run", "tiny.toml"], tiny)
    out, err = last.communicate()
    assert (last.returncode, out) == (0, "results/tiny: all 4 cells are there\n"), err
    assert len(list(Path("results/tiny").glob("*-seed-1.json"))) == 4


def steps_taken():
    """In all runs together."""
    return sum(len(path.read_text().splitlines()) for path in Path().glob("runs/*/*/history.jsonl"))


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b"])
def test_a_shard_that_is_none_is_refused(bert4so, tiny, shard):
    code, _, err = bert4so("experiment", "run", "tiny.toml", "--shard", shard)
    assert code == 2
    assert "wanted K/N" in err


def test_marks_say_who_is_better(desk):
    found = {
        "bert4so-neurips-seed-1": facts("bert4so", "NeurIPS", GOOD),
        "b-tsort-neurips-seed-1": facts("b-tsort", "NeurIPS", BAD),
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", BAD),
        "b-tsort-nsf-seed-1": facts("b-tsort", "NSF", GOOD, source="other"),
    }
    table = table_1(Results(desk, found))
    rows = dict(table.rows)
    heads = [corpus for corpus, columns in table.groups for _ in columns]
    neurips, nsf = heads.index("NeurIPS"), heads.index("NSF (stand-in)")
    assert rows["B-TSort"][neurips] == Entry("0.6500", "†", False, "0.7884")
    assert rows["BERT4SO"][neurips] == Entry("0.9500", "", False, "0.7778")
    assert rows["BERT4SO"][neurips + 1] == Entry("75.00", "", False, "30.70")
    assert rows["B-TSort"][nsf] == Entry("0.9500", "▲", False, "0.4813")
    assert rows["RankTxNet"][nsf] == Entry("–", paper="0.4899")
    notes = " ".join(table.notes)
    assert "2 versions of the source: s (3), other (1)" in notes
    assert f"not yet run ({5 * 11 - 4} of {5 * 11} runs)" in notes


def test_the_best_of_a_column_is_known_when_all_of_it_is_there(desk):
    systems = desk.grids["table-1"].systems
    found = {f"{s}-neurips-seed-1": facts(s, "NeurIPS", BAD) for s in systems[1:]}
    found["se-graph-neurips-seed-1"] = facts("se-graph", "NeurIPS", GOOD)
    assert not any(row[0].best for _, row in table_1(Results(desk, found)).rows)
    found[f"{systems[0]}-neurips-seed-1"] = facts(systems[0], "NeurIPS", BAD)
    rows = table_1(Results(desk, found)).rows
    assert [name for name, row in rows if row[0].best] == ["SE-Graph"]


@pytest.mark.parametrize("limit, told", [(10.0, False), (0.0, True)], ids=["minutes", "epochs"])
def test_what_had_its_minutes_on_another_machine_is_not_called_the_better(desk, limit, told):
    systems = desk.grids["table-1"].systems
    found = {f"{s}-neurips-seed-1": facts(s, "NeurIPS", BAD, limit=limit) for s in systems}
    slow = facts("bert4so", "NeurIPS", GOOD, limit=limit, processor="slow")
    found["bert4so-neurips-seed-1"] = slow
    found["bert4so-sind-seed-1"] = facts("bert4so", "SIND", GOOD, limit=limit, processor="slow")
    table = table_1(Results(desk, found))
    rows = dict(table.rows)
    assert rows["B-TSort"][0] == Entry("0.6500", "†" if told else "", False, "0.7884")
    assert rows["BERT4SO"][0] == Entry("0.9500", "", told, "0.7778")
    notes = " ".join(table.notes)
    assert "p, 2 threads (10 on NeurIPS); slow, 2 threads (1 on NeurIPS, 1 on SIND)." in notes
    assert ("On NeurIPS they had no equal training" in notes) == (not told)


def test_a_sweep_may_have_a_machine_a_seed(desk):
    machines = {2: "p", 3: "slow", 4: "slow"}
    names = {"": GOOD, "layers-1-": BAD, "layers-3-": BAD}
    found = {
        f"bert4so-neurips-{name}seed-{seed}": facts(
            "bert4so", "NeurIPS", taus, seed=seed, processor=processor
        )
        for name, taus in names.items()
        for seed, processor in machines.items()
    }
    rows = dict(sweep(Results(desk, found), "layers", "model.layers", "Layers").rows)
    assert rows["2"][0].best
    found["bert4so-neurips-seed-2"]["metrics"]["machine"]["processor"] = "slow"
    table = sweep(Results(desk, found), "layers", "model.layers", "Layers")
    assert not any(entry.best for _, row in table.rows for entry in row)
    assert "as many as have been run" not in table.caption  # all have been
    del found["bert4so-neurips-seed-2"]
    table = sweep(Results(desk, found), "layers", "model.layers", "Layers")
    assert "as many as have been run" in table.caption


def test_times_of_two_machines_are_not_divided(desk):
    found = {
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", GOOD, limit=0.0),
        "b-tsort-nsf-seed-1": facts("b-tsort", "NSF", BAD, limit=0.0, processor="slow"),
    }
    table = cost(Results(desk, found))
    assert [entry.text for entry in dict(table.rows)["NSF (stand-in)"]] == ["–", "–", "–"]
    assert "p, 2 threads (1 on NSF); slow, 2 threads (1 on NSF)." in " ".join(table.notes)


def test_the_cost_is_of_equal_work(desk):
    found = {
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", GOOD, minutes=2.0),
        # In five times the time it has read the same number of tokens, a quarter of what it would
        # have to read of as many documents; and it is trained for 3 epochs instead of 5.
        "b-tsort-nsf-seed-1": facts("b-tsort", "NSF", BAD, minutes=10.0, epoch_tokens=20000),
    }
    rows = dict(cost(Results(desk, found)).rows)
    assert [entry.text for entry in rows["NSF (stand-in)"]] == ["12.0×", "20.0×", "5.0×"]
    assert [entry.text for entry in rows["SIND (stand-in)"]] == ["–", "–", "–"]


@pytest.mark.parametrize("tokens, told", [(20 * KEPT, False), (20 * KEPT + 1, True)])
def test_the_cost_of_reading_twice_is_told(desk, tokens, told):
    found = {"b-tsort-nsf-seed-1": facts("b-tsort", "NSF", BAD, steps=20, tokens=tokens)}
    notes = " ".join(cost(Results(desk, found)).notes)
    assert ("B-TSort's steps on NSF (stand-in) have more than 16,384 tokens" in notes) == told


@pytest.mark.parametrize(
    "file, words, told",
    [
        ("glove.6B.100d.txt", 400_000, "glove.6B.100d.txt (400,000 words)"),
        ("glove.6B.100d.txt", 300, "glove.6B.100d.txt (300 of its 400,000 words)"),
        ("own.txt", 300, "own.txt (300 words)"),
    ],
)
def test_word_vectors_that_are_not_all_there_are_told(desk, file, words, told):
    cell = facts("cnn-ptrnet", "NSF", BAD) | {"vectors": {"file": file, "words": words}}
    notes = table_1(Results(desk, {"cnn-ptrnet-nsf-seed-1": cell})).notes
    assert f"Word vectors: {told}." in notes


def test_a_last_batch_that_is_not_full_is_no_more_than_it_is():
    twice = facts("bert4so", "NSF", GOOD, training_documents=41, steps=22)  # batches of 4
    assert epochs_seen(twice) == 2


def test_a_page_is_in_markdown(bert4so, tiny):
    assert bert4so("experiment", "run", "tiny.toml", "--shard", "4/4")[0] == 0
    code, _, err = bert4so("experiment", "table", "tiny", "--out", "pages/tiny")
    assert code == 2
    assert "--out pages/tiny: wanted a page in .md" in err
    assert not Path("pages").exists()


def test_runs_on_other_documents_are_not_compared(desk):
    found = {
        "bert4so-neurips-seed-1": facts("bert4so", "NeurIPS", GOOD),
        "b-tsort-neurips-seed-1": facts("b-tsort", "NeurIPS", BAD) | {"puzzles": "others"},
    }
    with pytest.raises(UserError, match="b-tsort-NeurIPS: tested on different documents"):
        table_1(Results(desk, found))


def test_sweeps_choose_on_validation(desk):
    found = {}
    for seed in (2, 3, 4):
        found[f"bert4so-neurips-layers-1-seed-{seed}"] = facts(
            "bert4so", "NeurIPS", BAD, test={"tau": 0.99, "pmr": 0.99, "documents": 40}
        )
        found[f"bert4so-neurips-seed-{seed}"] = facts("bert4so", "NeurIPS", GOOD)
    rows = dict(sweep(Results(desk, found), "layers", "model.layers", "Layers").rows)
    assert rows["2"][0] == Entry("0.9500 ± 0.0000")  # nothing is chosen before all are there
    assert rows["3"][0].text == "–"
    for seed in (2, 3, 4):
        found[f"bert4so-neurips-layers-3-seed-{seed}"] = facts("bert4so", "NeurIPS", BAD)
    rows = dict(sweep(Results(desk, found), "layers", "model.layers", "Layers").rows)
    assert rows["2"][0] == Entry("0.9500 ± 0.0000", best=True)
    assert [entry.best for entry in rows["1"]] == [False] * 4
    assert rows["1"][2].text == "0.9900 ± 0.0000"


def test_joined_and_separate_stand_side_by_side(desk):
    found = {
        "bert4so-aan-seed-1": facts("bert4so", "AAN", BAD),
        "bert4so-aan-joined-seed-1": facts("bert4so", "AAN", GOOD, join=["neurips"]),
    }
    rows = dict(table_2(Results(desk, found)).rows)
    entries = rows["AAN (stand-in)"]
    assert [entry.text for entry in entries] == ["0.6500", "0.00", "0.9500", "75.00"]
    assert entries[2].paper == "0.8265"


def test_latex_is_as_the_paper_sets_it():
    table = Table(
        name="t",
        caption="τ & more, 5 %.",
        groups=[("NSF", ["τ", "PMR"]), ("SIND", ["τ", "PMR"])],
        rows=[("A", [Entry("1", "†", True, "2")] * 4), ("B", [Entry("–")] * 4)],
        ruled=[1],
    )
    latex = table.latex()
    assert r"\multicolumn{2}{c}{NSF} & \multicolumn{2}{c}{SIND} \\" in latex
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in latex
    assert r"A & \textbf{1}$^\dag$ {\scriptsize (2)}" in latex
    assert latex.index(r"\midrule", latex.index("A &")) < latex.index("B &")
    assert r"\caption{$\tau$ \& more, 5 \%.}" in latex
    assert table.markdown().splitlines()[2] == "|  | NSF τ | NSF PMR | SIND τ | SIND PMR |"


def test_a_length_of_which_there_are_few_documents_is_not_shown():
    documents = {"sentences": [3] * 10 + [4] * 9, "tau": [1.0] * 4 + [0.5] * 6 + [1.0] * 9}
    assert tau_by_length(documents) == {3: pytest.approx(0.7)}


def test_the_paper_has_a_number_for_every_row_and_corpus():
    assert set(TABLE_1) == {(system, corpus) for system in TITLES for corpus in CORPORA}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no TeX here")
def test_latex_can_be_set(desk, tmp_path):
    systems = desk.grids["table-1"].systems
    found = {f"{s}-neurips-seed-1": facts(s, "NeurIPS", GOOD) for s in systems}
    results = Results(desk, found)
    tables = "".join(table.latex() for table in (table_1(results), table_2(results), cost(results)))
    (tmp_path / "all.tex").write_text(
        r"\documentclass{article}\usepackage[margin=1in]{geometry}"
        r"\usepackage{booktabs,amssymb,graphicx}\begin{document}" + tables + r"\end{document}"
    )
    asked = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout
